"""Reads a folder in the layout of CelebA: ``img_align_celeba/*.jpg`` and lists of attributes.

list_attr_celeba.txt     line 1: number of images; line 2: attribute names; then a name and -1 or 1 per attribute
list_eval_partition.txt  a name and 0, 1 or 2 (the publisher's test images) per line; may be absent
"""

import tempfile
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from partialfair.data.dataset import Dataset
from partialfair.data.images import ImageRows
from partialfair.errors import ConfigError, DataError
from partialfair.plugins import did_you_mean

IMAGES = "img_align_celeba"
ATTRIBUTES = "list_attr_celeba.txt"
PARTITION = "list_eval_partition.txt"


def read_folder(
    folder: Path, name: str, size: int, label: str, group: str, group_names: tuple[str, str] | None = None
) -> Dataset:
    """Decode every listed image once, cropped to its central square and scaled to ``size`` pixels.

    The pixels go to an unnamed temporary file of 3 * size^2 bytes per image (in ``TMPDIR``), never all into memory.

    Args:
        folder: holds the images' folder and the lists.
        name: of the dataset.
        size: height and width in pixels.
        label: attribute that is the label.
        group: attribute that is the group: code 1 where it is 1, else code 0.
        group_names: names of codes 0 and 1.

    Raises:
        ConfigError: ``size`` is not usable.
        DataError: a file is missing or damaged, or an attribute is unknown.
    """
    if not 8 <= size <= 1024:
        raise ConfigError(f"datasets.{name}.size is {size}; give 8 to 1024 pixels")
    names, columns, values = read_attributes(folder / ATTRIBUTES)
    chosen = [_column(columns, attribute, folder / ATTRIBUTES) for attribute in (label, group)]
    y, member = (values[:, column] for column in chosen)
    _require_images(folder / IMAGES, names)
    return Dataset(
        X=ImageRows.of_pixels(decode(folder / IMAGES, names, size), (3, size, size)),
        y=y.astype(np.float64),
        group=(member == 1).astype(np.int16),
        feature_names=(),
        group_names=group_names or (f"not {group}", group),
        name=name,
        partition=_partition(folder / PARTITION, names),
    )


def read_attributes(path: Path) -> tuple[list[str], list[str], NDArray[np.int8]]:
    """Names of the images, names of the attributes, and their values -1/1, (n, attributes).

    Raises:
        DataError: the file is missing, or a line does not have the layout.
    """
    remedy = f"put {ATTRIBUTES} as published beside {IMAGES}"
    lines = _lines(path, remedy)
    if len(lines) < 3 or not lines[0].strip().isdigit():
        raise DataError(f"{path}: line 1 is not a number of images; {remedy}")
    columns, rows = lines[1].split(), [line.split() for line in lines[2:]]
    for number, row in enumerate(rows, start=3):
        if len(row) != len(columns) + 1 or not set(row[1:]) <= {"-1", "1"}:
            raise DataError(f"{path}, line {number}: not a name and {len(columns)} values -1 or 1; {remedy}")
    if len(rows) != int(lines[0]):
        raise DataError(f"{path}: says {int(lines[0]):,} images and lists {len(rows):,}; {remedy}")
    return [row[0] for row in rows], columns, np.array([row[1:] for row in rows]).astype(np.int8)


def decode(folder: Path, names: list[str], size: int) -> NDArray[np.uint8]:
    """Pixels (n, 3 * size * size) of images, mapped from a temporary file that vanishes with its last user.

    Raises:
        DataError: an image cannot be read.
    """
    from PIL import Image, UnidentifiedImageError

    with tempfile.TemporaryFile() as stream:
        pixels = np.memmap(stream, np.uint8, "w+", shape=(len(names), 3 * size * size))
    for row, name in enumerate(names):
        try:
            with Image.open(folder / name) as image:
                width, height = image.size
                side = min(width, height)
                left, top = (width - side) // 2, (height - side) // 2
                square = image.convert("RGB").crop((left, top, left + side, top + side))
        except (UnidentifiedImageError, OSError, SyntaxError) as error:
            raise DataError(
                f"{folder / name}: not a readable image ({error}); copy it again from the archive, or take its line "
                f"out of {ATTRIBUTES} and lower the number in line 1"
            ) from error
        scaled = square if side == size else square.resize((size, size), Image.Resampling.BILINEAR)
        pixels[row] = np.asarray(scaled).transpose(2, 0, 1).ravel()
    return pixels


def _column(columns: list[str], attribute: str, path: Path) -> int:
    if attribute not in columns:
        raise DataError(f"{path}: no attribute {attribute!r}; {did_you_mean(attribute, columns)}")
    return columns.index(attribute)


def _require_images(folder: Path, names: list[str]) -> None:
    """Refuse a folder that lacks a listed image, before decoding for minutes."""
    if not folder.is_dir():
        raise DataError(f"{folder}: no such folder; unpack the aligned images there (nothing is downloaded)")
    outside = next((name for name in names if Path(name).name != name), None)
    if outside is not None:
        raise DataError(f"{folder}: image name {outside!r} is not a bare file name; correct {ATTRIBUTES}")
    there = {path.name for path in folder.iterdir()}
    missing = [name for name in names if name not in there]
    if missing:
        raise DataError(
            f"{folder}: {len(missing):,} of {len(names):,} listed images are missing, the first is {missing[0]}; "
            "unpack the whole archive of aligned images there"
        )


def _partition(path: Path, names: list[str]) -> NDArray[np.int8] | None:
    """1 for the publisher's test images, else 0; ``None`` without the file."""
    if not path.exists():
        return None
    found = dict(line.split()[:2] for line in _lines(path, "") if len(line.split()) >= 2)
    unknown = next((name for name in names if found.get(name) not in ("0", "1", "2")), None)
    if unknown is not None:
        raise DataError(f"{path}: no part 0, 1 or 2 for {unknown}; take the file as published, or remove it (unused)")
    return np.array([found[name] == "2" for name in names], np.int8)


def _lines(path: Path, remedy: str) -> list[str]:
    try:
        return path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{path}: cannot be read ({error}); {remedy}") from error
