"""Quantities along a run: against time, steps, iterations or epochs, one line per method, candidate or seed."""

from reproduction.exhibits import dual_curves, epoch_curves, history_curves, loss_curves, step_curves, trace_curves
from reproduction.exhibits.exhibit import Kind

KIND = {
    "history": Kind.of(
        history_curves.HistoryCurves, history_curves.COLUMNS, history_curves.lines,
        draw=history_curves.draw,
    ),
    "methods": Kind.of(
        trace_curves.MethodCurves, trace_curves.METHOD_COLUMNS, trace_curves.method_lines,
        draw=trace_curves.draw_methods,
    ),
    "candidates": Kind.of(
        trace_curves.CandidateCurves, trace_curves.CANDIDATE_COLUMNS, trace_curves.candidate_lines,
        draw=trace_curves.draw_candidates, reproduce=trace_curves.reproduce_fixed,
    ),
    "multipliers": Kind.of(
        dual_curves.MultiplierCurves, dual_curves.COLUMNS, dual_curves.lines, draw=dual_curves.draw,
    ),
    "residuals": Kind.of(
        dual_curves.ResidualCurves, dual_curves.RESIDUAL_COLUMNS, dual_curves.residual_lines,
        draw=dual_curves.draw_residuals,
    ),
    "epochs": Kind.of(
        epoch_curves.EpochCurves, epoch_curves.COLUMNS, epoch_curves.lines, draw=epoch_curves.draw,
    ),
    "losses": Kind.of(loss_curves.LossCurves, loss_curves.COLUMNS, loss_curves.lines, draw=loss_curves.draw),
    "steps": Kind.of(
        step_curves.StepCurves, step_curves.COLUMNS, step_curves.lines,
        draw=step_curves.draw, reproduce=step_curves.reproduce,
    ),
}  # fmt: skip
"""By source: histories, curves kept with models, points on the way of networks, steps of regressions."""
