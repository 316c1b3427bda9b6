"""What a claim compares, seed by seed: numbers that are positive where the claim's method is the better one."""

import math
from collections.abc import Iterator
from dataclasses import replace
from itertools import chain, pairwise
from typing import Any

import numpy as np

from partialfair import plugins
from reproduction.statistics.effect import Effect, mean_effect, welch_effect
from reproduction.verdicts import exhibit_tables as tables
from reproduction.verdicts import frontiers
from reproduction.verdicts.claim import Claim, ComparisonSide, FromTable
from reproduction.verdicts.equal_fairness import at_equal
from reproduction.verdicts.evidence import Evidence
from reproduction.verdicts.exhibit_tables import Values
from reproduction.verdicts.results import Results, Setting
from reproduction.verdicts.sample import (
    GridCell,
    MeasuredEffects,
    label_of,
    metric_values,
    name_of,
    note_missing_seeds,
    sign_of,
    weakest,
)


def cells_of(evidence: Evidence[Any], claim: Claim) -> Iterator[GridCell]:
    """Yield the cells of the grid in which a claim is decided, one line of the scorecard or more for each."""
    if claim.table is not None:
        table = tables.read(evidence.root, claim.table)
        datasets = list(table["dataset"].dropna().unique()) if table is not None and "dataset" in table else [""]
        yield from (GridCell("", str(name)) for name in claim.datasets or datasets)
        return
    experiments = claim.experiments[:1] if claim.over == "experiments" else claim.experiments
    for experiment in experiments:
        for dataset in evidence.config.experiment(experiment).runs:
            if not claim.datasets or dataset in claim.datasets:
                yield GridCell(experiment, dataset)


# --- numbers of one side -----------------------------------------------------------------------------------------


def values(evidence: Evidence[Any], claim: Claim, cell: GridCell, side: ComparisonSide) -> tuple[Values, str]:
    """Return a side's compared number by seed; if there is none, an empty mapping and the reason."""
    if claim.table is not None:
        numbers = tables.values(evidence.root, claim.table, cell.dataset, side.method or claim.method)
        if numbers:
            return numbers, ""
        where = f" on {cell.dataset}" if cell.dataset else ""
        which = "".join(f", {name} {value}" for name, value in claim.table.where.items())
        return numbers, f"{claim.table.exhibit} has no rows of {side.method or claim.method}{where}{which}"
    setting, reason = _setting_of(evidence.results, claim, cell, side)
    if setting is None:
        return {}, reason
    return metric_values(evidence, claim, setting), evidence.results.reason(setting)


def _setting_of(results: Results, claim: Claim, cell: GridCell, side: ComparisonSide) -> tuple[Setting | None, str]:
    """Return the setting of a side, at its tolerance or the only one; ``None`` and the reason if it is not unique."""
    experiment, method = side.experiment or cell.experiment, side.method or claim.method
    kappa = side.kappa if side.kappa is not None else claim.kappa
    settings = frontiers.settings_of(results, frontiers.TrainedMethod(experiment, method), cell.dataset)
    matching = [
        setting
        for setting in settings
        if kappa is None or math.isinf(setting.kappa) or math.isclose(setting.kappa, kappa)
    ]
    if len(matching) == 1:
        return matching[0], ""
    where = f"{method} on {cell.dataset} in {experiment}" + (f" at kappa {kappa:g}" if kappa is not None else "")
    return None, f"no run of {where}" if not matching else f"{where} has several tolerances; the claim names none"


# --- comparisons ---------------------------------------------------------------------------------------------------


def compare(evidence: Evidence[Any], claim: Claim, cell: GridCell, side: ComparisonSide) -> MeasuredEffects:
    """Compare the claim's method with one other side, at a tolerance or at equal fairness."""
    label = label_of(evidence, claim, cell, side)
    claim = _paired(claim, side)
    if claim.at_equal is not None:
        return at_equal(evidence, claim, cell, side, label)
    if claim.table is not None and claim.table.each:
        return _at_each(evidence, claim, claim.table, cell, side, label)
    method_values, why = values(evidence, claim, cell, ComparisonSide(method=claim.method))
    side_values, why_not = values(evidence, claim, cell, side)
    if claim.table is not None and (claim.table.common or claim.table.ends):
        methods = [claim.method, side.method or claim.method]
        method_values, side_values = tables.in_common(evidence.root, claim.table, cell.dataset, methods)
    if not method_values or not side_values:
        return MeasuredEffects(
            against=label, metric=name_of(claim), reason=why or why_not or "no run gives this number"
        )
    effect = _effect(claim, method_values, side_values)
    if not effect.n:
        return MeasuredEffects(against=label, metric=name_of(claim), reason="no seed has values of both")
    note = f"means {np.mean(list(method_values.values())):.4g} and {np.mean(list(side_values.values())):.4g}"
    sample = MeasuredEffects((effect,), effect, label, name_of(claim), note)
    if claim.table is not None and claim.table.across:
        return _with_count(evidence, claim, claim.table, cell, sample)
    return note_missing_seeds(evidence, claim, cell, [side], sample, effect.n)


