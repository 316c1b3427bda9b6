"""Tables of the long benchmarks, made from their committed rows when the site is built: no number of them is typed.

``{measured} tables``, ``{measured} parity SIDE``, ``{measured} verdict SIDE``, ``{measured} rows`` and ``{measured}
training TASK`` write them.
"""

import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
from docutils import nodes
from facts import table
from numpy.typing import NDArray
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

ROOT = Path(__file__).parents[2]
if str(ROOT) not in sys.path:
    sys.path.append(str(ROOT))

from tests.benchmarks import bench_tables, bench_ten_million, parity_cells, training_cells  # noqa: E402
from tests.benchmarks.kept import Kept  # noqa: E402

NOTHING = "Not measured yet.\n"
OF = "\N{NO-BREAK SPACE}of\N{NO-BREAK SPACE}"  # between two counts in a narrow column


class Measured(SphinxDirective):
    """A directive whose content is Markdown made from kept rows."""

    required_arguments = 1
    optional_arguments = 1
    final_argument_whitespace = True

    def run(self) -> list[nodes.Node]:
        """Return the parsed content."""
        writers = {"tables": tables, "parity": parity, "verdict": verdict, "rows": rows, "training": training}
        return self.parse_text_to_nodes(writers[self.arguments[0]](*self.arguments[1:]))


def tables(file: Path = bench_tables.FILE) -> str:
    """Return a sentence per side, and one line per table and side: fits, true statuses, tolerances met, seconds."""
    kept = Kept(file, bench_tables.COLUMNS, bench_tables.KEYS)
    if not kept.rows:
        return NOTHING
    lines: list[tuple[str, ...]] = []
    words = ""
    for side, how in (("aware", "With"), ("blind", "Without")):
        all_ = kept.where(lambda row, side=side: row["side"] == side)
        true, met = (sum(row[column] == "True" for row in all_) for column in ("truthful", "met"))
        if all_:
            words += f"{how} the group at prediction, {true} of {len(all_)} fits have a true status; "
            words += f"{met} are within kappa. "
        names = dict.fromkeys(row["table"] for row in all_)
        lines += [_table_line([row for row in all_ if row["table"] == name]) for name in names]
    header = ("table", "groups", "smallest", "group known", "true", "in kappa", "gap / kappa", "accuracy", "s")
    notes = (
        "*true*: fits whose status is true. *in kappa*: fits within kappa. *gap / kappa*: the largest ratio among fits "
        "whose status is ok. *accuracy*: on the training rows, minus that of the fit without a constraint. *s*: median "
        "seconds of a fit.\n"
    )
    return f"{words}\n\n{notes}\n" + table(header, lines) + _older(kept) + _unmeasured(kept)


def _table_line(own: list[dict[str, str]]) -> tuple[str, ...]:
    """The fits of one table and side."""
    true, met = (sum(row[column] == "True" for row in own) for column in ("truthful", "met"))
    largest = [float(row["gap"]) / float(row["kappa"]) for row in own if row["met"] == "True"]
    cost = np.mean([float(row["accuracy"]) - float(row["free_accuracy"]) for row in own])
    time = np.median([float(row["seconds"]) for row in own])
    first, many = own[0], len(own)
    known = "yes" if first["side"] == "aware" else "no"
    found = f"{max(largest):.3f}" if largest else "–"
    size = first["groups"], f"{int(first['smallest']):,}"
    return (first["table"], *size, known, f"{true}{OF}{many}", f"{met}{OF}{many}", found, f"{cost:+.4f}", f"{time:.2f}")


def _unmeasured(kept: Kept) -> str:
    left = len(kept.missing(bench_tables.keys()))
    return f"\n{left} of {len(bench_tables.keys())} fits of the benchmark have not been run yet.\n" if left else ""


def _parity_rows(side: str, file: Path) -> tuple[Kept, str]:
    """Rows and side of "blind" and "aware", whose peer is fairlearn, and of "peers", which are other libraries'."""
    if side == "peers":
        return parity_cells.peers(), "aware"
    return Kept(file, parity_cells.COLUMNS, parity_cells.KEYS), side


def parity(side: str, file: Path = parity_cells.FILE) -> str:
    """Return the comparisons of a side, losses included."""
    kept, side = _parity_rows(side, file)
    along = {(cell.table, cell.method, cell.bound): cell for cell in parity_cells.cells(kept, side, parity_cells.PATH)}
    lines = []
    for cell in parity_cells.cells(kept, side):
        peer = cell.method if cell.method == parity_cells.TO else f"{cell.method}, bound {cell.bound:g}"
        gap = f"{cell.gap:.4f}" + (" (beyond our path)" if cell.beyond else "")
        shared = along.get((cell.table, cell.method, cell.bound))
        own = *_ours(cell), *(_ours(shared) if shared else ("–",) * 3)
        lines.append((cell.table, peer, f"{cell.accuracy:.4f}", gap, *own))
    header = (
        "table", "peer", "its test accuracy", "its test gap", "one fit of ours less its, ± standard error", "outcome",
        "its time over ours", "ours along a path less its", "outcome", "its time over ours",
    )  # fmt: skip
    return table(header, lines) + _older(kept, parity_cells.fits_of(side)) if lines else NOTHING


