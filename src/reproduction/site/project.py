"""What every page of the site is made from: the grid, the papers, the scorecard, and the files of the exhibits."""

import csv
import json
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from reproduction.datasets.named import named_dataset
from reproduction.exhibits import words
from reproduction.grid.checkout import git
from reproduction.grid.config import Config, load_config
from reproduction.grid.papers import Paper, paper
from reproduction.site import card
from reproduction.site.card import Entry
from reproduction.verdicts.scorecard import dataset_titles

FORMATS = ("csv", "svg", "pdf", "png")
OWN = "own"


@dataclass(frozen=True)
class Shown:
    """One exhibit.

    Attributes:
        name: its key in the grid, and the name of its page.
        paper: the folder of its paper; ``own`` for what goes beyond the papers.
        title, caption, kind, section: as the grid has them.
        published: key under which its numbers are published.
        folder: where its files lie.
        experiments: whose results it shows.
    """

    name: str
    paper: str
    title: str
    caption: str
    kind: str
    section: str
    published: str
    folder: Path
    experiments: tuple[str, ...]

    def file(self, suffix: str) -> Path:
        """Return the path of one of its files, there or not."""
        return self.folder / f"{self.name}.{suffix}"

    @property
    def files(self) -> dict[str, Path]:
        """Its files that can be had, by format."""
        return {suffix: self.file(suffix) for suffix in FORMATS if self.file(suffix).is_file()}

    @property
    def short(self) -> str:
        """Its title without the name of the paper, which a page of the paper need not repeat."""
        head, _, rest = self.title.partition(", ")
        return rest if rest.startswith(("Figure", "Table")) and not head.startswith(("Figure", "Table")) else self.title


class Project:
    """A checkout with committed results.

    Args:
        root: its folder.
        params: the grid, relative to it.
    """

    def __init__(self, root: Path, params: str | Path = "params.yaml") -> None:
        self.root = root
        self.config: Config = load_config(root / params)

    @cached_property
    def entries(self) -> list[Entry]:
        """All lines of the scorecard."""
        found = card.load(self.root / self.config.reports / "scorecard.csv")
        titles = {key: self._dataset_title(*key) for key in {(entry.paper, entry.dataset) for entry in found}}
        return [replace(entry, titled=titles[entry.paper, entry.dataset]) for entry in found]

    def _dataset_title(self, paper: str, dataset: str) -> str:
        """What a paper's folder or figures call a dataset, or its declaration; empty if they say nothing of it."""
        for name, one in self.papers[paper].datasets.items() if paper in self.papers else ():
            if dataset == name:
                return one.title
            if dataset.startswith(one.here):
                rest = dataset.removeprefix(one.here).strip("_").replace("_", " ")
                return f"{one.title} ({rest})" if rest else one.title
        if title := dataset_titles(self.config, paper).get(dataset) or words.OWN.get(dataset, ""):
            return str(title)
        known = dataset in self.config.datasets
        return named_dataset(dataset, self.config.dataset_options(dataset)).spec.title if known else ""

    @cached_property
    def verdicts(self) -> dict[str, dict[str, Any]]:
        """What ``verdicts.json`` says of each paper, by its folder; nothing before it has been written."""
        path = self.root / self.config.reports / "verdicts.json"
        found = json.loads(path.read_text(encoding="utf-8"))["papers"] if path.is_file() else []
        return {entry["paper"]: entry for entry in found}

    @cached_property
    def papers(self) -> dict[str, Paper]:
        """Papers that have a folder, those of the grid's order first."""
        names = dict.fromkeys(e.paper for e in self.config.experiments.values())
        return {
            name: paper(name, self.root) for name in names if (self.root / "papers" / name / "paper.yaml").is_file()
        }

    @cached_property
    def exhibits(self) -> dict[str, Shown]:
        """Exhibits that have been drawn, in the grid's order."""
        found = {name: self._shown(name) for name in self.config.params.exhibits}
        return {name: own for name, own in found.items() if own.files or own.file("html").is_file()}

    def short(self, paper: str) -> str:
        """Return what a paper is called in tables: what its folder says, else the folder's name in words."""
        own = self.papers.get(paper)
        return (own.short if own else "") or paper.replace("_", " ").capitalize()

    def _shown(self, name: str) -> Shown:
        entry = self.config.params.exhibits[name]
        more: dict[str, Any] = entry.model_extra or {}
        experiments = tuple(entry.experiments or self.config.experiments)
        section = str(more.get("section") or "")
        own = self.config.experiment(experiments[0]).paper
        return Shown(
            name, OWN if section or own not in self.papers else own, entry.title, str(more.get("caption") or ""),
            entry.kind, section, str(more.get("published") or name), self.root / "reports" / name, experiments,
        )  # fmt: skip

    def of_paper(self, name: str) -> list[Entry]:
        """Lines of the scorecard of one paper."""
        return [entry for entry in self.entries if entry.paper == name]

    def lines(self, shown: Shown) -> list[Entry]:
        """Lines of the scorecard that an exhibit answers."""
        own, paper = {shown.name, shown.published}, self._paper_of(shown)
        return [
            e
            for e in self.entries
            if e.paper == paper and e.exhibit in own and (self.page(e) == shown.name or e.exhibit == shown.name)
        ]

    def _paper_of(self, shown: Shown) -> str:
        """The paper of an exhibit's experiments, also where it stands among our own."""
        return self.config.experiment(shown.experiments[0]).paper

    @cached_property
    def _pages(self) -> dict[tuple[str, str], str]:
        found: dict[tuple[str, str], str] = {}
        for name, own in self.exhibits.items():
            found.setdefault((self._paper_of(own), own.published), name)
        return {**found, **{(self._paper_of(own), name): name for name, own in self.exhibits.items()}}

    def page(self, entry: Entry) -> str:
        """Return the exhibit whose page shows a line of the scorecard; empty if there is none."""
        found = self._pages.get((entry.paper, entry.exhibit), "")
        return found or (entry.exhibit if entry.exhibit in self.exhibits else "")

    def variants(self, shown: Shown) -> list[Shown]:
        """Return the exhibits that show the same in other ways, the first one first; none if there is only one."""
        base = self.base(shown.name)
        family = [own for name, own in self.exhibits.items() if name == base or self.base(name) == base]
        return family if len(family) > 1 else []

    def base(self, name: str) -> str:
        """Return the exhibit that another is a variant of, by name; itself if there is none."""
        heads = [other for other in self.exhibits if name.startswith(f"{other}_")]
        return min(heads, key=len, default=name)

    @cached_property
    def revision(self) -> tuple[str, str]:
        """Commit and date of the committed scorecard; empty where git does not know it."""
        found = git("log", "-1", "--format=%h %cs", "--", "reports/scorecard.csv", folder=self.root)
        commit, _, date = (found or b"").decode().strip().partition(" ")
        return commit, date


def read_csv(path: Path) -> list[dict[str, str]]:
    """Read a CSV as text by column."""
    with path.open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))
