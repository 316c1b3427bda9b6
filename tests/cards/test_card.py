"""Model cards say what the files of a run say, and nothing else."""

import dataclasses
import json
import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from partialfair.algorithms.contract import Task
from partialfair.algorithms.measure import measure
from partialfair.audit import pictures
from partialfair.commands.cli import app
from partialfair.data.dataset import Dataset, Split
from partialfair.data.files import read_json, write_json
from partialfair.errors import DataError
from partialfair.models.stored import load_model
from partialfair.plugins import load
from reproduction.cards import card
from reproduction.cards.card import page, render, write
from reproduction.cards.content import read
from reproduction.cards.scored_rows import scored_rows
from reproduction.datasets import simulated
from reproduction.datasets.splits import make_split
from reproduction.jobs.evaluate import evaluate
from tests.browser import CONTRAST, chromium, emulate, sheets

SETTINGS = {"interval": [[0.1, 0.4]], "bootstrap": {"replicates": 20, "level": 0.9}}


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Dataset, Split]:
    folder = tmp_path_factory.mktemp("cards")
    data = simulated.load(rows=600)
    split = make_split(data, 0)
    data.save(folder / "table.npz")
    split.save(folder / "split.npz")
    return folder, data, split


def run(rows: tuple[Path, Dataset, Split], algorithm: str, kappa: float, **changes: Any) -> Path:
    """Train and evaluate a model as the workflow does; returns the run folder."""
    folder, data, split = rows
    task = Task(
        train=data.take(split.train), validation=data.take(split.validation), constraint="partial_statistical_parity",
        interval=[[0.1, 0.4]], kappa=kappa, kappa_scale="absolute", report=lambda line: None,
    )  # fmt: skip
    plugin = load("algorithms", algorithm).ALGORITHM
    fit = plugin.fit(task, plugin.settings())
    out = folder / algorithm
    out.mkdir(exist_ok=True)
    fit.model.save(out / "model.npz")
    certificate = measure(plugin, task, fit).entries() | {"true_violation": 0.0125, "train_violation": 0.2125}
    content = {
        "experiment": "demo", "dataset": "simulated", "algorithm": algorithm, "seed": 0, "status": "ok", "reason": None,
        "kappa": None if math.isinf(kappa) else kappa, "kappa_scale": "absolute", "interval": [[0.1, 0.4]], "grid": 10,
        "constraint": "partial_statistical_parity", "settings": {"rounds": 40}, "selected": {},
        "certificate": certificate,
        "dataset_options": {"rows": 600}, "time": {"cpu_seconds": 1.5}, "versions": {"python": "3.11"},
        "closure_hash": "abc", "git_revision": "def",
    }  # fmt: skip
    write_json(out / "fit.json", {**content, **changes})
    evaluate(out / "model.npz", out / "fit.json", folder / "table.npz", folder / "split.npz", out, SETTINGS)
    write(out)
    return out


def test_a_card_states_the_measured_numbers(rows: Any) -> None:
    out = run(rows, "alm", 0.05)
    card = (out / "model_card.md").read_text()
    assert card == render(out)
    assert card.startswith("# Model card: simulated, alm, kappa 0.05, seed 0\n")
    for title in ("Model", "Intended use", "Data", "Groups", "Constraint", "Metrics", "Limits", "Provenance"):
        assert f"\n## {title}\n" in card
    metrics = read_json(out / "metrics.json")
    values = [metrics["splits"][split]["rank_gap"] for split in ("train", "validation", "test")]
    low, high = metrics["bootstrap"]["test"]["rank_gap"]
    cells = " | ".join(f"{value:.3f}" for value in values)
    name = "largest rank difference on I, absolute scale (`rank_gap`)"
    assert f"| {name} | {cells} | {low:.3f} to {high:.3f} |" in card
    assert "| 90% confidence interval (test) |" in card
    _, data, split = rows
    count = int((data.group[split.test] == 0).sum())
    assert f"| A | {int((data.group[split.train] == 0).sum())} (" in card and f"| {count} (" in card
    said = re.findall(r"The interval keeps (\d+) test rows of group (\w+)", card)
    assert said, "small groups are pointed out"
    for kept, name in said:
        assert re.search(rf"\| {name} \| \d+ \| {kept} \|", card), "the number that the table gives"
    assert "| by how much the constraint itself exceeds kappa (at most 0: satisfied) | 0.013 |" in card
    assert (
        "constraint itself, asked to be at most kappa: largest rank difference on I, absolute scale (`rank_gap`) | 0.21"
        in card
    )


def test_a_model_without_a_constraint_and_one_with_a_status_say_so(rows: Any) -> None:
    free = (run(rows, "unconstrained", math.inf) / "model_card.md").read_text()
    assert "kappa inf" in free and "None. The metrics below refer to" in free
    assert "No constraint was imposed" in free and "on the training rows |" not in free
    out = run(rows, "alm", 0.05, status="infeasible", reason="the largest violation is 0.2")
    card = (out / "model_card.md").read_text()
    assert "Status: **infeasible**, the largest violation is 0.2." in card
    assert "should not be used" in card


