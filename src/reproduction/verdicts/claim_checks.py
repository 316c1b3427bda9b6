"""Claims that name what their grid does not have, refused before anything runs."""

import csv
import math
from collections.abc import Callable, Collection, Iterable, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from partialfair.errors import ConfigError
from partialfair.metrics import names as metric_names
from partialfair.plugins import did_you_mean, nearest
from partialfair.plugins import names as plugin_names
from reproduction.grid import papers
from reproduction.grid.config import Config
from reproduction.grid.tidy import REPEAT_MEAN, REPEAT_SD, RUN_COLUMNS
from reproduction.verdicts.claim import Claim, Side, load, needs_direction
from reproduction.verdicts.run_scores import is_metric

FURTHER = ("kappas", "levels")
"""Settings of algorithms of which one job answers further tolerances."""


def check(config: Config, columns: Callable[[str], Sequence[str]], root: Path = Path()) -> None:
    """Refuse claims that name what the grid does not have, before anything runs.

    Claims of a paper are left alone where a grid has only some of its experiments: they are not run there.

    Args:
        config: the grid.
        columns: of an exhibit's CSV, by its name; empty where they are not known beforehand.
        root: the project's root.

    Raises:
        ConfigError: one sentence with file, claim, name and remedy.
    """
    before = _decided(root / "reports" / "scorecard.csv")
    for paper in config.papers:
        own = papers.experiments(paper, root)
        for claim in load(paper, root) if own <= config.experiments.keys() else ():
            where = f"{papers.file(paper, papers.CLAIMS)}: {claim.id}"
            _check_exhibit(config, claim, where)
            _check_metrics(claim, where)
            _check_names(config, claim, where)
            _check_readings(config, claim, where)
            _check_added(claim, before.get((paper, claim.id), set()), where)
            if not claim.absent:
                _check_sides(claim, where)
                _check_runs(config, claim, where)
            if claim.table is not None:
                _check_columns(claim.table.exhibit, claim.table.columns, columns(claim.table.exhibit), where)


def _check_known(what: str, names: Iterable[str], known: Collection[str], where: str) -> None:
    for name in names:
        if name not in known:
            raise ConfigError(f"{where}: unknown {what} {name!r}; {did_you_mean(name, known)}")


def _check_columns(exhibit: str, names: Iterable[str], known: Sequence[str], where: str) -> None:
    for name in names if known else ():
        if name not in known:
            raise ConfigError(f"{where}: {exhibit}.csv has no column {name!r}; {did_you_mean(name, known)}")


def shown_as(config: Config) -> dict[str, set[str]]:
    """What the papers' numbers call the exhibits of a grid, with the kinds that show each."""
    found: dict[str, set[str]] = {}
    for name, entry in config.params.exhibits.items():
        found.setdefault(str((entry.model_extra or {}).get("published") or name), set()).add(entry.kind)
    return found


def _check_exhibit(config: Config, claim: Claim, where: str) -> None:
    """The exhibit is one of the grid, or what one of them is published as."""
    _check_known(
        "exhibit", [claim.exhibit] if claim.exhibit else [], {*config.params.exhibits, *shown_as(config)}, where
    )


def _check_metrics(claim: Claim, where: str) -> None:
    """A metric is computed here, over repeats of a fit if need be, or is a column of the table of runs."""
    held_equal = claim.at_equal.metric if claim.at_equal is not None else None
    for name in filter(None, [claim.metric, held_equal]):
        if name not in RUN_COLUMNS and not is_metric(name.removesuffix(REPEAT_MEAN).removesuffix(REPEAT_SD)):
            near = nearest(name, [*metric_names(), *RUN_COLUMNS])
            hint = f"did you mean {near!r}?" if near else "name a metric, or a column of runs.parquet"
            raise ConfigError(f"{where}: unknown metric {name!r}; {hint}")


def _check_names(config: Config, claim: Claim, where: str) -> None:
    if not claim.absent and needs_direction(claim):
        raise ConfigError(
            f"{where}: {claim.metric or 'a table'} does not say which is better; add `better: smaller` or larger"
        )
    _check_known(
        "experiment",
        [*claim.experiments, *(side.experiment for side in [*claim.sides(), *claim.null_sides()] if side.experiment)],
        config.experiments,
        where,
    )
    if claim.table is not None:
        _check_known("exhibit of a table", [claim.table.exhibit], config.params.exhibits, where)
        return
    datasets = {name for experiment in config.experiments.values() for name in experiment.runs}
    _check_known("dataset", claim.datasets, datasets, where)
    if isinstance(claim.margin, dict):
        _check_known("dataset of a margin", claim.margin, {*datasets, "default"}, where)
    sides = [side.method for side in [*claim.sides(), *claim.null_sides()]]
    methods = [claim.method, claim.start, *sides, *chain(*claim.order)]
    _check_known("algorithm", [name for name in methods if name], plugin_names("algorithms"), where)


