"""Tests that decide a claim in words; each yields one finding per comparison.

All use the level of the intervals over seeds (95%): a claim that something is larger holds where the interval lies
above 0, which is the one-sided paired t-test at half the remaining error (2.5%). Fairness is 1 minus the absolute gap,
the convention of the published numbers; the note says what the definition's convention gives.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace

import numpy as np

from partialfair.metrics.statistics.frontier import LEVELS, Comparison, accuracy_at
from partialfair.metrics.statistics.paired import Difference, equivalence_p, increasing_trend, paired_difference
from partialfair.metrics.statistics.ranks import RankTest
from partialfair.tables import intervals
from partialfair.verdicts.claim import Claim
from partialfair.verdicts.evidence import Evidence
from partialfair.verdicts.finding import Finding, Line
from partialfair.verdicts.frontiers import Side, by_seed, compare_sides, metric_of, missing, settings_of, values
from partialfair.verdicts.hypervolumes import rank_test_of
from partialfair.verdicts.results import Results, Setting

_AT_EVERY = "paired t at every level of fairness (intersection-union)"
_ON_AVERAGE = "paired t of the average over levels of fairness"
_RANKS = "Friedman, then Holm-corrected comparisons of mean ranks"
_TOST = "two one-sided paired t at every kappa (intersection-union)"
_TREND = "Page's trend test, seeds as blocks"


def everywhere(evidence: Evidence, claim: Claim) -> Iterator[Finding]:
    """Accuracy is higher than each baseline's at every level of fairness that both reach."""
    for experiment in claim.experiments:
        for dataset in evidence.config.experiment(experiment).runs:
            own = _whose_runs(evidence, claim, experiment, dataset)
            for other in claim.against:
                sides = Side(experiment, own), Side(experiment, other)
                setting = f"against {evidence.label(other)}"
                head = Finding(experiment, dataset, setting, _metric(evidence, experiment), _AT_EVERY)
                found = _along(evidence, head, sides, at_every=True)
                if own != claim.algorithm:
                    note = f"{evidence.label(own)} in place of {evidence.label(claim.algorithm)}"
                    found = replace(found, note=f"{note}; {found.note}")
                yield found


def _whose_runs(evidence: Evidence, claim: Claim, experiment: str, dataset: str) -> str:
    """The claim's algorithm, or its stand-in where the experiment has no runs of it."""
    planned = evidence.config.experiment(experiment).runs[dataset].algorithms
    return claim.stand_in if claim.stand_in and claim.algorithm not in planned else claim.algorithm


def on_average(evidence: Evidence, claim: Claim) -> Iterator[Finding]:
    """Accuracy in the first experiment is higher than in the second, averaged over the fairness both reach."""
    first, second = claim.experiments
    for dataset in evidence.config.experiment(first).runs:
        sides = Side(first, claim.algorithm), Side(second, claim.algorithm)
        head = Finding(first, dataset, f"{first} against {second}", _metric(evidence, first), _ON_AVERAGE)
        found = _along(evidence, head, sides, at_every=False)
        printed = _published_average(evidence, claim, dataset)
        note = "" if math.isnan(printed) else f"; the published pairs themselves give {printed:+.4f} on average"
        yield replace(found, note=found.note + note)


def _published_average(evidence: Evidence, claim: Claim, dataset: str) -> float:
    """The same average difference of the printed numbers; NaN if the exhibit prints no pairs for both intervals."""
    sides = []
    for experiment in claim.experiments:
        interval = intervals.format_interval(evidence.config.experiment(experiment).runs[dataset].interval)
        pairs: dict[str, dict[str, float]] = {}
        for row in evidence.published_of(claim.exhibit):
            if (row.dataset, row.interval) == (dataset, interval):
                pairs.setdefault(row.setting, {})["accuracy" if row.metric == "accuracy" else "fairness"] = row.value
        sides.append(np.array([(pair["fairness"], pair["accuracy"]) for pair in pairs.values() if len(pair) == 2]))
    if not all(len(side) for side in sides):
        return math.nan
    low, high = sides[0][:, 0].min(), min(side[:, 0].max() for side in sides)
    levels = np.linspace(low, high, LEVELS + 1)[1:]
    one, other = (accuracy_at((side[:, 0], side[:, 1]), levels) for side in sides)
    return float(np.mean(one - other))


