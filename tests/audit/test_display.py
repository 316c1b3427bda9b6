"""An audit in a notebook and on a build server: repr, HTML, frames, pictures, JUnit, SARIF, the step of an action."""

import json
import os
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
import yaml
from typer.testing import CliRunner

from partialfair.audit import AuditResult, audit_scores
from partialfair.commands.cli import app
from partialfair.errors import ConfigError

ROOT = Path(__file__).parents[2]
GATES = {"sp": 0.1, "rank_gap": 0.9, "eop": 0.3, "selection_ratio": 0.9}


def audited(groups: int = 3, labelled: bool = True, **options) -> AuditResult:
    rng = np.random.default_rng(0)
    group = rng.integers(0, groups, 300 * groups)
    scores = 1 / (1 + np.exp(1 - rng.normal(size=len(group)) - 0.6 * group / groups))
    labels = (rng.random(len(group)) < scores).astype(int) if labelled else None
    names = np.array([f"<group & {k}>" for k in range(groups)])
    return audit_scores(scores, names[group], labels, **({"interval": [(0.05, 0.4)], "gates": GATES} | options))


@pytest.mark.parametrize("groups", [2, 30])
def test_a_repr_is_one_screen_with_the_answer(groups: int) -> None:
    result = audited(groups)
    lines = repr(result).splitlines()
    assert len(lines) <= 40 and max(map(len, lines)) <= 120
    assert f"{sum(not gate.passed for gate in result.gates)} of 4 gates failed" in repr(result)
    assert f"{result.metric('sp'):.4f}" in repr(result) and "to_frame()" in repr(result)


def test_a_notebook_shows_escaped_tables_without_a_page_around_them() -> None:
    text = audited()._repr_html_()
    seen: list[str] = []

    class Reader(HTMLParser):
        def handle_starttag(self, tag: str, attributes: list) -> None:
            seen.append(tag)

    Reader().feed(text)
    assert seen.count("table") == 3 and not {"html", "body", "script"} & {*seen}
    assert "&lt;group &amp; 0&gt;" in text and "<group" not in text
    assert "gates failed" in text


def test_frames_have_every_number_of_the_json_file() -> None:
    result = audited(3, gates={})
    stored = json.loads(result.to_json())
    frame = result.to_frame()
    for name, entry in (stored["overall"] | stored["quality"] | {"selection_ratio": stored["selection_ratio"]}).items():
        row = frame.loc[name]
        if entry["value"] is None:
            assert np.isnan(row["value"]) and row["reason"] == entry["not_estimable"]
            continue
        assert [row["value"], row["low"], row["high"]] == [entry["value"], *entry["ci"]]
        assert row["lower"] == entry.get("lower") or pd.isna(row["lower"])
    pairs = result.to_frame("pairs")
    assert pairs.index.names == ["group", "other", "metric"] and len(pairs) == 3 * 12
    first = stored["pairs"][0]
    assert pairs.loc[(*first["groups"], "sp"), "value"] == first["metrics"]["sp"]["value"]
    groups = result.to_frame("groups")
    assert groups.loc[("<group & 1>", "precision"), "value"] == stored["groups"][1]["precision"]["value"]
    with pytest.raises(ConfigError, match="of is 'rows'"):
        result.to_frame("rows")


def test_pictures_draw_what_was_measured() -> None:
    from matplotlib import pyplot as plt

    result = audited(2)
    figure = result.plot()
    (axis,) = figure.axes
    shown = {round(float(line.get_xdata()[0]), 9) for line in axis.lines if line.get_marker() == "o"}
    assert shown == {round(one.value, 9) for one in result.measured.overall.values() if one.value is not None}
    for kind in ("ranks", "densities"):
        assert result.plot(kind).axes
    plt.close("all")
    with pytest.raises(ConfigError, match="kind is 'pie'"):
        result.plot("pie")


def test_junit_tells_failed_gates_from_those_that_were_not_measured() -> None:
    result = audited(2, labelled=False)
    (suite,) = ElementTree.fromstring(result.to_junit())
    assert {key: suite.get(key) for key in ("tests", "failures", "errors")} == {
        "tests": "4",
        "failures": "2",
        "errors": "1",
    }
    outcomes = {case.get("name"): [child.tag for child in case] for case in suite}
    assert {str(gate): outcomes[str(gate)] for gate in result.gates} == outcomes
    by_metric = {gate.metric: outcomes[str(gate)] for gate in result.gates}
    assert by_metric == {"sp": ["failure"], "rank_gap": [], "eop": ["error"], "selection_ratio": ["failure"]}
    odd = audit_scores(np.arange(80.0), np.repeat(["a\x01b", "c"], 40), gates={"sp": 0.1})
    assert len(ElementTree.fromstring(odd.to_junit())) == 1


def test_sarif_has_a_result_for_each_gate_that_failed() -> None:
    result = audited(2)
    log = json.loads(result.to_sarif("data/my scores.csv"))
    (run,) = log["runs"]
    rules = run["tool"]["driver"]["rules"]
    assert log["version"] == "2.1.0" and [rule["id"] for rule in rules] == [*GATES]
    assert {found["ruleId"] for found in run["results"]} == {g.metric for g in result.gates if not g.passed} != set()
    for found in run["results"]:
        assert rules[found["ruleIndex"]]["id"] == found["ruleId"] and found["level"] == "error"
        assert found["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "data/my%20scores.csv"
    assert json.loads(audited(2, gates={"sp": 1.0}).to_sarif())["runs"][0]["results"] == []


@pytest.fixture
def scores(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    group = rng.integers(0, 2, 600)
    path = tmp_path / "my scores.csv"
    pd.DataFrame({"s": rng.random(600) + 0.3 * group, "g": group}).to_csv(path, index=False)
    return path


def test_the_verb_writes_both_files_whatever_the_outcome(scores: Path, tmp_path: Path) -> None:
    files = {kind: tmp_path / "new" / f"gates.{kind}" for kind in ("junit", "sarif")}
    given = [str(scores), "--score", "s", "--group", "g", "--max-sp", "0.1"]
    given += [text for kind, path in files.items() for text in (f"--{kind}", str(path))]
    assert CliRunner().invoke(app, ["audit", *given]).exit_code == 1
    assert ElementTree.parse(files["junit"]).getroot()[0].get("failures") == "1"
    assert json.loads(files["sarif"].read_text())["runs"][0]["results"][0]["ruleId"] == "sp"


@pytest.mark.parametrize(("limit", "status"), [("0.9", 0), ("0.1", 1)])
def test_the_step_of_the_action_audits_a_file(scores: Path, tmp_path: Path, limit: str, status: int) -> None:
    action = yaml.safe_load((ROOT / ".github" / "actions" / "audit" / "action.yml").read_text())
    (step,) = [step for step in action["runs"]["steps"] if step.get("id") == "audit"]
    names = {
        "scores": str(scores),
        "score": "s",
        "group": "g",
        "options": f"--max-sp {limit}",
        "out": str(tmp_path / "o"),
    }
    assert {*names, "label"} == {*action["inputs"]} and action["runs"]["using"] == "composite"
    values = {key: names.get(text.split("inputs.")[1].split(" ")[0], "") for key, text in step["env"].items()}
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", step["run"]],
        env={**os.environ, **values, "PATH": path}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == status, done.stderr
    assert {path.name for path in (tmp_path / "o").iterdir()} == {
        "audit.html",
        "audit.json",
        "junit.xml",
        "audit.sarif",
    }
