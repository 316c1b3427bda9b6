"""Raw files under DVC: declarations, .dvc files and DVC itself agree."""

import hashlib
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner

from partialfair import plugins
from partialfair.commands.cli import app
from partialfair.errors import DataError
from reproduction.datasets.spec import RawFile
from reproduction.jobs.track import describe, name_in_stages, track, write_dvc

REPOSITORY = Path(__file__).parents[2]
DECLARED = {
    (spec.folder or spec.name, file.name): file
    for spec in (plugins.load("datasets", name).SPEC for name in plugins.names("datasets"))
    for file in spec.files
}


@pytest.mark.parametrize(("folder", "name"), DECLARED)
def test_dvc_file_says_what_the_dataset_declares(folder: str, name: str, tmp_path: Path) -> None:
    committed = REPOSITORY / "data" / "raw" / folder / f"{name}.dvc"
    declared = write_dvc(DECLARED[folder, name], tmp_path)
    # as content: DVC breaks long lines when it writes a file anew
    assert yaml.safe_load(committed.read_text()) == yaml.safe_load(declared.read_text())
    assert f"/{name}" in (committed.parent / ".gitignore").read_text().splitlines()


def test_every_dvc_file_is_complete() -> None:
    found = sorted((REPOSITORY / "data" / "raw").glob("*/*.dvc"))
    assert {(path.parent.name, path.stem) for path in found} >= set(DECLARED)
    for path in found:
        content = yaml.safe_load(path.read_text())
        (out,) = content["outs"]
        assert set(out) == {"md5", "size", "hash", "path"} and out["path"] == path.stem, path
        assert len(content["meta"]["sha256"]) == 64, path


def test_track_describes_a_file(tmp_path: Path) -> None:
    (tmp_path / "new.csv").write_bytes(b"a,b\n1,2\n")
    for _ in range(2):  # twice is as good as once
        dvc_file, declared = track(tmp_path / "new.csv", url="https://example.org/new.csv")
    assert declared == RawFile(
        name="new.csv",
        sha256=hashlib.sha256(b"a,b\n1,2\n").hexdigest(),
        md5=hashlib.md5(b"a,b\n1,2\n").hexdigest(),
        bytes=8,
        url="https://example.org/new.csv",
    )
    content = yaml.safe_load(dvc_file.read_text())
    assert content["outs"] == [{"md5": declared.md5, "size": 8, "hash": "md5", "path": "new.csv"}]
    assert content["meta"] == {"sha256": declared.sha256, "url": "https://example.org/new.csv"}
    assert (tmp_path / ".gitignore").read_text() == "/new.csv\n"


def test_the_verb_prints_the_declaration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    new = Path("data/raw/new/new.csv")
    new.parent.mkdir(parents=True)
    new.write_text("a,b\n1,2\n")
    done = CliRunner().invoke(app, ["data", "track", str(new), "--url", "https://example.org/new.csv"])
    assert done.exit_code == 0 and Path(f"{new}.dvc").is_file()
    entry = done.stdout.partition("of the module:\n")[2]
    assert eval(f"dict({entry})", {"RawFile": RawFile})["files"] == (describe(new, url="https://example.org/new.csv"),)
    assert "archive_member" not in entry and max(map(len, entry.splitlines())) <= 120


def test_a_file_elsewhere_is_not_tracked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("README.md").write_text("text\n")
    done = CliRunner().invoke(app, ["data", "track", "README.md"])
    assert "does not lie below data/raw" in str(done.exception)
    assert [path.name for path in tmp_path.iterdir()] == ["README.md"]


