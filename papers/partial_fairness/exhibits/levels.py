"""A table of published levels of fairness, each beside the run of a grid that comes nearest to it.

For papers that print pairs of fairness and accuracy without the kappas they belong to.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from papers.partial_fairness.exhibits.pairs import COLUMNS, not_in_pair, outcome_of, pair_line, side_cells
from partialfair.pages import cells
from partialfair.pages.cells import Table
from reproduction.exhibits import style
from reproduction.exhibits.exhibit import Context, Kind, Line, Options
from reproduction.verdicts.evidence import Outcome
from reproduction.verdicts.published import Published
from reproduction.verdicts.results import Setting, is_estimated


class Levels(Options):
    """Published levels of fairness, each beside the run that comes nearest."""


Shown = Context[Levels]
MATCH_ON = "validation"  # test rows do not choose what is shown


def assign(published: Sequence[float], found: Sequence[float]) -> list[int | None]:
    """Return for each published value the place of the found one that stands for it, each used once.

    The sum of the distances is as small as possible; where there are fewer found values than published
    ones, those left over have ``None``.
    """
    from scipy.optimize import linear_sum_assignment

    places: list[int | None] = [None] * len(published)
    if len(published) and len(found):
        distance = np.abs(np.subtract.outer(np.asarray(published, float), np.asarray(found, float)))
        for row, column in zip(*linear_sum_assignment(distance), strict=True):
            places[row] = int(column)
    return places


def candidates(context: Shown, row: Published) -> list[Setting]:
    """Settings with results that may stand for a published number: those of the first experiment that has any."""
    for name in context.experiments:
        run = context.config.experiment(name).runs.get(row.dataset)
        kappas = {} if run is None else run.algorithms
        settings = [Setting(name, row.dataset, row.algorithm, kappa) for kappa in kappas.get(row.algorithm, [])]
        settings = [s for s in settings if is_estimated(context.results.estimate(s, "accuracy"))]
        if settings:
            return settings
    return []


def setting_of(context: Shown, row: Published) -> Setting | None:
    """Return the run that stands for a published number: that of the nearest fairness on validation rows."""
    found = candidates(context, row)
    if row.unconstrained or not found:
        return found[0] if found else None
    levels = [
        one
        for one in context.published
        if (one.dataset, one.algorithm) == (row.dataset, row.algorithm)
        and one.metric.endswith("_fairness")
        and not not_in_pair(context, one, found[0])
    ]
    metric = context.convention(found[0].experiment).absolute
    measured = [context.results.estimate(setting, metric, MATCH_ON).mean for setting in found]
    usable = [place for place, value in enumerate(measured) if not math.isnan(value)]
    places = assign([one.value for one in levels], [measured[place] for place in usable])
    place = next((p for one, p in zip(levels, places, strict=True) if one.setting == row.setting), None)
    return None if place is None else found[usable[place]]


def reproduce(context: Shown, row: Published) -> Outcome:
    """Accuracy, or fairness in the absolute convention, of the run that stands for a published number."""
    setting = setting_of(context, row)
    if setting is None:
        return Outcome(None, not_in_pair(context, row, None) or _why_none(context, row))
    found = outcome_of(context, row, setting)
    nearest = "" if math.isinf(setting.kappa) else " (the nearest fairness on validation rows)"
    return replace(found, source=found.source + nearest)


def _why_none(context: Shown, row: Published) -> str:
    where = ", ".join(context.experiments)
    if candidates(context, row):
        return f"{where} has fewer runs of {row.algorithm} on {row.dataset} than there are published levels"
    return f"no run of {row.algorithm} on {row.dataset} in {where} has a result"


def lines(context: Shown) -> Iterator[Line]:
    """One line per published number: the columns of the other tables of pairs, and whose run stands for it."""
    for row in context.published:
        setting = setting_of(context, row)
        own = "" if setting is None else setting.algorithm
        yield pair_line(context, row, setting, reproduce) | {"run_algorithm": own}


def table(_: Shown, found: list[Line]) -> Table:
    """Lay the pairs out with one line per method and level."""
    rows, found = [], [line for line in found if line["in_pair"]]
    for algorithm, setting in dict.fromkeys((e["algorithm"], e["setting"]) for e in found):
        own = [e for e in found if (e["algorithm"], e["setting"]) == (algorithm, setting)]
        pair = [next((e for e in own if (e["metric"] == "accuracy") == right), None) for right in (False, True)]
        level = {"unconstrained": "–"}.get(setting, setting.replace("row=", "level "))
        run_of = own[0]["run_algorithm"] and style.look(own[0]["run_algorithm"]).label
        head = [cells.text(style.look(algorithm).label)]
        rows.append((head, [cells.text(level), cells.text(run_of), *side_cells(*pair)]))
    inner = ["κ", "fairness published", "fairness ours", "accuracy published", "accuracy ours"]
    return cells.blocks([("", 3), ("", len(inner))], ["published method", "level", "run of", *inner], rows)


KIND = Kind.of(Levels, (*COLUMNS, "run_algorithm"), lines, table=table, reproduce=reproduce)