def _check_readings(config: Config, claim: Claim, where: str) -> None:
    """A claim at equal fairness says how else it can be read, and what difference matters to nobody."""
    if claim.needs_readings and claim.readings is None:
        raise ConfigError(f"{where}: at_equal has no readings; declare how else the sentence can be read, and why")
    if claim.needs_readings and claim.test in ("better", "worse") and claim.practical is None:
        raise ConfigError(f"{where}: at_equal has no practical margin; say below which difference nobody would choose")
    if claim.practical is not None and claim.test not in ("better", "worse"):
        raise ConfigError(f"{where}: test {claim.test} looks at no practical margin; leave it out")
    options = chain(*(claim.readings.options.values() if claim.readings is not None else ()))
    others = [name for option in options for name in option.experiments]
    _check_known("experiment of a reading", others, config.experiments, where)


def _check_added(claim: Claim, before: set[int], where: str) -> None:
    """Readings that are declared beside a decided verdict say so."""
    if claim.readings is not None and not claim.readings.added_after and before - {len(claim.readings.every())}:
        raise ConfigError(
            f"{where}: readings were added or left out after its verdict was known; say so in added_after, in words"
        )


def _decided(path: Path) -> dict[tuple[str, str], set[int]]:
    """How many letters the decided comparisons of each claim have in the scorecard that stands there."""
    found: dict[tuple[str, str], set[int]] = {}
    if path.is_file():
        with path.open(encoding="utf-8", newline="") as stream:
            for row in csv.DictReader(stream):
                if row.get("claim") and row.get("verdict") in ("holds", "fails", "undecided"):
                    letters = len("".join((row.get("letters") or "").split()))
                    found.setdefault((row["paper"], row["claim"]), set()).add(letters)
    return found


def _check_sides(claim: Claim, where: str) -> None:
    """No method is compared with itself: a table has one row of numbers for it, an experiment one run at a kappa."""
    for side in claim.sides():
        same = side.method in (None, claim.method) and side.kappa in (None, claim.kappa)
        if same and (claim.table is not None or side.experiment is None or side.experiment in claim.experiments):
            raise ConfigError(f"{where}: against compares {claim.method} with itself; name another method or kappa")


def _check_runs(config: Config, claim: Claim, where: str) -> None:
    """What is compared was trained in each experiment of the claim, at the tolerance that the claim names."""
    if claim.table is not None:
        return
    for dataset in claim.datasets:
        if not any(dataset in config.experiments[name].runs for name in claim.experiments):
            experiments = ", ".join(claim.experiments)
            raise ConfigError(f"{where}: {experiments} has no run on {dataset}; name one of its datasets")
    own = [Side(method=claim.method)] if claim.method else []
    for side in (*own, *(Side(method=name) for name in chain(*claim.order)), *claim.sides()):
        for experiment in claim.experiments:
            _check_tolerances(config, claim, side, experiment, where)


def _tolerances(config: Config, claim: Claim, side: Side, experiment: str) -> list[list[float]]:
    """Tolerances of a side on each dataset of an experiment that the claim looks at and that has runs of it."""
    name, method = side.experiment or experiment, side.method or claim.method
    there, settings = config.experiments[name].runs, config.algorithm_settings(name, method)
    more = [kappa for key in FURTHER for kappa in _listed(settings.get(key))]
    datasets = [one for one in config.experiments[experiment].runs if one in (claim.datasets or there)]
    found = (there[one].algorithms.get(method, []) for one in datasets if one in there)
    return [[*kappas, *more] for kappas in found if kappas]


def _check_tolerances(config: Config, claim: Claim, side: Side, experiment: str, where: str) -> None:
    name, method = side.experiment or experiment, side.method or claim.method
    if claim.datasets and not {*claim.datasets} & {*config.experiments[experiment].runs}:
        return
    found = _tolerances(config, claim, side, experiment)
    if not found:
        runs = {one for run in config.experiments[name].runs.values() for one in run.algorithms}
        on = f" on {', '.join(claim.datasets)}" if claim.datasets else ""
        raise ConfigError(f"{where}: {name} has no run of {method}{on}; it runs {', '.join(sorted(runs))}")
    kappa = side.kappa if side.kappa is not None else claim.kappa
    shown = ", ".join(f"{one:g}" for one in sorted({*chain(*found)}, reverse=True))
    if kappa is not None and not any(math.isinf(one) or math.isclose(one, kappa) for one in chain(*found)):
        raise ConfigError(f"{where}: {name} has no run of {method} at kappa {kappa:g}; its tolerances are {shown}")
    if kappa is None and _needs_kappa(claim) and any(len(kappas) > 1 for kappas in found):
        raise ConfigError(f"{where}: {name} runs {method} at several tolerances ({shown}); name one by kappa")


def _needs_kappa(claim: Claim) -> bool:
    """Whether a claim takes one number per run of a method: not a curve of tolerances, nor the worst of them."""
    along = claim.over != "seeds" and claim.test in ("steadier", "monotone")
    return claim.at_equal is None and not along and claim.test != "bound"


def _listed(value: Any) -> list[float]:
    """The numbers of a list, of which YAML takes 1e-5 for text; a setting that is no list is about something else."""
    try:
        return [float(one) for one in value] if isinstance(value, list) else []
    except (TypeError, ValueError):
        return []