def test_a_parameter_that_is_no_slack_is_not_called_one(rows: Any) -> None:
    out = run(rows, "alm", 0.05, certificate={"objective": 0.4, "max_violation": 0.0, "true_violation": None})
    card = (out / "model_card.md").read_text()
    assert "Kappa 0.05 is a parameter of the algorithm itself" in card
    assert "the constraint itself" not in card


def lines_of(card: str, section: str) -> list[list[str]]:
    """The rows of the first table of a section, without its header."""
    part = card.split(f"\n## {section}\n")[1].split("\n## ")[0]
    rows = [line.strip("| ").split(" | ") for line in part.splitlines() if line.startswith("|")]
    return rows[2:]


def test_every_group_has_its_rates(rows: Any) -> None:
    out = run(rows, "alm", 0.05)
    _, data, split = rows
    stored = load_model(out / "model.npz")
    test = data.take(split.test)
    decided = stored.scores(test.X, test.group).astype(np.float32) > 0
    lines = lines_of(render(out), "Groups")
    assert len(lines) == 2
    for code, (name, count, inside, selected, base, *rates) in enumerate(lines):
        own, positive = test.group == code, test.y > 0
        assert (name, int(count)) == ("AB"[code], own.sum()) and int(inside) == pytest.approx(0.3 * own.sum(), abs=1)
        expected = [
            decided[own].mean(), positive[own].mean(), decided[own & positive].mean(), decided[own & ~positive].mean(),
            positive[own & decided].mean(), (decided == positive)[own].mean(),
        ]  # fmt: skip
        for cell, value in zip([selected, base, *rates], expected, strict=True):
            found, low, high = map(float, re.fullmatch(r"(.*) \((.*) to (.*)\)", cell).groups())  # type: ignore[union-attr]
            assert found == pytest.approx(value, abs=6e-4) and low < value < high


def test_the_first_sentence_compares_what_was_found_with_what_was_asked(rows: Any) -> None:
    out = run(rows, "alm", 0.05)
    value = read_json(out / "metrics.json")["splits"]["test"]["rank_gap"]
    sentence = render(out).splitlines()[2]
    assert "to keep partial statistical parity within 0.05 on the ranks 0.1-0.4" in sentence
    assert f"is {value:.3f} (test confidence interval" in sentence
    for kappa, relation in ((value + 0.01, "within the"), (value - 0.01, "more than the")):
        fit = read_json(out / "fit.json") | {"kappa": kappa}
        write_json(out / "other.json", fit)
        assert f"{relation} {kappa:g} that was asked for" in render(out, fit_json=out / "other.json").splitlines()[2]


def test_a_zero_that_no_decision_stands_behind_is_not_printed(rows: Any) -> None:
    """The threshold lies outside the interval for the rows with the positive label: nothing was measured there."""
    out = run(rows, "alm", 0.05)
    metrics = read_json(out / "metrics.json")
    assert metrics["splits"]["test"]["eop"] == 0
    card = render(out)
    cells = {row[0].split("`")[1]: row[1:4] for row in lines_of(card, "Metrics")}
    assert cells["eop"][2] == cells["eop_gap"][2] == "–" and cells["eop_full"][2] != "–"
    # The larger of two differences of which one says nothing is no number either, as in an audit.
    assert metrics["splits"]["test"]["eod"] > 0 and cells["eod"][2] == cells["eod_gap"][2] == "–"
    assert re.search(
        r"Not estimable: .*\(`eod`\), .*\(`eop`\), .*\(`eop_gap`\), on the test rows: the decision threshold 0 lies",
        card,
    )


def test_group_names_with_brackets_and_bars_stay_whole(rows: Any, tmp_path: Path) -> None:
    folder, data, split = rows
    named = dataclasses.replace(data, group_names=("White (non-Hispanic), men", "Other | mixed"))
    other = tmp_path / "named"
    other.mkdir()
    named.save(other / "table.npz")
    split.save(other / "split.npz")
    out = run((other, named, split), "unconstrained", math.inf)
    lines = [line for line in render(out).splitlines() if "mixed" in line and line.startswith("|")]
    assert lines and all("Other \\| mixed" in line for line in lines)
    counts = {len(re.findall(r"(?<!\\)\|", line)) for line in lines}
    assert len(counts) == 1 or all(count > 2 for count in counts)
    shown = page(out)
    assert ">White (non-Hispanic), men<" in shown and "Other | mixed" in shown


def test_the_page_has_the_picture_and_the_same_facts(rows: Any, tmp_path: Path) -> None:
    out = run(rows, "alm", 0.05)
    target = tmp_path / "card.html"
    result = CliRunner().invoke(app, ["card", str(out), "--page", str(target)])
    assert result.exit_code == 0 and result.output == f"{target}\n"
    text = target.read_text()
    assert text == page(out)
    assert "<svg" in text and "Out of scope" in text
    assert not re.search(r"""(src|href)=["']http""", text), "it is read offline"
    for row in lines_of(render(out), "Groups"):
        assert all(
            part in text
            for cell in row
            for part in re.split(r" \(|\)", cell.replace(" to ", "\N{NO-BREAK SPACE}to\N{NO-BREAK SPACE}"))
        )


