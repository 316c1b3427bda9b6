"""How often a promise about new rows is broken, how often it is refused, and what it costs.

    python -m tests.simulations.promise_kept [--most FITS] [SETTING ...]

Writes reports/promise_kept.csv, a row per setting, and the table and figure of docs/promise.md. Groups have normal
features with means that differ, labels follow a logistic rule. A linear score of a group is then normal, and a map
that increases moves no rank, so that the population's violation of a model with the group is known exactly; of trees
it is taken from 200,000 rows. A promise is broken where that violation is above kappa although the status is "ok".
"""

import argparse
import sys
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import norm

from partialfair.estimators import PartialFairBoosting, PartialFairClassifier, PartialFairPostProcessor
from partialfair.metrics import evaluate_all

ROOT = Path(__file__).parents[2]
TABLE, PAGE = ROOT / "reports" / "promise_kept.csv", ROOT / "docs" / "promise.md"
BEGIN, END = "<!-- promises: begin -->", "<!-- promises: end -->"
INTERVAL = (0.1, 0.4)
CONFIDENCE = 0.95
LARGE = 200_000
Vector = NDArray[np.float64]


@dataclass(frozen=True)
class World:
    """A population: shares of the groups, and how many features say nothing of the label.

    Attributes:
        shares: of the groups.
        noise: number of features without a signal, beside six with one.
    """

    shares: tuple[float, ...] = (0.4, 0.6)
    noise: int = 0

    @property
    def means(self) -> NDArray[np.float64]:
        """Means (G, d) of the features of every group."""
        shift = np.linspace(0.0, 0.5, len(self.shares))[:, None]
        return np.hstack([shift * [1.0, 0.5, 0.0, -0.5, 0.3, 0.0], np.zeros((len(self.shares), self.noise))])

    def rows(self, n: int, random: np.random.Generator) -> tuple[Vector, NDArray[np.int64], NDArray[np.int64]]:
        """Features, labels and groups of rows drawn from it; every group has its share exactly."""
        ends = np.rint(np.cumsum(self.shares) * n).astype(int)
        group = np.searchsorted(ends, np.arange(n), side="right").clip(max=len(self.shares) - 1)
        X = self.means[group] + random.standard_normal((n, 6 + self.noise))
        logit = X[:, :6] @ [0.9, 0.6, -0.5, 0.4, 0.3, 0.2] - 1.0
        return X, (random.random(n) < 1 / (1 + np.exp(-logit))).astype(np.int64), group


def clipped(ranks: Vector, scale: str) -> float:
    """Largest difference between groups of ranks (G, T), by the definition of ``sp`` or ``rank_gap``."""
    low, high = INTERVAL
    if scale == "relative":
        kept = np.clip(ranks, low, high)
        return float((kept.max(axis=0) - kept.min(axis=0)).max() / (high - low))
    inside = (ranks >= low) & (ranks < high)
    gaps = [np.abs(a - b)[i | j].max(initial=0.0) for a, i in zip(ranks, inside, strict=True)
            for b, j in zip(ranks, inside, strict=True)]  # fmt: skip
    return float(max(gaps))


def linear_violation(model: PartialFairClassifier, world: World) -> float:
    """The population's violation of a classifier whose score is linear in every group, with or without maps."""
    coef, groups = np.atleast_2d(model.coef_), len(world.shares)
    weights, intercepts = (np.resize(part, (groups, *part.shape[1:])) for part in (coef, model.intercept_))
    middle, spread = intercepts + (weights * world.means).sum(axis=1), np.linalg.norm(weights, axis=1)
    if str(model.constraint).endswith("demographic_parity"):
        rates = norm.sf(-middle / spread)
        return float(rates.max() - rates.min())
    knots = getattr(model.model_, "knot_starts", None)
    scores = [middle[k] + spread[k] * np.linspace(-5, 5, 4001) for k in range(groups)]
    if knots is None:
        at = np.unique(np.concatenate(scores))
        return clipped(np.array([norm.sf((at - middle[k]) / spread[k]) for k in range(groups)]), model.kappa_scale)
    mapping = model.model_.mapping
    mapped = []
    for k in range(groups):
        scores[k] = np.unique(np.concatenate([scores[k], mapping.knot_x[knots[k] : knots[k + 1]]]))
        mapped.append(mapping.apply(scores[k], np.full(scores[k].size, k)))
    at = np.unique(np.concatenate(mapped))
    # A rank at a threshold is that of the score which the map, linear between these points, takes there.
    ranks = [norm.sf((np.interp(at, mapped[k], scores[k]) - middle[k]) / spread[k]) for k in range(groups)]
    return clipped(np.array(ranks), model.kappa_scale)