def _ours(cell: parity_cells.Cell) -> tuple[str, str, str]:
    """Difference, outcome and ratio of times."""
    outcome = "ahead" if cell.ahead else "behind" if cell.behind else "level"
    return f"{cell.difference:+.4f} ± {cell.error:.4f}", outcome, f"{cell.times:.1f}"


def verdict(side: str, file: Path = parity_cells.FILE) -> str:
    """Return one sentence about the comparisons of a side."""
    kept, side = _parity_rows(side, file)
    found, along = parity_cells.cells(kept, side), parity_cells.cells(kept, side, parity_cells.PATH)
    if not found:
        return NOTHING
    words = f"Of {len(found)} comparisons over {_splits(found)} splits, {_counts(found)}."
    if along:
        words += f" Along a path of {len(parity_cells.KAPPAS)} tolerances, {_counts(along)}."
    return words + "\n"


def _splits(found: list[parity_cells.Cell]) -> str:
    splits = sorted({cell.splits for cell in found})
    return f"{splits[0]}" if len(splits) == 1 else f"{splits[0]} to {splits[-1]}"


def _counts(found: list[parity_cells.Cell]) -> str:
    """How many comparisons went either way."""
    ahead, behind = sum(cell.ahead for cell in found), sum(cell.behind for cell in found)
    level, mean = len(found) - ahead - behind, float(np.mean([cell.difference for cell in found]))
    times = [cell.times for cell in found if cell.method == parity_cells.EG]
    words = (
        f"ours is more accurate in {ahead} by more than two standard errors, less accurate in {behind}, and level in "
        f"{level}; the mean difference is {mean:+.4f}"
    )
    if not times:
        return words
    return f"{words}, and it takes 1/{min(times):.0f} to 1/{max(times):.0f} of the reduction's time"


def rows(file: Path = bench_ten_million.FILE) -> str:
    """Return one line per size of the generated file."""
    kept = Kept(file, bench_ten_million.COLUMNS, bench_ten_million.KEYS)
    lines = [
        (
            f"{int(row['rows']):,}", row["columns"], row["features"], f"{float(row['file_gib']):.2f}",
            f"{float(row['seconds']):.1f}", f"{float(row['gib']):.2f}", f"{float(row['gap']):.5f}", row["status"],
        )
        for row in sorted(kept.rows, key=lambda row: int(row["rows"]))
    ]  # fmt: skip
    header = (
        "rows", "columns", "features", "file, GiB", "processor seconds", "peak memory, GiB",
        f"gap (kappa {bench_ten_million.KAPPA:g})", "status",
    )  # fmt: skip
    if not lines:
        return NOTHING
    slope = bench_ten_million.figures(kept)[2].value
    growth = "" if np.isnan(slope) else f"\nThe time grows as the number of rows to the power {slope:.2f}.\n"
    left = [f"{size:,}" for (size,) in kept.missing([(size,) for size in bench_ten_million.SIZES])]
    missing = f"\nNot measured yet: {', '.join(left)} rows.\n" if left else ""
    return table(header, lines) + growth + missing + _older(kept)


def training(task: str, file: Path = training_cells.FILE) -> str:
    """Return a sentence and one line per method of a task, the smallest loss among those that keep the gap first."""
    kept = Kept(file, training_cells.COLUMNS, training_cells.KEYS, training_cells.MEASURED)
    cells = training_cells.cells(kept, task)
    if not cells:
        return NOTHING
    header = ("method", "kept", "test loss", "gap, training rows", "gap, test rows", "ms a step")
    lines = [
        (
            cell.method, "yes" if cell.inside else "no", _interval(cell.loss), _interval(cell.train_gap),
            _interval(cell.test_gap), f"{cell.milliseconds:.2f}",
        )
        for cell in cells
    ]  # fmt: skip
    return _ahead(cells) + "\n" + table(header, lines) + _older(kept, lambda row: row["task"] == task)


def _interval(values: NDArray[np.float64]) -> str:
    middle, half = training_cells.interval(values)
    return f"{middle:.4f} ± {half:.4f}"


def _ahead(cells: list[training_cells.Cell]) -> str:
    """Who has the smallest loss, and by how much ours is behind or ahead of the best of the others."""
    inside = [cell for cell in cells if cell.inside and not cell.unconstrained]
    ours = [cell for cell in inside if cell.ours]
    others = [cell for cell in inside if not cell.ours]
    if not ours or not others:
        return f"{len(inside)} methods keep the constraint.\n"
    middle, half = training_cells.interval(ours[0].loss - others[0].loss)
    word = "less" if middle + half < 0 else "more" if middle - half > 0 else "level"
    said = {
        "less": f"is smaller by {-middle:.4f}",
        "more": f"is larger by {middle:.4f}",
        "level": f"differs by {middle:+.4f}, which {len(ours[0].loss)} seeds do not tell from 0,",
    }[word]
    return (
        f"Of the methods that keep the constraint, {ours[0].method} has the smallest loss among ours and "
        f"{others[0].method} among the others. Ours {said} (95% interval {middle - half:+.4f} to {middle + half:+.4f}, "
        "paired by seed).\n"
    )


def _older(kept: Kept, chosen: Callable[[dict[str, str]], bool] = lambda row: True) -> str:
    return f"\nSince then the code changed: {older}.\n" if (older := kept.older(chosen)) else ""


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directive."""
    app.add_directive("measured", Measured)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
