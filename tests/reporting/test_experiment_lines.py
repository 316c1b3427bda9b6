"""One line per experiment, from a common start: the kind of Figure 12."""

import csv

import pytest
import synthetic

from partialfair.reporting.exhibit import context, kind_of

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
    assert [len(line) for line in lines] == [2] * (5 + 4 + 5), "a start and five settings, of which one has no value"
    assert all(lines[k][0].tolist() == [start["fairness"], start["accuracy"]] for k in (0, 5, 9))
    kind.render(found)
    assert "<svg" in kind.fragment(found)


def test_a_model_that_misses_its_tolerance_has_a_white_centre_and_is_listed(drawn):
    from partialfair.reporting import fairness_points, run_tables

    found, _ = drawn
    runs = found.results.runs
    own = (runs["experiment"] == "psp") & (runs["algorithm"] == "idca") & (runs["kappa"] == 0.28)
    for number, place in enumerate(runs.index[own][:2]):
        reason = f"rank_gap is 0.3{number} on the training rows, kappa asks for 0.28; ask for a smaller kappa"
        runs.loc[place, ["status", "reason"]] = ["tolerance missed", reason]
    (point,) = [p for p in fairness_points.lines(found) if p["missed"]]
    assert (point["experiment"], point["kappa"], point["missed"]) == ("psp", 0.28, 2)
    (axis,) = fairness_points.draw(found, fairness_points.lines(found)).axes
    white = [line.get_xydata().tolist() for line in axis.get_lines() if line.get_color() == "white"]
    assert white == [[[point["fairness"], point["accuracy"]]]]
    listed = [one for one in run_tables.problems(runs) if one["status"] == "tolerance missed"]
    assert [one["count"] for one in listed] == [2], "measured numbers do not keep equal reasons apart"
    assert listed[0]["reason"] == "rank_gap is … on the training rows, kappa asks for …; ask for a smaller kappa"
