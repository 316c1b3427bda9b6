"""A table of published levels of fairness, each beside the run of a grid that comes nearest to it.

For papers that print pairs of fairness and accuracy without the kappas they belong to.
"""

import math
from collections.abc import Sequence

import numpy as np
from pydantic import Field

from partialfair.pages import cells
from partialfair.pages.cells import Cell, Table
from partialfair.reporting import style
from partialfair.reporting.exhibit import Context, Kind, Line, Options
from partialfair.reporting.kinds.pairs import COLUMNS, pair_line, side_cells
from partialfair.verdicts.evidence import Outcome
from partialfair.verdicts.published import Published
from partialfair.verdicts.results import Setting, convention, is_estimated


class Levels(Options):
    """What an entry takes."""

    stand_in: dict[str, list[str]] = Field({}, description="whose runs stand for those of an algorithm, best first")


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


def stand_ins(context: Shown, algorithm: str) -> list[str]:
    """Algorithms whose runs may stand for a published one, by the option ``stand_in``; itself by default."""
    return list(context.options.stand_in.get(algorithm, [algorithm]))


def candidates(context: Shown, row: Published) -> list[Setting]:
    """Settings with results that may stand for a published number: those of the first stand-in that has any."""
    for name in context.experiments:
        run = context.config.experiment(name).runs.get(row.dataset)
        kappas = {} if run is None else run.algorithms
        for algorithm in stand_ins(context, row.algorithm):
            settings = [Setting(name, row.dataset, algorithm, kappa) for kappa in kappas.get(algorithm, [])]
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
        if (one.dataset, one.algorithm) == (row.dataset, row.algorithm) and one.metric.endswith("_fairness")
    ]
    metric = convention(context.config.experiment(found[0].experiment).constraint).absolute
    measured = [context.results.estimate(setting, metric, MATCH_ON).mean for setting in found]
    usable = [place for place, value in enumerate(measured) if not math.isnan(value)]
    places = assign([one.value for one in levels], [measured[place] for place in usable])
    place = next((p for one, p in zip(levels, places, strict=True) if one.setting == row.setting), None)
    return None if place is None else found[usable[place]]


def reproduce(context: Shown, row: Published) -> Outcome:
    """Accuracy, or fairness in the absolute convention, of the run that stands for a published number."""
    setting = setting_of(context, row)
    if setting is None:
        return Outcome(None, _why_none(context, row))
    shown = convention(context.config.experiment(setting.experiment).constraint)
    metric = "accuracy" if row.metric == "accuracy" else shown.absolute
    label = "accuracy" if metric == "accuracy" else f"1 - {metric}"
    source = f"{label} of {setting.experiment}"
    if setting.algorithm != row.algorithm:
        source += f", {style.look(setting.algorithm).label} in place of {style.look(row.algorithm).label}"
    if not math.isinf(setting.kappa):
        source += f", kappa {setting.kappa:g} (the nearest fairness on validation rows)"
    return Outcome(context.results.estimate(setting, metric), context.results.reason(setting, metric), source)


def _why_none(context: Shown, row: Published) -> str:
    names = " or ".join(stand_ins(context, row.algorithm))
    where = ", ".join(context.experiments)
    if candidates(context, row):
        return f"{where} has fewer runs of {names} on {row.dataset} than there are published levels"
    return f"no run of {names} on {row.dataset} in {where} has a result"


def level_lines(context: Shown) -> list[Line]:
    """One line per published number: the columns of the other tables of pairs."""
    return [pair_line(context, row, setting_of(context, row), reproduce) for row in context.published]


def level_table(lines: list[Line]) -> Table:
    """Lay the pairs out with one line per method and level."""
    found = {(e["algorithm"], e["setting"], e["metric"]): e for e in lines}
    rows: list[list[Cell]] = []
    breaks, previous = set(), None
    for algorithm, setting in dict.fromkeys((e["algorithm"], e["setting"]) for e in lines):
        if algorithm != previous:
            breaks.add(len(rows))
        pair = [next((e for k, e in found.items() if k[:2] == (algorithm, setting) and (k[2] == "accuracy") == a), None)
                for a in (False, True)]  # fmt: skip
        stands = next((e["stands_for"] for e in pair if e), "")
        shown = {"unconstrained": "–"}.get(setting, setting.replace("row=", "level "))
        name = style.look(algorithm).label if algorithm != previous else ""
        rows.append([cells.text(name), cells.text(shown), cells.text(stands), *side_cells(*pair)])
        previous = algorithm
    inner = ["κ", "fairness published", "reproduced", "by the definition", "accuracy published", "reproduced"]
    return Table([("", 3), ("", len(inner))], ["published method", "level", "run of", *inner], rows, frozenset(breaks))


def _layout(context: Shown) -> tuple[list[Line], Table]:
    lines = level_lines(context)
    for entry, row in zip(lines, context.published, strict=True):
        setting = setting_of(context, row)
        entry["stands_for"] = "" if setting is None else style.look(setting.algorithm).label
        entry["run_algorithm"] = "" if setting is None else setting.algorithm
    return lines, level_table(lines)


KIND = Kind.of(
    Levels, (*COLUMNS, "run_algorithm"), lambda context: _layout(context)[0], table=lambda context: _layout(context)[1],
    reproduce=reproduce,
)  # fmt: skip
