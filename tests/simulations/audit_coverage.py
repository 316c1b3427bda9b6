"""How many of 100 confidence intervals of an audit hold the true value: python -m tests.simulations.audit_coverage.

Writes reports/audit_coverage.csv, a row per cell and metric, and the table of docs/audit.md. A cell is a set of group
sizes, a rate of positive decisions, and a population in which the groups are alike or lie up to one standard deviation
apart. Samples are drawn from that population; its metrics are the truth. All samples of a cell are evaluated at once,
by the functions that an audit calls.
"""

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import norm

from partialfair.audit import confidence_limits
from partialfair.audit.interval_ends import violation_ends
from partialfair.audit.measures import PARTIAL, WHOLE
from partialfair.data.intervals import FULL, GroupPairs
from partialfair.errors import NotEstimableError
from partialfair.metrics import get
from partialfair.metrics.resampling import Replicates

ROOT = Path(__file__).parents[2]
TABLE, PAGE = ROOT / "reports" / "audit_coverage.csv", ROOT / "docs" / "audit.md"
BEGIN, END = "<!-- coverage: begin -->", "<!-- coverage: end -->"
LEVEL, SCORES = 0.95, 60
SAMPLES = {2: 2000, 10: 1000}  # by number of groups; a standard error of .005 and .007 at .95
LEAST = 0.93
RATES = (0.01, 0.05, 0.1, 0.3, 0.5)
GAPS = {2: (0.0, 0.2, 1.0), 10: (0.0, 1.0)}
"""By number of groups: distance of the outermost groups' mean scores, in standard deviations."""
SIZES: dict[str, tuple[tuple[int, ...], tuple[int, ...]]] = {
    "2,000 and 30": ((2000, 30), (600, 9)),
    "2,000 and 40, 5 positive": ((2000, 40), (600, 5)),
    "2,000 and 40, 10 positive": ((2000, 40), (600, 10)),
    "2,000 and 60, 20 positive": ((2000, 60), (600, 20)),
    "30 and 30": ((30, 30), (10, 10)),
    "300 and 300": ((300, 300), (90, 90)),
    "10,000 and 10,000": ((10000, 10000), (3000, 3000)),
    "ten of 200": ((200,) * 10, (60,) * 10),
    "ten of 1,000": ((1000,) * 10, (300,) * 10),
}
"""Rows of each group, and how many of them are positive."""


@dataclass(frozen=True)
class Population:
    """Chances of every score by group and label, (G, 2, B) from the highest score down, and columns above the cut."""

    chances: NDArray[np.float64]
    cut: int
    interval: tuple[float, float]


def population(groups: int, rate: float, gap: float) -> Population:
    """Normal scores, one standard deviation higher for the positive label; about ``rate`` of them above the cut."""
    shifts = gap * np.linspace(0.0, 1.0, groups)[:, None] + np.array([0.0, 1.0])
    cut = norm.isf(rate) + 0.3 + gap / 2
    ends = np.sort(np.append(norm.isf(np.linspace(0, 1, SCORES)[1:-1]) * 1.2 + 0.3 + gap / 2, cut))[::-1]
    above = norm.sf(ends[None, None] - shifts[..., None])
    chances = np.diff(above, prepend=0.0, append=1.0, axis=-1)
    return Population(chances, int(np.flatnonzero(ends == cut)[0]) + 1, (max(0.0, rate - 0.15), rate + 0.15))


def counted(counts: NDArray[np.int64], cut: int, interval: GroupPairs) -> Replicates:
    """Samples (R, G, 2, B) as the metrics read them."""
    above = np.cumsum(counts, axis=-1) - counts
    return Replicates(
        above=above.sum(axis=2),
        above_by_label=above.sum(axis=1),
        positive=counts[..., :cut].sum(axis=-1),
        sizes=counts[0].sum(axis=-1),
        interval=interval,
    )


def cell(sizes: str, rate: float, gap: float, samples: int, rng: np.random.Generator) -> Iterator[dict[str, object]]:
    """Coverage of every metric in one cell, with the median width of the intervals."""
    rows, positives = SIZES[sizes]
    world = population(len(rows), rate, gap)
    by_label = np.array([[n - p, p] for n, p in zip(rows, positives, strict=True)])
    draws = np.stack(
        [[rng.multinomial(by_label[k, y], world.chances[k, y], samples) for y in (0, 1)] for k in range(len(rows))]
    )
    draws = np.moveaxis(draws, 2, 0)
    # The population as one very large sample; each group has the shares of labels of the samples.
    share = by_label / by_label.sum(axis=1, keepdims=True)
    truth = np.rint(world.chances * share[..., None] * 1e12).astype(np.int64)[None]
    found: dict[str, list[tuple[NDArray, ...]]] = {}
    pairs = list(combinations(range(len(rows)), 2))
    for pair in pairs:
        own = list(pair)
        effective = np.column_stack([by_label, by_label.sum(axis=1)])[own].astype(float)
        for name in (*PARTIAL, *WHOLE):
            union: GroupPairs = (FULL,) * 2 if name in WHOLE else ((world.interval,),) * 2
            kernel = name.removesuffix("_full")
            two, all_of = (counted(each[:, own], world.cut, union) for each in (draws, truth))
            try:
                value = get(kernel).replicate(two)
            except NotEstimableError:  # fewer than two kept rows of a group with that label: the audit says so
                continue
            ends = violation_ends(kernel, two, value, effective, (1 - LEVEL) / 2, len(pairs))
            found.setdefault(name, []).append((*ends, get(kernel).replicate(all_of), value))
    for name, several in found.items():
        low, high = np.max([each[2] for each in several], axis=0), np.max([each[1] for each in several], axis=0)
        yield line(name, max(float(each[3][0]) for each in several), low, high)
    everyone, whole_truth = draws.sum(axis=1, keepdims=True), truth * by_label.sum(axis=1)[None, :, None, None]
    yield from quality(everyone, whole_truth.sum(axis=1, keepdims=True), by_label.sum(axis=0), world.cut)
    selected, chance = (each[..., : world.cut].sum(axis=(-1, -2)) for each in (draws, truth))
    chance = (chance / truth.sum(axis=(-1, -2)))[0]
    shares, sizes_of = selected / np.array(rows), np.array(rows, float)
    some = (shares.max(axis=1) > 0) & (shares.min(axis=1) < 1)
    low, high = confidence_limits.lowest_ratio(shares[some], sizes_of, LEVEL)
    yield line("selection_ratio", chance.min() / chance.max(), low, high)
    low, high = confidence_limits.share_limits(shares[:, -1], sizes_of[-1], (1 - LEVEL) / 2)
    yield line("rate of the last group", chance[-1], low, high)


