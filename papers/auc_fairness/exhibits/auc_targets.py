"""Test AUC and gap of every method at every target tolerance, as a table."""

import math
from collections.abc import Mapping

from partialfair.pages import cells
from partialfair.pages.cells import Cell, Table
from reproduction.exhibits import style
from reproduction.exhibits.auc_points import COLUMNS, Point, lines, panels, points, title_of
from reproduction.exhibits.exhibit import Context, Kind, Line, Options


def target_table(context: Context[Options], _: list[Line]) -> Table:
    """One block per panel, one line per method, one column per target tolerance: AUC / gap on test rows."""
    by_panel = {
        (dataset, experiment): list(points(context, experiment, dataset)) for dataset, experiment in panels(context)
    }
    kappas = sorted({p.setting.kappa for found in by_panel.values() for p in found if not math.isinf(p.setting.kappa)})
    rows = []
    for panel, found in by_panel.items():
        for name in dict.fromkeys(point.setting.algorithm for point in found):
            own = {point.setting.kappa: point for point in found if point.setting.algorithm == name}
            line = [_cell(own, own.get(math.inf), kappa) for kappa in kappas]
            rows.append(([cells.text(title_of(context, *panel))], [cells.text(style.look(name).label), *line]))
    return cells.blocks([], ["panel", "method", *(f"κ = {kappa:g}" for kappa in kappas)], rows)


def _cell(own: Mapping[float, Point], start: Point | None, kappa: float) -> Cell:
    point = own.get(kappa, start)
    if point is None or not point.auc.size:
        return Cell("not run", "none", point.reason if point is not None else "")
    (gap, auc), (gap_error, auc_error) = point.mean, point.error
    mark = "!" if point.outside else ""
    note = f"standard errors: AUC {auc_error:.4f}, gap {gap_error:.3f}; {point.auc.size} seeds"
    if point.outside:
        note += f"; no candidate within kappa on validation rows at {point.outside}"
    return Cell(f"{auc:.4f} / {gap:.3f}{mark}", "number", note)


KIND = Kind.of(Options, COLUMNS, lines, table=target_table)
