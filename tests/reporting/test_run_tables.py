"""Tables of the runs themselves."""

import pandas as pd

from partialfair.grid.config import load_config
from partialfair.reporting.run_tables import by_exhibit
from tests.workflow.project import ROOT


def test_time_of_an_exhibit_is_that_of_the_runs_of_its_experiments():
    config = load_config(ROOT / "params.yaml")
    shown = config.params.exhibits["figure9"].experiments
    columns = ["experiment", "status", "cpu_seconds", "wall_seconds", "peak_memory_mib"]
    rows = [
        (shown[0], "ok", 60.0, 120.0, 300.0),
        (shown[1], "failed", 30.0, 30.0, 90.0),
        (shown[1], "not_run", None, None, None),
        ("demo", "ok", 7.0, 7.0, 5000.0),
    ]
    table = by_exhibit(config, pd.DataFrame(rows, columns=columns))
    lines = {row[0].text: [cell.text for cell in row[1:]] for row in table.rows}
    assert lines["figure9"] == ["2", "1.5", "2.5", "1.2", "120.0", "300"]
    assert "figure1" not in lines  # nothing of it was run