@pytest.fixture
def whole_range(rows: Any, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A run whose interval is all ranks."""
    monkeypatch.setitem(SETTINGS, "interval", [[0.0, 1.0]])
    return run(rows, "alm", 0.05, interval=[[0.0, 1.0]], constraint="partial_demographic_parity")


def test_without_an_interval_the_card_says_that_all_ranks_are_constrained(whole_range: Path) -> None:
    card, text = render(whole_range), " ".join(page(whole_range).split())
    for found in (card, text):
        assert "No interval was chosen: the whole range of ranks, from 0 to 1, is constrained." in found
        assert "within 0.05 on all ranks" in found and "0-1" not in found
    section = text[text.index('id="interval"') :].partition("</section>")[0]
    assert "No interval was chosen" in section and "red bands" not in section
    assert "| in the interval |" not in card


def test_on_all_ranks_one_number_is_one_line(whole_range: Path) -> None:
    lines = [row[0] for row in lines_of(render(whole_range), "Metrics")]
    assert "demographic parity, whole range (`dp`, `dp_gap`, `dp_full`)" in lines
    assert "statistical parity, whole range (`sp`, `rank_gap`, `sp_full`, `rank_gap_full`)" in lines
    named = re.findall(r"`(\w+)`", " ".join(lines))
    assert sorted(named) == sorted(read_json(whole_range / "metrics.json")["splits"]["test"])


def test_plain_names_come_before_codes_and_quality_before_violations(rows: Any) -> None:
    out = run(rows, "alm", 0.05)
    lines = [row[0] for row in lines_of(render(out), "Metrics")]
    assert all(re.fullmatch(r"[a-zA-Z][a-zA-Z ,]+ \(`\w+`\)", line) for line in lines)
    assert [line.split("`")[1] for line in lines[:4]] == ["accuracy", "auc", "positive_rate", "sp"]
    assert '<th scope="row">partial statistical parity<small>sp</small></th>' in page(out)
    assert "| | " not in render(out).replace("|  |  |", ""), "no empty cell where an interval is missing"


def test_who_made_it_is_not_stated_and_uses_out_of_scope_are_listed(rows: Any) -> None:
    out = run(rows, "alm", 0.05)
    for found in (render(out), page(out)):
        assert "Made by, owner, contact" in found and "not stated" in found
        for use in ("decisions about people", "single persons", "causes", "another population", "groups other than"):
            assert use in found


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with chromium(tmp_path_factory.mktemp("profile")) as started:
        yield started


def test_the_page_is_printed_on_four_sheets_and_fits_a_phone(rows: Any, browser: Any, tmp_path: Path) -> None:
    target = tmp_path / "card.html"
    target.write_text(page(run(rows, "alm", 0.05)), encoding="utf-8")
    assert target.stat().st_size < 500_000
    for width, dark in ((1400, False), (390, False), (390, True)):
        emulate(browser, width=width, height=900, dark=dark)
        browser.get(target.as_uri())
        assert browser.get_log("browser") == []
        assert browser.execute_script("return document.documentElement.scrollWidth") <= width
        assert browser.execute_script(CONTRAST) == []
    assert 1 < sheets(browser, (8.5, 11.0)) <= 4 and sheets(browser, (8.27, 11.69)) <= 4


def test_the_verb_prints_and_writes(rows: Any, tmp_path: Path) -> None:
    out = run(rows, "alm", 0.05)
    result = CliRunner().invoke(app, ["card", str(out)])
    assert result.exit_code == 0 and result.output == render(out)
    result = CliRunner().invoke(app, ["card", str(out), "--out", str(tmp_path / "card.md")])
    assert (tmp_path / "card.md").read_text() == render(out)
    with pytest.raises(DataError, match="no evaluated run"):
        render(tmp_path)


def test_groups_with_intervals_of_their_own_keep_them_in_the_picture(
    rows: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Codes of groups are not in the order of their names, and one has no rows."""
    out, found = run(rows, "alm", 0.05), []
    names = read(out).groups
    content = dataclasses.replace(read(out), groups=("z", "a", "nobody"))
    monkeypatch.setattr(card, "scored_rows", lambda path, n: scored_rows(path, len(names)))
    metrics = json.loads((out / "metrics.json").read_text())
    metrics["settings"]["interval"] = [[[0.0, 0.1]], [[0.2, 0.6]], [[0.3, 0.4]]]
    (out / "metrics.json").write_text(json.dumps(metrics))
    monkeypatch.setattr(pictures, "curve", lambda audit: found.append(audit) or "")
    card._curve(out, content)
    assert [group.name for group in found[0].groups] == ["a", "z"]
    assert found[0].unions == (((0.2, 0.6),), ((0.0, 0.1),))


def test_the_command_that_makes_a_model_again_has_its_kappa_in_full(rows: Any) -> None:
    out = run(rows, "alm", 0.05)
    write_json(out / "fit.json", {**read_json(out / "fit.json"), "kappa": 2**-16})
    assert "--kappa 1.52587890625e-05 --seed" in dict(read(out).made)["Made again by"]