def _paired(claim: Claim, side: ComparisonSide) -> Claim:
    """Return the claim restricted to the rows of its table that belong to the pair with the other side."""
    table = claim.table
    if table is None or table.pair is None:
        return claim
    where = table.where | {table.pair: side.method or claim.method}
    return claim.model_copy(update={"table": table.model_copy(update={"where": where})})


def _with_count(
    evidence: Evidence[Any], claim: Claim, table: FromTable, cell: GridCell, measured: MeasuredEffects
) -> MeasuredEffects:
    """Return a comparison of spreads whose note counts the values of the column that they are over."""
    rows = tables.rows_of(evidence.root, table, cell.dataset, claim.method)
    count = rows[table.across].nunique()
    share = f"of {table.values} " if table.values else ""
    note = f"{measured.note}; over {count} {share}{table.across}s"
    return replace(measured, note=note, incomplete=count < table.values)


def _at_each(
    evidence: Evidence[Any], claim: Claim, table: FromTable, cell: GridCell, side: ComparisonSide, label: str
) -> MeasuredEffects:
    """Compare the method with a side at each value of a column at which both have rows."""
    rows = tables.read(evidence.root, table)
    effects: dict[str, Effect] = {}
    for value in [] if rows is None else rows[table.each].dropna().unique():
        value_table = table.model_copy(update={"where": table.where | {str(table.each): value}})
        methods = (claim.method, side.method or claim.method)
        numbers = [tables.values(evidence.root, value_table, cell.dataset, method) for method in methods]
        if all(numbers):
            effects[str(value)] = _effect(claim, *numbers)
    if not effects:
        _, reason = values(evidence, claim, cell, side)
        return MeasuredEffects(
            against=label, metric=name_of(claim), reason=reason or f"no {table.each} has rows of both"
        )
    share = f"{len(effects)} of {table.values} {table.each}s" if table.values else f"{len(effects)} {table.each}s"
    note = f"{share}: " + ", ".join(f"{name} {effect.mean:+.4g}" for name, effect in effects.items())
    at_values = tuple(effects.values())
    incomplete = len(at_values) < table.values
    return MeasuredEffects(at_values, weakest(at_values), label, name_of(claim), note, incomplete=incomplete)


def _effect(claim: Claim, method_values: Values, side_values: Values) -> Effect:
    """Return the effect d = s (x - y), s = 1 if larger is better and -1 otherwise: paired by seed, else Welch's."""
    sign = sign_of(claim)
    if claim.pairing == "none":
        return welch_effect([sign * v for v in method_values.values()], [sign * v for v in side_values.values()])
    return mean_effect(
        [sign * (method_values[seed] - side_values[seed]) for seed in sorted(method_values.keys() & side_values.keys())]
    )


def compare_spreads(evidence: Evidence[Any], claim: Claim, cell: GridCell, side: ComparisonSide) -> MeasuredEffects:
    """Measure how much less the method's number varies than the other side's, over seeds, experiments or tolerances.

    Over seeds the effect is that of the absolute deviations from the median (Brown and Forsythe 1974), paired by seed;
    otherwise that of the standard deviations of each seed's numbers.
    """
    label = label_of(evidence, claim, cell, side)
    spreads = [
        _spread(evidence, claim, cell, compared_side) for compared_side in (ComparisonSide(method=claim.method), side)
    ]
    if not all(spreads):
        return MeasuredEffects(against=label, metric=name_of(claim), reason="not all the runs have a value")
    method_spread, side_spread = spreads
    seeds = sorted(method_spread.keys() & side_spread.keys())
    effect = mean_effect([side_spread[seed] - method_spread[seed] for seed in seeds])
    means = " and ".join(f"{np.mean(list(spread.values())):.4g}" for spread in spreads)
    measured = MeasuredEffects(
        (effect,), effect, label, f"spread of {name_of(claim)} over {claim.over}", f"mean spreads {means}"
    )
    return note_missing_seeds(evidence, claim, cell, [side], measured, effect.n)


