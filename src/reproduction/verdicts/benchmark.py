"""A benchmark of methods at several tolerances: the models that validation rows choose, and ranks on test rows.

A method's candidates are all its runs under the constraint on a dataset, whatever their parameter means. For a
tolerance and a seed one rule chooses among them (``tuning.ACCURATE_WITHIN``), on validation rows. On test rows a model
*exceeds* the tolerance if its violation does so by more than sampling explains: if the lower end of the bootstrap
interval lies above it.
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd

from partialfair import plugins
from partialfair.algorithms import tuning
from partialfair.errors import NotEstimableError
from partialfair.metrics.uncertainty import Estimate, t_interval
from reproduction.grid.tidy import CERTIFICATES
from reproduction.statistics.paired import Difference, paired_difference
from reproduction.verdicts.evidence import Evidence
from reproduction.verdicts.results import Results, Setting

NOTHING = -3.0  # score of a method without a model, below those of all models


@dataclass(frozen=True)
class Picked:
    """The model of a method that counts for one dataset, seed and tolerance.

    Attributes:
        setting: whose run it is.
        accuracy, violation: on test rows.
        exceeds: whether the violation is above the tolerance by more than sampling explains.
    """

    setting: Setting
    accuracy: float
    violation: float
    exceeds: bool

    @property
    def score(self) -> float:
        """Larger is better: models within the tolerance by accuracy, then the others by violation.

        A violation that cannot be estimated counts as the largest there is.
        """
        if not self.exceeds:
            return self.accuracy
        return -2.0 if math.isnan(self.violation) else -1.0 - self.violation


@dataclass(frozen=True)
class Method:
    """A method on one dataset at one tolerance.

    Attributes:
        picked: by seed; a seed at which the method has no model is missing.
        runs: rows of the table of runs that belong to ``picked``.
        cpu_seconds: processor time of all candidates of a seed, mean over seeds.
        why_not: the reason, if it does not apply or was not run.
    """

    picked: Mapping[int, Picked]
    runs: pd.DataFrame
    cpu_seconds: float = math.nan
    why_not: str = ""

    @property
    def applies(self) -> bool:
        """Whether there is anything to rank."""
        return not self.why_not

    def statuses(self) -> str:
        """Measured statuses with their counts, the most frequent first."""
        return ", ".join(f"{status} {count}" for status, count in Counter(self.runs["status"]).most_common())

    def certificates(self) -> dict[str, float]:
        """The largest value of each kind; NaN where there is none of a kind."""
        kinds = {kind: self.runs[kind].dropna() if kind in self.runs else [] for kind in CERTIFICATES}
        return {kind: float(max(values)) if len(values) else math.nan for kind, values in kinds.items()}


def violation_metric(evidence: Evidence[Any], experiment: str) -> str:
    """Name of the metric that an experiment's tolerance bounds."""
    found = evidence.config.experiment(experiment)
    return str(plugins.load("constraints", found.constraint).VIOLATION[found.kappa_scale])


def method(evidence: Evidence[Any], experiment: str, dataset: str, algorithm: str, tolerance: float) -> Method:
    """Choose a method's models for a tolerance, seed by seed on validation rows."""
    known, key = _index(evidence.results).methods, (experiment, dataset, algorithm, tolerance)
    if key not in known:
        known[key] = _method(evidence, *key)
    return known[key]


def _method(evidence: Evidence[Any], experiment: str, dataset: str, algorithm: str, tolerance: float) -> Method:
    kappas = evidence.config.experiment(experiment).runs[dataset].algorithms[algorithm]
    settings = [Setting(experiment, dataset, algorithm, kappa) for kappa in kappas]
    runs = _index(evidence.results).runs(experiment, dataset, algorithm)
    if runs.empty or (runs["status"] == "not_run").all():
        return Method({}, runs, why_not="not run")
    if (runs["status"] == "not_applicable").all():
        return Method({}, runs, why_not=str(runs["reason"].iloc[0]))
    metric = violation_metric(evidence, experiment)
    picked = {}
    for seed in sorted(set(runs["seed"])):
        setting = choose(evidence, settings, metric, tolerance, seed)
        if setting is not None:
            picked[seed] = _picked(evidence, setting, metric, tolerance, seed)
    chosen = {(seed, one.setting.kappa) for seed, one in picked.items()}
    own = runs[[pair in chosen for pair in zip(runs["seed"], runs["kappa"], strict=True)]]
    return Method(picked, own, float(runs.groupby("seed")["cpu_seconds"].sum().mean()))


