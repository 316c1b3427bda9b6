"""What an audit says in sentences: which gates failed, where groups differ, what to do, and what it cannot say."""

import getpass
import html
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from partialfair.audit import AuditResult, Gate, audit_scores, sentences
from partialfair.audit.measures import PARTIAL, WHOLE, Measurement
from partialfair.audit.rates import RATIO
from partialfair.commands.cli import app


def two_groups(shift: float = 0.6, n: int = 2000, **options: Any) -> AuditResult:
    random = np.random.default_rng(0)
    group = np.repeat(["low", "top"], n // 2)
    scores = random.normal(size=n) + shift * (group == "top")
    return audit_scores(scores, group, random.integers(0, 2, n), **(options))


def run(*arguments: str) -> Any:
    return CliRunner().invoke(app, ["audit", *arguments])


def shown(page: str) -> str:
    """Text of a page up to its first section."""
    text = page[page.index("<h1>") : page.index("<section")]
    return re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]+>", " ", text)))


def test_a_failed_gate_is_counted_and_named_at_once() -> None:
    result = two_groups(gates={"sp": 0.01, "rank_gap": 0.9, "dp_full": 0.9})
    value = result.metric("sp")
    assert value is not None
    sentence = f"1 of 3 gates failed: partial statistical parity is {value:.3f}, at most 0.01 is allowed."
    assert sentence in shown(result.to_html())
    assert result.to_text().splitlines()[2] == sentence and result.to_dict()["summary"][0] == sentence
    both = sentences.gate_sentence(two_groups(gates={"sp": 0.01, "rank_gap": 0.01}).gates)
    assert (
        both.startswith("2 of 2 gates failed: partial statistical parity is ") and "; largest rank difference" in both
    )


def test_gates_that_passed_and_gates_that_were_not_set_say_so() -> None:
    assert sentences.gate_sentence(two_groups(gates={"sp": 0.9, "gauc": 0.9}).gates).startswith(
        "All 2 gates passed: partial"
    )
    assert sentences.gate_sentence(two_groups(gates={"sp": 0.9}).gates).startswith("The gate passed: partial")
    assert "No gate was set" in shown(two_groups().to_html())
    many = sentences.gate_sentence(two_groups(gates=dict.fromkeys(("sp", "gauc", "dp", "eop", RATIO), 0.0)).gates)
    assert many.startswith("4 of 5 gates failed: partial statistical parity, partial group AUC, ")
    assert not re.search(r"\d\.\d", many), "of many gates, the names are enough"


@pytest.mark.parametrize(
    ("value", "limit", "text"),
    [(0.4004, 0.4, "0.4004"), (0.39996, 0.4, "0.39996"), (0.4, 0.4, "0.400"), (0.2, 0.4, "0.200")],
)
def test_a_value_is_never_rounded_to_a_limit_that_it_misses(value: float, limit: float, text: str) -> None:
    assert sentences.beside(value, limit) == text


def test_a_limit_inside_the_confidence_interval_is_pointed_out() -> None:
    gate = Gate("sp", 0.2, 0.21, False)
    assert "other rows could turn this verdict" in sentences.near_limit(gate, Measurement(0.21, 0.15, 0.25))
    assert not sentences.near_limit(gate, Measurement(0.21, 0.205, 0.25)) and not sentences.near_limit(
        gate, Measurement(0.21)
    )
    value = two_groups().metric("sp")
    assert value is not None
    assert "other rows could turn" in two_groups(gates={"sp": value + 0.001}).to_html()


