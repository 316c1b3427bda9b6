"""The scored rows of a run, and the counts and rates of a model card on them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from partialfair.audit.measures import DECIDED, Measurement
from partialfair.audit.measures import measure as audited
from partialfair.audit.rates import GroupLine, group_lines
from partialfair.audit.sample import Sample
from partialfair.data.intervals import Interval
from partialfair.errors import DataError

SPLITS = ("train", "validation", "test")
RATES = {
    "positive_rate": "selection rate",
    "base_rate": "base rate",
    "true_positive_rate": "true positive rate",
    "false_positive_rate": "false positive rate",
    "precision": "precision",
    "accuracy": "accuracy",
}
"""Columns of the table by group, each a rate with its interval."""


@dataclass(frozen=True)
class ScoredRows:
    """The scored rows of a run.

    Attributes:
        counts: rows and positive rows of every group (G,) by split.
        scores, y, group: of the test rows, (n,) each; empty without a usable model.
    """

    counts: Mapping[str, tuple[Any, Any]]
    scores: Any
    y: Any
    group: Any


def scored_rows(path: Path, n_groups: int) -> ScoredRows:
    """Read a score file.

    Raises:
        DataError: it cannot be read.
    """
    import pyarrow as pa
    from pyarrow import parquet

    try:
        # read_table would import pandas, which takes more than half of an evaluation's time.
        with parquet.ParquetFile(path) as file:
            table = file.read(columns=["split", "group", "y", "score"])
    except (OSError, pa.ArrowInvalid) as error:
        raise DataError(f"{path}: not a readable score file ({error}); evaluate the run again") from error
    if not table.num_rows:
        return ScoredRows({}, *(np.zeros(0) for _ in range(3)))
    split_codes = table.column("split").combine_chunks().dictionary_encode()
    split, split_names = (
        np.from_dlpack(split_codes.indices),
        split_codes.dictionary.to_pylist(),
    )  # to_numpy would import pandas, too
    group, y, scores = (np.from_dlpack(table.column(name).combine_chunks()) for name in ("group", "y", "score"))
    size, counts = max(n_groups, int(group.max()) + 1), {}
    for name in SPLITS:
        rows = split == (split_names.index(name) if name in split_names else -1)
        counts[name] = np.bincount(group[rows], minlength=size), np.bincount(group[rows & (y > 0)], minlength=size)
    test = split == (split_names.index("test") if "test" in split_names else -1)
    return ScoredRows(counts, scores[test].astype(np.float64), y[test], group[test].astype(np.int64))


def split_table(
    groups: Sequence[str], counts: Mapping[str, tuple[Any, Any]], classes: bool
) -> tuple[list[str], list[list[str]]] | None:
    """Return the rows by group and split, with the positive share if there are ``classes``; ``None`` without rows."""
    if not counts:
        return None
    unit = "rows (positive)" if classes else "rows"
    lines = []
    for code, name in enumerate(groups):
        cells = [name]
        for rows, positive in counts.values():
            share = f"{positive[code] / rows[code]:.1%}" if rows[code] else "none"
            cells.append(f"{rows[code]:,} ({share})" if classes else f"{rows[code]:,}")
        lines.append(cells)
    return ["group", *(f"{split} {unit}" for split in counts)], lines


def group_table(
    rows: ScoredRows, groups: Sequence[str], interval: Any, level: float
) -> tuple[list[str], list[list[str]]] | None:
    """Return the rates of every group on the test rows, with intervals of the ``level``; ``None`` without rows."""
    if not len(rows.scores) or not groups:
        return None
    sample = Sample(rows.scores, rows.y, rows.group, tuple(groups), 0.0)
    lines: list[GroupLine] = group_lines(sample, Interval.of(interval).for_groups(len(groups)), 0, level)
    is_whole = all(line.kept == line.rows for line in lines)
    header = ["group", "test rows", *([] if is_whole else ["in the interval"]), *RATES.values()]
    return header, [
        [
            line.name,
            f"{line.rows:,}",
            *([] if is_whole else [f"{line.kept:,}"]),
            *(_rate(getattr(line, name)) for name in RATES),
        ]
        for line in lines
    ]


def _rate(rate: Measurement) -> str:
    if rate.value is None:
        return "–"
    return f"{rate.value:.3f} ({rate.low:.3f} to {rate.high:.3f})"


def by_convention(metrics: Mapping[str, Any], rows: ScoredRows, groups: Sequence[str]) -> dict[str, str]:
    """Return by metric why it is void on the test rows, where no decision was measured, in the words of an audit."""
    tested = metrics["splits"].get("test", {})
    decided = {name: name if name in DECIDED else name.removesuffix("_gap") for name in tested}
    decided = {name: measure for name, measure in decided.items() if measure in DECIDED and tested[name] is not None}
    present = np.unique(rows.group).astype(int).tolist()
    if not decided or len(present) < 2:
        return {}
    interval = Interval.of((metrics.get("settings") or {}).get("interval", ((0.0, 1.0),)))
    unions = interval.for_groups(len(groups))
    sample = Sample(rows.scores, rows.y, rows.group, tuple(groups), 0.0)
    audited_metrics = audited(sample, unions, present, intervals=False).overall
    return {
        name: audited_metrics[measure].reason
        for name, measure in decided.items()
        if measure in audited_metrics and audited_metrics[measure].value is None
    }
