"""What a killed DVC leaves of its list of locks."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from partialfair.commands.cli import app
from reproduction.verify import dvc_lock
from reproduction.verify.dvc_lock import RWLOCK, remove_torn_lock


@pytest.fixture
def lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the list stands in an empty project."""
    monkeypatch.setattr(dvc_lock, "_PATIENCE", 0.0)
    path = tmp_path / RWLOCK
    path.parent.mkdir(parents=True)
    return path


@pytest.mark.parametrize("left", ["", '{"data": ', "\x00\x00"])
def test_a_torn_list_is_removed(lock: Path, left: str, tmp_path: Path):
    lock.write_text(left)
    assert remove_torn_lock(tmp_path) == lock and not lock.exists()
    assert remove_torn_lock(tmp_path) is None


def test_a_list_that_can_be_read_stays(lock: Path, tmp_path: Path):
    lock.write_text("{}")
    assert remove_torn_lock(tmp_path) is None and lock.read_text() == "{}"


def test_a_list_that_is_being_written_stays(lock: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    lock.write_text("")
    monkeypatch.setattr(dvc_lock.time, "sleep", lambda seconds: lock.write_text("{}"))
    assert remove_torn_lock(tmp_path) is None and lock.exists()


def test_looking_for_damage_removes_it_and_says_so(lock: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    lock.write_text("")
    said = CliRunner().invoke(app, ["verify", "--damage"]).output  # which then finds no grid in this folder
    assert "rwlock: half-written by a DVC that was killed; removed" in " ".join(said.split()) and not lock.exists()
    lock.write_text("")
    CliRunner().invoke(app, ["verify"])
    assert lock.exists(), "only where damage is looked for"