def test_the_headline_has_the_measured_gap_and_the_shares_there() -> None:
    random = np.random.default_rng(1)
    group = np.repeat(["low", "top"], 500)
    scores = random.normal(size=1000) + 0.6 * (group == "top")
    for interval in ([(0.05, 0.3)], [(0.0, 0.3)], [(0.0, 1.0)], [(0.1, 0.2), (0.4, 0.5)]):
        result = audit_scores(scores, group, interval=interval)
        shown_gap = re.search(r"it is (.*)% against (.*)%: a gap of (.*) percentage", sentences.headline(result))
        assert shown_gap is not None
        low, high, gap = map(float, shown_gap.groups())
        expected = 0.0
        for cut in scores:
            shares = [float((scores[group == name] > cut).mean()) for name in ("low", "top")]
            if any(a <= share < b for share in shares for a, b in interval):
                expected = max(expected, shares[1] - shares[0])
        assert gap == pytest.approx(100 * expected, abs=0.06) and high - low == pytest.approx(gap, abs=0.11)
    assert sentences.headline(
        audit_scores(scores, group, interval=[(0.05, 0.3)], confidence_intervals=False)
    ).startswith("At scores in the top 5% to 30% of at least one group, a smaller share of")
    assert sentences.headline(
        audit_scores(scores, group, interval=[(0.7, 1.0)], confidence_intervals=False)
    ).startswith("At scores in the bottom 30% of at least one group")
    own = audit_scores(scores, group, interval=[[(0.1, 0.2)], [(0.1, 0.3)]], confidence_intervals=False)
    assert sentences.headline(own).startswith("On the ranks that were chosen for each group, a smaller share")
    union = audit_scores(scores, group, interval=[(0.1, 0.2), (0.4, 0.5)], confidence_intervals=False)
    assert sentences.headline(union).startswith("On the ranks 0.1-0.2 and 0.4-0.5, a smaller share")
    assert "a smaller share of 'low' than of 'top' scores above" in sentences.headline(two_groups())
    assert "No confidence interval" in sentences.headline(audit_scores(scores, group, confidence_intervals=False))


def test_a_gap_that_may_be_chance_is_called_so() -> None:
    assert "Chance alone may explain this gap: two groups" in sentences.headline(two_groups(shift=0.0))
    assert "hance" not in sentences.headline(two_groups(shift=1.0))


@pytest.mark.parametrize("groups", [2, 5])
def test_groups_that_do_not_differ_are_said_to_differ_in_few_samples(groups: int) -> None:
    random, said = np.random.default_rng(0), 0
    for _ in range(200):
        result = audit_scores(
            random.normal(size=150 * groups), np.arange(150 * groups) % groups, confidence_intervals=False
        )
        said += "hance" not in sentences.headline(result)
    assert said <= 16, "at 95%, about 10 of 200, and no more"


def test_every_metric_has_a_plain_name_without_symbols_and_a_meaning() -> None:
    names = [sentences.title(name) for name in (*PARTIAL, *WHOLE, RATIO)]
    assert len({*names}) == len(names) and not any(re.search(r"[\^_]|[A-Z]{2}P", name) for name in names)
    assert {*sentences.MEANINGS} == {*PARTIAL, RATIO}


@pytest.fixture
def csv(tmp_path: Path) -> Path:
    path = tmp_path / "scores.csv"
    lines = [f"{(i * 7 % 100) / 100},{'ab'[i % 2]},{i % 3 % 2}" for i in range(200)]
    path.write_text("\n".join(["s,g,y", *lines]), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("options", "remedy"),
    [
        (("--threshold", "nan", "--max-dp", "0.01"), "Give a finite number as --threshold, or leave it out"),
        (("--max-dp", "1", "--interval", "0.9", "1"), "Set --threshold to the score at which decisions are made"),
        (("--threshold", "2", "--max", "dp_full=1"), "Choose a --threshold between the lowest and the highest score"),
        (("--max-eop", "1"), "Name the column of the labels with --label"),
    ],
)
def test_a_gate_that_was_not_measured_comes_with_a_remedy(
    csv: Path, tmp_path: Path, options: tuple[str, ...], remedy: str
) -> None:
    told = run(str(csv), "--score", "s", "--group", "g", *options, "--out", str(tmp_path))
    assert told.exit_code == 1
    (line,) = [line for line in told.stdout.splitlines() if line.startswith("  remedy: ")]
    assert remedy in line
    assert remedy in json.loads((tmp_path / "audit.json").read_text())["remedies"][0]
    first = shown((tmp_path / "audit.html").read_text())
    assert remedy in first and re.search(r"1 of 1 gate failed: .* was not measured, because (the|no|every) ", first)