def drawn_violation(model: Any, world: World) -> float:
    """The violation of any model on many rows of the population."""
    X, y, group = world.rows(LARGE, np.random.default_rng(99))
    scores = model.decision_function(X, sensitive_features=group)
    return float(evaluate_all(scores, np.where(y > 0, 1.0, -1.0), group, [INTERVAL], only=("sp",))[0]["sp"])


@dataclass(frozen=True)
class Setting:
    """One row of the table.

    Attributes:
        name: what is fitted.
        make: the estimator for a confidence.
        world: population; rows: sample size; fits: repetitions.
        violation: of a model in the population.
    """

    name: str
    make: Callable[[float | None], Any]
    world: World
    rows: int
    fits: int
    violation: Callable[[Any, World], float] = linear_violation


def aware(kappa: float, confidence: float | None, scale: str = "relative") -> PartialFairClassifier:
    """Maps behind a logistic regression."""
    return PartialFairClassifier(interval=[INTERVAL], kappa=kappa, kappa_scale=scale, confidence=confidence)


def parity(kappa: float, blind: bool, fraction: float, confidence: float | None) -> PartialFairClassifier:
    """Decisions of equal rates; without the group by a linear score, whose population's rates are known."""
    return PartialFairClassifier(
        "partial_demographic_parity", kappa=kappa, uses_group=not blind, solver="alm" if blind else "thresholds",
        confidence=confidence, promise_fraction=fraction,
    )  # fmt: skip


def maps_of_trees(kappa: float, confidence: float | None) -> PartialFairPostProcessor:
    """Maps behind gradient-boosted trees."""
    from lightgbm import LGBMClassifier

    trees = LGBMClassifier(n_estimators=40, num_leaves=15, n_jobs=1, verbosity=-1, random_state=0)
    return PartialFairPostProcessor(trees, interval=[INTERVAL], kappa=kappa, confidence=confidence)


def boosted(kappa: float, uses_group: bool, confidence: float | None) -> PartialFairBoosting:
    """Boosted trees with maps or, without the group at prediction, a linear function of score and group chances."""
    return PartialFairBoosting(
        interval=[INTERVAL], kappa=kappa, confidence=confidence, uses_group=uses_group, n_estimators=40, num_leaves=15,
        n_jobs=1,
    )  # fmt: skip


FOUR = (0.4, 0.3, 0.2, 0.1)
SETTINGS = (
    Setting("maps, kappa 0.3", partial(aware, 0.3), World(), 2000, 400),
    Setting("maps, 66 features, kappa 0.3", partial(aware, 0.3), World(noise=60), 2000, 100),
    Setting("maps, kappa 0.1", partial(aware, 0.1), World(), 2000, 20),
    Setting("maps, kappa 0.5", partial(aware, 0.5), World(), 500, 100),
    Setting("maps, kappa 0.1", partial(aware, 0.1), World(), 10_000, 60),
    Setting("maps, absolute kappa 0.05", partial(aware, 0.05, scale="absolute"), World(), 10_000, 40),
    Setting("maps, four groups, kappa 0.2", partial(aware, 0.2), World(FOUR), 10_000, 40),
    Setting("maps, groups 10:90, kappa 0.2", partial(aware, 0.2), World((0.1, 0.9)), 10_000, 40),
    Setting("thresholds, kappa 0.1", partial(parity, 0.1, False, 0.5), World(), 2000, 150),
    Setting("post-processed trees, kappa 0.4", partial(maps_of_trees, 0.4), World(), 6000, 20, drawn_violation),
    Setting("boosted trees, kappa 0.4", partial(boosted, 0.4, True), World(), 6000, 20, drawn_violation),
    Setting("blind boosted trees, kappa 0.4", partial(boosted, 0.4, False), World(), 6000, 20, drawn_violation),
    Setting("blind, halves, 36 features, kappa 0.13", partial(parity, 0.13, True, 0.5), World(noise=30), 2000, 40),
)  # fmt: skip


