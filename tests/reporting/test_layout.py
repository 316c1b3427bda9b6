"""What stands once for a whole figure or table: labels at the edges of panels, the shared cells of a block."""

from partialfair.pages import cells
from partialfair.pages.cells import Cell
from partialfair.reporting import canvas
from partialfair.reporting.canvas import Panel


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
