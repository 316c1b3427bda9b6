"""Test AUC and gap of every method at every target tolerance, as a table."""

import math
from collections.abc import Mapping

from partialfair.pages import cells
from partialfair.pages.cells import Cell, Table
from reproduction.exhibits import style
from reproduction.exhibits.auc_points import COLUMNS, Point, csv_lines, panels, points, title_of
from reproduction.exhibits.exhibit import Context, ExhibitKind, Line, Options


def _target_table(context: Context[Options], _: list[Line]) -> Table:
    """Return one block per panel, one line per method, one column per target tolerance: AUC / gap on test rows."""
    by_panel = {
        (dataset, experiment): list(points(context, experiment, dataset)) for dataset, experiment in panels(context)
    }
    kappas = sorted(
        {p.setting.kappa for panel_points in by_panel.values() for p in panel_points if not math.isinf(p.setting.kappa)}
    )
    rows = []
    for panel, panel_points in by_panel.items():
        for name in dict.fromkeys(point.setting.algorithm for point in panel_points):
            points_by_kappa = {point.setting.kappa: point for point in panel_points if point.setting.algorithm == name}
            line = [_cell(points_by_kappa, points_by_kappa.get(math.inf), kappa) for kappa in kappas]
            rows.append(([cells.text(title_of(context, *panel))], [cells.text(style.plot_style(name).label), *line]))
    return cells.blocks([], ["panel", "method", *(f"κ = {kappa:g}" for kappa in kappas)], rows)


def _cell(points_by_kappa: Mapping[float, Point], start: Point | None, kappa: float) -> Cell:
    point = points_by_kappa.get(kappa, start)
    if point is None or not point.auc.size:
        return Cell("not run", "none", point.reason if point is not None else "")
    (gap, auc), (gap_error, auc_error) = point.mean, point.error
    mark = "!" if point.outside else ""
    note = f"standard errors: AUC {auc_error:.4f}, gap {gap_error:.3f}; {point.auc.size} seeds"
    if point.outside:
        note += f"; no candidate within kappa on validation rows at {point.outside}"
    return Cell(f"{auc:.4f} / {gap:.3f}{mark}", "number", note)


KIND = ExhibitKind.from_lines(Options, COLUMNS, csv_lines, table=_target_table)
