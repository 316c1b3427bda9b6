"""The evidence of a verdict: an entry of ``params.yaml``, the results of its experiments, and the published numbers."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, Literal, TypeVar

from partialfair.metrics.uncertainty import Estimate
from reproduction.datasets.named import named_dataset
from reproduction.grid.config import Config
from reproduction.verdicts import published, run_scores
from reproduction.verdicts.published import Published
from reproduction.verdicts.results import Results, Setting

O_co = TypeVar("O_co", covariant=True)


@dataclass(frozen=True)
class ReproducedNumber:
    """The reproduction of one published number.

    Attributes:
        estimate: over seeds; ``None`` if nothing was measured.
        note: the reason, or what a reader should know.
        source: source of the number, for the note.
        band: the lowest and highest number that is near, where the exhibit states a band instead of a tolerance.
        kind: whether the paper reports a result or states a setting; a question if only its code gives the number.
        verdict: of a setting; the verdict of a number follows from noise, band or tolerance.
        noise: largest difference that noise explains, where it is not that of the seeds or of the exhibit's entry.
        explained: the lowest and highest number that noise explains, where it does not explain as much on either side.
        nulls: by null model its number: of a constant, the unconstrained model, a neighbouring tolerance, another
            method. A number that one of them gets as well has no power.
        repeats: why the number repeats another published one, in words; then it is listed and not judged.
    """

    estimate: Estimate | None
    note: str = ""
    source: str = ""
    band: tuple[float, float] | None = None
    kind: Literal["number", "setting", "question"] = "number"
    verdict: str = ""
    noise: float | None = None
    explained: tuple[float, float] | None = None
    nulls: Mapping[str, float] = field(default_factory=dict)
    repeats: str = ""


@dataclass(frozen=True)
class Evidence(Generic[O_co]):
    """The evidence on which the numbers of an exhibit, or the claims of a paper, are judged.

    Attributes:
        config: the validated ``params.yaml``.
        name: the exhibit's key there.
        options: the exhibit's entry, checked by its kind; of claims, a mapping.
        results: tidy tables of its experiments.
        root: the project's root.
    """

    config: Config
    name: str
    options: O_co
    results: Results
    root: Path

    @classmethod
    def for_claims(cls, config: Config, experiments: list[str], results: Results, root: Path) -> "Evidence[Any]":
        """Return the evidence for the claims of a paper: the results of its experiments."""
        return Evidence(config, "claims", {"experiments": experiments}, results, root)

    def option(self, name: str, default: Any = None) -> Any:
        """Return an option by name, for functions that serve several kinds; ``default`` if the entry lacks it."""
        if isinstance(self.options, Mapping):
            return self.options.get(name, default)
        value = getattr(self.options, name, default)
        return default if value is None else value

    @property
    def experiments(self) -> list[str]:
        """Return the experiments that the exhibit shows; all experiments if it names none."""
        return list(self.option("experiments") or self.config.experiments)

    @property
    def paper(self) -> str:
        """Return the paper to which the exhibit belongs: that of its first experiment."""
        return self.config.experiment(self.experiments[0]).paper

    @property
    def published_as(self) -> str:
        """Return the key under which the exhibit's numbers are published."""
        return str(self.option("published", self.name))

    @property
    def published(self) -> tuple[Published, ...]:
        """Return the published numbers of the exhibit, under the key of its option ``published`` or its own."""
        return self.published_of(self.published_as)

    def published_of(self, exhibit: str) -> tuple[Published, ...]:
        """Return the published numbers of another exhibit of the same paper."""
        return published.exhibit_numbers(self.paper, exhibit, self.root)

    def label(self, algorithm: str) -> str:
        """Return the name of an algorithm in sentences."""
        return algorithm

    def values(self, setting: Setting, metric: str, rows: str = "test") -> dict[int, float]:
        """Return a metric by seed; ``trained`` rows are all that a run was fitted to, from its stored scores."""
        if rows == "trained":
            return run_scores.values(self, setting, metric, "train")
        return self.results.values(setting, metric, rows)

    def is_generated(self, dataset: str) -> bool:
        """Whether a dataset is generated by this package."""
        if not any(dataset in experiment.runs for experiment in self.config.experiments.values()):
            return False
        return named_dataset(dataset, self.config.dataset_options(dataset)).spec.licence.startswith("generated")

    def note(self, dataset: str) -> str:
        """Return the note on a dataset from the entry's ``notes``; empty if there is none."""
        return str((self.option("notes") or {}).get(dataset, ""))

    def tolerance(self, metric: str, dataset: str) -> float | None:
        """Return the largest difference that is near, from the entry's ``tolerance``; counts must be exact.

        The tolerance is that of the metric's name, else that of ``fairness``: a number, or numbers by dataset with a
        default.
        """
        if metric.startswith("n_"):
            return 0.0
        return self._option_of_number("tolerance", metric, dataset)

    def tolerance_later(self, metric: str, dataset: str) -> str:
        """Return why the tolerance was set after a first look at results; empty if it was stated before."""
        return str(self._option_of_number("tolerance_later", metric, dataset) or "")

    def _option_of_number(self, option: str, metric: str, dataset: str) -> Any:
        """Return an option's value for a metric and a dataset; ``None`` if it has none."""
        entries = self.option(option) or {}
        entry = entries.get(metric, None if metric == "accuracy" else entries.get("fairness"))
        return entry.get(dataset, entry.get("default")) if isinstance(entry, Mapping) else entry
