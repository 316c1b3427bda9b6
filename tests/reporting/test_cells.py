"""The legend of a table says what its marks mean, and nothing of marks that it has not."""

import pytest

from partialfair.pages import cells
from partialfair.pages.cells import Cell, Table
from reproduction.exhibits import document


def body(*row: Cell, upper: str = "") -> str:
    return cells.html(Table([(upper, len(row))], [f"c{k}" for k in range(len(row))], [row]))


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ([Cell("a", "text"), Cell("0.5")], ""),
        ([Cell("0.5 ± 0.1")], "± half the width of the 95% t-interval of a mean over seeds."),
        ([Cell("holds", "good")], ""),  # a word of its own beside the mark
        ([cells.published(0.5)], "Grey numbers are published."),
        ([Cell("0.5", note="of psp")], "Hover over a number for its source."),
    ],
)
def test_legend_says_what_occurs(row: list[Cell], said: str):
    assert document.legend(body(*row)) == said


def test_marks_beside_published_numbers_are_explained():
    found = document.legend(body(cells.published(0.5), Cell("0.6 ± 0.1", "bad", "of psp")))
    assert found.startswith("Grey numbers are published. ✓ agrees with the published number, ≈ is near it, ✗ differs")
    assert "± half the width" in found and found.endswith("Hover over a number for its source.")


def test_a_standard_deviation_is_not_called_an_interval():
    assert document.legend(body(Cell("0.5 ± 0.1"), upper="mean ± standard deviation")) == ""