def _along(evidence: Evidence, head: Finding, sides: tuple[Side, Side], at_every: bool) -> Finding:
    """Compare two frontiers at equal fairness."""
    found = compare_sides(evidence, *sides, head.dataset)
    if found.average is None:
        return head.without_answer(found.reason)
    beside = compare_sides(evidence, *sides, head.dataset, "relative")
    note = f"{_where(found)}; {_reach(evidence, found, sides)}; by the definition {_where(beside)}"
    if not at_every:
        return head.decided(found.average.ahead, found.average.p_greater, found.average, note)
    everywhere_ahead = len(found.where("ahead")) == len(found.levels)
    decided = head.decided(everywhere_ahead, found.p_everywhere, found.average, note)
    return replace(decided, statistic=min(difference.statistic for difference in found.differences))


def _metric(evidence: Evidence, experiment: str) -> str:
    return f"accuracy difference at equal 1 - {metric_of(evidence, experiment)}"


def _where(found: Comparison) -> str:
    """Where along the fairness axis the first is ahead, behind or neither, in words."""
    if found.average is None:
        return found.reason
    parts, count = [], len(found.levels)
    for word in ("ahead", "behind"):
        levels = found.where(word)
        if len(levels):
            parts.append(f"{word} at {len(levels)} of {count} levels (fairness {levels[0]:.3f} to {levels[-1]:.3f})")
    rest = count - sum(len(found.where(word)) for word in ("ahead", "behind"))
    parts += [f"undecided at {rest} of {count}"] if rest else []
    return f"{', '.join(parts)}, average {found.average.mean:+.4f}"


def _reach(evidence: Evidence, found: Comparison, sides: tuple[Side, Side]) -> str:
    """How fair each side's fairest models are, which the common range does not show."""
    same = sides[0].algorithm == sides[1].algorithm
    names = [side.experiment if same else evidence.label(side.algorithm) for side in sides]
    return f"at every seed {names[0]} reaches {found.reach[0]:.3f}, {names[1]} {found.reach[1]:.3f}"


def best_ranked(evidence: Evidence, claim: Claim) -> Iterator[Finding]:
    """Hypervolumes rank above each baseline's over datasets and constraints."""
    found = rank_test_of(evidence, claim.experiments, claim.algorithm, [claim.algorithm, *claim.against])
    left = f"; left out for missing runs: {', '.join(found.left_out)}" if found.left_out else ""
    for other in claim.against:
        head = Finding("", "all", f"against {evidence.label(other)}", "difference of mean ranks", _RANKS)
        if found.reason or other not in found.post_hoc:
            yield head.without_answer((found.reason or f"{other} has no runs on some dataset") + left)
        else:
            yield _ranked(head, found, claim.algorithm, other, 1 - evidence.results.level, left)


def _ranked(head: Finding, found: RankTest, own: str, other: str, alpha: float, left: str) -> Finding:
    """One comparison of mean ranks; it counts only if Friedman's test finds any difference."""
    gap, p = found.mean_ranks[other] - found.mean_ranks[own], found.post_hoc[other]
    note = (
        f"mean rank {found.mean_ranks[own]:.2f} against {found.mean_ranks[other]:.2f} of {len(found.mean_ranks)} "
        f"algorithms on {found.blocks} pairs of dataset and constraint; Friedman p = {found.p:.4f}{left}"
    )
    holds = found.p < alpha and p < alpha and gap > 0
    shown = Difference(gap, math.nan, math.nan, found.statistic, math.nan, found.blocks)
    return head.decided(holds, p, shown, note)


def equivalent(evidence: Evidence, claim: Claim) -> Iterator[Finding]:
    """The two experiments differ by less than the exhibit's tolerance at every kappa, in accuracy and in fairness."""
    first, second = claim.experiments
    for dataset in evidence.config.experiment(first).runs:
        for metric in ("accuracy", metric_of(evidence, first)):
            name = metric if metric == "accuracy" else f"1 - {metric}"
            setting = f"{second} minus {first}, at the kappa where they differ most"
            head = Finding(first, dataset, setting, f"difference of {name}", _TOST)
            margin = evidence.tolerance(metric, dataset)
            if margin is None:
                yield head.without_answer("the exhibit has no tolerance in params.yaml to serve as the margin")
            else:
                yield _equivalence(evidence, claim, replace(head, tolerance=margin), metric, margin)