def test_a_file_that_is_not_optional_is_named_in_dvc_yaml(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copy(REPOSITORY / "dvc.yaml", tmp_path)
    before = (tmp_path / "dvc.yaml").read_text()
    for name in ("compas/more.csv", "zoo/zoo.csv", "aaa/notes.txt"):
        (tmp_path / "data/raw" / name).parent.mkdir(parents=True)
        (tmp_path / "data/raw" / name).write_text("a\n1\n")
    for arguments in (["data/raw/compas/more.csv", "data/raw/zoo/zoo.csv"], ["data/raw/aaa/notes.txt", "--optional"]):
        done = CliRunner().invoke(app, ["data", "track", *arguments])
        assert done.exit_code == 0 and "dvc.yaml" not in done.stdout
    after = (tmp_path / "dvc.yaml").read_text()
    old, new = (yaml.safe_load(text)["stages"].pop("data")["deps"] for text in (before, after))
    raw = [name for name in new if name.startswith("data/raw/")]
    assert set(new) - set(old) == {"data/raw/compas/more.csv", "data/raw/zoo/zoo.csv"} and raw == sorted(raw)
    assert [
        line for line in after.splitlines() if "more.csv" not in line and "zoo.csv" not in line
    ] == before.splitlines()
    assert name_in_stages("data/raw/zoo/zoo.csv") and (tmp_path / "dvc.yaml").read_text() == after  # twice is once
    for name in ("data/raw/zoo/cats #1.csv", "data/raw/zoo/a: b.csv", "data/raw/zoo/größe.csv"):
        assert name_in_stages(name) and name_in_stages(name)
        assert yaml.safe_load((tmp_path / "dvc.yaml").read_text())["stages"]["data"]["deps"].count(name) == 1


def test_a_file_elsewhere_is_named_nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert not name_in_stages("data/raw/zoo/zoo.csv")  # no dvc.yaml
    shutil.copy(REPOSITORY / "dvc.yaml", tmp_path)
    assert not name_in_stages("zoo.csv") and not name_in_stages("/data/raw/zoo.csv")


def test_tracking_again_keeps_what_is_known_and_another_file_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "new.csv"
    file.write_text("a,b\n1,2\n")
    dvc_file, _ = track(file, url="https://example.org/new.zip", archive_member="new.csv")
    before = dvc_file.read_bytes()
    _, declared = track(file)
    assert dvc_file.read_bytes() == before and declared.url == "https://example.org/new.zip"
    file.write_text("a,b\n1,3\n")
    with pytest.raises(DataError, match=r"new\.csv\.dvc has the checksum of another file"):
        track(file)
    assert dvc_file.read_bytes() == before


@pytest.mark.parametrize("name", ["a[1]#.csv", "a*.csv", "what?.csv", "#1.csv", "!x.csv", "blank "])
def test_git_leaves_a_tracked_file_alone_whatever_its_name(tmp_path: Path, name: str) -> None:
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    (tmp_path / name).write_text("private\n")
    track(tmp_path / name)
    done = subprocess.run(["git", "check-ignore", name], cwd=tmp_path, check=False)
    assert done.returncode == 0
    (tmp_path / "ab.csv").write_text("public\n")
    assert subprocess.run(["git", "check-ignore", "ab.csv"], cwd=tmp_path, check=False).returncode == 1


def test_track_of_a_missing_file_names_it(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"absent\.csv: no such file"):
        track(tmp_path / "absent.csv")


def test_dvc_pulls_a_tracked_file(tmp_path: Path) -> None:
    """A ``.dvc`` file written here is enough for DVC to fetch the file from a content-addressed folder."""

    def dvc(*arguments: str) -> str:
        command = [sys.executable, "-m", "dvc", *arguments]
        done = subprocess.run(command, cwd=work, capture_output=True, text=True, timeout=120, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    work, remote = tmp_path / "work", tmp_path / "remote"
    (work / "data").mkdir(parents=True)
    (work / "data" / "new.csv").write_bytes(b"a,b\n1,2\n")
    _, declared = track(work / "data" / "new.csv", url="https://example.org/new.csv")
    place = remote / "files" / "md5" / declared.md5[:2]
    place.mkdir(parents=True)
    shutil.move(work / "data" / "new.csv", place / declared.md5[2:])
    dvc("init", "-q", "--no-scm")
    dvc("remote", "add", "-q", "-d", "folder", str(remote))
    dvc("pull", "-q")
    assert (work / "data" / "new.csv").read_bytes() == b"a,b\n1,2\n"
    assert "up to date" in dvc("status")
