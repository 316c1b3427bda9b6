"""What the home page and the pages of results state in numbers, held against the committed results."""

import csv
import re

import pandas as pd
import yaml

from partialfair.grid.config import load_config
from tests.workflow.project import ROOT


def apart(
    reproduced: pd.DataFrame, published: list[dict[str, str]], wanted: dict[tuple[str, float], str]
) -> list[float]:
    """Ours minus printed accuracy, by (algorithm, kappa) and the setting under which it is printed."""
    printed = {row["setting"]: float(row["value"]) for row in published}
    tests = reproduced[(reproduced["split"] == "test") & (reproduced["metric"] == "accuracy")]
    means = tests.groupby(["algorithm", "kappa"])["value"].mean()
    return [means[key] - printed[setting] for key, setting in wanted.items()]


def test_bank_without_duration_is_as_the_card_says():
    with (ROOT / "papers" / "partial_fairness" / "published.csv").open(encoding="utf-8") as stream:
        printed = [
            row for row in csv.DictReader(stream)
            if [row[name] for name in ("exhibit", "dataset", "metric", "interval")]
            == ["table3", "bank", "accuracy", "0.0-0.25"]
        ]  # fmt: skip
    rows = {("unconstrained", float("inf")): "unconstrained", ("idca", 0.3): "row=1", ("idca", 0.01): "row=4"}
    without = apart(pd.read_parquet(ROOT / "reports" / "psp_without_duration" / "metrics.parquet"), printed, rows)
    assert (round(-max(without), 3), round(-min(without), 3)) == (0.002, 0.004)

    with (ROOT / "reports" / "scorecard.csv").open(encoding="utf-8") as stream:
        lines = [row for row in csv.DictReader(stream) if (row["dataset"], row["metric"]) == ("bank", "accuracy")]
    found = [float(row["reproduced"]) - float(row["published"]) for row in lines if row["kind"] == "number"]
    assert (round(min(found), 3), round(max(found), 3)) == (0.007, 0.015)

    cards = yaml.safe_load((ROOT / "docs" / "differences.yaml").read_text(encoding="utf-8"))
    why = next(entry["why"] for entry in cards if entry["title"].startswith("Bank"))
    assert re.findall(r"\.\d+", why) == [".007", ".015", ".002", ".004"]


def test_every_card_names_an_exhibit_that_has_a_picture():
    cards = yaml.safe_load((ROOT / "docs" / "differences.yaml").read_text(encoding="utf-8"))
    assert all((ROOT / "reports" / card["exhibit"] / f"{card['exhibit']}.png").is_file() for card in cards)


def test_the_present_size_of_the_grid_is_said():
    text = (ROOT / "docs" / "results.md").read_text(encoding="utf-8")
    assert f"The grid has {len(load_config(ROOT / 'params.yaml').jobs()):,} runs now." in text
