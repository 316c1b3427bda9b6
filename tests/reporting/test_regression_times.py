"""Table 1 of the DP post-processing paper: a time of the paper is the sum of what is measured apart."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from papers.dp_postprocessing.exhibits import regression_times
from partialfair.errors import ConfigError
from reproduction.exhibits import regression_points
from reproduction.verdicts.published import Published

TIMES = {"steps": {1: [1.0, 2.0], 2: [3.0, 5.0]}, "fits": {2: [10.0], 3: [20.0]}}
SERIES = {name: {"experiment": name, "algorithm": name, "label": f"the {name}"} for name in TIMES}
SUMS = {"whole": {"of": ["steps", "fits"], "label": "both"}}


def context(root: Path, sums: dict[str, Any]) -> Any:
    """An exhibit over histories in which a candidate begins at a time of its own and ends so many seconds later."""
    jobs: dict[str, list[Any]] = {}
    for name, by_seed in TIMES.items():
        for seed, spent in by_seed.items():
            folder = root / name / str(seed)
            folder.mkdir(parents=True, exist_ok=True)
            lines = [(f"eps={i}", at) for i, s in enumerate(spent) for at in (7.0 * i, 7.0 * i + s)]
            pd.DataFrame(lines, columns=["candidate", "cpu_seconds"]).to_parquet(folder / "history.parquet")
            job = SimpleNamespace(path=Path(name) / str(seed), algorithm=name, dataset="adult", seed=seed)
            jobs.setdefault(name, []).append(job)
    options = {"series": SERIES, "sums": sums}
    published = [Published("p", "t", "adult", "whole", "", "", "", "train_time_s", 30.0, "train", 3.0)]
    experiment = SimpleNamespace(runs={"law_school": None, "adult": None})
    return SimpleNamespace(
        name="times", paper="p", root=root, published=published, option=options.get,
        results=SimpleNamespace(level=0.95),
        config=SimpleNamespace(jobs=lambda name: jobs[name], experiment=lambda name: experiment),
    )  # fmt: skip


def test_a_sum_adds_times_of_the_same_repetition_and_ratios_are_to_it(tmp_path: Path) -> None:
    shown = {(one["series"], one["dataset"]): one for one in regression_times.lines(context(tmp_path, SUMS))}
    whole, steps, fits = (shown[name, "adult"] for name in ("whole", "steps", "fits"))
    assert (whole["seconds"], whole["n"], whole["median"]) == (14.0, 2, 14.0)  # of seed 2, which both have
    assert whole["std"] == pytest.approx(1.0)
    assert (steps["seconds"], steps["n"]) == (2.75, 4) and steps["ratio"] == pytest.approx(2.75 / 14)
    assert fits["seconds"] == 15.0 and (whole["published_seconds"], whole["published_ratio"]) == (30.0, 1.0)
    assert "published_seconds" not in steps and "seconds" not in shown["whole", "law_school"]


def test_datasets_have_the_names_and_the_order_that_the_paper_states_and_others_follow(tmp_path: Path) -> None:
    own = context(tmp_path, SUMS)
    assert [one["dataset"] for one in regression_times.lines(own)][::3] == ["law_school", "adult"]
    (tmp_path / "papers/p").mkdir(parents=True)
    about = "title: P\ndatasets: {grown: {title: Grown-ups, here: adu}}\n"
    (tmp_path / "papers/p/paper.yaml").write_text(about)
    found = regression_times.lines(own)
    assert [one["dataset"] for one in found][::3] == ["grown", "law_school", "adult"]  # a time is printed of "adult"
    assert found[0]["seconds"] == 14.0
    assert regression_points.titles(own, ["law_school", "grown"]) == {"grown": "Grown-ups", "law_school": "law school"}


def test_the_published_time_is_compared_with_the_sum(tmp_path: Path) -> None:
    own = context(tmp_path, SUMS)
    outcome = regression_times.reproduce(own, own.published[0])
    assert outcome.estimate is not None and np.isclose(outcome.estimate.mean, 14.0)
    assert outcome.source == "steps + fits"


def test_a_sum_of_an_unknown_series_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"times: sums name hours; the series are steps, fits"):
        regression_times.lines(context(tmp_path, {"whole": {"of": ["steps", "hours"], "label": "both"}}))