def test_without_a_finite_threshold_no_interval_is_suggested(csv: Path) -> None:
    told = run(str(csv), "--score", "s", "--group", "g", "--threshold", "nan")
    assert told.exit_code == 0 and "suggested interval" not in told.stdout
    assert "dashed" not in two_groups(threshold=float("nan")).to_html()


def test_who_made_it_and_who_answers_are_named_or_not_stated(csv: Path, tmp_path: Path) -> None:
    given = (str(csv), "--score", "s", "--group", "g", "--out", str(tmp_path))
    page = tmp_path / "audit.html"
    run(*given, "--by", "A. Person", "--owner", "Lending & Co")
    assert "Audit made by A. Person on " in shown(page.read_text())
    assert "answers for the model: Lending & Co." in shown(page.read_text())
    stored = json.loads((tmp_path / "audit.json").read_text())
    assert stored["by"] == "A. Person" and stored["owner"] == "Lending & Co"
    run(*given)
    assert f"Audit made by {getpass.getuser()} on " in shown(page.read_text())
    run(*given, "--by", "")
    assert "by whom is not stated. Who answers for the model: not stated." in shown(page.read_text())
    assert "by whom is not stated" in shown(two_groups().to_html())


def test_the_terminal_ends_with_the_command_that_makes_it_again(csv: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given = ["audit", str(csv), "--score", "s", "--group", "g", "--max-sp", "0.9"]
    monkeypatch.setattr("sys.argv", ["/somewhere/partialfair", *given])
    told = CliRunner().invoke(app, given)
    again, ties = told.stdout.splitlines()[-2:]
    assert again == "make it again: partialfair " + " ".join(given)
    assert "by " in ties and "partialfair " in ties and "file_sha256" in ties


def test_plain_names_come_before_codes_in_the_terminal(csv: Path) -> None:
    lines = run(str(csv), "--score", "s", "--group", "g").stdout.splitlines()
    assert any(line.startswith("  partial statistical parity (sp) ") for line in lines)
    assert not any(re.match(r"\s+(sp|dp|gauc|rank_gap|eop)\b", line) for line in lines)


def test_what_the_audit_cannot_say_is_listed() -> None:
    page = re.sub(r"\s+", " ", two_groups().to_html())
    section = page[page.index('id="scope"') :].partition("</section>")[0]
    for name in ("Causes", "Single persons", "Other populations", "Other groups", "Many comparisons"):
        assert f"<strong>{name}.</strong>" in section
    assert "about 5 of 100 such intervals miss by chance" in section


def test_the_first_sentence_names_shares_that_there_are_where_the_measured_gap_is() -> None:
    """Beyond the interval the groups differ more; where its end is, not as much as the shares that were printed."""
    one, other = np.repeat([3.0, 2.0, 1.0], [20, 10, 70]), np.repeat([3.0, 2.0, 1.0], [25, 70, 5])
    group = np.repeat(["F", "M"], 100)
    result = audit_scores(np.concatenate([one, other]), group, interval=[(0, 0.3)], threshold=1.5)
    assert "it is 20.0% against 25.0%: a gap of 5.0 percentage points" in sentences.headline(result)
    assert result.measured.overall["rank_gap"].shares == (0.2, 0.25)
    turned = audit_scores(np.concatenate([other, one]), group, interval=[(0, 0.3)], threshold=1.5)
    assert turned.measured.overall["rank_gap"].shares == (0.2, 0.25)


def test_groups_that_are_told_apart_by_one_of_two_scores_fail_the_gate() -> None:
    result = audit_scores(
        np.repeat([0.0, 1.0], 100), np.repeat(["F", "M"], 100), interval=[(0.05, 0.3)], gates={"rank_gap": 0.1}
    )
    assert result.metric("rank_gap") == pytest.approx(0.95) and not result.passed
    assert "it is 5.0% against 100.0%" in sentences.headline(result)
