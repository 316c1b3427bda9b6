"""Ways to make the input of a finished run bad."""

import hashlib
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from tests.faults.lab import JOB, RAW, RUN, TABLE

TRAIN, EVALUATE, PREPARE = ("train", *JOB), ("evaluate", *JOB), ("data", "prepare", "loans")
ALM = "experiments/demo/runs/loans/algorithms/alm"
INTERVAL = "experiments/demo/runs/loans/interval"


def nothing(folder: Path) -> None:
    pass


def grid(path: str, value: Any) -> Callable[[Path], None]:
    """Set one entry of params.yaml."""

    def spoil(folder: Path) -> None:
        file = folder / "params.yaml"
        content = yaml.safe_load(file.read_text())
        *parents, last = path.split("/")
        block = content
        for part in parents:
            block = block[part]
        block[last] = value
        file.write_text(yaml.safe_dump(content, sort_keys=False))

    return spoil


def text(name: str, change: Callable[[str], str]) -> Callable[[Path], None]:
    """Change a text file."""
    return lambda folder: (folder / name).write_text(change((folder / name).read_text()))  # type: ignore[return-value]


def content(name: str, data: bytes) -> Callable[[Path], None]:
    return lambda folder: (folder / name).write_bytes(data)  # type: ignore[return-value]


def cut(name: str, share: float = 0.5) -> Callable[[Path], None]:
    def spoil(folder: Path) -> None:
        data = (folder / name).read_bytes()
        (folder / name).write_bytes(data[: int(len(data) * share)])

    return spoil


def removed(name: str) -> Callable[[Path], None]:
    return lambda folder: (folder / name).unlink()


def csv(change: Callable[[list[str]], list[str]], encoding: str = "utf-8") -> Callable[[Path], None]:
    """Change the lines of the raw table, and state its new checksum, as a person would."""

    def spoil(folder: Path) -> None:
        lines = (folder / RAW).read_text().splitlines()
        data = ("\n".join(change(lines)) + "\n").encode(encoding)
        (folder / RAW).write_bytes(data)
        grid("datasets/loans/sha256", hashlib.sha256(data).hexdigest())(folder)

    return spoil


def cell(row: int, column: int, value: str) -> Callable[[list[str]], list[str]]:
    """Set one cell; row 1 is the first after the header."""

    def change(lines: list[str]) -> list[str]:
        cells = lines[row].split(",")
        cells[column] = value
        return [*lines[:row], ",".join(cells), *lines[row + 1 :]]

    return change


def column(position: int, value: str) -> Callable[[list[str]], list[str]]:
    """Set a whole column."""

    def change(lines: list[str]) -> list[str]:
        rows = [line.split(",") for line in lines[1:]]
        return [lines[0], *(",".join([*row[:position], value, *row[position + 1 :]]) for row in rows)]

    return change


def arrays(name: str, **changes: Callable[[Any], Any]) -> Callable[[Path], None]:
    """Change arrays of an ``.npz`` file."""

    def spoil(folder: Path) -> None:
        with np.load(folder / name) as stored:
            kept = {key: stored[key] for key in stored}
        np.savez(folder / name, **{key: changes.get(key, lambda a: a)(array) for key, array in kept.items()})

    return spoil


def put(position: Any, value: Any) -> Callable[[Any], Any]:
    """Set one entry of an array."""

    def change(array: Any) -> Any:
        array = array.copy()
        array[position] = value
        return array

    return change


class Trap:
    """What a malicious file would run when it is unpickled."""

    def __reduce__(self) -> Any:
        return Path.touch, (Path("trapped"),)


def pickled(name: str, key: str) -> Callable[[Path], None]:
    """Put a pickle that runs code into an ``.npz`` file."""

    def spoil(folder: Path) -> None:
        with np.load(folder / name) as stored:
            kept = {part: stored[part] for part in stored}
        trap = np.empty(1, object)
        trap[0] = Trap()
        np.savez(folder / name, **{**kept, key: trap})

    return spoil


def other_model(folder: Path) -> None:
    """A whole model, of data with one feature less."""
    arrays(
        f"{RUN}/model.npz",
        weights=lambda w: w[:, :-1],
        feature_names=lambda names: names[:-1],
    )(folder)


def identifiers(folder: Path) -> None:
    """A column that is different in every row, as an input."""
    grid("datasets/loans/drop", [])(folder)
    csv(lambda lines: [lines[0], *(f"r{number}{line}" for number, line in enumerate(lines[1:] * 3))])(folder)


def climbing(folder: Path) -> None:
    """An archive whose member would land beside the project."""
    with zipfile.ZipFile(folder / TABLE, "w") as archive:
        archive.writestr("../../../../outside.npy", b"x")


def files(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
