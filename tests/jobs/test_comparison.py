"""Own runs beside committed ones: equal bits, bands with a known answer, and what a grid costs."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from reproduction.grid.config import load_config
from reproduction.grid.narrowed import Selection, narrowed
from reproduction.jobs import cost
from reproduction.jobs.comparison import Band, settings
from reproduction.jobs.reproduction import sentence

ROOT = Path(__file__).parents[2]
SEEDS = 5


@pytest.fixture(scope="module")
def part():
    return narrowed(load_config(ROOT / "params.yaml"), Selection("demo_tradeoff", 2))


def write(folder: Path, values: dict[str, list[float]], accuracy: float = 0.8) -> None:
    """A tidy table of the demo's two algorithms with their violations by seed."""
    rows = []
    for algorithm, violations in values.items():
        for seed, violation in enumerate(violations):
            for metric, value in (("accuracy", accuracy), ("rank_gap", violation)):
                row = ("simulated", "0.1-0.4", algorithm, 0.1, seed, "test", metric, value)
                rows.append(row)
    columns = ["dataset", "interval", "algorithm", "kappa", "seed", "split", "metric", "value"]
    path = folder / "reports/demo/metrics.parquet"
    path.parent.mkdir(parents=True)
    pd.DataFrame(rows, columns=columns).to_parquet(path)


def test_equal_runs_are_equal_to_the_bit_and_the_band_is_a_prediction_interval(part, tmp_path: Path):
    committed = [0.10, 0.12, 0.11, 0.14, 0.09]
    write(tmp_path / "committed", {"idca": committed, "alm": [0.1] * SEEDS})
    write(tmp_path / "own", {"idca": committed[:2], "alm": [0.1, np.nextafter(0.1, 1)]})
    alm, idca = settings(part, tmp_path / "own", tmp_path / "committed")
    assert (idca.algorithm, idca.seeds, idca.identical) == ("idca", 2, 2)
    assert (alm.seeds, alm.identical) == (2, 1), "one unit in the last place is another number"
    assert alm.is_inside, "and no difference that a band of no width should punish"
    band = idca.bands["rank_gap"]
    mean, deviation = np.mean(committed), np.std(committed, ddof=1)
    low, high = stats.t.interval(0.95, SEEDS - 1, mean, deviation * np.sqrt(1 / SEEDS + 1 / 2))
    assert np.allclose([band.mean, band.low, band.high, band.value], [mean, low, high, 0.11])


def test_a_mean_far_from_the_committed_seeds_is_outside(part, tmp_path: Path):
    write(tmp_path / "committed", {"idca": [0.10, 0.12, 0.11, 0.14, 0.09]})
    write(tmp_path / "own", {"idca": [0.3, 0.31]})
    (setting,) = settings(part, tmp_path / "own", tmp_path / "committed")
    assert not setting.is_inside and setting.bands["accuracy"].is_inside
    assert sentence([setting]).startswith("0 of 1 settings lie")


def test_new_seeds_fall_into_their_band_as_often_as_it_says(part, tmp_path: Path):
    """5,000 draws of 15 committed seeds and one new one: 95% of the bands hold it."""
    draws = np.random.default_rng(0).normal(size=(5000, 16))
    quantile, known = stats.t.ppf(0.975, 14), draws[:, :15]
    half = quantile * known.std(axis=1, ddof=1) * np.sqrt(1 / 15 + 1)
    bands = [
        Band(own, mean, mean - width, mean + width, 15)
        for own, mean, width in zip(draws[:, 15], known.mean(axis=1), half, strict=True)
    ]
    assert 0.94 < np.mean([band.is_inside for band in bands]) < 0.96


def test_what_is_not_estimable_in_both_is_the_same(part, tmp_path: Path):
    for name in ("own", "committed"):
        write(tmp_path / name, {"idca": [np.nan, np.nan]})
    (setting,) = settings(part, tmp_path / "own", tmp_path / "committed")
    assert setting.is_inside and setting.identical == 2
    assert sentence([setting]) == "All 2 runs have the committed metrics to the last bit."
    assert sentence([]) == "There is no committed setting to compare with."


def test_the_cost_is_what_was_recorded_of_the_runs_that_are_not_done(part, tmp_path: Path):
    recorded = pd.read_parquet(ROOT / "reports/demo/runs.parquet")
    first = recorded[recorded["seed"].isin([0, 1])]
    found = cost.cost(part, ROOT, tmp_path, speed=2.0)
    assert found.steps == {"train": len(first), "evaluate": len(first), "prepare": 1, "split": 2, "collect": 1}
    overhead = cost.EVALUATION * len(first) + cost.STEP * 4 + cost.START
    assert found.seconds == pytest.approx(first["cpu_seconds"].sum() + overhead) and found.unknown == 0
    assert found.minutes(cores=4) == pytest.approx(found.seconds / 2 / 4 / 60)
    job = part.jobs()[0]
    (tmp_path / job.path).mkdir(parents=True)
    (tmp_path / job.path / "metrics.json").touch()
    assert cost.cost(part, ROOT, tmp_path, 2.0).steps["train"] == len(first) - 1
    assert cost.cost(part, tmp_path, tmp_path, 2.0).unknown == len(first) - 1


def test_speed_is_a_ratio_of_processor_time():
    assert 0.02 < cost.speed(0.2) < 50
