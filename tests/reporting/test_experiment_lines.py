"""One line per experiment, from a common start: the kind of Figure 12."""

import csv
import math

import pytest
import synthetic

from partialfair.reporting.exhibit import context, kind_of
from partialfair.verdicts.results import Setting

ENTRY = {
    "kind": "scatter", "line": "experiment", "title": "Lines", "caption": "Accuracy and fairness.",
    "experiments": ["psp", "psp_full", "psp_grid20"], "algorithms": ["unconstrained", "idca"],
}  # fmt: skip


@pytest.fixture
def drawn(tmp_path):
    """The exhibit of an invented project in which one setting has no value."""
    content = synthetic.params()
    for name in ENTRY["experiments"]:
        model = content["experiments"][name]
        model["runs"] = {"a9a": model["runs"]["a9a"] | {"metric_interval": [[0.05, 0.3]]}}
        if name != "psp":
            model["runs"]["a9a"]["algorithms"] = {"idca": synthetic.KAPPAS["a9a"]}
    content["exhibits"] = {"lines": ENTRY}
    config = synthetic.project(tmp_path, content, {("psp_full", "a9a", "idca", 0.01, seed) for seed in (0, 1, 2)})
    return context(config, "lines", tmp_path), kind_of(config, "lines")


def test_the_files_hold_every_point_and_say_why_one_is_missing(drawn):
    found, kind = drawn
    paths = kind.render(found)
    assert {path.suffix for path in paths} == {".csv", ".pdf", ".svg", ".png"} and all(path.exists() for path in paths)
    with open(found.path("csv"), encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    assert {row["experiment"] for row in rows} == set(ENTRY["experiments"])
    assert sum(row["algorithm"] == "unconstrained" for row in rows) == 1
    missing = [row for row in rows if not row["accuracy"]]
    assert [(row["experiment"], row["kappa"]) for row in missing] == [("psp_full", "0.01")] and missing[0]["note"]


def test_lines_are_named_by_what_is_constrained(drawn):
    from partialfair.reporting import fairness_points

    found, kind = drawn
    figure = fairness_points.draw(found, fairness_points.lines(found))
    (axis,) = figure.axes
    labels = axis.get_legend_handles_labels()[1]
    assert labels == [
        "constraint on [0.05, 0.3] at 10 ranks",
        "constraint on [0, 1] at 10 ranks",
        "constraint on [0.05, 0.3] at 20 ranks",
        "no constraint",
    ]
    (start,) = [p for p in fairness_points.lines(found) if p["algorithm"] == "unconstrained"]
    lines = [line.get_xydata() for line in axis.get_lines() if line.get_linestyle() != "None"]
    assert [len(line) for line in lines] == [6, 5, 6], "a start and five settings, of which one has no value"
    assert all(line[0].tolist() == [start["fairness"], start["accuracy"]] for line in lines)
    kind.render(found)
    assert "<svg" in kind.fragment(found)


def test_every_tightening_along_a_line_is_a_claim(drawn):
    found, kind = drawn
    lines = kind.claims(found)
    assert len(lines) == 3 * len(synthetic.KAPPAS["a9a"]), "from the start of the first experiment, then kappa by kappa"
    for setting, title in zip(
        ENTRY["experiments"], ("[0.05, 0.3] at 10", "[0, 1] at 10", "[0.05, 0.3] at 20"), strict=True
    ):
        own = [line for line in lines if line["published"].startswith(f"constraint on {title} ranks")]
        start = found.results.rows(Setting("psp", "a9a", "unconstrained", math.inf), "rank_gap")["value"].mean()
        first = found.results.rows(Setting(setting, "a9a", "idca", 0.28), "rank_gap")["value"].mean()
        assert own[0]["published"].endswith("smaller than without a constraint")
        assert own[0]["reproduced"] == pytest.approx(start - first) and own[0]["verdict"] == "reproduced"
        assert [line["setting"] for line in own] == ["kappa=0.28", "kappa=0.2", "kappa=0.1", "kappa=0.05", "kappa=0.01"]
    assert [line["note"] for line in lines if line["verdict"] == "not run"] == [
        "3 of 3 seeds without a value: no feasible point"
    ]
