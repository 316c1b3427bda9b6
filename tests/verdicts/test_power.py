"""Wrong answers are noticed: what counts turns away from agrees when results are exchanged."""

import dataclasses
import functools
import itertools

import pytest

from reproduction.exhibits import exhibit
from reproduction.grid.config import load_config
from reproduction.verdicts import scorecard
from reproduction.verdicts.line import counts
from reproduction.verdicts.results import Results
from tests.workflow.project import ROOT


@pytest.fixture(scope="module")
def config():
    return load_config(ROOT / "params.yaml")


@functools.cache
def committed(name):
    """An exhibit with the committed results; it is read once."""
    return exhibit.context(load_config(ROOT / "params.yaml"), name, ROOT)


def verdicts(config, name, change=lambda metrics: metrics, names=()):
    """Verdicts on the published numbers of an exhibit by place, from the committed results after a change of them.

    With names, of the methods of these names alone.
    """
    context = committed(name)
    if context.results.metrics.empty:
        pytest.skip(f"no committed results of {name}")
    results = Results(change(context.results.metrics.copy()), context.results.runs, context.results.level)
    changed = dataclasses.replace(context, results=results)
    kind = exhibit.kind_of(config, name)
    lines = [
        scorecard.compare(changed, row, kind.reproduce)
        for row in context.published
        if not names or row.algorithm in names
    ]
    places = ("dataset", "algorithm", "interval", "setting", "metric")
    return {tuple(line[name] for name in places): line for line in lines}


def still_agree(before, after):
    """Share of the lines that counted and agreed that agree after the change, of those of IDCA."""
    own = [p for p, line in before.items() if p[1] == "idca" and counts(line) and line["verdict"] == "agrees"]
    assert len(own) > 2
    return sum(after[place]["verdict"] == "agrees" for place in own) / len(own)


def next_tolerance(metrics):
    """Every run of IDCA is answered with the next tighter one, the tightest with the loosest."""
    for _, rows in metrics[metrics["algorithm"] == "idca"].groupby(["experiment", "dataset"]):
        kappas = sorted(rows["kappa"].unique(), reverse=True)
        answer = dict(zip(kappas, [*kappas[1:], kappas[0]], strict=True))
        metrics.loc[rows.index, "kappa"] = rows["kappa"].map({new: old for old, new in answer.items()})
    return metrics


@pytest.mark.parametrize("name", ["table3", "table4"])
def test_the_next_tolerance_does_not_pass_for_the_right_one(config, name):
    assert still_agree(verdicts(config, name), verdicts(config, name, next_tolerance)) < 0.5


OPTIMISERS = {
    "sgd": "dp_sgd", "acsa": "dp_acsa", "acsa2": "dp_acsa2", "sgd3_acsa": "dp_sgd3_acsa", "sgd3_acsa2": "dp_released"
}  # fmt: skip
"""Experiments of the optimisers by the name of their published numbers."""


def exchanged(one, two, algorithm):
    """A change of the results: two experiments' runs of an algorithm take each other's place."""

    def change(metrics):
        own = metrics["algorithm"] == algorithm
        metrics.loc[own, "experiment"] = metrics.loc[own, "experiment"].replace({one: two, two: one})
        return metrics

    return change


def passing(config, figure, names, change):
    """Lines of some series that count and agree, and how many of them agree after a change."""
    before, after = verdicts(config, figure, names=names), verdicts(config, figure, change, names)
    own = [p for p, line in before.items() if p[1] in names and counts(line) and line["verdict"] == "agrees"]
    return len(own), sum(after[place]["verdict"] == "agrees" for place in own)


def test_no_optimiser_passes_for_another(config):
    """Figure 3 of DP post-processing with the runs of two optimisers exchanged: most lines that agreed turn away."""
    found = {
        (one, two): passing(
            config, "dp_figure3", (one, two), exchanged(OPTIMISERS[one], OPTIMISERS[two], "dp_postproc")
        )
        for one, two in itertools.combinations(OPTIMISERS, 2)
    }
    assert sum(lines for lines, _ in found.values()) >= 2 * len(found)
    assert not {pair: counted for pair, counted in found.items() if counted[1] > counted[0] / 2}


@pytest.mark.parametrize("figure", ["dp_figure2", "dp_figure4_tradeoff"])
def test_no_optimiser_passes_for_the_paper_s(config, figure):
    """Figures 2 and 4 with the runs of another optimiser in place of SGD3 with AC-SA2."""
    others = [name for name in OPTIMISERS.values() if name != "dp_released"]
    found = {
        other: passing(config, figure, ("dp_postproc",), exchanged("dp_released", other, "dp_postproc"))
        for other in others
    }
    assert not {other: counted for other, counted in found.items() if counted[1] > counted[0] / 2}


def test_no_regime_of_the_reduction_passes_for_the_other(config):
    """Figure 2 with the two ways of training the reduction exchanged."""
    change = exchanged("dp_adw1_released", "dp_adw2_released", "regression_reduction")
    lines, left = passing(config, "dp_figure2", ("adw1", "adw2"), change)
    assert lines > 2 and left <= lines / 2
