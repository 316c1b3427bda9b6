"""What verdicts are made of: an entry of ``params.yaml``, the results of its experiments, and what a paper prints."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, Literal, TypeVar

from partialfair.grid.config import Config
from partialfair.metrics.uncertainty import Estimate
from partialfair.verdicts import published
from partialfair.verdicts.published import Published
from partialfair.verdicts.results import Results

O_co = TypeVar("O_co", covariant=True)


@dataclass(frozen=True)
class Outcome:
    """What was reproduced of one published number.

    Attributes:
        estimate: over seeds; ``None`` if nothing was measured.
        note: the reason, or what a reader should know.
        source: where the number comes from, for the note.
        band: the lowest and highest number that counts as reproduced, where the exhibit states one per number; else its
            tolerance counts.
        kind: whether the paper reports a result or states a setting.
        verdict: of a setting; numbers have theirs by band or tolerance.
    """

    estimate: Estimate | None
    note: str = ""
    source: str = ""
    band: tuple[float, float] | None = None
    kind: Literal["number", "setting"] = "number"
    verdict: str = ""


@dataclass(frozen=True)
class Evidence(Generic[O_co]):
    """What the numbers of an exhibit are held against.

    Attributes:
        config: the validated ``params.yaml``.
        name: the exhibit's key there.
        options: the exhibit's entry, checked by its kind; the entry as it is for a kind without a model.
        results: tidy tables of its experiments.
        root: the project's root.
    """

    config: Config
    name: str
    options: O_co
    results: Results
    root: Path

    def option(self, name: str, default: Any = None) -> Any:
        """An option by name, for functions that serve several kinds; ``default`` where a kind has none of that name."""
        if isinstance(self.options, Mapping):
            return self.options.get(name, default)
        found = getattr(self.options, name, default)
        return default if found is None else found

    @property
    def experiments(self) -> list[str]:
        """Experiments the exhibit shows; all of them if it names none."""
        return list(self.option("experiments") or self.config.experiments)

    @property
    def paper(self) -> str:
        """The paper the exhibit belongs to: that of its first experiment."""
        return self.config.experiment(self.experiments[0]).paper

    @property
    def published_as(self) -> str:
        """Key under which the exhibit's numbers are published."""
        return str(self.option("published", self.name))

    @property
    def published(self) -> tuple[Published, ...]:
        """Published numbers of the exhibit, which may name another than its own key by ``published``."""
        return self.published_of(self.published_as)

    def published_of(self, exhibit: str) -> tuple[Published, ...]:
        """Published numbers of another exhibit of the same paper."""
        return published.of_exhibit(self.paper, exhibit, self.root)

    def label(self, algorithm: str) -> str:
        """Name of an algorithm in sentences."""
        return algorithm

    def note(self, dataset: str) -> str:
        """What the entry's ``notes`` say about a dataset."""
        return str((self.option("notes") or {}).get(dataset, ""))

    def tolerance(self, metric: str, dataset: str) -> float | None:
        """Tolerance of a verdict, from the entry's ``tolerance``; counts must be exact.

        It is looked up by the metric's name, else under ``fairness``; each is a number, or numbers by dataset
        with a default.
        """
        if metric.startswith("n_"):
            return 0.0
        entries = self.option("tolerance") or {}
        entry = entries.get(metric, None if metric == "accuracy" else entries.get("fairness"))
        return entry.get(dataset, entry.get("default")) if isinstance(entry, Mapping) else entry