def outcome(setting: Setting, seed: int) -> dict[str, float]:
    """One sample: whether something was promised and broken, and the cost in accuracy against no promise."""
    X, y, group = setting.world.rows(setting.rows, np.random.default_rng([7, seed]))
    X_new, y_new, new = setting.world.rows(20_000, np.random.default_rng([8, seed]))
    line: dict[str, float] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for word, confidence in (("plain", None), ("promised", CONFIDENCE)):
            model = setting.make(confidence).fit(X, y, sensitive_features=group)
            line[f"{word}_violation"] = setting.violation(model, setting.world)
            line[f"{word}_accuracy"] = model.score(X_new, y_new, sensitive_features=new)
    line["kept"] = float(model.promise_.kept)
    line["bound"], line["least"] = model.promise_.bound, model.promise_.least_kappa
    line["kappa"] = model.kappa
    return line


def row(setting: Setting, fits: int | None = None) -> dict[str, object]:
    """Shares of broken and refused promises of a setting, and the mean cost in accuracy of those made."""
    lines = pd.DataFrame([outcome(setting, seed) for seed in range(setting.fits if fits is None else fits)])
    made = lines[lines["kept"] > 0]
    broken = made["promised_violation"] > made["kappa"]
    return {
        "what": setting.name,
        "rows": setting.rows,
        "groups": len(setting.world.shares),
        "fits": len(lines),
        "plain_broken": float((lines["plain_violation"] > lines["kappa"]).mean()),
        "refused": float((lines["kept"] == 0).mean()),
        "promised": len(made),
        "broken": int(broken.sum()),
        "cost": float((made["plain_accuracy"] - made["promised_accuracy"]).mean()),
        "least_kappa": float(lines["least"].median()),
    }


def markdown(found: pd.DataFrame) -> str:
    """The table of the page."""
    head = "| what | rows | fits | broken without a promise | refused | broken promises | accuracy lost |"
    lines = [head, "|---|---|---|---|---|---|---|"]
    for each in found.to_dict("records"):
        cost = "" if not each["promised"] else f"{each['cost']:.4f}"
        lines.append(
            f"| {each['what']} | {each['rows']:,} | {each['fits']} | {each['plain_broken']:.0%} "
            f"| {each['refused']:.0%} | {each['broken']} of {each['promised']} | {cost} |"
        )
    return "\n".join(lines)


