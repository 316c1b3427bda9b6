"""Descriptions of figures, from the numbers that they show: the alternative text of every figure on a page."""

import csv
import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

_MOST_NAMED = 8  # values of a column; for more values their number stands in the description
_MOST_NUMBERS = 3  # columns of numbers that are described
_LONGEST = 60  # letters of a value that is named

Wording = Callable[[str, str], str]
"""A function of a column and a value that returns the value in words; empty for one that a reader need not know."""

_NAMES = {
    "experiment": ("constraint", "constraints"), "constraint": ("constraint", "constraints"),
    "dataset": ("dataset", "datasets"), "interval": ("interval of ranks", "intervals of ranks"),
    "algorithm": ("method", "methods"), "other": ("compared with", "other methods"), "series": ("line", "lines"),
    "candidate": ("setting", "settings"), "group_name": ("group", "groups"), "group": ("group", "groups"),
    "scale": ("scale", "scales"), "metric": ("measure", "measures"), "measure": ("measure", "measures"),
    "quantity": ("quantity", "quantities"), "split": ("rows", "rows"), "source": ("source", "sources"),
    "decision": ("outcome", "outcomes"),
}  # fmt: skip
"""Columns of names that a description mentions, with their nouns for one value and for several."""

_QUANTITIES = {
    "fairness": "fairness (1 is parity)", "accuracy": "accuracy", "auc": "AUC", "gap": "gap in AUC", "risk": "risk",
    "ks_group_0": "unfairness (KS distance)", "largest_gap_inside": "largest gap of ranks inside the interval",
    "rank": "mean rank (1 is best)", "objective": "loss", "infeasibility": "infeasibility",
    "loss": "loss", "violation": "violation", "stationarity": "near-stationarity", "kkt": "KKT residual",
    "lam": "multiplier λ", "mu": "multiplier μ", "average": "running average of the squared residual",
    "lead": "lead of the method", "difference": "difference in accuracy", "score": "score", "prediction": "prediction",
    "density": "density", "value": "value", "mean": "mean", "missed": "number of seeds that miss the tolerance",
}  # fmt: skip
"""Columns of numbers that figures draw, the most telling first. A file without any of them is described whole."""

_REPEATED = {"experiment": "constraint", "metric": "scale"}
"""Columns that repeat another column, where a file has both."""

_PAIRS = (("quantity", "value"), ("quantity", "mean"), ("metric", "mean"), ("measure", "violation"))
"""Pairs of a column of names and a column of numbers whose meaning depends on the name."""

_BESIDE = ("_low", "_high", "_sd", "_se", "_std", "n_seeds", "n_runs", "seed", "note", "kappa", "q1", "q3", "published")


def describe_figure(title: str, source: Path, wording: Wording | None = None) -> str:
    """Return the description of a figure, from the CSV from which it was drawn.

    Args:
        title: the first words.
        source: the CSV.
        wording: words for its values; their names without underscores by default.

    Raises:
        FileNotFoundError: there is no such file.
    """
    with source.open(encoding="utf-8", newline="") as stream:
        lines = list(csv.DictReader(stream))
    return describe_lines(title, lines, wording)


def describe_lines(title: str, lines: Sequence[Mapping[str, str]], wording: Wording | None = None) -> str:
    """Return a title and the description of lines: the names in them, the ranges of numbers, and where these end."""
    head = title if title.endswith(("?", "!")) else f"{title.rstrip('.')}."
    if not lines:
        return f"{head} It shows nothing yet."
    wording = wording or (lambda _, value: value.replace("_", " "))
    names = _names(lines, wording)
    sentences = [head, _listed(names)]
    numbers = {name: _numbers(lines, name) for name in lines[0]}
    pair = next((pair for pair in _PAIRS if {*pair} <= lines[0].keys() and numbers[pair[1]]), None)
    if pair is not None:
        sentences += _by_name(lines, numbers[pair[1]], pair[0], names)
    else:
        drawn = [name for name in _QUANTITIES if numbers.get(name)]
        numeric = [
            name for name, values in numbers.items() if values and not any(name.endswith(end) for end in _BESIDE)
        ]
        chosen = drawn or [name for name in numeric if name not in names]
        sentences += [_range(name, numbers[name], names) for name in chosen[:_MOST_NUMBERS]]
    return " ".join(filter(None, sentences))


