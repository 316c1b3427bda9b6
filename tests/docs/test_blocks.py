"""Every code block of the pages runs, in order; commands end with the status, and print the numbers, that a page says.

What takes long, or needs a cluster or a checkout, is listed in ``PARSED`` with the test that runs it, and parsed here.
"""

import contextlib
import io
import re
import shlex
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml
from typer.exceptions import TyperException
from typer.testing import CliRunner

from partialfair.commands.cli import app
from reproduction.grid.checks import TARGETS, check_settings
from reproduction.grid.config import load_config
from tests.workflow.project import ROOT

FENCE = re.compile(r"^```([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
NUMBER = re.compile(r"-?\d+\.\d+|\S+")

PARSED = {
    "partialfair new": "tests/commands/test_scaffold.py",
    "partialfair scorecard": "tests/workflow/test_own_data.py",
    "partialfair summary": "tests/workflow/test_end_to_end.py",
    "partialfair train": "tests/workflow/test_own_data.py",
    "partialfair evaluate": "tests/workflow/test_own_data.py",
    "partialfair collect": "tests/workflow/test_own_data.py",
    "partialfair report": "tests/workflow/test_own_data.py",
    "partialfair run": "tests/workflow/test_end_to_end.py, as Snakemake",
    "partialfair data fetch": "tests/jobs/test_prepare.py",
    "partialfair data verify": "tests/jobs/test_prepare.py",
    "partialfair card": "tests/cards/test_card.py",
    "partialfair verify": "the tests of the audit trail",
    "partialfair doctor": "tests/commands/test_doctor.py",
    "partialfair benchmark": "make bench",
    "make": "targets are looked up in the Makefile",
    "snakemake": "tests/workflow; targets are looked up in the grid",
    "git": "",
    "pip": "",
    "python": "",
    "dvc": "tests/workflow/test_dvc.py",
    "conda": "",
    "source": "",
}
"""Beginnings of commands that are not run here, and where they are."""

REAL_DATA = {"tutorial.md"}
"""Pages that need raw files, in which even the commands of PARSED run."""

ELSEWHERE = {"cluster.md": "tests/cluster", "audit-trail.md": "the tests of the audit trail"}
"""Pages whose commands are run by tests of their own; their Python blocks run here."""

NEEDS = {"boosting.md": "lightgbm"}
"""Pages that need an optional package which the lock does not hold."""

OVERVIEWS = {"README.md", "CONTRIBUTING.md"}
"""Pages whose commands stand for themselves, without the files they speak of."""

MADE = {"papers", "exhibits"}  # pages that the build writes
WRITTEN = [path for path in (ROOT / "docs").rglob("*.md") if path.parent.name not in MADE]
PAGES = sorted([*WRITTEN, *(ROOT / "papers").glob("*/README.md"), ROOT / "README.md", ROOT / "CONTRIBUTING.md"])
LANGUAGES = {
    "python",
    "console",
    "yaml",
    "text",
    "{toctree}",
    "{changes}",
    "{dataset}",
    "{measured}",
    "{settings}",
    "{typer}",
    "{metrics}",
    "{kinds}",
    "{home}",
    "{gallery}",
    "{explorer}",
    "{costs}",
    "{eval-rst}",
}


WIDEST = 88  # letters of a line of code that a page shows without scrolling


@dataclass
class Page:
    """What the blocks of a page have done so far."""

    name: str
    folder: Path
    names: dict[str, Any]
    printed: str = ""


def blocks(path: Path) -> list[tuple[str, str]]:
    text = path.read_text(encoding="utf-8")
    return [((info.split() or [""])[0], code) for info, code in FENCE.findall(text)]


PAGES_WITH_CODE = [
    pytest.param(
        path, id=path.relative_to(ROOT).as_posix(), marks=[pytest.mark.real_data] if path.name in REAL_DATA else []
    )
    for path in PAGES
    if any(kind in ("python", "console", "yaml") for kind, _ in blocks(path))
]


@pytest.mark.parametrize("path", PAGES_WITH_CODE)
def test_blocks_run(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if path.name in NEEDS:
        pytest.importorskip(NEEDS[path.name])
    monkeypatch.chdir(tmp_path)
    shutil.copy(ROOT / "params.yaml", tmp_path)
    shutil.copytree(ROOT / "papers", tmp_path / "papers")
    page = Page(path.name, tmp_path, {})
    for kind, code in blocks(path):
        if kind == "python":
            run_python(page, code)
        elif kind == "console":
            for line in commands(code):
                run_command(page, line)
        elif kind == "yaml":
            read_yaml(page, code)
        elif kind == "text":
            compare(page, code)


def test_blocks_have_a_language_that_is_tested() -> None:
    for path in PAGES:
        if path.name not in ELSEWHERE:
            assert {kind for kind, _ in blocks(path)} <= LANGUAGES, path


def test_code_fits_the_column_that_it_is_shown_in() -> None:
    long = [(path.name, line) for path in PAGES for kind, code in blocks(path) if kind in ("python", "yaml", "console")
            for line in code.splitlines() if len(line) > WIDEST]  # fmt: skip
    assert long == []


def run_python(page: Page, code: str) -> None:
    stream = io.StringIO()
    with contextlib.redirect_stdout(stream):
        exec(compile(code, page.name, "exec"), page.names)
    page.printed = stream.getvalue()


def commands(code: str) -> list[str]:
    """Lines of a console block; one that ends with a backslash goes on in the next."""
    return re.sub(r"\\\n\s*", "", code).splitlines()


def run_command(page: Page, line: str) -> None:
    """Run a line of a console block, or parse it if it is listed."""
    if not line.startswith("$ "):
        return
    command, _, note = line.partition("  #")
    words = shlex.split(command.removeprefix("$ "))
    listed = [key for key in PARSED if words[: len(key.split())] == key.split()]
    if page.name in {*ELSEWHERE, *OVERVIEWS} or (listed and page.name not in REAL_DATA):
        parse(page, words)
        return
    assert words[0] == "partialfair", f"{page.name}: {line} is neither run nor listed"
    expected = int(found[1]) if (found := re.search(r"exit status (\d)", note)) else 0
    result = CliRunner().invoke(app, words[1:])
    assert result.exit_code == expected, (line, result.output, result.exception)


def parse(page: Page, words: list[str]) -> None:
    """Check a command that is not run: its verb, options and targets exist."""
    if words[0] == "partialfair":
        command: Any = typer.main.get_command(app)
        arguments, context = words[1:], None
        while hasattr(command, "resolve_command"):
            context = command.make_context(command.name, [], parent=context, resilient_parsing=True)
            _, command, arguments = command.resolve_command(context, arguments)
            assert command is not None, f"{page.name}: no verb {' '.join(words)}"
        command.make_context(command.name, arguments, parent=context)
    elif words[0] == "make":
        makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
        for target in (word for word in words[1:] if "=" not in word):
            assert re.search(rf"^{target}:", makefile, re.MULTILINE), f"{page.name}: no target {target} in the Makefile"
    elif words[0] == "snakemake":
        given = [word.removeprefix("params=") for word in words if word.startswith("params=")]
        source = page.folder / (given[0] if given else "params.yaml")
        if not source.exists():
            return
        config = load_config(source)
        known = {*TARGETS, *config.experiments, *config.params.exhibits}
        targets = words[words.index("--") + 1 :] if "--" in words else [word for word in words if word in known]
        assert set(targets) <= known, f"{page.name}: {' '.join(words)}"


def read_yaml(page: Page, code: str) -> None:
    """Write a block that begins with a file name to that file; any other must at least be YAML."""
    named = re.match(r"# (\S+\.yaml)\n", code)
    if named:
        (page.folder / named[1]).write_text(code, encoding="utf-8")
        check_settings(load_config(page.folder / named[1]))
    assert yaml.safe_load(code)


def compare(page: Page, expected: str) -> None:
    """Compare what the block before printed with what the page shows; decimal numbers to one unit of the last digit."""
    found, wanted = NUMBER.findall(page.printed), NUMBER.findall(expected)
    assert len(found) == len(wanted), f"{page.name} shows\n{expected}\nbut the code prints\n{page.printed}"
    for one, other in zip(found, wanted, strict=True):
        if re.fullmatch(r"-?\d+\.\d+", other):
            unit = 10.0 ** -len(other.partition(".")[2])
            message = f"{page.name}: {one}, shown {other}; write it anew: python -m tests.docs.examples"
            assert abs(float(one) - float(other)) < 1.5 * unit, message
        else:
            assert one == other, page.name


def test_a_page_that_shows_another_number_is_noticed() -> None:
    page = Page("made up", Path(), {}, "accuracy 0.900\n")
    compare(page, "accuracy 0.901\n")
    for other in ("accuracy 0.903\n", "auc 0.900\n", "accuracy\n"):
        with pytest.raises(AssertionError):
            compare(page, other)


def test_a_command_that_does_not_exist_is_noticed() -> None:
    page = Page("made up", ROOT, {})
    parse(page, ["make", "demo"])
    parse(page, ["partialfair", "data", "fetch", "a9a", "--offline"])
    parse(page, ["snakemake", "--cores", "2", "--", "figure1"])
    wrong = ["make demmo", "partialfair data fetsh", "partialfair check --confg x.yaml", "snakemake -- figure0"]
    for line in wrong:
        with pytest.raises((AssertionError, TyperException)):
            parse(page, line.split())
