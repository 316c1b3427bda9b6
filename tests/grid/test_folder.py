"""What is put right in the working directory before the workflow's first job."""

import os
import time
from pathlib import Path

import pytest

from reproduction.grid.folder import settle_times, share_with_group


def test_files_from_the_future_get_the_present_time_and_links_to_nothing_are_let_be(
    tmp_path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "data" / "raw"
    folder.mkdir(parents=True)
    (folder / "gone.csv").symlink_to(tmp_path / "cache" / "gone")
    for name, ahead in (("old.csv", -60), ("new.csv", 3600)):
        (folder / name).touch()
        os.utime(folder / name, (time.time() + ahead,) * 2)
    settle_times()
    assert (folder / "new.csv").stat().st_mtime <= time.time()
    assert time.time() - (folder / "old.csv").stat().st_mtime > 50
    assert capsys.readouterr().out.startswith("1 files")
    settle_times()
    assert not capsys.readouterr().out


def test_what_is_made_in_a_folder_of_a_group_can_be_written_by_the_group(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    before = os.umask(0o022)
    try:
        tmp_path.chmod(0o755)
        share_with_group()
        (tmp_path / "private").mkdir()
        assert (tmp_path / "private").stat().st_mode & 0o777 == 0o755
        (tmp_path / ".snakemake/log").mkdir(parents=True)
        tmp_path.chmod(0o2775)
        share_with_group()
        (tmp_path / "shared").mkdir()
        for name in ("shared", ".snakemake", ".snakemake/log"):
            assert (tmp_path / name).stat().st_mode & 0o777 == 0o775
    finally:
        os.umask(before)


def test_times_of_files_of_another_user_are_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError

    monkeypatch.chdir(tmp_path)
    (tmp_path / "data").mkdir()
    (tmp_path / "data/theirs").touch()
    os.utime(tmp_path / "data/theirs", (4e9, 4e9))
    monkeypatch.setattr(os, "utime", refuse)
    settle_times()


def test_times_are_settled_behind_links_which_may_lead_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = tmp_path / "store"
    (store / "adult").mkdir(parents=True)
    (store / "adult/adult.data").touch()
    os.utime(store / "adult/adult.data", (4e9, 4e9))
    (tmp_path / "project/data").mkdir(parents=True)
    (tmp_path / "project/data/raw").symlink_to(store)
    (store / "back").symlink_to(tmp_path / "project")
    monkeypatch.chdir(tmp_path / "project")
    settle_times()
    assert (store / "adult/adult.data").stat().st_mtime < 4e9 - 1
