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
from reproduction.verdicts.claim import Claim, FromTable, Side
from reproduction.verdicts.equal_fairness import at_equal
from reproduction.verdicts.evidence import Evidence
from reproduction.verdicts.exhibit_tables import Values
from reproduction.verdicts.results import Results, Setting
from reproduction.verdicts.sample import Place, Sample, label_of, lacking, metric_values, name_of, sign_of, weakest


def places(evidence: Evidence[Any], claim: Claim) -> Iterator[Place]:
    """Where a claim is decided, one line or more each."""
    if claim.table is not None:
        table = tables.read(evidence.root, claim.table)
        known = list(table["dataset"].dropna().unique()) if table is not None and "dataset" in table else [""]
        yield from (Place("", str(name)) for name in claim.datasets or known)
        return
    experiments = claim.experiments[:1] if claim.over == "experiments" else claim.experiments
    for experiment in experiments:
        for dataset in evidence.config.experiment(experiment).runs:
            if not claim.datasets or dataset in claim.datasets:
                yield Place(experiment, dataset)


# --- numbers of one side -----------------------------------------------------------------------------------------


def values(evidence: Evidence[Any], claim: Claim, place: Place, side: Side) -> tuple[Values, str]:
    """The compared number by seed, or none and the reason."""
    if claim.table is not None:
        found = tables.values(evidence.root, claim.table, place.dataset, side.method or claim.method)
        if found:
            return found, ""
        where = f" on {place.dataset}" if place.dataset else ""
        which = "".join(f", {name} {value}" for name, value in claim.table.where.items())
        return found, f"{claim.table.exhibit} has no rows of {side.method or claim.method}{where}{which}"
    setting, reason = setting_of(evidence.results, claim, place, side)
    if setting is None:
        return {}, reason
    return metric_values(evidence, claim, setting), evidence.results.reason(setting)


def setting_of(results: Results, claim: Claim, place: Place, side: Side) -> tuple[Setting | None, str]:
    """The runs of a side: those of its tolerance, of the only one by default."""
    experiment, method = side.experiment or place.experiment, side.method or claim.method
    kappa = side.kappa if side.kappa is not None else claim.kappa
    every = frontiers.settings_of(results, frontiers.Side(experiment, method), place.dataset)
    found = [one for one in every if kappa is None or math.isinf(one.kappa) or math.isclose(one.kappa, kappa)]
    if len(found) == 1:
        return found[0], ""
    where = f"{method} on {place.dataset} in {experiment}" + (f" at kappa {kappa:g}" if kappa is not None else "")
    return None, f"no run of {where}" if not found else f"{where} has several tolerances; the claim names none"


# --- comparisons ---------------------------------------------------------------------------------------------------


def compared(evidence: Evidence[Any], claim: Claim, place: Place, side: Side) -> Sample:
    """The method against one other side: its advantage, at a tolerance or at equal fairness."""
    label = label_of(evidence, claim, place, side)
    claim = _paired(claim, side)
    if claim.at_equal is not None:
        return at_equal(evidence, claim, place, side, label)
    if claim.table is not None and claim.table.each:
        return _at_each(evidence, claim, claim.table, place, side, label)
    own = Side(method=claim.method)
    found = [values(evidence, claim, place, one) for one in (own, side)]
    (one, why), (two, why_not) = found
    if claim.table is not None and (claim.table.common or claim.table.ends):
        methods = [claim.method, side.method or claim.method]
        one, two = tables.in_common(evidence.root, claim.table, place.dataset, methods)
    if not one or not two:
        return Sample(against=label, metric=name_of(claim), reason=why or why_not or "no run gives this number")
    effect = _effect(claim, one, two)
    if not effect.n:
        return Sample(against=label, metric=name_of(claim), reason="no seed has values of both")
    note = f"means {np.mean(list(one.values())):.4g} and {np.mean(list(two.values())):.4g}"
    sample = Sample((effect,), effect, label, name_of(claim), note)
    if claim.table is not None and claim.table.across:
        return _of_so_many(evidence, claim, claim.table, place, sample)
    return lacking(evidence, claim, place, [side], sample, effect.n)


def _paired(claim: Claim, side: Side) -> Claim:
    """The claim with those rows of its table alone that are of the pair with the other side."""
    table = claim.table
    if table is None or table.pair is None:
        return claim
    where = table.where | {table.pair: side.method or claim.method}
    return claim.model_copy(update={"table": table.model_copy(update={"where": where})})


def _of_so_many(evidence: Evidence[Any], claim: Claim, table: FromTable, place: Place, found: Sample) -> Sample:
    """A comparison of spreads, and over how many values of a column they are."""
    own = tables.rows_of(evidence.root, table, place.dataset, claim.method)
    count = own[table.across].nunique()
    share = f"of {table.values} " if table.values else ""
    note = f"{found.note}; over {count} {share}{table.across}s"
    return replace(found, note=note, incomplete=count < table.values)


