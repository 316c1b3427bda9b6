"""Where the files of a paper stand: ``papers/<paper>/`` of the project, one folder per paper.

``paper.yaml`` says what the paper is, ``grid.yaml`` what is run and drawn, ``published.csv`` which numbers it prints,
``claims.yaml`` what it claims in words, ``README.md`` what was corrected, reduced and found. An experiment may name a
paper that has no folder: it is then called by that name, and there is nothing to hold its results against.
"""

from functools import cache
from pathlib import Path
from typing import Any, Literal

import yaml
from pydantic import Field, field_validator

from partialfair.errors import ConfigError
from reproduction.grid.checks import validated
from reproduction.grid.params import StrictModel
from reproduction.grid.reading import parse, parse_strictly

FOLDER = Path("papers")
WHOLE = "params.yaml"
GRID = "grid.yaml"
ABOUT, PUBLISHED, CLAIMS = "paper.yaml", "published.csv", "claims.yaml"


class FirstFigure(StrictModel):
    """A figure that the site's first page offers to look into, and the words that belong to it alone."""

    exhibit: str = Field(description="its key in the grid; its CSV has accuracy against fairness by method")
    source: str = Field(description="what it is, as the beginning of a sentence: Figure 1 of the paper on ...")
    printed: str = Field("", description="where the paper prints the numbers that are shown as open marks")
    hidden: list[str] = Field([], description="methods that are shown when asked for, as the paper's figure lacks them")


class PrintedDataset(StrictModel):
    """A dataset under the name that a paper's published numbers have for it."""

    title: str = Field(description="what figures and tables call it")
    here: str = Field(description="how the names of the grid's datasets begin that are this one, however divided")


class Paper(StrictModel):
    """Content of ``paper.yaml``: what is said of a paper besides its numbers and claims."""

    title: str = Field(description="title, as printed")
    short: str = Field("", description="what tables and lists call it; by default its folder's name, in words")
    authors: list[str] = Field([], description="names in the printed order; none if the authors are anonymous")
    venue: str = Field("", description="where it appeared")
    year: str = Field("", description="when it appeared; empty if it does not say")
    link: str = Field("", description="address of the paper, if it states one")
    seeds: int | None = Field(None, ge=2, description="seeds that a printed mean is of; by default as many as here")
    central_claim: str = Field("", description="what the paper is about to show, in one paraphrased sentence")
    expects: Literal["", "holds", "partly", "mixed", "depends", "does not hold", "cannot tell"] = Field(
        "",
        description="verdict that the sentence below explains; a page prints that sentence only while it is this one",
    )
    verdict: str = Field("", description="why the central claim holds here or not, in one sentence without numbers")
    datasets: dict[str, PrintedDataset] = Field(
        {}, description="by the names of its published regressions, in the order shown; others go by the grid's names"
    )
    first_figure: FirstFigure | None = Field(None, description="its figure on the site's first page, if it has one")

    @field_validator("year", mode="before")
    @classmethod
    def _in_quotes_or_not(cls, value: Any) -> Any:
        return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


def grid_name(path: Path) -> str:
    """Return what a grid is called: a paper's folder, or the stem of another file; ``params.yaml``, the whole, nothing.

    Its scorecard and page go to ``reports/NAME/``, where they leave those of the whole alone.
    """
    folders = path.absolute().parts[:-1]
    if path.name == GRID and folders[-2:-1] == (FOLDER.name,):
        return folders[-1]
    return "" if path.name == WHOLE else path.stem


def file(paper: str, name: str, root: Path = Path()) -> Path:
    """Return the path of one of a paper's files, there or not.

    Args:
        paper: its folder, which is the name that experiments give it.
        name: ``PUBLISHED``, ``CLAIMS``, ...
        root: the project's root.
    """
    return root / FOLDER / paper / name


def experiments(paper: str, root: Path = Path()) -> set[str]:
    """Return the names of the experiments in a paper's own grid; none if it has no such file."""
    path = file(paper, GRID, root)
    content = parse(path.read_text(encoding="utf-8")) if path.is_file() else {}
    return set(content.get("experiments", {}))


def tables_of_claims(paper: str) -> set[str]:
    """Return the exhibits whose tables the claims of a paper read; none if it has no claims."""
    path = file(paper, CLAIMS)
    content = parse(path.read_text(encoding="utf-8")) if path.is_file() else None
    tables = [entry.get("table") for entry in content or [] if isinstance(entry, dict)]
    return {str(table["exhibit"]) for table in tables if isinstance(table, dict) and "exhibit" in table}


def files(paper: str) -> list[str]:
    """Return the files that a paper's results are held against, as far as they are there."""
    paths = (file(paper, name) for name in (ABOUT, PUBLISHED, CLAIMS))
    return [path.as_posix() for path in paths if path.is_file()]


def folders() -> list[str]:
    """Return the papers that have a folder with a ``paper.yaml``."""
    return sorted(path.parent.name for path in FOLDER.glob(f"*/{ABOUT}"))


def paper(name: str, root: Path = Path()) -> Paper:
    """Return what a paper's folder says of it; a paper without one is called by its name.

    Raises:
        ConfigError: ``paper.yaml`` cannot be read or says something else.
    """
    path = file(name, ABOUT, root)
    return _read(path, path.stat().st_mtime_ns) if path.is_file() else Paper(title=name.replace("_", " "))


@cache
def _read(path: Path, changed: int) -> Paper:  # ``changed`` makes a rewritten file a new entry
    try:
        content: Any = parse_strictly(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise ConfigError(f"{path}: not readable as YAML ({' '.join(str(error).split())}); correct it") from error
    return validated(content, Paper, str(path))
