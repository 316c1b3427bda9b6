"""What pages say in few words: what became of an exhibit's runs, and numbers in few letters."""

import pandas as pd
import pytest

from partialfair.reporting.site import exhibits, explorers


def test_what_became_of_the_runs_is_named():
    statuses = ["ok"] * 3 + ["tolerance missed"] * 2 + ["failed", "not_applicable"]
    assert exhibits._counted(pd.DataFrame({"status": statuses})) == (
        "6 trained; 2 exceed their tolerance on the training rows; 1 failed"
    )
    assert exhibits._counted(pd.DataFrame({"status": ["ok"]})) == "1 trained"


@pytest.mark.parametrize(
    ("value", "digits", "text"),
    [
        (0.47236, 3, ".472"), (9.726e-05, 2, "9.7e-5"), (0.0, 3, "0"), (12.34, 2, "12"), (-0.25, 3, "-0.25"),
        (1e-12, 2, "1e-12"), (float("nan"), 3, "–"),
    ],
)  # fmt: skip
def test_numbers_in_few_letters(value, digits, text):
    assert explorers._text(value, digits) == text