def choose(
    evidence: Evidence[Any], settings: Sequence[Setting], metric: str, tolerance: float, seed: int
) -> Setting | None:
    """The setting that the validation rows of a seed choose; ``None`` if none has a model."""
    rates = {
        name: [evidence.results.values(one, of, "validation").get(seed, math.nan) for one in settings]
        for name, of in (("violation", metric), ("validation_accuracy", "accuracy"))
    }
    try:
        return settings[tuning.select(rates, tuning.ACCURATE_WITHIN, limit=tolerance).index]
    except NotEstimableError:
        return None


def _picked(evidence: Evidence[Any], setting: Setting, metric: str, tolerance: float, seed: int) -> Picked:
    accuracy, violation = (evidence.results.values(setting, name)[seed] for name in ("accuracy", metric))
    low = _index(evidence.results).lows.get((*setting, metric, seed), math.nan)
    kept = (violation if math.isnan(low) else low) <= tolerance  # not by what could not be measured
    return Picked(setting, accuracy, violation, not kept)


class _Index:
    """What is asked of one set of results again and again, found once: a benchmark asks for thousands.

    Attributes:
        methods: what :func:`method` has returned, by its arguments.
        lows: lower ends of intervals on test rows, by setting, metric and seed.
    """

    def __init__(self, results: Results) -> None:
        self.methods: dict[tuple[str, str, str, float], Method] = {}
        self._runs: dict[Any, pd.DataFrame] = dict(iter(results.runs.groupby(["experiment", "dataset", "algorithm"])))
        self._none = results.runs.iloc[:0]
        test = results.metrics[results.metrics["split"] == "test"]
        keys = zip(*(test[name] for name in (*Setting._fields, "metric", "seed")), strict=True)
        self.lows = dict(zip(keys, test["ci_low"], strict=True))

    def runs(self, *key: str) -> pd.DataFrame:
        """Rows of the runs of (experiment, dataset, algorithm)."""
        return self._runs.get(key, self._none)


_index = lru_cache(maxsize=4)(_Index)


def ranks(methods: Mapping[str, Mapping[str, Method]], same_rows: Mapping[str, str]) -> dict[str, tuple[Any, Estimate]]:
    """Ranks of methods, 1 is the best: by dataset (means over seeds), and their mean over datasets with its t-interval.

    Args:
        methods: by dataset and algorithm; those that apply to every dataset are ranked.
        same_rows: datasets that hold the rows of another one; the two count as one.
    """
    names = [n for n in next(iter(methods.values()), {}) if all(of[n].applies for of in methods.values())]
    by_dataset = {}
    for dataset, of in methods.items():
        seeds = sorted({seed for name in names for seed in of[name].picked})
        scores = pd.DataFrame(
            [[of[n].picked[seed].score if seed in of[n].picked else NOTHING for n in names] for seed in seeds],
            columns=names,
        )
        by_dataset[dataset] = scores.rank(axis=1, ascending=False).mean()
    table = pd.DataFrame(by_dataset)
    blocks = table.T.groupby([same_rows.get(str(name), str(name)) for name in table.columns]).mean()
    return {str(name): (table.loc[name].to_dict(), t_interval(blocks[name].to_numpy())) for name in blocks}


def best(methods: Mapping[str, Method], names: Iterable[str]) -> str | None:
    """The method with the largest mean score, of those with models at the most seeds; ``None`` if none has any."""
    scores = {name: [one.score for one in methods[name].picked.values()] for name in names if name in methods}
    most = max(map(len, scores.values()), default=0)
    full = {name: float(np.mean(of)) for name, of in scores.items() if of and len(of) == most}
    return max(full, key=lambda name: full[name]) if full else None


def gap(one: Method, other: Method, level: float) -> Difference:
    """Test accuracy of one method minus that of another, paired over seeds."""
    seeds = sorted(one.picked.keys() & other.picked.keys())
    first, second = ([of.picked[seed].accuracy for seed in seeds] for of in (one, other))
    return paired_difference(first, second, level)
