"""A table of published levels of fairness, each beside the run of a grid that comes nearest to it.

For papers that print pairs of fairness and accuracy without the kappas they belong to.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from partialfair.pages import cells
from partialfair.pages.cells import Table
from reproduction.exhibits import style
from reproduction.exhibits.exhibit import Context, ExhibitKind, Line, Options
from reproduction.exhibits.kinds.pairs import COLUMNS, not_in_pair, outcome_of, pair_line, side_cells
from reproduction.verdicts.evidence import ReproducedNumber
from reproduction.verdicts.published import Published
from reproduction.verdicts.results import Setting, is_estimated


class LevelPairs(Options):
    """Published levels of fairness, each beside the run that comes nearest."""


LevelPairsContext = Context[LevelPairs]
_MATCH_ON = "validation"  # test rows do not choose what is shown


def assign(published: Sequence[float], measured: Sequence[float]) -> list[int | None]:
    """Return for each published value the place of the found one that stands for it, each used once.

    The sum of the distances is as small as possible; where there are fewer found values than published
    ones, those left over have ``None``.
    """
    from scipy.optimize import linear_sum_assignment

    positions: list[int | None] = [None] * len(published)
    if len(published) and len(measured):
        distance = np.abs(np.subtract.outer(np.asarray(published, float), np.asarray(measured, float)))
        for row, column in zip(*linear_sum_assignment(distance), strict=True):
            positions[row] = int(column)
    return positions


def candidates(context: LevelPairsContext, row: Published) -> list[Setting]:
    """Return the settings that may stand for a published number: those of the first experiment with results."""
    for name in context.experiments:
        run = context.config.experiment(name).runs.get(row.dataset)
        kappas = {} if run is None else run.algorithms
        settings = [Setting(name, row.dataset, row.algorithm, kappa) for kappa in kappas.get(row.algorithm, [])]
        settings = [s for s in settings if is_estimated(context.results.estimate(s, "accuracy"))]
        if settings:
            return settings
    return []


def setting_of(context: LevelPairsContext, row: Published) -> Setting | None:
    """Return the run that stands for a published number: that of the nearest fairness on validation rows."""
    settings = candidates(context, row)
    if row.unconstrained or not settings:
        return settings[0] if settings else None
    levels = [
        level_row
        for level_row in context.published
        if (level_row.dataset, level_row.algorithm) == (row.dataset, row.algorithm)
        and level_row.metric.endswith("_fairness")
        and not not_in_pair(context, level_row, settings[0])
    ]
    metric = context.convention(settings[0].experiment).absolute
    measured = [context.results.estimate(setting, metric, _MATCH_ON).mean for setting in settings]
    estimated = [position for position, value in enumerate(measured) if not math.isnan(value)]
    positions = assign([level_row.value for level_row in levels], [measured[position] for position in estimated])
    by_setting = {level.setting: position for level, position in reversed([*zip(levels, positions, strict=True)])}
    position = by_setting.get(row.setting)
    return None if position is None else settings[estimated[position]]


def reproduce(context: LevelPairsContext, row: Published) -> ReproducedNumber:
    """Return accuracy, or fairness in the absolute convention, of the run that stands for a published number."""
    setting = setting_of(context, row)
    if setting is None:
        return ReproducedNumber(None, not_in_pair(context, row, None) or _why_none(context, row))
    outcome = outcome_of(context, row, setting)
    nearest = "" if math.isinf(setting.kappa) else " (the nearest fairness on validation rows)"
    return replace(outcome, source=outcome.source + nearest)


def _why_none(context: LevelPairsContext, row: Published) -> str:
    where = ", ".join(context.experiments)
    if candidates(context, row):
        return f"{where} has fewer runs of {row.algorithm} on {row.dataset} than there are published levels"
    return f"no run of {row.algorithm} on {row.dataset} in {where} has a result"


def csv_lines(context: LevelPairsContext) -> Iterator[Line]:
    """Yield one line per published number: the columns of other tables of pairs, and the algorithm of its run."""
    for row in context.published:
        setting = setting_of(context, row)
        algorithm = "" if setting is None else setting.algorithm
        yield pair_line(context, row, setting, reproduce) | {"run_algorithm": algorithm}


def table(_: LevelPairsContext, lines: list[Line]) -> Table:
    """Lay the pairs out with one line per method and level."""
    rows, lines = [], [line for line in lines if line["in_pair"]]
    for algorithm, setting in dict.fromkeys((e["algorithm"], e["setting"]) for e in lines):
        level_lines = [e for e in lines if (e["algorithm"], e["setting"]) == (algorithm, setting)]
        pair = [
            next((e for e in level_lines if (e["metric"] == "accuracy") == is_accuracy), None)
            for is_accuracy in (False, True)
        ]
        level = {"unconstrained": "–"}.get(setting, setting.replace("row=", "level "))
        run_of = level_lines[0]["run_algorithm"] and style.plot_style(level_lines[0]["run_algorithm"]).label
        head = [cells.text(style.plot_style(algorithm).label)]
        rows.append((head, [cells.text(level), cells.text(run_of), *side_cells(*pair)]))
    inner = ["κ", "fairness published", "fairness ours", "accuracy published", "accuracy ours"]
    return cells.blocks([("", 3), ("", len(inner))], ["published method", "level", "run of", *inner], rows)


FROM_TABLES = True
KIND = ExhibitKind.from_lines(LevelPairs, (*COLUMNS, "run_algorithm"), csv_lines, table=table, reproduce=reproduce)
