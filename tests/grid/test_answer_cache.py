"""Answers that are remembered from one command to the next, and when they are not."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from partialfair.errors import ConfigError
from reproduction.commands import checking
from reproduction.grid import answer_cache, closure
from reproduction.grid.config import Config, load_config
from reproduction.verify import verify

GRID = """
seeds: [0]
experiments:
  small:
    title: Small
    paper: own
    constraint: partial_statistical_parity
    runs: {simulated: {interval: [[0.1, 0.4]], algorithms: {alm: [0.1]}}}
exhibits:
  tradeoff: {kind: scatter, title: Trade-off, caption: Of it, experiments: [small]}
"""


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A project that Snakemake has run in, and a package of two files in place of this one."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".snakemake").mkdir()
    package = tmp_path / "package"
    (package / "inner").mkdir(parents=True)
    (package / "a.py").write_text("one = 1")
    (package / "inner" / "b.css").write_text("p {}")
    monkeypatch.setattr(answer_cache, "HOUSES", (package,))
    monkeypatch.setattr(answer_cache, "_keeps", False)
    monkeypatch.setattr(answer_cache, "_reads", True)
    answer_cache.keep()
    begin_anew()
    yield tmp_path
    begin_anew()


def begin_anew() -> None:
    """As in another process."""
    answer_cache._answers_of.cache_clear()
    answer_cache.source_and_packages.cache_clear()


def asked(question: str, text: str = "yes") -> bool:
    """Whether the answer had to be worked out; it is the right one in any case."""
    calls = []
    assert answer_cache.answer(question, lambda: calls.append(question) or text) == text
    return bool(calls)


def test_an_answer_is_worked_out_once_per_question_and_source(project: Path):
    assert asked("is it?") and not asked("is it?") and asked("is it not?", "no")
    begin_anew()
    assert not asked("is it?") and not asked("is it not?", "no")
    for name in ("a.py", "inner/b.css"):
        path = project / "package" / name
        path.write_text(path.read_text() + " ")
        begin_anew()
        assert asked("is it?") and not asked("is it?")
        assert len(list((project / answer_cache.FOLDER).iterdir())) == 1  # the answers of the other source are gone
    (project / "package" / "inner" / "b.css").rename(project / "package" / "b.css")
    begin_anew()
    assert asked("is it?")


def test_another_package_or_version_asks_anew(project: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.syspath_prepend(project / "site-packages")
    (project / "site-packages" / "torch-2.0.dist-info").mkdir(parents=True)
    begin_anew()
    assert asked("is it?") and not asked("is it?")
    (project / "site-packages" / "torch-2.0.dist-info").rename(project / "site-packages" / "torch-2.1.dist-info")
    begin_anew()
    assert asked("is it?")
    (project / "site-packages" / "torch-2.1.dist-info").rmdir()
    begin_anew()
    assert asked("is it?")


def test_compiled_code_is_no_source(project: Path):
    assert asked("is it?")
    (project / "package" / "__pycache__").mkdir()
    (project / "package" / "__pycache__" / "a.cpython.pyc").write_bytes(b"0")
    begin_anew()
    assert not asked("is it?")


def test_no_answer_is_kept_of_what_failed(project: Path):
    def fails() -> str:
        raise ConfigError("no")

    for _ in range(2):
        with pytest.raises(ConfigError):
            answer_cache.answer("is it?", fails)
    assert not (project / answer_cache.FOLDER).exists() and asked("is it?")


def test_a_job_reads_and_writes_nothing(project: Path, monkeypatch: pytest.MonkeyPatch):
    assert asked("is it?")
    monkeypatch.setattr(answer_cache, "_keeps", False)
    begin_anew()
    assert not asked("is it?") and asked("is it not?")
    begin_anew()
    assert not asked("is it?") and asked("is it not?")


def test_who_checks_works_it_out(project: Path):
    assert asked("is it?")
    begin_anew()
    answer_cache.distrust()
    assert asked("is it?")


def test_verification_distrusts(project: Path, monkeypatch: pytest.MonkeyPatch):
    (project / "params.yaml").write_text(GRID)
    verify("params.yaml")
    assert not answer_cache._reads


@pytest.mark.parametrize("content", ["", "{", "[1]", '"text"', "\udcff"])
def test_a_damaged_file_is_no_answer(project: Path, content: str):
    assert asked("is it?")
    (kept,) = (project / answer_cache.FOLDER).iterdir()
    kept.write_text(content, encoding="utf-8", errors="surrogateescape")
    begin_anew()
    assert asked("is it?")
    assert json.loads(kept.read_text()) == {"is it?": "yes"}


def test_nothing_is_written_where_snakemake_has_not_run_or_nothing_can_be(project: Path):
    (project / ".snakemake").rmdir()
    assert asked("is it?")
    assert not (project / ".snakemake").exists()
    (project / ".snakemake").write_text("a file")
    assert asked("is it not?")
    (project / ".snakemake").unlink()
    (project / ".snakemake").mkdir()
    (project / answer_cache.FOLDER).write_text("a file")
    assert asked("and now?")


def test_fingerprints_are_the_same_from_memory(monkeypatch: pytest.MonkeyPatch):
    closure.closure_hash.cache_clear()
    first = closure.closure_hash("partialfair.errors")
    closure.closure_hash.cache_clear()
    begin_anew()
    monkeypatch.setattr(closure, "_hash", lambda modules: "worked out")
    assert closure.closure_hash("partialfair.errors") == first
    closure.closure_hash.cache_clear()
    monkeypatch.setattr(answer_cache, "HOUSES", (answer_cache.HOUSES[0].parent,))
    begin_anew()
    assert closure.closure_hash("partialfair.errors") == "worked out"
    closure.closure_hash.cache_clear()


class TestGrid:
    """A grid in which nothing was to be refused is not checked again, until it or a file of its paper changes."""

    @pytest.fixture
    def checks(self, monkeypatch: pytest.MonkeyPatch) -> list[Config]:
        """The grids that were checked."""
        found: list[Config] = []
        check = checking.check_grid
        monkeypatch.setattr(checking, "check_grid", lambda config: (found.append(config), check(config)))
        return found

    def start(self, text: str = GRID) -> None:
        Path("params.yaml").write_text(text)
        begin_anew()
        checking.check_grid_once(load_config("params.yaml"))

    def test_once(self, checks: list[Config]):
        for _ in range(2):
            self.start()
        assert len(checks) == 1
        self.start(GRID.replace("alm: [0.1]", "alm: [0.2]"))
        assert len(checks) == 2

    def test_what_is_refused_is_refused_again(self, checks: list[Config]):
        wrong = GRID + "algorithms: {alm: {tolerance: -1}}\n"
        for _ in range(2):
            with pytest.raises(ConfigError, match=r"algorithms\.alm\.tolerance"):
                self.start(wrong)
        with pytest.raises(ConfigError, match="kind"):
            self.start(GRID.replace("kind: scatter", "kind: scater"))
        assert len(checks) == 3

    def test_claims(self, checks: list[Config], project: Path):
        self.start()
        claims = project / "papers" / "own" / "claims.yaml"
        claims.parent.mkdir(parents=True)
        (claims.parent / "grid.yaml").write_text(GRID)
        (claims.parent / "paper.yaml").write_text("title: Own")
        claims.write_text("[]")
        for _ in range(2):
            self.start()
        assert len(checks) == 2
        claims.write_text("- {id: x, section: 1, sentence: S, test: better, method: alm, against: [nobody]}\n")
        for _ in range(2):
            with pytest.raises(ConfigError, match="claims"):
                self.start()
        assert len(checks) == 4
