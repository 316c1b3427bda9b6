"""Which code counts for an evaluation and for an exhibit."""

from pathlib import Path

import pytest

from reproduction.grid import fingerprint
from reproduction.grid.config import load_config
from tests.grid.test_fingerprint import GRID

PSP = "partial_statistical_parity"


def test_a_metric_on_request_counts_for_those_that_ask_for_it_alone():
    without, gap, log, risk = (
        fingerprint.evaluation_hash(names) for names in ([], ["loss_gap"], ["log_loss"], ["risk"])
    )
    assert len({without, gap, risk}) == 3 and gap == log, "of one module"


def test_the_constraint_of_an_experiment_counts_for_what_is_drawn_of_it(tmp_path):
    codes = []
    for constraint in (PSP, "partial_demographic_parity"):
        (tmp_path / "params.yaml").write_text(GRID.replace(PSP, constraint))
        codes.append(fingerprint.exhibit(load_config(tmp_path / "params.yaml"), "figure2").code)
    assert codes[0] != codes[1]


@pytest.mark.parametrize(
    ("name", "family"),
    [
        ("auc_gap_inter_group", "{name: auc_gap, between: inter_group}"),
        ("loss_equalized_odds", "{name: loss_gap, notion: equalized_odds}"),
        ("partial_demographic_parity", "{name: partial_rates, notion: demographic_parity}"),
    ],
)
def test_a_family_with_its_option_is_the_constraint_of_that_name(tmp_path: Path, name: str, family: str):
    """The same job to the byte: its settings, its code, and what is drawn of it."""
    texts = []
    for constraint in (name, family):
        (tmp_path / "params.yaml").write_text(GRID.replace(PSP, constraint))
        grid = load_config(tmp_path / "params.yaml")
        (job,) = grid.jobs()
        texts.append((job, job.path, *fingerprint.run(grid, job).texts(), fingerprint.exhibit(grid, "figure2").texts()))
    assert texts[0] == texts[1]
    assert f'"constraint":"{name}"' in texts[0][2]
