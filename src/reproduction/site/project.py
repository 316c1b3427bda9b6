"""What every page of the site is made from: the grid, the papers, the scorecard, and the files of the exhibits."""

import csv
import json
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from partialfair.errors import DataError
from reproduction.datasets.named import named_dataset
from reproduction.exhibits import titles
from reproduction.grid.checkout import git
from reproduction.grid.config import Config, load_config
from reproduction.grid.papers import Paper, paper
from reproduction.site import scorecard_entries
from reproduction.site.scorecard_entries import Entry
from reproduction.verdicts.scorecard import dataset_titles

FORMATS = ("csv", "svg")
OWN_WORK = "own"


@dataclass(frozen=True)
class SiteExhibit:
    """One exhibit as the site shows it.

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
        """Return the files of the exhibit that exist, by format."""
        return {suffix: self.file(suffix) for suffix in FORMATS if self.file(suffix).is_file()}

    @property
    def short(self) -> str:
        """Return the title without the name of the paper, which a page of the paper need not repeat."""
        prefix, _, remainder = self.title.partition(", ")
        return (
            remainder
            if remainder.startswith(("Figure", "Table")) and not prefix.startswith(("Figure", "Table"))
            else self.title
        )


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
        """Return all lines of the scorecard."""
        entries = scorecard_entries.load(self.root / self.config.reports / "scorecard.csv")
        titles = {key: self._dataset_title(*key) for key in {(entry.paper, entry.dataset) for entry in entries}}
        experiments = experiment_titles(self.config)
        return [scorecard_entries.titled(entry, experiments, titles[entry.paper, entry.dataset]) for entry in entries]

    def _dataset_title(self, paper: str, dataset: str) -> str:
        """Return a dataset's title in a paper's folder or figures, else in its declaration; empty if it has none."""
        for name, dataset_entry in self.papers[paper].datasets.items() if paper in self.papers else ():
            if dataset == name:
                return dataset_entry.title
            if dataset.startswith(dataset_entry.here):
                remainder = dataset.removeprefix(dataset_entry.here).strip("_").replace("_", " ")
                return f"{dataset_entry.title} ({remainder})" if remainder else dataset_entry.title
        if title := dataset_titles(self.config, paper).get(dataset) or titles.VALUE_TITLES.get(dataset, ""):
            return str(title)
        is_known = dataset in self.config.datasets
        return named_dataset(dataset, self.config.dataset_options(dataset)).spec.title if is_known else ""

    def data_facts(self, experiments: Iterable[str]) -> list[tuple[str, str]]:
        """Return the title of every dataset of some experiments, with what its label and its groups are."""
        facts: dict[str, str] = {}
        for experiment in map(self.config.experiment, experiments):
            for name in experiment.runs:
                spec = named_dataset(name, self.config.dataset_options(name)).spec
                title = self._dataset_title(experiment.paper, name)
                facts.setdefault(title, f"{spec.label}. Groups: {spec.groups}.")
        return list(facts.items())

    @cached_property
    def verdicts(self) -> dict[str, dict[str, Any]]:
        """Return the entries of ``verdicts.json`` by the paper's folder; none before the file is written.

        Raises:
            DataError: the file is damaged.
        """
        path = self.root / self.config.reports / "verdicts.json"
        try:
            verdicts = json.loads(path.read_text(encoding="utf-8"))["papers"] if path.is_file() else []
            return {entry["paper"]: entry for entry in verdicts}
        except (ValueError, KeyError, TypeError) as error:
            raise DataError(
                f"{path}: it is not what a scorecard writes; `git checkout {path}` brings the committed file back, and "
                "`partialfair scorecard --keep` writes it anew"
            ) from error

    @cached_property
    def papers(self) -> dict[str, Paper]:
        """Return the papers that have a folder, in the grid's order."""
        names = dict.fromkeys(e.paper for e in self.config.experiments.values())
        return {
            name: paper(name, self.root) for name in names if (self.root / "papers" / name / "paper.yaml").is_file()
        }

    @cached_property
    def exhibits(self) -> dict[str, SiteExhibit]:
        """Return the exhibits that have been drawn, in the grid's order."""
        exhibits = {name: self._read_exhibit(name) for name in self.config.params.exhibits}
        return {name: exhibit for name, exhibit in exhibits.items() if exhibit.files or exhibit.file("html").is_file()}

    def short(self, paper: str) -> str:
        """Return what a paper is called in tables: what its folder says, else the folder's name in words."""
        folder_paper = self.papers.get(paper)
        return (folder_paper.short if folder_paper else "") or paper.replace("_", " ").capitalize()

    def _read_exhibit(self, name: str) -> SiteExhibit:
        entry = self.config.params.exhibits[name]
        extra: dict[str, Any] = entry.model_extra or {}
        experiments = tuple(entry.experiments or self.config.experiments)
        section = str(extra.get("section") or "")
        folder = self.config.experiment(experiments[0]).paper
        return SiteExhibit(
            name, OWN_WORK if section or folder not in self.papers else folder, entry.title,
            str(extra.get("caption") or ""), entry.kind, section, str(extra.get("published") or name),
            self.root / "reports" / name, experiments,
        )  # fmt: skip

    def entries_of_paper(self, name: str) -> list[Entry]:
        """Return the lines of the scorecard of one paper."""
        return [entry for entry in self.entries if entry.paper == name]

    def lines(self, exhibit: SiteExhibit) -> list[Entry]:
        """Return the lines of the scorecard that an exhibit answers."""
        exhibit_keys, paper = {exhibit.name, exhibit.published}, self._paper_of(exhibit)
        return [
            entry
            for entry in self.entries
            if entry.paper == paper
            and entry.exhibit in exhibit_keys
            and (self.page(entry) == exhibit.name or entry.exhibit == exhibit.name)
        ]

    def _paper_of(self, exhibit: SiteExhibit) -> str:
        """Return the paper of an exhibit's experiments, also of an exhibit that goes beyond the papers."""
        return self.config.experiment(exhibit.experiments[0]).paper

    @cached_property
    def _pages(self) -> dict[tuple[str, str], str]:
        pages: dict[tuple[str, str], str] = {}
        for name, exhibit in self.exhibits.items():
            pages.setdefault((self._paper_of(exhibit), exhibit.published), name)
        return {**pages, **{(self._paper_of(exhibit), name): name for name, exhibit in self.exhibits.items()}}

    def page(self, entry: Entry) -> str:
        """Return the exhibit whose page shows a line of the scorecard; empty if there is none."""
        name = self._pages.get((entry.paper, entry.exhibit), "")
        return name or (entry.exhibit if entry.exhibit in self.exhibits else "")

    def variants(self, exhibit: SiteExhibit) -> list[SiteExhibit]:
        """Return the exhibits that show the same in other ways, the first one first; none if there is only one."""
        base = self.base(exhibit.name)
        family = [variant for name, variant in self.exhibits.items() if name == base or self.base(name) == base]
        return family if len(family) > 1 else []

    def base(self, name: str) -> str:
        """Return the exhibit that another is a variant of, by name; itself if there is none."""
        heads = [candidate for candidate in self.exhibits if name.startswith(f"{candidate}_")]
        return min(heads, key=len, default=name)

    @cached_property
    def revision(self) -> tuple[str, str]:
        """Return commit and date of the committed scorecard; empty where git does not know it."""
        output = git("log", "-1", "--format=%h %cs", "--", "reports/scorecard.csv", folder=self.root)
        commit, _, date = (output or b"").decode().strip().partition(" ")
        return commit, date


def experiment_titles(config: Config) -> dict[str, str]:
    """Return the title of every experiment by its name."""
    return {name: experiment.title for name, experiment in config.experiments.items()}


def read_csv(path: Path) -> list[dict[str, str]]:
    """Read a CSV as text by column."""
    with path.open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))
