"""The table of runs, by setting."""

import math
import re

import pandas as pd

from partialfair.pages import cells
from reproduction.exhibits import run_tables


def rows(runs: pd.DataFrame) -> list[list[str]]:
    """Texts of the cells of the table's rows, without the two that name experiment and dataset."""
    html = cells.html(run_tables.by_setting(runs))
    found = [re.findall(r"<td[^>]*>(.*?)</td>", row, flags=re.DOTALL) for row in html.split("<tr")]
    return [row[2:] for row in found if row]


def test_a_row_is_of_all_seeds_of_a_setting():
    shared = {"experiment": "psp", "dataset": "a9a", "objective": 0.25, "max_violation": 0.01, "kkt_residual": math.nan}
    runs = pd.DataFrame(
        [
            shared
            | {"algorithm": name, "kappa": kappa, "seed": seed, "status": status, "peak_memory_mib": 100.0 + seed}
            | {"wall_seconds": 1.0 + seed, "cpu_seconds": math.nan, "gradient_mapping": gradient}
            for name, kappa, seed, status, gradient in (
                ("idca", 0.2, 0, "ok", 1e-3),
                ("regularization", 0.2, 0, "ok", 1e-3),
                ("idca", 0.2, 1, "tolerance missed", 2e-3),
                ("regularization", 0.2, 1, "failed", math.nan),
                ("unconstrained", math.inf, 0, "failed", math.nan),
            )
        ]
    )
    assert rows(runs) == [
        ["IDCA", "0.2", "1 of 2", "1.5", "–", "101", "0.25000", "1.0e-02", "2.0e-03"],
        ["Regularization", "λ 0.2", "1 of 2", "1.5", "–", "101", "0.25000", "1.0e-02", "1.0e-03"],
        ["Unconstrained", "∞", "0 of 1", "1.0", "–", "100", "0.25000", "1.0e-02", "–"],
    ]
    marked = re.findall(r'<td class="bad"[^>]*>(.*?)</td>', cells.html(run_tables.by_setting(runs)))
    assert marked == ["1 of 2", "0 of 1"], "a tolerance that was missed is no failure"
