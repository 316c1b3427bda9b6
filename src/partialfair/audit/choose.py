"""The verb ``partialfair choose-interval``: from a score file to the interval that the guideline suggests."""

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from partialfair.audit.reading import in_columns, named_columns, printable
from partialfair.audit.result import suggested
from partialfair.audit.run import MIN_GROUP_SIZE
from partialfair.audit.sample import build_sample, counts_above
from partialfair.audit.sentences import chosen_by
from partialfair.data.columns import TableFile
from partialfair.data.files import atomic_path
from partialfair.data.missing_words import MISSING_WORDS
from partialfair.errors import ConfigError, DataError
from partialfair.metrics.choose_interval import LENGTHS, STEP, Suggestion, suggest_from_counts

FORMATS = (".png", ".svg", ".pdf")


def suggest_for_file(
    path: str | Path,
    *,
    score: str,
    group: str | Sequence[str],
    weight: str | None = None,
    threshold: float | None = None,
    measure: str = "sp",
    lengths: Sequence[float] = LENGTHS,
    step: float = STEP,
    min_group_size: int = MIN_GROUP_SIZE,
    missing: str = "refuse",
) -> tuple[Suggestion, dict[str, int]]:
    """Suggest an interval of ranks for the scores of a file, which should be those of an unconstrained model.

    Args:
        path: see :class:`partialfair.data.columns.TableFile`.
        score: column of the scores; group: columns of the groups, which are intersected; one text may hold several,
            joined by commas.
        weight: column of weights: a row counts as so many.
        threshold: decision threshold; by default 0.5 if all scores lie in [0, 1], else 0.
        measure, lengths, step: see :func:`partialfair.metrics.choose_interval.suggest_interval`.
        min_group_size: smaller groups are left out.
        missing: what to do about rows without a score or a group, see :func:`partialfair.audit.audit_scores`.

    Returns:
        The suggestion, and the rows of the groups that are left out.

    Raises:
        DataError: rows that cannot be used; ConfigError: unsuitable settings; NotEstimableError: too few rows.
    """
    if min_group_size < 2:
        raise ConfigError(f"minimum group size {min_group_size}: use at least 2, what a comparison needs")
    file = TableFile(path)
    names = named_columns(file, group)
    column_names = [score, *names, *([weight] if weight else [])]
    if len(set(column_names)) < len(column_names):
        raise DataError(f"{path}: a column is given for two purposes; name each column once")
    columns = file.columns(column_names)
    try:
        groups = {name: columns[name] for name in names}
        weights = columns[weight] if weight else None
        sample = build_sample(
            columns[score], groups, threshold=threshold, missing=missing, null_texts=MISSING_WORDS, weights=weights
        )
    except DataError as error:
        raise DataError(f"{printable(str(path))}: {in_columns(str(error), score, names, weight=weight)}") from None
    sizes = np.bincount(sample.group, minlength=len(sample.names))
    large = sizes >= min_group_size
    if large.sum() < 2:
        group_sizes = ", ".join(f"{name}: {size}" for name, size in zip(sample.names, sizes, strict=True))
        raise DataError(
            f"{path}: fewer than two groups have at least {min_group_size} rows ({group_sizes}); add rows, merge "
            "groups, or lower the minimum group size"
        )
    if not math.isfinite(sample.threshold):
        raise ConfigError(f"threshold is {sample.threshold}, by which nothing is decided; use a finite number")
    counts = counts_above(sample.of_groups(np.flatnonzero(large)).tally, int(large.sum()))
    rate = sample.decided
    if rate in (0.0, 1.0):
        raise ConfigError(
            f"threshold is {sample.threshold:g}{' (the default)' if threshold is None else ''}: every row gets the "
            "same decision, so that no interval is where decisions are made; give the threshold (--threshold)"
        )
    small = {name: int(size) for name, size in zip(sample.names, sizes, strict=True) if size < min_group_size}
    return suggest_from_counts(counts, rate, lengths, step, measure), small


def run(source: Path, out: Path | None, as_json: bool, **options: Any) -> None:
    """Suggest an interval, print the candidates or JSON, and draw the picture.

    Raises:
        ConfigError: ``out`` has no format that can be drawn.
    """
    if out is not None and out.suffix.lower() not in FORMATS:
        raise ConfigError(f"--out {out}: write a name that ends in {', '.join(FORMATS)}")
    suggestion, small = suggest_for_file(source, **options)
    content = suggested(suggestion) | {"not_compared": small}
    print(json.dumps(content, indent=1) if as_json else as_text(suggestion, small))
    if out is not None:
        _draw(suggestion, out)
        if not as_json:
            print(f"\n{printable(str(out))}")


def as_text(suggestion: Suggestion, small: Mapping[str, int] | None = None) -> str:
    """Return the candidates as a table, the least alike first, and the groups that have too few rows to be compared."""
    low, high = suggestion.interval
    lines = [
        f"suggested interval: {low:g} {high:g}",
        f"of those that cover the positive rate {suggestion.positive_rate:.3f}, {chosen_by(suggestion)}",
        "",
        f"  {'interval':<14}{suggestion.measure:>10}",
    ]
    for row in suggestion.table.sort_values(["violation", "chosen"], ascending=False).itertuples():
        value = "too few rows" if row.violation != row.violation else f"{row.violation:.4f}"
        lines.append(f"  {f'{row.alpha:g} {row.beta:g}':<14}{value:>10}{'  <- suggested' if row.chosen else ''}")
    if small:
        small_groups = ", ".join(f"{name} ({size})" for name, size in small.items())
        lines += ["", f"not compared, as they have few rows: {small_groups}"]
    return "\n".join(lines)


def _draw(suggestion: Suggestion, out: Path) -> None:
    import matplotlib as mpl
    from matplotlib import pyplot as plt

    mpl.use("agg")
    figure = suggestion.plot()
    with atomic_path(out) as path:
        figure.savefig(path, dpi=160, facecolor="white")
    plt.close(figure)
