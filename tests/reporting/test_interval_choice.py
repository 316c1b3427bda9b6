"""The guideline's exhibit shows what the function suggests, on training rows, and says where there is nothing."""

import csv

import numpy as np
import pandas as pd
import pytest
import synthetic

from papers.partial_fairness.exhibits import interval_choice
from partialfair.metrics.choose_interval import suggest_interval
from reproduction.exhibits.exhibit import Context
from reproduction.verdicts.results import Results


@pytest.fixture
def context(tmp_path):
    config = synthetic.project(tmp_path)
    rng = np.random.default_rng(0)
    for job in config.jobs("psp"):
        if job.algorithm == "unconstrained" and job.dataset == "a9a":
            group = rng.integers(0, 2, 900)
            table = pd.DataFrame({"group": group, "score": rng.normal(size=900) - 0.8 + 0.6 * group, "split": "train"})
            table.loc[:299, "split"] = "test"
            table.loc[:299, "score"] = 9.0  # test rows would change everything
            path = tmp_path / job.path / "scores.parquet"
            path.parent.mkdir(parents=True)
            table.to_parquet(path)
    options = interval_choice.IntervalChoice(kind="interval_choice", title="Choice", experiments=["psp"])
    return Context(config, "choice", options, Results.load(tmp_path / "reports", ["psp"]), tmp_path, tmp_path / "out")


def test_files_hold_what_the_function_suggests(context):
    names = {path.name for path in interval_choice.KIND.render(context)}
    assert names == {"choice.csv", "choice.html", "choice.svg"}
    lines = list(csv.DictReader((context.out_dir / "choice.csv").open()))
    assert {line["note"] for line in lines if line["dataset"] == "law_school"} == {
        "the unconstrained model is not trained, or not evaluated"
    }
    for seed in (0, 1, 2):
        path = context.root / context.config.job("psp", "a9a", "unconstrained", "inf", seed).path / "scores.parquet"
        table = pd.read_parquet(path).query("split == 'train'")
        found = suggest_interval(table["score"].to_numpy(), table["group"].to_numpy(), measure="rank_gap")
        own = [e for e in lines if (e["dataset"], e["seed"], e["measure"]) == ("a9a", str(seed), "rank_gap")]
        assert len(own) == len(found.table) and {float(e["positive_rate"]) for e in own} == {found.positive_rate}
        (chosen,) = [(float(e["alpha"]), float(e["beta"])) for e in own if e["suggested"] == "1"]
        assert chosen == found.interval
        assert [(e["alpha"], e["beta"]) for e in own if e["of_the_paper"] == "1"] in ([], [("0.05", "0.3")])


def test_fragment_counts_seeds_and_says_what_is_missing(context):
    interval_choice.KIND.render(context)
    text = interval_choice.KIND.fragment(context)
    assert "<svg" in text and "not run" in text and "[0.05, 0.3]" in text