def draw(target: Path) -> None:
    """Draw the least kappa that can be promised against rows, and noise around the narrowest maps."""
    import matplotlib as mpl

    mpl.use("agg")
    from matplotlib import pyplot as plt

    from partialfair.data.intervals import Interval
    from partialfair.metrics.held_out_bound import rank_bound
    from partialfair.metrics.rank_noise import RankNoise
    from partialfair.metrics.ranks import count_above
    from partialfair.pages.palette import RC

    unions = Interval.of([INTERVAL]).for_groups(2)
    sizes = np.array([500, 1000, 2000, 5000, 10_000, 20_000, 50_000])
    maps, halves, massart = [], [], []
    for n in sizes:
        for share, bounds in ((1.0, maps), (0.5, halves)):
            rows = np.array([round(0.4 * share * n), round(0.6 * share * n)])
            group = np.repeat([0, 1], rows)
            counts = count_above(np.concatenate([-(np.arange(k) + 0.5) / k for k in rows]), group, 2)
            if share == 1:
                bounds.append(RankNoise.draw(rows, unions, "relative").bound(counts, CONFIDENCE))
                massart.append(np.sqrt(np.log(2 * 2 / (1 - CONFIDENCE)) / (2 * rows)).sum() / 0.3)
            else:
                bounds.append(rank_bound(counts, unions, "relative", CONFIDENCE))
    with plt.rc_context(RC):  # type: ignore[arg-type]
        figure, (left, right) = plt.subplots(1, 2, figsize=(8.6, 3.4))
        rows = np.array([800, 1200])
        noise = RankNoise.draw(rows, unions, "relative", 200)
        levels = np.linspace(0.05, 0.45, 81)
        gaps = []
        for draw_ in range(200):
            at = [
                np.interp(levels * size, noise.indices[k], noise.statistics[k][:, draw_]) for k, size in enumerate(rows)
            ]
            gaps.append((np.clip(at[0], *INTERVAL) - np.clip(at[1], *INTERVAL)) / 0.3)
        left.plot(levels, np.array(gaps[:30]).T, color="#999999", lw=0.5)
        for kappa, colour, words in ((0.1, "#c8510a", "kappa 0.1"), (0.3, "#0072b2", "kappa 0.3")):
            for sign in (-1, 1):
                left.axhline(sign * kappa, color=colour, ls="--" if kappa == 0.1 else "-", lw=1.2)
            left.text(0.05, kappa + 0.01, words, color=colour, fontsize=8)
        left.set_ylim(-0.4, 0.4)
        left.set_xlabel("rank in the sample (0 = highest score)")
        left.set_ylabel("difference of the groups' kept ranks")
        left.set_title("2,000 rows, equal in the sample: 30 populations", fontsize=9)
        for values, words, marks in (
            (massart, "inequality of Massart", "^:"), (halves, "test on half of the rows, at best", "s--"),
            (maps, "maps, out-of-fold ranks", "o-"),
        ):  # fmt: skip
            right.plot(sizes, values, marks, label=words)
        right.set(xscale="log", yscale="log", xlabel="rows (40:60)", ylabel="least kappa that can be promised")
        right.set_yticks([0.03, 0.1, 0.3, 1.0], ["0.03", "0.1", "0.3", "1"])
        right.set_title("four times the rows, half the kappa", fontsize=9)
        right.legend(fontsize=8)
        figure.tight_layout()
        figure.savefig(target, dpi=160, facecolor="white")
        plt.close(figure)


def main(arguments: Sequence[str]) -> int:
    """Simulate the settings whose names contain one of the words, or all, and write what there is."""
    parser = argparse.ArgumentParser(prog="python -m tests.simulations.promise_kept")
    parser.add_argument("--most", type=int, help="fits of a setting at most")
    parser.add_argument("names", nargs="*", metavar="SETTING")
    given = parser.parse_args(list(arguments))
    names = given.names
    kept = pd.read_csv(TABLE) if TABLE.exists() else pd.DataFrame()
    rows = {(each["what"], each["rows"]): each for each in kept.to_dict("records")}
    for setting in SETTINGS:
        key = setting.name, setting.rows
        if not names or any(name in f"{setting.name}, {setting.rows} rows" for name in names):
            rows[key] = row(setting, setting.fits if given.most is None else min(given.most, setting.fits))
            print(rows[key], flush=True)
            order = {(each.name, each.rows): place for place, each in enumerate(SETTINGS)}
            known = [each for at, each in sorted(rows.items(), key=lambda pair: order.get(pair[0], 99)) if at in order]
            pd.DataFrame(known).to_csv(TABLE, index=False, float_format="%.6g")
    table = pd.read_csv(TABLE)
    draw(ROOT / "docs" / "pictures" / "promise.png")
    if PAGE.exists():
        text = PAGE.read_text(encoding="utf-8")
        before, rest = text.split(BEGIN)
        PAGE.write_text(f"{before}{BEGIN}\n{markdown(table)}\n{END}{rest.split(END)[1]}", encoding="utf-8")
    made, broken = table["promised"].sum(), table["broken"].sum()
    print(f"{broken} of {made} promises broken")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
