"""What stands once for a whole figure or table: labels at the edges of panels, the shared cells of a block."""

import math

from partialfair.pages import cells
from partialfair.pages.cells import Cell
from reproduction.exhibits import canvas
from reproduction.exhibits.canvas import Panel


def test_labels_stand_at_the_edges_of_a_grid_of_panels() -> None:
    names = {"loss": "loss $F$", "gap": "gap"}
    panels = canvas.grid(
        names, {"a9a": "a9a", "bank": "Bank"}, lambda row, column: Panel([], {}, row + column), "steps"
    )
    assert [[panel.reason for panel in row] for row in panels] == [["lossa9a", "lossbank"], ["gapa9a", "gapbank"]]
    labels = [[tuple(panel.labels[name] for name in ("title", "xlabel", "ylabel")) for panel in row] for row in panels]
    assert labels == [[("a9a", "", "loss $F$"), ("Bank", "", "")], [("", "steps", "gap"), ("", "steps", "")]]


def test_a_block_says_what_its_rows_share_once() -> None:
    lines = [([cells.text(name, "of"), Cell(size)], [Cell(own)]) for name, size, own in ("ax1", "ax2", "bx3", "bx4")]
    table = cells.blocks([], ["name", "size", "own"], lines)
    assert [[cell.text for cell in row] for row in table.rows] == [
        ["a", "x", "1"], ["", "", "2"], ["b", "x", "3"], ["", "", "4"],
    ]  # fmt: skip
    assert table.breaks == {0, 2}
    assert [(cell.kind, cell.note) for cell in table.rows[1]] == [("text", ""), ("number", ""), ("number", "")]


def test_a_mean_without_a_value_says_why() -> None:
    line = {"risk": 0.25, "risk_half_width": 0.01, "note": "not yet", "none": None}
    assert cells.mean(line, "risk").text == "0.2500 ± 0.0100"
    assert (cells.mean(line, "none").text, cells.mean(line, "none").note) == ("not run", "not yet")


def test_an_effect_shows_its_first_digit_and_no_sign_of_a_zero() -> None:
    def shown(value: float, low: float = math.nan, high: float = math.nan) -> str:
        return cells.signed({"reproduced": value, "ci_low": low, "ci_high": high}).text

    assert shown(0.0123, -0.001, 0.02) == "+0.0123 [-0.0010, +0.0200]"
    assert shown(-0.00003, -0.000121, 0.00005) == "-0.00003 [-0.00012, +0.00005]"
    assert shown(-0.000001, -0.001005, 0.001002) == "+0.0000 [-0.0010, +0.0010]"
    assert shown(-0.000002) == "-0.000002"
    assert (shown(-0.0), shown(-1e-9), shown(0.5, -0.0, 1.0)) == ("+0.0000", "+0.000000", "+0.5000 [+0.0000, +1.0000]")
    assert shown(math.nan) == "–"
