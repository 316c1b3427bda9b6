"""Rows that are kept, and what the long benchmarks conclude from theirs."""

import numpy as np
import pytest

from partialfair.metrics import evaluate_all
from tests.benchmarks import bench_tables, bench_ten_million, parity_cells, training_cells
from tests.benchmarks.kept import Kept
from tests.benchmarks.parity_cells import BOUNDS, EG, KAPPAS, OURS, PATH


def test_a_row_that_is_there_is_not_measured_again(tmp_path):
    path = tmp_path / "rows.csv"
    kept = Kept(path, ("name", "low", "value"), ("name", "low"))
    kept.add({"name": "a", "low": 0.0, "value": 1 / 3})
    again = Kept(path, ("name", "low", "value"), ("name", "low"))
    assert again.missing([("a", 0.0), ("b", 0.0)]) == [("b", 0.0)]
    assert again.rows[0]["value"] == "0.333333" and again.older() == ""
    path.write_text(path.read_text().replace(again.rows[0]["code"], "0" * 16))
    assert "1 of 1 fits were measured with earlier code" in Kept(path, again.columns[:-1], again.keys).older()


def test_the_gap_of_the_benchmark_is_the_metric():
    random = np.random.default_rng(0)
    group = random.choice(3, 200, p=(0.6, 0.3, 0.1))
    scores = np.round(random.normal(size=200) + 0.5 * group, 1)  # with ties
    for low, high in ((0.0, 0.3), (0.3, 0.6), (0.7, 1.0), (0.0, 1.0)):
        y = np.where(random.random(200) < 0.5, 1.0, -1.0)
        values, _ = evaluate_all(scores, y, group, [[low, high]], only=("rank_gap",))
        assert bench_tables.rank_gap(scores, group.astype(str), low, high) == pytest.approx(
            values["rank_gap"], abs=1e-12
        )


@pytest.mark.parametrize(
    ("said", "status", "gap", "free", "true"),
    [
        (0.05, "ok", 0.05, 0.3, True),
        (0.05, "ok", 0.06, 0.3, False),  # it reports another gap
        (0.12, "ok", 0.12, 0.3, False),
        (0.12, "tolerance missed: ...", 0.12, 0.3, True),
        (0.09, "tolerance missed: ...", 0.09, 0.3, False),
        (0.12, "tolerance missed: ...", 0.12, 0.11, False),  # less fair than without a constraint
        (0.12, "infeasible", 0.12, 0.3, False),
    ],
)
def test_a_fit_is_truthful_only_if_all_it_says_is_so(said, status, gap, free, true):
    assert bench_tables.truthful(said, status, gap, free, 0.1) is true


def parity_rows(path, difference, splits=4):
    """Rows of one table on which we are more accurate than the peer by ``difference`` and some noise."""
    kept = Kept(path, parity_cells.COLUMNS, parity_cells.KEYS)
    for split in range(splits):
        shared = {"table": "t", "side": "blind", "split": split, "train_gap": 0.0}
        for kappa in KAPPAS:
            ours = {"method": OURS, "setting": kappa, "gap": kappa, "seconds": 1.0}
            kept.add(shared | ours | {"accuracy": 0.8 + kappa + 0.001 * split + difference})
            along = ours | {"method": PATH, "seconds": 0.25}
            kept.add(shared | along | {"accuracy": 0.8 + kappa + 0.001 * split - difference})
        for bound in BOUNDS:
            peer = {"method": EG, "setting": bound, "gap": bound, "seconds": 8.0}
            kept.add(shared | peer | {"accuracy": 0.8 + bound + 0.001 * split + 1e-5 * (-1) ** split})
    return kept


@pytest.mark.parametrize(
    ("difference", "ahead", "behind"), [(0.001, True, False), (0.0, False, False), (-0.001, False, True)]
)
def test_splits_are_paired_at_the_test_gap_of_the_peer(tmp_path, difference, ahead, behind):
    found = parity_cells.cells(parity_rows(tmp_path / "p.csv", difference), "blind")
    assert len(found) == len(BOUNDS)
    for cell in found:
        assert cell.difference == pytest.approx(difference, abs=1e-6) and cell.error < 1e-4
        assert (cell.ahead, cell.behind, cell.beyond) == (ahead, behind, False)
        assert cell.times == pytest.approx(8) and cell.splits == 4
    for cell in parity_cells.cells(Kept(tmp_path / "p.csv", parity_cells.COLUMNS, parity_cells.KEYS), "blind", PATH):
        assert cell.difference == pytest.approx(-difference, abs=1e-6) and cell.times == pytest.approx(32)


def test_growth_and_the_largest_file_are_told_apart(tmp_path):
    kept = Kept(tmp_path / "t.csv", bench_ten_million.COLUMNS, bench_ten_million.KEYS)
    row = dict.fromkeys(bench_ten_million.COLUMNS, 0.5)
    for rows in (100_000, 1_000_000):
        kept.add(row | {"rows": rows, "seconds": rows / 1e5, "status": "ok"})
    minutes, memory, slope = bench_ten_million.figures(kept)
    assert np.isnan(minutes.value) and np.isnan(memory.value) and minutes.holds is None
    assert slope.value == pytest.approx(1.0) and slope.holds
    kept.add(row | {"rows": 10_000_000, "seconds": 300.0, "gib": 5.0, "status": "ok"})
    minutes, memory, _ = bench_ten_million.figures(kept)
    assert minutes.value == pytest.approx(5.0) and memory.value == pytest.approx(5.0)


def test_seeds_of_a_method_make_an_interval_and_keep_the_gap_or_not(tmp_path):
    kept = Kept(tmp_path / "t.csv", training_cells.COLUMNS, training_cells.KEYS, training_cells.MEASURED)
    row = dict.fromkeys(training_cells.COLUMNS, 0.0) | {"task": "coloured digits"}
    for method, gap, loss in (("partialfair a", 0.0999, 0.5), ("peer", 0.099, 0.4), ("far", 0.11, 0.1)):
        kept.add(row | {"method": method, "kind": "trial", "number": 0, "milliseconds": 9.0, "test_loss": 7.0})
        for seed, off in enumerate((-0.01, 0.0, 0.01)):
            run = {"method": method, "kind": "seed", "number": seed, "milliseconds": 1.0 + seed}
            kept.add(row | run | {"test_loss": loss + off, "train_gap": gap})
    kept.add(row | {"method": "unfinished", "kind": "seed", "number": 0})
    cells = training_cells.cells(kept, "coloured digits")
    assert [cell.method for cell in cells] == ["peer", "partialfair a", "far"]
    assert [cell.inside for cell in cells] == [True, True, False]
    assert [cell.ours for cell in cells] == [False, True, False]
    assert cells[0].milliseconds == 2.5
    middle, half = training_cells.interval(cells[0].loss)
    assert middle == pytest.approx(0.4) and half == pytest.approx(4.3026527 * 0.01 / np.sqrt(3))
