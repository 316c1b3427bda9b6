"""The scored rows of a run, and what a model card counts on them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from partialfair.audit.measures import DECIDED, Measurement
from partialfair.audit.measures import measure as audited
from partialfair.audit.rates import GroupLine, group_lines
from partialfair.audit.sample import Sample
from partialfair.errors import DataError
from partialfair.tables.intervals import Interval

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
        with parquet.ParquetFile(
            path
        ) as file:  # read_table would import pandas: more than half of an evaluation's time
            table = file.read(columns=["split", "group", "y", "score"])
    except (OSError, pa.ArrowInvalid) as error:
        raise DataError(f"{path}: not a readable score file ({error}); evaluate the run again") from error
    if not table.num_rows:
        return ScoredRows({}, *(np.zeros(0) for _ in range(3)))
    parts = table.column("split").combine_chunks().dictionary_encode()
    split, known = np.from_dlpack(parts.indices), parts.dictionary.to_pylist()  # to_numpy would import pandas, too
    group, y, scores = (np.from_dlpack(table.column(name).combine_chunks()) for name in ("group", "y", "score"))
    size, counts = max(n_groups, int(group.max()) + 1), {}
    for name in SPLITS:
        rows = split == (known.index(name) if name in known else -1)
        counts[name] = np.bincount(group[rows], minlength=size), np.bincount(group[rows & (y > 0)], minlength=size)
    test = split == (known.index("test") if "test" in known else -1)
    return ScoredRows(counts, scores[test].astype(np.float64), y[test], group[test].astype(np.int64))


def split_table(
    groups: Sequence[str], counts: Mapping[str, tuple[Any, Any]], classes: bool
) -> tuple[list[str], list[list[str]]] | None:
    """Rows by group and split, with the positive share if there are ``classes``; ``None`` without rows."""
    if not counts:
        return None
    what = "rows (positive)" if classes else "rows"
    lines = []
    for code, name in enumerate(groups):
        cells = [name]
        for rows, positive in counts.values():
            share = f"{positive[code] / rows[code]:.1%}" if rows[code] else "none"
            cells.append(f"{rows[code]:,} ({share})" if classes else f"{rows[code]:,}")
        lines.append(cells)
    return ["group", *(f"{split} {what}" for split in counts)], lines


def group_table(
    rows: ScoredRows, groups: Sequence[str], interval: Any, level: float
) -> tuple[list[str], list[list[str]]] | None:
    """Rates of every group on the test rows; ``None`` without any."""
    if not len(rows.scores) or not groups:
        return None
    sample = Sample(rows.scores, rows.y, rows.group, tuple(groups), 0.0)
    lines: list[GroupLine] = group_lines(sample, Interval.of(interval).for_groups(len(groups)), 0, level)
    whole = all(line.kept == line.rows for line in lines)
    header = ["group", "test rows", *([] if whole else ["in the interval"]), *RATES.values()]
    return header, [
        [
            line.name,
            f"{line.rows:,}",
            *([] if whole else [f"{line.kept:,}"]),
            *(_rate(getattr(line, name)) for name in RATES),
        ]
        for line in lines
    ]


def _rate(found: Measurement) -> str:
    if found.value is None:
        return "–"
    return f"{found.value:.3f} ({found.low:.3f} to {found.high:.3f})"


def by_convention(metrics: Mapping[str, Any], rows: ScoredRows, groups: Sequence[str]) -> dict[str, str]:
    """Metrics that say nothing on the test rows since no decision was measured there, and why, as an audit says it."""
    tested = metrics["splits"].get("test", {})
    decided = {name: name if name in DECIDED else name.removesuffix("_gap") for name in tested}
    decided = {name: of for name, of in decided.items() if of in DECIDED and tested[name] is not None}
    present = np.unique(rows.group).astype(int).tolist()
    if not decided or len(present) < 2:
        return {}
    interval = Interval.of((metrics.get("settings") or {}).get("interval", ((0.0, 1.0),)))
    unions = interval.for_groups(len(groups))
    sample = Sample(rows.scores, rows.y, rows.group, tuple(groups), 0.0)
    found = audited(sample, unions, present, intervals=False).overall
    return {name: found[of].reason for name, of in decided.items() if of in found and found[of].value is None}
