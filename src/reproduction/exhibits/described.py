"""Figures in words, from the numbers they show: the alternative text of every figure on a page."""

import csv
import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

LISTED = 8  # values of a column that are named; of more, their number is said
VALUES = 3  # columns of numbers that are described
LONGEST = 60  # letters of a value that is named

Say = Callable[[str, str], str]
"""A value of a column in words, by the names of both; empty for what a reader need not know."""

KEYS = {
    "experiment": ("constraint", "constraints"), "constraint": ("constraint", "constraints"),
    "dataset": ("dataset", "datasets"), "interval": ("interval of ranks", "intervals of ranks"),
    "algorithm": ("method", "methods"), "other": ("compared with", "other methods"), "series": ("line", "lines"),
    "candidate": ("setting", "settings"), "group_name": ("group", "groups"), "group": ("group", "groups"),
    "scale": ("scale", "scales"), "metric": ("measure", "measures"), "measure": ("measure", "measures"),
    "quantity": ("quantity", "quantities"), "split": ("rows", "rows"), "source": ("source", "sources"),
    "decision": ("outcome", "outcomes"),
}  # fmt: skip
"""Columns of names that are said, with their words for one value and for several."""

NUMBERS = {
    "fairness": "fairness (1 is parity)", "accuracy": "accuracy", "auc": "AUC", "gap": "gap in AUC", "risk": "risk",
    "ks_group_0": "unfairness (KS distance)", "largest_gap_inside": "largest gap of ranks inside the interval",
    "rank": "mean rank (1 is best)", "objective": "loss", "infeasibility": "infeasibility",
    "loss": "loss", "violation": "violation", "stationarity": "near-stationarity", "kkt": "KKT residual",
    "lam": "multiplier λ", "mu": "multiplier μ", "average": "running average of the squared residual",
    "lead": "lead of the method", "difference": "difference in accuracy", "score": "score", "prediction": "prediction",
    "density": "density", "value": "value", "mean": "mean", "missed": "number of seeds that miss the tolerance",
}  # fmt: skip
"""Columns of numbers that figures draw, the most telling first. A file that has none of them is described whole."""

REPEATED = {"experiment": "constraint", "metric": "scale"}
"""Columns that say again what another one says, where both are there."""

LONG = (("quantity", "value"), ("quantity", "mean"), ("metric", "mean"), ("measure", "violation"))
"""Columns whose numbers mean something else by a column of names."""

_BESIDE = ("_low", "_high", "_sd", "_se", "_std", "n_seeds", "n_runs", "seed", "note", "kappa", "q1", "q3", "published")


def figure(title: str, source: Path, say: Say | None = None) -> str:
    """Return what a figure shows, from the CSV that it was drawn with.

    Args:
        title: the first words.
        source: the CSV.
        say: words for its values; their names without underscores by default.

    Raises:
        FileNotFoundError: there is no such file.
    """
    with source.open(encoding="utf-8", newline="") as stream:
        lines = list(csv.DictReader(stream))
    return words(title, lines, say)


def words(title: str, lines: Sequence[Mapping[str, str]], say: Say | None = None) -> str:
    """Return a title and what lines of text by column show: names that occur, ranges, and where their ends lie."""
    head = title if title.endswith(("?", "!")) else f"{title.rstrip('.')}."
    if not lines:
        return f"{head} It shows nothing yet."
    say = say or (lambda _, value: value.replace("_", " "))
    names = _names(lines, say)
    sentences = [head, _listed(names)]
    numbers = {name: _numbers(lines, name) for name in lines[0]}
    pair = next((pair for pair in LONG if {*pair} <= lines[0].keys() and numbers[pair[1]]), None)
    if pair is not None:
        sentences += _by_name(lines, numbers[pair[1]], pair[0], names)
    else:
        known = [name for name in NUMBERS if numbers.get(name)]
        other = [name for name, found in numbers.items() if found and not any(name.endswith(end) for end in _BESIDE)]
        shown = known or [name for name in other if name not in names]
        sentences += [_range(name, numbers[name], names) for name in shown[:VALUES]]
    return " ".join(filter(None, sentences))


def _numbers(lines: Sequence[Mapping[str, str]], name: str) -> dict[int, float]:
    """Return the finite numbers of a column by line."""
    found = {}
    for place, line in enumerate(lines):
        try:
            value = float(line[name])
        except (TypeError, ValueError):
            continue
        if math.isfinite(value):
            found[place] = value
    return found


def _names(lines: Sequence[Mapping[str, str]], say: Say) -> dict[str, list[str]]:
    """Return the words of every line by column, of the columns that tell lines apart; the dataset in any case."""
    found = {}
    for name in (name for name in KEYS if name in lines[0]):
        said = {value: say(name, value) for value in dict.fromkeys(line[name] for line in lines) if value}
        if REPEATED.get(name) in lines[0]:
            continue
        numeric = any(_is_number(value) for value in said)
        if numeric or not all(said.values()) or max(map(len, said.values()), default=LONGEST) >= LONGEST:
            continue
        if len({*said.values()}) > 1 or name == "dataset":
            found[name] = [said.get(line[name], "") for line in lines]
    return found


def _is_number(value: str) -> bool:
    try:
        float(value)
    except ValueError:
        return False
    return True


def _listed(names: Mapping[str, Sequence[str]]) -> str:
    parts = []
    for name, column in names.items():
        values = list(dict.fromkeys(filter(None, column)))
        one, several = KEYS[name]
        between = "; " if any(", " in value for value in values) else ", "
        listed = f"{one if len(values) == 1 else several}: {between.join(values)}"
        parts.append(listed if len(values) <= LISTED else f"{len(values)} {several}")
    return " ".join(f"{part[:1].upper()}{part[1:]}." for part in parts)


def _by_name(
    lines: Sequence[Mapping[str, str]], found: Mapping[int, float], key: str, names: Mapping[str, Sequence[str]]
) -> list[str]:
    """Return one range for each name of a column."""
    sentences = []
    others = {name: column for name, column in names.items() if name != key}
    for value in dict.fromkeys(line[key] for line in lines if line[key]):
        own = {place: number for place, number in found.items() if lines[place][key] == value}
        if own:
            said = names[key][next(iter(own))] if key in names else value.replace("_", " ")
            sentences.append(_range(said, own, others))
    return sentences


def _range(name: str, found: Mapping[int, float], names: Mapping[str, Sequence[str]]) -> str:
    """Return the ends of a range, each with what the places where it lies have in common."""
    low, high = min(found.values()), max(found.values())
    what = NUMBERS.get(name, name.replace("_", " "))
    what = what[:1].upper() + what[1:]
    if low == high:
        return f"{what} is {_number(low)} throughout."
    ends = []
    for end in (low, high):
        places = [place for place, value in found.items() if value == end]
        where = ", ".join(filter(None, (_common(column, places) for column in names.values()))) if end else ""
        ends.append(f"{_number(end)} ({where})" if where else _number(end))
    return f"{what} runs from {ends[0]} to {ends[1]}."


def _common(column: Sequence[str], places: Sequence[int]) -> str:
    """Return what a column says at some lines; empty if it says several things, or the same everywhere."""
    here = {column[place] for place in places}
    return here.pop() if len(here) == 1 and len({*column}) > 1 else ""


def _number(value: float) -> str:
    return (f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}").replace("-", "−")
