"""A gate fails closed: what was not measured does not pass, in terminal, JSON and page alike."""

import html
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from partialfair.audit import audit_scores
from partialfair.commands.cli import app
from partialfair.errors import ConfigError, DataError


@pytest.fixture(scope="module")
def scores(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Probabilities of which most exceed .5, so that the usual threshold lies outside the top ranks."""
    random = np.random.default_rng(1)
    n = 2000
    group = np.where(random.random(n) < 0.4, "women", "men")
    score = np.clip(random.beta(5, 2, n) - 0.1 * (group == "women"), 0, 1)
    label = (random.random(n) < score).astype(int)
    path = tmp_path_factory.mktemp("gates") / "scores.csv"
    pd.DataFrame({"s": score, "g": group, "y": label}).to_csv(path, index=False)
    return path


TOP = ("--interval", "0.05", "0.30")
OUTSIDE = "lies outside the interval"
FAILED = {
    # name: options, metric of the gate that has to fail, part of the reason
    "dp on top ranks": ((*TOP, "--max-dp", "0.01"), "dp", OUTSIDE),
    "dp on top ranks, wide limit": ((*TOP, "--max-dp", "1"), "dp", OUTSIDE),
    "dp_gap on top ranks": ((*TOP, "--max-dp-gap", "0.05"), "dp_gap", OUTSIDE),
    "eop on top ranks": ((*TOP, "--max-eop", "0.01"), "eop", OUTSIDE),
    "eod on top ranks": ((*TOP, "--max-eod", "0.05"), "eod", "positive label"),
    "eod, negatives outside": (("--interval", "0.88", "0.95", "--max-eod", "1"), "eod", "negative label"),
    "a union of intervals": (("--interval", "0", "0.1", "--interval", "0.2", "0.3", "--max-dp", "1"), "dp", OUTSIDE),
    "nan threshold": (("--threshold", "nan", "--max-dp", "0.01"), "dp", "not a finite number"),
    "infinite threshold": (("--threshold", "inf", "--max-eop", "1"), "eop", "not a finite number"),
    "nan threshold, classical": (("--threshold", "nan", "--max", "dp_full=1"), "dp_full", "not a finite number"),
    "nan threshold, four fifths": (
        ("--threshold", "nan", "--min-selection-ratio", "0"),
        "selection_ratio",
        "not a finite number",
    ),
    "threshold above all scores": (("--threshold", "2", "--max-dp", "1"), "dp", "same decision"),
    "threshold above all scores, on an interval": ((*TOP, "--threshold", "2", "--max-dp", "1"), "dp", OUTSIDE),
    "threshold above all scores, classical": (("--threshold", "2", "--max", "dp_full=1"), "dp_full", "same decision"),
    "threshold below all scores": (("--threshold", "-1", "--max", "eod_full=1"), "eod_full", "same decision"),
    "all selected": (("--threshold", "-1", "--min-selection-ratio", "0.8"), "selection_ratio", "every row"),
    "nobody selected": (("--threshold", "2", "--min-selection-ratio", "0"), "selection_ratio", "no row"),
}


def audited(*arguments: str) -> Any:
    return CliRunner().invoke(app, ["audit", *arguments])


@pytest.mark.parametrize("case", FAILED)
def test_what_was_not_measured_does_not_pass(case: str, scores: Path, tmp_path: Path) -> None:
    options, metric, reason = FAILED[case]
    given = (str(scores), "--score", "s", "--group", "g", "--label", "y", *options)
    told = audited(*given, "--out", str(tmp_path))
    assert told.exit_code == 1, told.output
    (line,) = [line for line in told.stdout.splitlines() if line.startswith("  gate ") and f" ({metric}) " in line]
    assert "failed, not estimable" in line and reason in line
    printed = audited(*given, "--json")
    assert printed.exit_code == 1
    content = json.loads(printed.stdout)
    (gate,) = content["gates"]
    assert not content["passed"] and gate["value"] is None and not gate["passed"] and reason in gate["reason"]
    stored = json.loads((tmp_path / "audit.json").read_text())
    assert stored["gates"] == content["gates"]
    page = html.unescape((tmp_path / "audit.html").read_text())
    assert "1 of 1 gate failed" in page and reason in re.sub(r"\s+", " ", page)


@pytest.mark.parametrize(
    ("options", "metric"),
    [
        (("--max-sp", "0", "--max", "sp=1"), "sp"),
        (("--max", "sp=1", "--max-sp", "0"), "sp"),
        (("--max-rank-gap", "0", "--max-rank-gap", "1"), "rank_gap"),
        (("--max", "sp_full=0", "--max", " sp_full =1"), "sp_full"),
        (("--max", "sp=0.9", "--max", "sp=0.9"), "sp"),
        (("--min-selection-ratio", "1", "--min-selection-ratio", "0"), "selection_ratio"),
    ],
)
def test_two_limits_on_one_metric_are_refused(options: tuple[str, ...], metric: str, scores: Path) -> None:
    told = audited(str(scores), "--score", "s", "--group", "g", *options)
    assert isinstance(told.exception, ConfigError) and not told.stdout
    assert f"gate on {metric}: 2 limits are given" in str(told.exception)


def test_the_smallest_ratio_is_not_given_as_a_largest_violation(scores: Path) -> None:
    told = audited(str(scores), "--score", "s", "--group", "g", "--max", "selection_ratio=0")
    assert isinstance(told.exception, ConfigError) and "write --min-selection-ratio" in str(told.exception)


def test_of_many_gates_each_is_judged(scores: Path) -> None:
    names = {"sp": "--max-sp", "rank_gap": "--max-rank-gap", "gauc": "--max-gauc"}
    given = [word for flag in names.values() for word in (flag, "1")] + ["--max", "sp_full=1", "--max", "gauc_full=0"]
    told = audited(str(scores), "--score", "s", "--group", "g", *given, "--json")
    found = {gate["metric"]: gate["passed"] for gate in json.loads(told.stdout)["gates"]}
    assert found == dict.fromkeys([*names, "sp_full"], True) | {"gauc_full": False} and told.exit_code == 1


def test_without_labels_a_gate_that_needs_them_fails(scores: Path) -> None:
    told = audited(str(scores), "--score", "s", "--group", "g", "--max-eop", "1")
    assert told.exit_code == 1 and "no labels were given" in told.stdout


def test_a_threshold_inside_the_interval_of_one_group_or_between_is_measured() -> None:
    low, high = np.linspace(0, 1, 400), np.linspace(0.9, 1, 400)
    group = np.repeat(["a", "b"], 400)
    inside = audit_scores(np.r_[low, high], group, interval=[(0.3, 0.6)], gates={"dp": 1}, confidence_intervals=False)
    assert inside.passed and inside.metric("dp") == pytest.approx(1 / 3, abs=0.01)
    # No row of either group changes its decision inside I, yet all of a's are refused there and all of b's accepted.
    between = audit_scores(
        np.r_[low / 4, high], group, interval=[(0.3, 0.6)], gates={"dp": 0.9}, confidence_intervals=False, threshold=0.5
    )
    assert between.metric("dp") == 1 and not between.passed and between.gates[0].groups == ("a", "b")


def test_one_pair_that_is_not_estimable_fails_the_gate_that_the_others_pass() -> None:
    random = np.random.default_rng(0)
    group = np.repeat(["a", "b", "c"], [1000, 1000, 40])
    labels = np.where((group == "c") | (random.random(2040) < 0.5), 0, 1)
    result = audit_scores(
        random.normal(size=2040), group, labels, gates={"eop": 0.9, "sp": 0.9}, confidence_intervals=False
    )
    passed = {gate.metric: gate.passed for gate in result.gates}
    assert passed == {"eop": False, "sp": True}
    gate = result.gates[0]
    assert gate.value is not None and gate.reason.startswith("not estimable for 2 pairs") and "'c'" in gate.reason
    assert "(eop) <= 0.9: failed, " in result.to_text()


def test_one_negative_row_of_a_group_inside_the_interval_is_too_few_for_equalised_odds() -> None:
    """The positive rows are enough, and rates of the negative ones differ."""
    group = np.repeat(["a", "b"], [200, 40])
    labels = np.r_[np.arange(200) % 2, np.arange(40) > 0]
    scores = np.random.default_rng(0).normal(size=240)
    result = audit_scores(scores, group, labels, gates={"eop": 1, "eod": 1, "eod_full": 1}, confidence_intervals=False)
    assert {gate.metric: gate.passed for gate in result.gates} == {"eop": True, "eod": False, "eod_full": False}
    for gate in result.gates[1:]:
        assert gate.value is None and "'b': interval 0-1 keeps 1 of its 1 rows with the negative label" in gate.reason


def test_a_gate_says_which_groups_it_does_not_cover() -> None:
    random = np.random.default_rng(0)
    group = np.repeat(["a", "b", "c"], [500, 500, 10])
    result = audit_scores(random.normal(size=1010), group, gates={"sp": 0.9}, confidence_intervals=False)
    assert result.passed and "1 group with few rows is not compared: c" in result.gates[0].reason


def test_four_fifths(scores: Path) -> None:
    given = (str(scores), "--score", "s", "--group", "g", "--threshold", "0.7")
    found = json.loads(audited(*given, "--json").stdout)
    frame = pd.read_csv(scores)
    rates = (frame["s"] > 0.7).groupby(frame["g"]).mean()
    ratio = found["selection_ratio"]
    assert ratio["value"] == pytest.approx(rates["women"] / rates["men"]) and ratio["lower"] == "women"
    assert ratio["ci"][0] < ratio["value"] < ratio["ci"][1]
    assert audited(*given, "--min-selection-ratio", "0.8").exit_code == 1
    assert audited(*given, "--min-selection-ratio", f"{ratio['value'] - 0.01}").exit_code == 0


def test_a_gate_passes_at_its_limit_and_not_beyond() -> None:
    random = np.random.default_rng(0)
    group = np.repeat(["a", "b"], [300, 700])
    scores = random.normal(size=1000) + 0.4 * (group == "a")

    def passes(gates: dict[str, float]) -> bool:
        return audit_scores(scores, group, gates=gates, confidence_intervals=False).passed

    found = {gate.metric: gate.value for gate in audit_scores(
        scores, group, gates={"sp": 0.0, "selection_ratio": 1.0}, confidence_intervals=False
    ).gates}  # fmt: skip
    gap, ratio = found["sp"], found["selection_ratio"]
    assert gap is not None and ratio is not None and 0 < gap < 1 and 0 < ratio < 1
    assert passes({"sp": gap}) and not passes({"sp": gap - 1e-9})
    assert passes({"selection_ratio": ratio}) and not passes({"selection_ratio": ratio + 1e-9})


def test_the_lower_group_is_named_and_pairs_are_signed() -> None:
    random = np.random.default_rng(3)
    group = np.repeat(["low", "mid", "top"], 1500)
    scores = random.normal(size=4500) + np.repeat([-0.5, 0.0, 0.5], 1500)
    labels = (random.random(4500) < 1 / (1 + np.exp(-scores))).astype(int)
    result = audit_scores(scores, group, labels, interval=[(0.05, 0.95)], confidence_intervals=False)
    content = result.to_dict()
    for name, found in content["overall"].items():
        assert found["lower"] == "low" and found["higher"] in (("mid", "top") if name[0] == "e" else ("top",)), name
    for pair in content["pairs"]:
        for name, found in pair["metrics"].items():
            assert found["signed"] == -found["value"] < 0, (pair["groups"], name)  # the first is the lower one
    turned = audit_scores(-scores, group, labels, interval=[(0.05, 0.95)], confidence_intervals=False).to_dict()
    assert turned["overall"]["sp"]["lower"] == "top"
    assert all(found["metrics"]["gauc"]["signed"] > 0 for found in turned["pairs"])
    assert "'low' lower than 'top'" in result.to_text() and "3 pairs" not in content["comparisons"]


def test_the_number_of_comparisons_is_said(scores: Path) -> None:
    random = np.random.default_rng(0)
    result = audit_scores(random.normal(size=600), np.repeat(list("abcdef"), 100))
    assert "15 pairs of groups are compared" in result.comparisons and "about 0.8 of 15" in result.comparisons
    assert result.comparisons in result.to_text() and result.comparisons in result.to_html()


def test_rates_of_groups_are_those_of_scikit_learn(scores: Path) -> None:
    from sklearn.metrics import accuracy_score, confusion_matrix, precision_score

    frame = pd.read_csv(scores)
    result = audit_scores(frame["s"], frame["g"], frame["y"], threshold=0.7, confidence_intervals=False)
    assert len(result.groups) == 2
    for line in result.groups:
        own = frame[frame["g"] == line.name]
        decided = own["s"] > 0.7
        (tn, fp), (fn, tp) = confusion_matrix(own["y"], decided)
        assert line.true_positive_rate.value == pytest.approx(tp / (tp + fn))
        assert line.false_positive_rate.value == pytest.approx(fp / (fp + tn))
        assert line.precision.value == pytest.approx(precision_score(own["y"], decided))
        assert line.accuracy.value == pytest.approx(accuracy_score(own["y"], decided))
        assert line.positive_rate.value == pytest.approx(decided.mean())
        assert line.calibration.value == pytest.approx((own["s"] - own["y"]).mean())
        for name in ("true_positive_rate", "precision", "positive_rate", "calibration"):
            found = getattr(line, name)
            assert found.low < found.value < found.high


def test_intervals_of_rates_cover(scores: Path) -> None:
    from partialfair.audit.rates import share

    random = np.random.default_rng(0)
    hits = random.binomial(40, 0.1, 4000)
    covered = np.mean([found.low <= 0.1 <= found.high for found in (share(hit, 40, 0.95) for hit in hits)])
    assert 0.93 < covered < 0.97
    for total in range(1, 200):  # the end is exact, not 1e-17
        assert share(0, total, 0.95).low == 0 and share(total, total, 0.95).high == 1
    assert share(0, 20, 0.95).high > 0.1 and share(20, 20, 0.95).low < 0.9


def test_what_an_auditor_needs_to_repeat_it_is_recorded(scores: Path, tmp_path: Path) -> None:
    import hashlib

    given = (str(scores), "--score", "s", "--group", "g", "--out", str(tmp_path))
    told = audited(*given)
    stored = json.loads((tmp_path / "audit.json").read_text())
    digest = hashlib.sha256(scores.read_bytes()).hexdigest()
    assert stored["file_sha256"] == digest and stored["date"] and stored["command"]
    page = (tmp_path / "audit.html").read_text()
    assert all(text in page for text in (digest, stored["date"], stored["partialfair"]))
    assert digest in told.stdout.splitlines()[-1]


def test_many_groups_are_refused_or_end(scores: Path) -> None:
    random = np.random.default_rng(0)
    score = random.normal(size=40_000)
    with pytest.raises(DataError, match=r"1000 groups have at least 30 rows.*at most 50 groups; merge groups"):
        audit_scores(score, np.arange(40_000) % 1000)
    # Groups too small to be compared cost next to nothing.
    group = np.where(np.arange(40_000) < 20_000, np.arange(40_000) % 2, np.arange(40_000) % 1000)
    result = audit_scores(score, group, min_group_size=100)
    assert len(result.groups) == 1000 and len(result.measured.pairs) == 1
    assert "more groups" in result.to_text()


def test_pairs_of_many_groups_are_those_of_two() -> None:
    """Columns without rows of a pair are left out; nothing may change by it."""
    random = np.random.default_rng(2)
    group, score = np.arange(900) % 9, random.normal(size=900).round(1)
    many = audit_scores(score, group, interval=[(0.1, 0.5)], threshold=0.0)
    two = group < 2
    alone = audit_scores(score[two], group[two], interval=[(0.1, 0.5)], threshold=0.0, confidence_intervals=False)
    assert set(many.measured.pairs[0, 1]) == set(alone.measured.pairs[0, 1]) >= {"sp", "dp", "gauc"}
    for name, found in many.measured.pairs[0, 1].items():
        other = alone.measured.pairs[0, 1][name]
        assert (found.value is None) == (other.value is None), name
        if found.value is not None:
            assert found.value == pytest.approx(other.value, abs=1e-12), name


@pytest.mark.parametrize("scale", [1e308, 1e-310])
def test_scores_of_any_size_have_a_page(scale: float) -> None:
    random = np.random.default_rng(0)
    text = audit_scores(random.random(200) * scale, np.arange(200) % 2, confidence_intervals=False).to_html()
    assert "too wide or too narrow a range" in text


def test_combinations_of_groups_do_not_collide() -> None:
    columns = {"x": ["a", "a & b"] * 50, "z": ["b & c", "c"] * 50}
    result = audit_scores(np.arange(100) % 7, columns, confidence_intervals=False)
    assert [line.name for line in result.groups] == ['"a & b" & c', 'a & "b & c"']