def _spread(evidence: Evidence[Any], claim: Claim, cell: GridCell, side: ComparisonSide) -> Values:
    """Return how much a side's number varies, by seed: |x_s - median| over seeds, else the standard deviation."""
    if claim.over == "seeds":
        numbers, _ = values(evidence, claim, cell, side)
        median = float(np.median(list(numbers.values()))) if numbers else math.nan
        return {seed: abs(value - median) for seed, value in numbers.items()}
    columns = _along(evidence, claim, cell, side)
    seeds = set.intersection(*(set(column) for column in columns)) if columns else set()
    return (
        {seed: float(np.std([column[seed] for column in columns], ddof=1)) for seed in seeds}
        if len(columns) > 1
        else {}
    )


def _along(evidence: Evidence[Any], claim: Claim, cell: GridCell, side: ComparisonSide) -> list[Values]:
    """Return the numbers at every experiment of the claim, or at every tolerance from the loosest to the strictest."""
    if claim.over == "experiments":
        return [values(evidence, claim, GridCell(name, cell.dataset), side)[0] for name in claim.experiments]
    pair = frontiers.TrainedMethod(side.experiment or cell.experiment, side.method or claim.method)
    settings = frontiers.settings_of(evidence.results, pair, cell.dataset)
    # a penalty weight grows towards strictness, a tolerance falls
    strict = 1 if plugins.load("algorithms", pair.algorithm).ALGORITHM.kappa == "weight" else -1
    return [metric_values(evidence, claim, setting) for setting in sorted(settings, key=lambda s: strict * s.kappa)]


def measure_trend(evidence: Evidence[Any], claim: Claim, cell: GridCell) -> MeasuredEffects:
    """Measure the trend of the number from the loosest tolerance to the strictest, or along the experiments."""
    columns = _along(evidence, claim, cell, ComparisonSide(method=claim.method))
    if claim.over == "kappa":  # the unconstrained model is the loosest
        start = _start(evidence, claim, cell)
        columns = [start, *columns] if start else columns
    name = f"{name_of(claim)} along {claim.over}"
    seeds = sorted(set.intersection(*(set(column) for column in columns))) if columns else []
    if len(columns) < 2 or not seeds:
        return MeasuredEffects(metric=name, reason="fewer than two settings have values at one seed")
    # (seeds, settings) with the sign that makes the claimed direction a rise, as Page's test asks for
    scores = np.array([[column[seed] for column in columns] for seed in seeds]) * (1 if claim.trend == "rises" else -1)
    effect = mean_effect(scores[:, -1] - scores[:, 0])
    note = "means " + ", ".join(f"{np.mean(list(column.values())):.4g}" for column in columns)
    experiment_sides = (
        [ComparisonSide(experiment=name) for name in claim.experiments] if claim.over == "experiments" else []
    )
    return note_missing_seeds(
        evidence,
        claim,
        cell,
        experiment_sides,
        MeasuredEffects((effect,), effect, "", name, note, scores=scores),
        len(seeds),
    )


def _start(evidence: Evidence[Any], claim: Claim, cell: GridCell) -> Values:
    """Return the number of the model without the constraint by seed; none if that is the claim's own method."""
    settings = frontiers.settings_of(
        evidence.results, frontiers.TrainedMethod(cell.experiment, claim.start), cell.dataset
    )
    return metric_values(evidence, claim, settings[0]) if settings and claim.start != claim.method else {}


def compare_with_limit(evidence: Evidence[Any], claim: Claim, cell: GridCell) -> MeasuredEffects:
    """Measure how far the number stays on the better side of the limit; of several tolerances, the worst per seed."""
    numbers, reason = _worst(evidence, claim, cell)
    if not numbers or claim.limit is None:
        return MeasuredEffects(
            against=f"limit {claim.limit:g}", metric=name_of(claim), reason=reason or "no run gives this number"
        )
    effect = mean_effect([sign_of(claim) * (value - claim.limit) for value in numbers.values()])
    note = f"mean {np.mean(list(numbers.values())):.4g}"
    power = _last_power(evidence, claim, claim.table, cell) if claim.limit_of_curve and claim.table else math.nan
    sample = MeasuredEffects((effect,), effect, f"limit {claim.limit:g}", name_of(claim), note, power=power)
    return note_missing_seeds(evidence, claim, cell, [], sample, len(numbers))