def _equivalence(evidence: Evidence, claim: Claim, head: Finding, metric: str, margin: float) -> Finding:
    """The finding on one dataset and metric."""
    found: dict[float, tuple[Difference, float]] = {}
    for kappa, pair in _same_kappa(evidence, claim, head.dataset).items():
        one, other = (values(evidence.results, setting, metric) for setting in pair)
        seeds = sorted(one.keys() & other.keys())
        if metric != "accuracy":  # of a violation, fairness is 1 minus it: the difference changes its sign
            one, other = other, one
        here, there = by_seed(other, seeds), by_seed(one, seeds)
        found[kappa] = paired_difference(here, there, evidence.results.level), equivalence_p(here, there, margin)
    tested = {kappa: pair for kappa, pair in found.items() if pair[0].tested}
    if not tested:
        reasons = "; ".join(missing(evidence, Side(name, claim.algorithm), head.dataset) for name in claim.experiments)
        return head.without_answer(f"no kappa has two seeds in both experiments: {reasons}")
    kappa = max(tested, key=lambda k: abs(tested[k][0].mean))
    left = [f"{k:g}" for k in found if k not in tested]
    note = f"margin {margin:g}; {len(tested)} kappas, the largest difference at kappa {kappa:g}"
    note += f"; without two seeds at kappa {', '.join(left)}" if left else ""
    p = max(p for _, p in tested.values())
    return head.decided(p <= (1 - evidence.results.level) / 2, p, tested[kappa][0], note)


def _same_kappa(evidence: Evidence, claim: Claim, dataset: str) -> Mapping[float, tuple[Setting, Setting]]:
    """Settings of the two experiments by the kappa they share."""
    one, other = (
        {setting.kappa: setting for setting in settings_of(evidence.results, Side(name, claim.algorithm), dataset)}
        for name in claim.experiments
    )
    return {kappa: (one[kappa], other[kappa]) for kappa in one if kappa in other}


def falls_with_length(evidence: Evidence, claim: Claim) -> Iterator[Finding]:
    """Accuracy falls from the shortest to the longest interval of a dataset."""
    for dataset in evidence.config.experiment(claim.experiments[0]).runs:
        lengths = {name: _length(evidence, name, dataset) for name in claim.experiments}
        ordered = sorted(lengths, key=lambda name: lengths[name])
        metric = "accuracy on the shortest minus on the longest interval"
        head = Finding(ordered[0], dataset, f"{len(ordered)} intervals", metric, _TREND)
        columns = [_single(evidence.results, Side(name, claim.algorithm), dataset) for name in ordered]
        seeds = sorted(set().union(*columns))
        accuracy = np.array([by_seed(column, seeds) for column in columns]).T
        found = increasing_trend(-accuracy)
        if math.isnan(found.p):
            absent = [name for name, column in zip(ordered, columns, strict=True) if not column]
            reasons = [missing(evidence, Side(name, claim.algorithm), dataset) for name in absent]
            yield head.without_answer("; ".join(reasons) or f"{found.n} seeds have all intervals; the test needs 2")
            continue
        means = zip(ordered, np.nanmean(accuracy, axis=0), strict=True)
        shown = ", ".join(f"{lengths[name]:g}: {mean:.4f}" for name, mean in means)
        lost = paired_difference(accuracy[:, 0], accuracy[:, -1], evidence.results.level)
        holds = found.p <= (1 - evidence.results.level) / 2
        note = f"mean accuracy by length of the interval {shown}; {found.n} seeds"
        yield replace(head.decided(holds, found.p, lost, note), statistic=found.statistic)


def _single(results: Results, side: Side, dataset: str) -> dict[int, float]:
    """Accuracy by seed of the one setting that an experiment has; of several, of the tightest."""
    settings = settings_of(results, side, dataset)
    found = values(results, min(settings, key=lambda s: s.kappa), "accuracy") if settings else {}
    return {seed: value for seed, value in found.items() if not math.isnan(value)}


def _length(evidence: Evidence, experiment: str, dataset: str) -> float:
    """Total length of the interval an experiment constrains, that of the first group where groups have their own."""
    run = evidence.config.experiment(experiment).runs.get(dataset)
    if run is None:
        return math.inf
    return round(float(sum(high - low for low, high in run.interval.first)), 10)


TESTS: Mapping[str, Callable[[Evidence, Claim], Iterator[Finding]]] = {
    "everywhere": everywhere,
    "best_ranked": best_ranked,
    "on_average": on_average,
    "equivalent": equivalent,
    "falls_with_length": falls_with_length,
}


def lines(evidence: Evidence, claims: Iterable[Claim]) -> Iterator[Line]:
    """Carry out the tests of claims: one line of the scorecard per comparison."""
    for claim in claims:
        absent = [name for name in claim.experiments if name not in evidence.config.experiments]
        if absent:
            words = claim.test.replace("_", " ")
            found = [Finding("", "", "", "", words, note=f"params.yaml has no experiment {', '.join(absent)}")]
        else:
            found = list(TESTS[claim.test](evidence, claim))
        for finding in found:
            yield finding.line(evidence, claim.statement, claim.algorithm, claim.id, claim.exhibit)