def _at_each(evidence: Evidence[Any], claim: Claim, table: FromTable, place: Place, side: Side, label: str) -> Sample:
    """The advantage at each value of a column, where both sides have rows."""
    every = tables.read(evidence.root, table)
    effects: dict[str, Effect] = {}
    for value in [] if every is None else every[table.each].dropna().unique():
        own = table.model_copy(update={"where": table.where | {str(table.each): value}})
        methods = (claim.method, side.method or claim.method)
        one, two = (tables.values(evidence.root, own, place.dataset, method) for method in methods)
        if one and two:
            effects[str(value)] = _effect(claim, one, two)
    if not effects:
        _, reason = values(evidence, claim, place, side)
        return Sample(against=label, metric=name_of(claim), reason=reason or f"no {table.each} has rows of both")
    share = f"{len(effects)} of {table.values} {table.each}s" if table.values else f"{len(effects)} {table.each}s"
    note = f"{share}: " + ", ".join(f"{name} {effect.mean:+.4g}" for name, effect in effects.items())
    found = tuple(effects.values())
    return Sample(found, weakest(found), label, name_of(claim), note, incomplete=len(found) < table.values)


def _effect(claim: Claim, one: Values, two: Values) -> Effect:
    sign = sign_of(claim)
    if claim.pairing == "none":
        return welch_effect([sign * v for v in one.values()], [sign * v for v in two.values()])
    return mean_effect([sign * (one[seed] - two[seed]) for seed in sorted(one.keys() & two.keys())])


def steadiness(evidence: Evidence[Any], claim: Claim, place: Place, side: Side) -> Sample:
    """How much less the method's number varies than the other's: over seeds, experiments or tolerances.

    Over seeds: absolute deviations from the median, paired (Brown and Forsythe 1974). Otherwise the standard
    deviation of each seed's numbers.
    """
    label = label_of(evidence, claim, place, side)
    spreads = [_spread(evidence, claim, place, one) for one in (Side(method=claim.method), side)]
    if not all(spreads):
        return Sample(against=label, metric=name_of(claim), reason="not all the runs have a value")
    one, two = spreads
    effect = mean_effect([two[seed] - one[seed] for seed in sorted(one.keys() & two.keys())])
    shown = " and ".join(f"{np.mean(list(found.values())):.4g}" for found in spreads)
    found = Sample((effect,), effect, label, f"spread of {name_of(claim)} over {claim.over}", f"mean spreads {shown}")
    return lacking(evidence, claim, place, [side], found, effect.n)


def _spread(evidence: Evidence[Any], claim: Claim, place: Place, side: Side) -> Values:
    if claim.over == "seeds":
        found, _ = values(evidence, claim, place, side)
        middle = float(np.median(list(found.values()))) if found else math.nan
        return {seed: abs(value - middle) for seed, value in found.items()}
    columns = _along(evidence, claim, place, side)
    seeds = set.intersection(*(set(one) for one in columns)) if columns else set()
    return {seed: float(np.std([one[seed] for one in columns], ddof=1)) for seed in seeds} if len(columns) > 1 else {}


def _along(evidence: Evidence[Any], claim: Claim, place: Place, side: Side) -> list[Values]:
    """The number at every experiment of the claim, or at every parameter from the loosest to the strictest."""
    if claim.over == "experiments":
        return [values(evidence, claim, Place(name, place.dataset), side)[0] for name in claim.experiments]
    pair = frontiers.Side(side.experiment or place.experiment, side.method or claim.method)
    settings = frontiers.settings_of(evidence.results, pair, place.dataset)
    strict = 1 if plugins.load("algorithms", pair.algorithm).ALGORITHM.kappa == "weight" else -1
    return [metric_values(evidence, claim, one) for one in sorted(settings, key=lambda s: strict * s.kappa)]


def trend(evidence: Evidence[Any], claim: Claim, place: Place) -> Sample:
    """The number from the loosest parameter to the strictest, or along the claim's experiments."""
    columns = _along(evidence, claim, place, Side(method=claim.method))
    if claim.over == "kappa":  # the unconstrained model is the loosest
        start = _start(evidence, claim, place)
        columns = [start, *columns] if start else columns
    name = f"{name_of(claim)} along {claim.over}"
    seeds = sorted(set.intersection(*(set(one) for one in columns))) if columns else []
    if len(columns) < 2 or not seeds:
        return Sample(metric=name, reason="fewer than two settings have values at one seed")
    scores = np.array([[one[seed] for one in columns] for seed in seeds]) * (1 if claim.trend == "rises" else -1)
    effect = mean_effect(scores[:, -1] - scores[:, 0])
    note = "means " + ", ".join(f"{np.mean(list(one.values())):.4g}" for one in columns)
    own = [Side(experiment=one) for one in claim.experiments] if claim.over == "experiments" else []
    return lacking(evidence, claim, place, own, Sample((effect,), effect, "", name, note, scores=scores), len(seeds))


