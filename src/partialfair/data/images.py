"""Images as rows of a table: pixels stay on disk, and a batch is read when it is asked for."""

import zipfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from partialfair.errors import DataError

ImageShape = tuple[int, int, int]


@dataclass(frozen=True, eq=False)
class ImageRows:
    """Rows of an array of images, chosen by number; choosing copies no pixel.

    It stands in the place of a feature matrix: one row per image, one column per pixel and channel.

    Attributes:
        pixels: (N, C * H * W) bytes 0..255, usually mapped from a file.
        image_shape: channels, height, width.
        rows: (n,) rows of ``pixels`` that this table consists of.
    """

    pixels: NDArray[np.uint8]
    image_shape: ImageShape
    rows: NDArray[np.int64]

    def __post_init__(self) -> None:
        columns = int(np.prod(self.image_shape))
        if self.pixels.ndim != 2 or self.pixels.shape[1] != columns or self.pixels.dtype != np.uint8:
            raise DataError(
                f"pixels have shape {self.pixels.shape} and type {self.pixels.dtype}; images of shape "
                f"{self.image_shape} need (n, {columns}) bytes"
            )

    @classmethod
    def of_pixels(cls, pixels: NDArray[np.uint8], image_shape: ImageShape) -> "ImageRows":
        """All images of an array (N, C * H * W)."""
        return cls(pixels, image_shape, np.arange(len(pixels), dtype=np.int64))

    @property
    def shape(self) -> tuple[int, int]:
        """Return the rows and columns, as of a feature matrix."""
        return len(self.rows), int(self.pixels.shape[1])

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, rows: NDArray[np.integer]) -> "ImageRows":
        """Return the table restricted to ``rows``, in that order."""
        return ImageRows(self.pixels, self.image_shape, self.rows[rows])

    def batch(self, rows: NDArray[np.integer]) -> NDArray[np.uint8]:
        """Pixels (b, C, H, W) of ``rows``, read into memory."""
        chosen = self.rows[rows]
        # In the order of the file, then back: a disk reads forwards faster than to and fro.
        order = np.argsort(chosen, kind="stable")
        out = np.empty((len(chosen), *self.image_shape), np.uint8)
        out.reshape(len(chosen), -1)[order] = self.pixels[chosen[order]]
        return out

    def array(self) -> NDArray[np.uint8]:
        """Pixels (n, C * H * W) of all rows; without a copy if that is the whole array."""
        in_order = len(self.rows) == len(self.pixels) and bool((self.rows == np.arange(len(self.rows))).all())
        return self.pixels if in_order else self.pixels[self.rows]


def map_member(path: str | Path, name: str) -> NDArray[np.uint8]:
    """Map one array of an uncompressed ``.npz`` file into memory, read-only, without reading it.

    Raises:
        ValueError: the array is compressed or not made of bytes.
        KeyError: there is no such array.
    """
    with zipfile.ZipFile(path) as archive:
        info = archive.getinfo(f"{name}.npy")
    if info.compress_type != zipfile.ZIP_STORED:
        raise ValueError(f"{name} is compressed")
    with open(path, "rb") as stream:
        stream.seek(info.header_offset)
        header = stream.read(30)  # of the member; its name and an extra field of these lengths follow
        stream.seek(int.from_bytes(header[26:28], "little") + int.from_bytes(header[28:30], "little"), 1)
        version = np.lib.format.read_magic(stream)
        read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        shape, _, dtype = read(stream)
        offset = stream.tell()
    if dtype != np.uint8:
        raise ValueError(f"{name} holds {dtype}, not bytes")
    return np.memmap(path, np.uint8, "r", offset, shape)
