"""Benchmark of methods at several tolerances: the models that validation rows choose, and ranks on test rows.

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

_NO_MODEL = -3.0  # score of a method without a model, below those of all models


@dataclass(frozen=True)
class Picked:
    """The model of a method that is chosen for one dataset, seed and tolerance.

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
        """Return the score of the model, larger is better: its accuracy if it is within the tolerance.

        A model that exceeds the tolerance scores -1 - violation; -2 if its violation cannot be estimated.
        """
        if not self.exceeds:
            return self.accuracy
        return -2.0 if math.isnan(self.violation) else -1.0 - self.violation


@dataclass(frozen=True)
class BenchmarkedMethod:
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
        """Whether the method has models to rank."""
        return not self.why_not

    def statuses(self) -> str:
        """Return the measured statuses with their counts, the most frequent first."""
        return ", ".join(f"{status} {count}" for status, count in Counter(self.runs["status"]).most_common())

    def certificates(self) -> dict[str, float]:
        """Return the largest certificate of each kind; NaN for a kind without a value."""
        kinds = {kind: self.runs[kind].dropna() if kind in self.runs else [] for kind in CERTIFICATES}
        return {kind: float(max(values)) if len(values) else math.nan for kind, values in kinds.items()}


def _violation_metric(evidence: Evidence[Any], experiment: str) -> str:
    """Return the name of the metric that an experiment's tolerance bounds."""
    entry = evidence.config.experiment(experiment)
    return str(plugins.load("constraints", entry.constraint).VIOLATION[entry.kappa_scale])


def method(
    evidence: Evidence[Any], experiment: str, dataset: str, algorithm: str, tolerance: float
) -> BenchmarkedMethod:
    """Choose a method's models for a tolerance, seed by seed on validation rows."""
    cache, key = _index(evidence.results).methods, (experiment, dataset, algorithm, tolerance)
    if key not in cache:
        cache[key] = _method(evidence, *key)
    return cache[key]


def _method(
    evidence: Evidence[Any], experiment: str, dataset: str, algorithm: str, tolerance: float
) -> BenchmarkedMethod:
    kappas = evidence.config.experiment(experiment).runs[dataset].algorithms[algorithm]
    settings = [Setting(experiment, dataset, algorithm, kappa) for kappa in kappas]
    runs = _index(evidence.results).runs(experiment, dataset, algorithm)
    if runs.empty or (runs["status"] == "not_run").all():
        return BenchmarkedMethod({}, runs, why_not="not run")
    if (runs["status"] == "not_applicable").all():
        return BenchmarkedMethod({}, runs, why_not=str(runs["reason"].iloc[0]))
    metric = _violation_metric(evidence, experiment)
    picked = {}
    for seed in sorted(set(runs["seed"])):
        setting = choose(evidence, settings, metric, tolerance, seed)
        if setting is not None:
            picked[seed] = _picked(evidence, setting, metric, tolerance, seed)
    chosen = {(seed, pick.setting.kappa) for seed, pick in picked.items()}
    picked_runs = runs[[pair in chosen for pair in zip(runs["seed"], runs["kappa"], strict=True)]]
    return BenchmarkedMethod(picked, picked_runs, float(runs.groupby("seed")["cpu_seconds"].sum().mean()))


def choose(
    evidence: Evidence[Any], settings: Sequence[Setting], metric: str, tolerance: float, seed: int
) -> Setting | None:
    """Return the setting that the validation rows of a seed choose; ``None`` if no setting has a model."""
    rates = {
        name: [evidence.results.values(setting, metric_name, "validation").get(seed, math.nan) for setting in settings]
        for name, metric_name in (("violation", metric), ("validation_accuracy", "accuracy"))
    }
    try:
        return settings[tuning.select(rates, tuning.ACCURATE_WITHIN, limit=tolerance).index]
    except NotEstimableError:
        return None


def _picked(evidence: Evidence[Any], setting: Setting, metric: str, tolerance: float, seed: int) -> Picked:
    accuracy, violation = (evidence.results.values(setting, name)[seed] for name in ("accuracy", metric))
    low = _index(evidence.results).lows.get((*setting, metric, seed), math.nan)
    within = (violation if math.isnan(low) else low) <= tolerance  # not by what could not be measured
    return Picked(setting, accuracy, violation, not within)


class _Index:
    """Lookups in one set of results that a benchmark repeats thousands of times.

    Attributes:
        methods: what :func:`method` has returned, by its arguments.
        lows: lower ends of intervals on test rows, by setting, metric and seed.
    """

    def __init__(self, results: Results) -> None:
        self.methods: dict[tuple[str, str, str, float], BenchmarkedMethod] = {}
        self._runs: dict[Any, pd.DataFrame] = dict(iter(results.runs.groupby(["experiment", "dataset", "algorithm"])))
        self._none = results.runs.iloc[:0]
        test = results.metrics[results.metrics["split"] == "test"]
        keys = zip(*(test[name] for name in (*Setting._fields, "metric", "seed")), strict=True)
        self.lows = dict(zip(keys, test["ci_low"], strict=True))

    def runs(self, *key: str) -> pd.DataFrame:
        """Return the rows of the runs of (experiment, dataset, algorithm)."""
        return self._runs.get(key, self._none)


_index = lru_cache(maxsize=4)(_Index)


def ranks(
    methods: Mapping[str, Mapping[str, BenchmarkedMethod]], same_rows: Mapping[str, str]
) -> dict[str, tuple[Any, Estimate]]:
    """Return the ranks of methods, 1 is the best: by dataset (means over seeds), and the mean with its t-interval.

    Args:
        methods: by dataset and algorithm; those that apply to every dataset are ranked.
        same_rows: datasets that hold the rows of another one; the two count as one.
    """
    names = [n for n in next(iter(methods.values()), {}) if all(by_method[n].applies for by_method in methods.values())]
    by_dataset = {}
    for dataset, by_method in methods.items():
        seeds = sorted({seed for name in names for seed in by_method[name].picked})
        scores = pd.DataFrame(
            [
                [by_method[n].picked[seed].score if seed in by_method[n].picked else _NO_MODEL for n in names]
                for seed in seeds
            ],
            columns=names,
        )
        by_dataset[dataset] = scores.rank(axis=1, ascending=False).mean()
    table = pd.DataFrame(by_dataset)
    blocks = table.T.groupby([same_rows.get(str(name), str(name)) for name in table.columns]).mean()
    return {str(name): (table.loc[name].to_dict(), t_interval(blocks[name].to_numpy())) for name in blocks}


def best(methods: Mapping[str, BenchmarkedMethod], names: Iterable[str]) -> str | None:
    """Return the method of the largest mean score among those with models at the most seeds; ``None`` if none has."""
    scores = {name: [pick.score for pick in methods[name].picked.values()] for name in names if name in methods}
    most = max(map(len, scores.values()), default=0)
    full = {
        name: float(np.mean(pick_scores))
        for name, pick_scores in scores.items()
        if pick_scores and len(pick_scores) == most
    }
    return max(full, key=lambda name: full[name]) if full else None


def gap(focus: BenchmarkedMethod, rival: BenchmarkedMethod, level: float) -> Difference:
    """Return the test accuracy of one method minus that of its rival, paired over seeds."""
    seeds = sorted(focus.picked.keys() & rival.picked.keys())
    accuracies, rival_accuracies = ([compared.picked[seed].accuracy for seed in seeds] for compared in (focus, rival))
    return paired_difference(accuracies, rival_accuracies, level)
