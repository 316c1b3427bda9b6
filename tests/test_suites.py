"""The long suites: what bears a mark belongs to one, and a pass counts as long as nothing under it changes."""

import re
from pathlib import Path

import pytest

from tests import suites
from tests.suites import MARK, ROOT, SUITES, Suite, fingerprint, main, modules


def test_every_mark_names_a_suite_and_every_suite_has_tests():
    files = [path for folder in ("tests", "papers") for path in (ROOT / folder).rglob("test_*.py")]
    marked = {name for path in files for name in MARK.findall(path.read_text())}
    assert marked - {"kills"} <= set(SUITES) and all(SUITES[name].command for name in set(SUITES) - marked)
    anyhow = [path for path in files if "mark.long" in MARK.sub("", path.read_text())]
    assert anyhow == [Path(__file__)], "a mark in another form belongs to no suite"


@pytest.mark.parametrize("name", SUITES)
def test_every_pattern_of_a_suite_names_files_that_are_here(name: str):
    assert [pattern for pattern in SUITES[name].under if not any(ROOT.glob(pattern))] == []


@pytest.fixture
def toy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with one suite of one test, which depends on one module."""
    for name, value in (("ROOT", tmp_path), ("PASSED", tmp_path / "passed.json")):
        monkeypatch.setattr(suites, name, value)
    monkeypatch.setattr(suites, "SUITES", {"kills": Suite("toys", ("src/*.py",), ("data",))})
    monkeypatch.setenv("PARTIALFAIR_REQUIRE", "data")
    monkeypatch.delenv("PYTEST_XDIST_WORKER", raising=False)
    for name, text in (
        ("src/code.py", "VALUE = 1\n"),
        (
            "tests/test_toy.py",
            "import pathlib, pytest\n\n"
            f'@pytest.mark.{"long"}(suite="kills")\n'
            "def test_value():\n    assert 'VALUE = 1' in pathlib.Path('src/code.py').read_text()\n\n"
            "def test_quick():\n    assert False\n",
        ),
    ):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def edit(path: Path, old: str, new: str) -> None:
    path.write_text(re.sub(old, new, path.read_text()))


def test_a_pass_is_kept_until_code_changes(toy: Path, capfd: pytest.CaptureFixture[str]):
    assert modules("kills") == ["tests/test_toy.py"]
    assert main([]) == 0 and "1 passed" in capfd.readouterr().out
    assert main([]) == 0 and "passed with this code" in capfd.readouterr().out
    edit(toy / "src/code.py", "$", "# a remark\n")
    assert main([]) == 0 and "passed with this code" in capfd.readouterr().out
    edit(toy / "src/code.py", "VALUE = 1", "VALUE = 2")
    assert main([]) == 1 and "failed: kills" in capfd.readouterr().err
    assert main([]) == 1, "a failure is not kept as a pass"
    edit(toy / "src/code.py", "VALUE = 2", "VALUE = 1")
    assert main([]) == 0 and "passed with this code" in capfd.readouterr().out
    assert main(["--all"]) == 0 and "1 passed" in capfd.readouterr().out


def test_the_tests_themselves_count(toy: Path):
    before = fingerprint("kills")
    edit(toy / "tests/test_toy.py", "in pathlib", "not in pathlib")
    assert fingerprint("kills") != before


def test_what_could_have_been_skipped_is_not_kept(
    toy: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
):
    monkeypatch.setenv("PARTIALFAIR_REQUIRE", "browser")
    assert main([]) == 0 and "does not demand data" in capfd.readouterr().out
    assert not (toy / "passed.json").exists()
    monkeypatch.setenv("PARTIALFAIR_REQUIRE", "data")
    assert main(["kills", "--", "-k", "value"]) == 0 and not (toy / "passed.json").exists(), "a part is no pass"


def test_an_unknown_suite_is_refused(capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit):
        main(["kill"])
    assert "no suite kill; there are processors, kills" in capsys.readouterr().err