def quality(draws: NDArray, truth: NDArray, by_label: NDArray, cut: int) -> Iterator[dict[str, object]]:
    """Accuracy, area under the curve and rate of positive decisions of all rows."""
    one, population_ = (counted(each, cut, (FULL,)) for each in (draws, truth))
    for name in ("accuracy", "positive_rate", "auc"):
        value, true = get(name).replicate(one), float(get(name).replicate(population_)[0])
        if name == "auc":
            ranks = one.above_by_label / by_label[:, None]
            low, high = confidence_limits.area_limits(ranks, by_label.astype(float), (FULL,) * 2, (1 - LEVEL) / 2)
        else:
            low, high = confidence_limits.share_limits(value, float(by_label.sum()), (1 - LEVEL) / 2)
        yield line(name, true, low, high)


def line(metric: str, truth: float, low: NDArray, high: NDArray) -> dict[str, object]:
    """One row of the table; without numbers where there is no interval."""
    if np.isnan(low).any():
        return {"metric": metric, "truth": round(float(truth), 4), "samples": len(low)}
    held = (low <= truth + 1e-9) & (high >= truth - 1e-9)
    return {
        "metric": metric,
        "truth": round(float(truth), 4),
        "samples": len(held),
        "covered": round(float(held.mean()), 4),
        "too_high": round(float((low > truth + 1e-9).mean()), 4),
        "too_low": round(float((high < truth - 1e-9).mean()), 4),
        "width": round(float(np.median(high - low)), 4),
    }


def calibration(rows: int, rate: float, samples: int, rng: np.random.Generator) -> dict[str, object]:
    """Coverage of the mean score minus the base rate of calibrated scores whose mean is ``rate``."""
    ends = []
    for _ in range(samples):
        scores = rng.beta(2 * rate, 2 * (1 - rate), rows)
        ends.append(
            confidence_limits.mean_gap_limits(scores, rng.random(rows) < scores, None, float(rows), (1 - LEVEL) / 2)
        )
    low, high = np.array(ends).T
    return line("calibration", 0.0, low, high)


def table(sizes: tuple[str, ...] = tuple(SIZES), seed: int = 0) -> pd.DataFrame:
    """All cells."""
    lines: list[dict[str, object]] = []
    for number, name in enumerate(sizes):
        groups = len(SIZES[name][0])
        samples = SAMPLES[groups]
        for rate in RATES:
            for gap in GAPS[groups]:
                rng = np.random.default_rng([seed, number, int(1000 * rate), int(10 * gap)])
                key = {"sizes": name, "rate": rate, "gap": gap}
                lines += [key | found for found in cell(name, rate, gap, samples, rng)]
            rng = np.random.default_rng([seed, number, int(1000 * rate), 99])
            rows = SIZES[name][0][-1]
            lines.append({"sizes": name, "rate": rate, "gap": 0.0} | calibration(rows, rate, min(samples, 1000), rng))
        print(name, flush=True)
    return pd.DataFrame(lines)


def markdown(found: pd.DataFrame) -> str:
    """The lowest coverage over rates and populations by metric and sizes, in percent."""
    lowest = 100 * found.groupby(["metric", "sizes"])["covered"].min().unstack()
    order = [*PARTIAL, *WHOLE, "selection_ratio", "accuracy", "positive_rate", "auc", "rate of the last group"]
    lowest = lowest.loc[[*order, "calibration"], list(SIZES)]
    header = "| lowest of 100 | " + " | ".join(lowest.columns) + " |\n|---|" + "---|" * len(lowest.columns)
    lines = [
        f"| {f'`{name}`' if ' ' not in name else name} | "
        + " | ".join("none" if np.isnan(value) else f"{value:.1f}" for value in row)
        + " |"
        for name, row in zip(lowest.index, lowest.to_numpy(), strict=True)
    ]
    return "\n".join([header, *lines])


def write(found: pd.DataFrame) -> None:
    """Write the table and its part of the page."""
    found.to_csv(TABLE, index=False)
    text = PAGE.read_text(encoding="utf-8")
    before, rest = text.split(BEGIN)
    PAGE.write_text(f"{before}{BEGIN}\n{markdown(found)}\n{END}{rest.split(END)[1]}", encoding="utf-8")


if __name__ == "__main__":
    result = table()
    write(result)
    below = result[result["covered"] < LEAST]
    print(f"{len(result)} rows, lowest {result['covered'].min():.3f}, {len(below)} below {LEAST}")
    print(below.to_string())
    sys.exit(bool(len(below)))