def _numbers(lines: Sequence[Mapping[str, str]], name: str) -> dict[int, float]:
    """Return the finite numbers of a column by line."""
    numbers = {}
    for number, line in enumerate(lines):
        try:
            value = float(line[name])
        except (TypeError, ValueError):
            continue
        if math.isfinite(value):
            numbers[number] = value
    return numbers


def _names(lines: Sequence[Mapping[str, str]], wording: Wording) -> dict[str, list[str]]:
    """Return by column the wording of every line, for the columns that tell lines apart, and for the dataset."""
    columns = {}
    for name in (name for name in _NAMES if name in lines[0]):
        described = {value: wording(name, value) for value in dict.fromkeys(line[name] for line in lines) if value}
        if _REPEATED.get(name) in lines[0]:
            continue
        numeric = any(_is_number(value) for value in described)
        if numeric or not all(described.values()) or max(map(len, described.values()), default=_LONGEST) >= _LONGEST:
            continue
        if len({*described.values()}) > 1 or name == "dataset":
            columns[name] = [described.get(line[name], "") for line in lines]
    return columns


def _is_number(value: str) -> bool:
    try:
        float(value)
    except ValueError:
        return False
    return True


def _listed(names: Mapping[str, Sequence[str]]) -> str:
    phrases = []
    for name, column in names.items():
        values = list(dict.fromkeys(filter(None, column)))
        singular, plural = _NAMES[name]
        between = "; " if any(", " in value for value in values) else ", "
        listed = f"{singular if len(values) == 1 else plural}: {between.join(values)}"
        phrases.append(listed if len(values) <= _MOST_NAMED else f"{len(values)} {plural}")
    return " ".join(f"{phrase[:1].upper()}{phrase[1:]}." for phrase in phrases)


def _by_name(
    lines: Sequence[Mapping[str, str]], numbers: Mapping[int, float], key: str, names: Mapping[str, Sequence[str]]
) -> list[str]:
    """Return one range for each name of a column."""
    sentences = []
    other_columns = {name: column for name, column in names.items() if name != key}
    for value in dict.fromkeys(line[key] for line in lines if line[key]):
        value_numbers = {line: number for line, number in numbers.items() if lines[line][key] == value}
        if value_numbers:
            title = names[key][next(iter(value_numbers))] if key in names else value.replace("_", " ")
            sentences.append(_range(title, value_numbers, other_columns))
    return sentences


def _range(name: str, numbers: Mapping[int, float], names: Mapping[str, Sequence[str]]) -> str:
    """Return a sentence with the ends of a range, each with the names that its lines have in common."""
    low, high = min(numbers.values()), max(numbers.values())
    quantity = _QUANTITIES.get(name, name.replace("_", " "))
    quantity = quantity[:1].upper() + quantity[1:]
    if low == high:
        return f"{quantity} is {_number(low)} throughout."
    ends = []
    for end in (low, high):
        ends_at = [line for line, value in numbers.items() if value == end]
        where = ", ".join(filter(None, (_common(column, ends_at) for column in names.values()))) if end else ""
        ends.append(f"{_number(end)} ({where})" if where else _number(end))
    return f"{quantity} runs from {ends[0]} to {ends[1]}."


def _common(column: Sequence[str], lines: Sequence[int]) -> str:
    """Return the cell that a column has at all of some lines; empty if they differ, or if the column is constant."""
    cells = {column[line] for line in lines}
    return cells.pop() if len(cells) == 1 and len({*column}) > 1 else ""


def _number(value: float) -> str:
    return (f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}").replace("-", "−")
