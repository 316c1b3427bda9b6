"""Edits of results by hand, and the look at them afterwards."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from partialfair.data.files import sealed
from reproduction.verify import Chain, verify
from tests.faults.lab import Lab


def checked(lab: Lab, monkeypatch: pytest.MonkeyPatch, **options: Any) -> Chain:
    monkeypatch.chdir(lab.folder)
    return verify("params.yaml", "demo", **options)


def change_array(name: str, change: Callable[[np.ndarray], None]) -> Callable[[Path], None]:
    """Change one array of an ``.npz`` file and write the file whole again."""

    def tamper(path: Path) -> None:
        with np.load(path) as stored:
            arrays = {key: stored[key].copy() for key in stored}
        change(arrays[name])
        np.savez(path, **arrays)

    return tamper


def change_text(old: str, new: str) -> Callable[[Path], None]:
    def tamper(path: Path) -> None:
        text = path.read_text()
        assert old in text
        path.write_text(text.replace(old, new, 1))

    return tamper


def change_metric(path: Path) -> None:
    content = json.loads(path.read_text())
    content["splits"]["test"]["accuracy"] += 0.05
    path.write_text(json.dumps(content, indent=1, sort_keys=True) + "\n")


def change_metric_and_seal(path: Path) -> None:
    content = json.loads(path.read_text())
    content["splits"]["test"]["accuracy"] += 0.05
    path.write_text(json.dumps(sealed(content), indent=1, sort_keys=True) + "\n")


def change_cell(column: str) -> Callable[[Path], None]:
    def tamper(path: Path) -> None:
        table = pq.read_table(path)
        values = table.column(column).to_pylist()
        values[0] += 0.05
        position = table.column_names.index(column)
        pq.write_table(table.set_column(position, column, [values]), path)

    return tamper


def append_byte(path: Path) -> None:
    path.write_bytes(path.read_bytes() + b"\0")


def edit_figure(path: Path) -> None:
    path.write_bytes(path.read_bytes().replace(b"</svg>", b"<metadata>x</metadata></svg>"))


def shift(array: np.ndarray) -> None:
    array.flat[0] += 1


def commit_reports(lab: Lab) -> None:
    lab.run("git", "init", "--quiet")
    lab.run("git", "add", "--force", "reports")
    lab.run("git", "-c", "user.name=A", "-c", "user.email=a@example.org", "commit", "--quiet", "--message", "Results")