def _last_power(evidence: Evidence[Any], claim: Claim, table: FromTable, cell: GridCell) -> float:
    """Return the power of x like which a curve runs over the last decade of x, median over seeds; NaN without one."""
    # Least squares of log y = a + b log x over x >= max(x) / 10; the power is b.
    powers = []
    for rows in tables.runs(evidence.root, table, cell.dataset, claim.method).values():
        end = rows[rows[table.x] >= rows[table.x].max() / 10]
        end = end[end[table.value] > 0]
        if len(end) > 2:
            powers.append(float(np.polyfit(np.log(end[table.x]), np.log(end[table.value]), 1)[0]))
    return float(np.median(powers)) if powers else math.nan


def _worst(evidence: Evidence[Any], claim: Claim, cell: GridCell) -> tuple[Values, str]:
    """Return the worst number over the tolerances by seed, and the reason where there is none."""
    columns = (
        []
        if claim.table or claim.kappa is not None
        else _along(evidence, claim, cell, ComparisonSide(method=claim.method))
    )
    if len(columns) < 2:
        return values(evidence, claim, cell, ComparisonSide(method=claim.method))
    seeds = set.intersection(*(set(column) for column in columns))
    worst = min if sign_of(claim) > 0 else max
    return {seed: worst(column[seed] for column in columns) for seed in sorted(seeds)}, "no seed has all tolerances"


def measure_rate(evidence: Evidence[Any], claim: Claim, cell: GridCell) -> MeasuredEffects:
    """Measure how much faster the number falls along x than the power that is claimed."""
    # Per seed the slope b of log y = a + b log x by least squares; the effect is -b minus the claimed power.
    source, slopes = claim.table, []
    if source is None or source.x is None or claim.limit is None:
        return MeasuredEffects(reason="a rate needs a table with x")
    for rows in tables.runs(evidence.root, source, cell.dataset, claim.method).values():
        curve = tables.counted_rows(rows[rows[source.x] > 0], source, math.inf)
        curve = curve[curve[source.value] > 0]
        if len(curve) > 2:
            slopes.append(float(np.polyfit(np.log(curve[source.x]), np.log(curve[source.value]), 1)[0]))
    if not slopes:
        return MeasuredEffects(metric=name_of(claim), reason=f"{source.exhibit} has no curve of {claim.method}")
    effect = mean_effect([-slope - claim.limit for slope in slopes])
    note = f"falls as {source.x}^{np.mean(slopes):.2f}"
    return MeasuredEffects((effect,), effect, f"{source.x}^-{claim.limit:g}", name_of(claim), note)


def compare_order(evidence: Evidence[Any], claim: Claim, cell: GridCell) -> MeasuredEffects:
    """Compare every method of a set with every method of the next set."""
    numbers = {name: values(evidence, claim, cell, ComparisonSide(method=name))[0] for name in chain(*claim.order)}
    label = " before ".join("{" + ", ".join(evidence.label(n) for n in names) + "}" for names in claim.order)
    absent = [name for name, by_seed in numbers.items() if not by_seed]
    if absent:
        return MeasuredEffects(against=label, metric=name_of(claim), reason=f"no values of {', '.join(absent)}")
    pairs = [(a, b) for better, worse in pairwise(claim.order) for a in better for b in worse]
    effects = [_effect(claim, numbers[a], numbers[b]) for a, b in pairs]
    closest = min(range(len(pairs)), key=lambda k: effects[k].mean)
    means = ", ".join(
        f"{evidence.label(name)} {np.mean(list(by_seed.values())):.4g}" for name, by_seed in numbers.items()
    )
    note = f"means {means}; the closest call is {' and '.join(map(evidence.label, pairs[closest]))}"
    sample = MeasuredEffects(tuple(effects), effects[closest], label, name_of(claim), note)
    return note_missing_seeds(
        evidence, claim, cell, [], sample, min(len(numbers[a].keys() & numbers[b].keys()) for a, b in pairs)
    )