def _start(evidence: Evidence[Any], claim: Claim, place: Place) -> Values:
    settings = frontiers.settings_of(evidence.results, frontiers.Side(place.experiment, claim.start), place.dataset)
    return metric_values(evidence, claim, settings[0]) if settings and claim.start != claim.method else {}


def bounded(evidence: Evidence[Any], claim: Claim, place: Place) -> Sample:
    """How far the number stays on the better side of the limit; of several tolerances, the worst of each seed."""
    found, reason = _worst(evidence, claim, place)
    if not found or claim.limit is None:
        return Sample(
            against=f"limit {claim.limit:g}", metric=name_of(claim), reason=reason or "no run gives this number"
        )
    effect = mean_effect([sign_of(claim) * (value - claim.limit) for value in found.values()])
    note = f"mean {np.mean(list(found.values())):.4g}"
    power = _last_power(evidence, claim, claim.table, place) if claim.limit_of_curve and claim.table else math.nan
    sample = Sample((effect,), effect, f"limit {claim.limit:g}", name_of(claim), note, power=power)
    return lacking(evidence, claim, place, [], sample, len(found))


def _last_power(evidence: Evidence[Any], claim: Claim, table: FromTable, place: Place) -> float:
    """The power of x with which a curve runs over the last decade of x, median over seeds; NaN without one."""
    powers = []
    for rows in tables.runs(evidence.root, table, place.dataset, claim.method).values():
        end = rows[rows[table.x] >= rows[table.x].max() / 10]
        end = end[end[table.value] > 0]
        if len(end) > 2:
            powers.append(float(np.polyfit(np.log(end[table.x]), np.log(end[table.value]), 1)[0]))
    return float(np.median(powers)) if powers else math.nan


def _worst(evidence: Evidence[Any], claim: Claim, place: Place) -> tuple[Values, str]:
    columns = (
        [] if claim.table or claim.kappa is not None else _along(evidence, claim, place, Side(method=claim.method))
    )
    if len(columns) < 2:
        return values(evidence, claim, place, Side(method=claim.method))
    seeds = set.intersection(*(set(one) for one in columns))
    worst = min if sign_of(claim) > 0 else max
    return {seed: worst(one[seed] for one in columns) for seed in sorted(seeds)}, "no seed has all tolerances"


def rate(evidence: Evidence[Any], claim: Claim, place: Place) -> Sample:
    """How much faster the number falls along x than the power that is claimed: slopes of logarithms, by seed."""
    source, slopes = claim.table, []
    if source is None or source.x is None or claim.limit is None:
        return Sample(reason="a rate needs a table with x")
    for own in tables.runs(evidence.root, source, place.dataset, claim.method).values():
        part = tables.part(own[own[source.x] > 0], source, math.inf)
        part = part[part[source.value] > 0]
        if len(part) > 2:
            slopes.append(float(np.polyfit(np.log(part[source.x]), np.log(part[source.value]), 1)[0]))
    if not slopes:
        return Sample(metric=name_of(claim), reason=f"{source.exhibit} has no curve of {claim.method}")
    effect = mean_effect([-slope - claim.limit for slope in slopes])
    note = f"falls as {source.x}^{np.mean(slopes):.2f}"
    return Sample((effect,), effect, f"{source.x}^-{claim.limit:g}", name_of(claim), note)


def ordered(evidence: Evidence[Any], claim: Claim, place: Place) -> Sample:
    """Every method of a set against every one of the next set."""
    found = {name: values(evidence, claim, place, Side(method=name))[0] for name in chain(*claim.order)}
    words = " before ".join("{" + ", ".join(evidence.label(n) for n in names) + "}" for names in claim.order)
    absent = [name for name, own in found.items() if not own]
    if absent:
        return Sample(against=words, metric=name_of(claim), reason=f"no values of {', '.join(absent)}")
    pairs = [(a, b) for one, two in pairwise(claim.order) for a in one for b in two]
    effects = [_effect(claim, found[a], found[b]) for a, b in pairs]
    closest = min(range(len(pairs)), key=lambda k: effects[k].mean)
    means = ", ".join(f"{evidence.label(name)} {np.mean(list(own.values())):.4g}" for name, own in found.items())
    note = f"means {means}; the closest call is {' and '.join(map(evidence.label, pairs[closest]))}"
    sample = Sample(tuple(effects), effects[closest], words, name_of(claim), note)
    return lacking(evidence, claim, place, [], sample, min(len(found[a].keys() & found[b].keys()) for a, b in pairs))
