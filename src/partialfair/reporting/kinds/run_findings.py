"""Statements about runs, each decided by them: one line of the scorecard per statement.

A statement holds if a difference over paired runs is on its side with its whole interval; orderings of several methods
hold if every pair does so by its means.
"""

import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from partialfair.pages import cells
from partialfair.pages.cells import Cell, Table
from partialfair.reporting import run_scores, style
from partialfair.reporting.exhibit import Context, Kind
from partialfair.verdicts import statements
from partialfair.verdicts.results import Setting

COLUMNS = (
    "exhibit", "dataset", "algorithm", "setting", "metric", "statement", "estimate", "ci_low", "ci_high", "verdict",
    "note",
)  # fmt: skip
Values = dict[int, float]


def setting_of(context: Context, experiment: str, algorithm: str) -> Setting:
    """The setting of an algorithm in an experiment, at its first tolerance."""
    dataset, run = next(iter(context.config.experiment(experiment).runs.items()))
    return Setting(experiment, dataset, algorithm, run.algorithms[algorithm][0])


def measured(context: Context, entry: Mapping[str, Any], side: str = "") -> Values:
    """Values by seed of one side of a statement: its metric, or the metric's magnitude."""
    experiment = str(entry.get(f"{side}experiment", entry.get("experiment", context.experiments[0])))
    setting = setting_of(context, experiment, str(entry[f"{side}algorithm"]))
    found = run_scores.values(context, setting, str(entry["metric"]), str(entry.get("split", "train")))
    magnitude = abs if entry.get("absolute") else float
    return {seed: float(magnitude(value)) for seed, value in found.items() if not math.isnan(value)}


def smaller(context: Context, entry: Mapping[str, Any]) -> tuple[list[float], str]:
    """``algorithm`` has a smaller value than ``than_algorithm``, run by run."""
    first, second = measured(context, entry), measured(context, entry, "than_")
    return statements.differences(second, first), _means(entry, {"algorithm": first, "than_algorithm": second})


def below(context: Context, entry: Mapping[str, Any]) -> tuple[list[float], str]:
    """The value is below ``limit``."""
    found = measured(context, entry)
    return [float(entry["limit"]) - value for value in found.values()], _means(entry, {"algorithm": found})


def above(context: Context, entry: Mapping[str, Any]) -> tuple[list[float], str]:
    """The value is above ``limit``."""
    found = measured(context, entry)
    return [value - float(entry["limit"]) for value in found.values()], _means(entry, {"algorithm": found})


def _means(entry: Mapping[str, Any], sides: Mapping[str, Values]) -> str:
    parts = []
    for name, values in sides.items():
        if values:
            label = style.look(str(entry[name])).label
            side = name.removesuffix("algorithm")
            where = entry.get(f"{side}experiment", entry.get("experiment"))
            parts.append(f"{label}{f' ({where})' if where else ''} {np.mean(list(values.values())):.4f}")
    return ", ".join(parts)


TESTS: dict[str, Callable[[Context, Mapping[str, Any]], tuple[list[float], str]]] = {
    "smaller": smaller, "below": below, "above": above,
}  # fmt: skip


def ordering(context: Context, entry: Mapping[str, Any]) -> dict[str, Any]:
    """Means ascend from one set of methods to the next: the smallest gap between neighbouring sets is positive."""
    experiment = str(entry.get("experiment", context.experiments[0]))
    sets = []
    for names in entry["order"]:
        own = {name: measured(context, {**entry, "algorithm": name}) for name in names}
        sets.append({name: float(np.mean(list(v.values()))) for name, v in own.items() if v})
    setting = setting_of(context, experiment, entry["order"][0][0])
    content = statements.line(context, setting, str(entry["metric"]), str(entry["statement"]), [])
    if not all(sets) or any(len(s) != len(names) for s, names in zip(sets, entry["order"], strict=True)):
        return content | {"verdict": "not run", "note": "not all methods have run"}
    gap = min(min(b.values()) - max(a.values()) for a, b in zip(sets, sets[1:], strict=False))
    words = " < ".join("{" + ", ".join(f"{style.look(n).label} {v:.4f}" for n, v in s.items()) + "}" for s in sets)
    verdict = "reproduced" if gap > 0 else "differs"
    note = f"means over runs: {words}; smallest gap {gap:+.4f}"
    return content | {"reproduced": gap, "verdict": verdict, "note": note, "algorithm": "all"}


def published_agreement(context: Context, entry: Mapping[str, Any]) -> dict[str, Any]:
    """Two published tables give one method the same numbers in some columns, ``agree``, and in no other."""
    places = [context.published_of(str(name)) for name in entry["published"]]
    name = str(entry["algorithm"])
    numbers = [{(r.metric, r.setting): r.value for r in rows if r.algorithm == name} for rows in places]
    shared = sorted(numbers[0].keys() & numbers[1].keys())
    equal = {metric for metric, _ in shared}
    equal -= {key[0] for key in shared if numbers[0][key] != numbers[1][key]}
    setting = setting_of(context, context.experiments[0], name)
    content = statements.line(context, setting, "published numbers", str(entry["statement"]), [])
    verdict = "reproduced" if shared and equal == set(entry["agree"]) else "differs"
    note = f"equal in {', '.join(sorted(equal)) or 'no column'}, of {', '.join(sorted({m for m, _ in shared}))}"
    return content | {"verdict": verdict, "note": note}


def claims(context: Context) -> list[dict[str, Any]]:
    """Lines of the scorecard, one per entry of the option ``statements``."""
    found = []
    for entry in context.options["statements"]:
        if "order" in entry:
            line = ordering(context, entry)
        elif "agree" in entry:
            line = published_agreement(context, entry)
        else:
            values, note = TESTS[str(entry["test"])](context, entry)
            experiment = str(entry.get("experiment", context.experiments[0]))
            setting = setting_of(context, experiment, str(entry["algorithm"]))
            line = statements.line(context, setting, str(entry["metric"]), str(entry["statement"]), values, note)
        found.append(line | {"setting": f"{entry.get('split', 'train')} rows"})
    return found


def table(context: Context) -> Table:
    """One line per statement."""
    rows = []
    for line in claims(context):
        kind = {"reproduced": "good", "differs": "bad"}.get(line["verdict"], "none")
        value, low = line.get("reproduced"), line.get("ci_low", math.nan)
        ends = "" if low is None or math.isnan(low) else f" [{low:+.4f}, {line['ci_high']:+.4f}]"
        rows.append(
            [
                Cell(str(line["published"]), "text wrap"), cells.text(line["setting"]),
                Cell("–" if value is None else f"{value:+.4f}{ends}"), Cell(_word(line["verdict"]), kind),
                Cell(line["note"], "text wrap"),
            ]
        )  # fmt: skip
    return Table([], ["statement", "where", "margin", "verdict", "measured"], rows)


def _word(verdict: str) -> str:
    return {"reproduced": "holds", "differs": "does not hold"}.get(verdict, verdict)


def render(context: Context) -> list[Path]:
    """Write the statements as CSV and HTML."""
    found = [{**line, "statement": line["published"], "estimate": line.get("reproduced")} for line in claims(context)]
    title, caption = str(context.options["title"]), str(context.options.get("caption", ""))
    page = cells.write_html(context.path("html"), title, caption, cells.html(table(context)))
    return [cells.write_csv(context.path("csv"), COLUMNS, found), page]


KINDS = {"run_findings": Kind(render, lambda context: cells.html(table(context)), claims=claims)}
