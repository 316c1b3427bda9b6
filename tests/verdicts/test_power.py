"""Wrong answers are noticed: what counts turns away from agrees when results are exchanged."""

import dataclasses

import pytest

from partialfair.grid.config import load_config
from partialfair.reporting import exhibit
from partialfair.verdicts import scorecard
from partialfair.verdicts.line import counts
from partialfair.verdicts.results import Results
from tests.workflow.project import ROOT


@pytest.fixture(scope="module")
def config():
    return load_config(ROOT / "params.yaml")


def verdicts(config, name, change=lambda metrics: metrics):
    """Verdicts on the published numbers of an exhibit by place, from the committed results after a change of them."""
    context = exhibit.context(config, name, ROOT)
    if context.results.metrics.empty:
        pytest.skip(f"no committed results of {name}")
    results = Results(change(context.results.metrics.copy()), context.results.runs, context.results.level)
    changed = dataclasses.replace(context, results=results)
    kind = exhibit.kind_of(config, name)
    lines = [scorecard.compare(changed, row, kind.reproduce) for row in context.published]
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


def test_no_optimiser_passes_for_another(config):
    """Figures 2 to 4 of DP post-processing with the runs of two optimisers exchanged."""
    swapped = {"dp_released": "dp_sgd", "dp_sgd": "dp_released"}

    def exchange(metrics):
        own = metrics["algorithm"] == "dp_postproc"
        metrics.loc[own, "experiment"] = metrics.loc[own, "experiment"].replace(swapped)
        return metrics

    before, after = verdicts(config, "dp_figure3"), verdicts(config, "dp_figure3", exchange)
    chosen = {place for place in before if place[1] in ("sgd", "sgd3_acsa2")}
    lines = [before[place] for place in chosen if counts(before[place]) and before[place]["verdict"] == "agrees"]
    if not lines:
        pytest.skip("no line of Figure 3 has power: the committed results have no repeats of the optimisers")
    apart = [after[place]["verdict"] != "agrees" for place in chosen if counts(before[place])]
    assert sum(apart) > 0.5 * len(apart)
