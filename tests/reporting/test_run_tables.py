"""Tables of the runs themselves."""

import pandas as pd

from partialfair.config import load_config
from partialfair.reporting.run_tables import by_exhibit
from tests.workflow.project import ROOT


def test_time_of_an_exhibit_is_that_of_the_runs_of_its_experiments():
    config = load_config(ROOT / "params.yaml")
    shown = config.params.exhibits["figure9"].experiments
    rows = [
        {"experiment": shown[0], "status": "ok", "cpu_seconds": 60.0, "wall_seconds": 120.0, "peak_memory_mib": 300.0},
        {"experiment": shown[1], "status": "failed", "cpu_seconds": 30.0, "wall_seconds": 30.0, "peak_memory_mib": 90.0},
        {"experiment": shown[1], "status": "not_run", "cpu_seconds": None, "wall_seconds": None, "peak_memory_mib": None},
        {"experiment": "demo", "status": "ok", "cpu_seconds": 7.0, "wall_seconds": 7.0, "peak_memory_mib": 5000.0},
    ]
    table = by_exhibit(config, pd.DataFrame(rows))
    lines = {row[0].text: [cell.text for cell in row[1:]] for row in table.rows}
    assert lines["figure9"] == ["2", "1.5", "2.5", "1.2", "120.0", "300"]
    assert "figure1" not in lines  # nothing of it was run
