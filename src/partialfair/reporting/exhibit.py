"""What an exhibit is: an entry of ``params.yaml`` drawn by its kind.

A kind is an entry of the dictionary ``KINDS`` of any module of this folder, found by scanning, so that another
paper adds its kinds in a file of its own.
"""

import pkgutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from partialfair.errors import ConfigError, PluginError
from partialfair.grid.config import Config
from partialfair.metrics.uncertainty import Estimate
from partialfair.plugins import did_you_mean
from partialfair.verdicts import published
from partialfair.verdicts.published import Published
from partialfair.verdicts.results import Results


@dataclass(frozen=True)
class Outcome:
    """What was reproduced of one published number.

    Attributes:
        estimate: over seeds; ``None`` if nothing was measured.
        note: the reason, or what a reader should know.
        experiment, kappa: where the number comes from, for the note.
        band: the lowest and highest number that counts as reproduced, where the exhibit states one per number; else its
            tolerance counts.
    """

    estimate: Estimate | None
    note: str = ""
    source: str = ""
    band: tuple[float, float] | None = None


@dataclass(frozen=True)
class Context:
    """Everything a kind draws from.

    Attributes:
        config: the validated ``params.yaml``.
        name: the exhibit's key there.
        options: the exhibit's entry.
        results: tidy tables of its experiments.
        root: the project's root.
        out_dir: where its files go.
    """

    config: Config
    name: str
    options: Mapping[str, Any]
    results: Results
    root: Path
    out_dir: Path

    @property
    def experiments(self) -> list[str]:
        """Experiments the exhibit shows; all of them if it names none."""
        return list(self.options.get("experiments") or self.config.experiments)

    @property
    def paper(self) -> str:
        """The paper the exhibit belongs to: that of its first experiment."""
        return self.config.experiment(self.experiments[0]).paper

    @property
    def published(self) -> tuple[Published, ...]:
        """Published numbers of the exhibit, which may name another than its own key by ``published``."""
        return published.of_exhibit(self.paper, str(self.options.get("published", self.name)))

    def path(self, suffix: str) -> Path:
        """Output file ``{out_dir}/{name}.{suffix}``."""
        return self.out_dir / f"{self.name}.{suffix}"

    def note(self, dataset: str) -> str:
        """What the entry's ``notes`` say about a dataset."""
        return str((self.options.get("notes") or {}).get(dataset, ""))

    def tolerance(self, metric: str, dataset: str) -> float | None:
        """Tolerance of a verdict, from the entry's ``tolerance``; counts must be exact.

        It is looked up by the metric's name, else under ``fairness``; each is a number, or numbers by dataset
        with a default.
        """
        if metric.startswith("n_"):
            return 0.0
        entries = self.options.get("tolerance") or {}
        entry = entries.get(metric, None if metric == "accuracy" else entries.get("fairness"))
        return entry.get(dataset, entry.get("default")) if isinstance(entry, Mapping) else entry


@dataclass(frozen=True)
class Kind:
    """How exhibits of one kind come about.

    Attributes:
        render: writes the files of the exhibit, one of them ``{name}.csv``, and returns their paths.
        fragment: the exhibit as a piece of HTML for the page; figures are those that ``render`` has written.
        reproduce: what was reproduced of one published number; ``None`` for kinds that have none.
        claims: lines of the scorecard that have no published number (see ``scorecard``).
        needs_results: whether there is nothing to show before an experiment has run.
    """

    render: Callable[[Context], list[Path]]
    fragment: Callable[[Context], str]
    reproduce: Callable[[Context, Published], Outcome] | None = None
    claims: Callable[[Context], list[dict[str, Any]]] | None = None
    needs_results: bool = True


@cache
def kinds() -> Mapping[str, Kind]:
    """Return all kinds by name.

    Raises:
        PluginError: two modules offer the same name.
    """
    found: dict[str, Kind] = {}
    package = import_module("partialfair.reporting.kinds")
    for module in pkgutil.iter_modules(package.__path__):
        for name, kind in getattr(import_module(f"{package.__name__}.{module.name}"), "KINDS", {}).items():
            if name in found:
                raise PluginError(f"kinds/{module.name}.py: kind {name!r} exists in another module; rename it")
            found[name] = kind
    return found


def context(config: Config, name: str, root: Path = Path(), out_dir: Path | None = None) -> Context:
    """Gather what the exhibit ``name`` is drawn from; ``out_dir`` is ``reports/{name}`` by default.

    Raises:
        ConfigError: there is no such exhibit.
    """
    entries = config.params.exhibits
    if name not in entries:
        raise ConfigError(f"{config.source}: unknown exhibit {name!r}; {did_you_mean(name, entries)}")
    options = entries[name].model_dump()
    experiments = options.get("experiments") or list(config.experiments)
    results = Results.load(root / "reports", experiments, config.params.bootstrap.level)
    return Context(config, name, options, results, root, out_dir or root / "reports" / name)


def kind_of(config: Config, name: str) -> Kind:
    """Return the kind of an exhibit.

    Raises:
        ConfigError: its ``kind`` is unknown.
    """
    kind = config.params.exhibits[name].kind
    if kind not in kinds():
        raise ConfigError(
            f"{config.source}: exhibits.{name}.kind: unknown kind {kind!r}; {did_you_mean(kind, kinds())}"
        )
    return kinds()[kind]


def body(context: Context) -> str:
    """Return an exhibit as a piece of HTML, or a sentence that says what it waits for."""
    kind = kind_of(context.config, context.name)
    if kind.needs_results and context.results.metrics.empty:
        return f"<p class='missing'>Not run: there are no results of {', '.join(context.experiments)} yet.</p>"
    return kind.fragment(context)
