"""Tables of means and standard deviations over runs, published beside reproduced."""

import math
from collections import Counter
from collections.abc import Sequence
from itertools import groupby
from typing import Any

from pydantic import Field, field_validator

from partialfair.data.intervals import format_interval
from partialfair.metrics import get
from partialfair.pages import cells
from partialfair.pages.cells import Cell, Table
from reproduction.exhibits import run_files, style
from reproduction.exhibits.exhibit import Context, ExhibitKind, Line, Options
from reproduction.verdicts import run_scores, scorecard, setting_parts
from reproduction.verdicts.evidence import ReproducedNumber
from reproduction.verdicts.published import Published
from reproduction.verdicts.results import Setting

COLUMNS = (
    "experiment", "dataset", "algorithm", "kappa", "split", "metric", "published_mean", "published_std", "mean", "std",
    "ci_low", "ci_high", "n_runs", "band_low", "band_high", "verdict", "best",
)  # fmt: skip
STANDARD_ERRORS = 3  # by which two means of equally many runs may differ
SPLITS, STATISTICS = ("train", "test"), ("mean", "std")
KEYS = ("split", "statistic", "kappa")
"""What the setting of a published number may state."""
_NO_BEST = "loss_difference"  # has a sign, so neither end is best


class MeanStdTable(Options):
    """Mean and standard deviation of metrics over the runs of each algorithm."""

    released: bool = Field(
        False,
        description="the numbers are the published code's, and the paper does not print them: questions, not counted",
    )
    metrics: list[str] = Field(description="columns; computed on the interval of the run, like its own metrics")
    bands: dict[str, dict[str, dict[str, list[float]]]] = Field(
        {}, description="by split, algorithm and metric: [low, high] of a mean that counts as reproduced"
    )

    @field_validator("tolerance")
    @classmethod
    def _judged_by_bands(cls, value: Any) -> Any:
        """Refuse a tolerance, which no number here would be judged by."""
        if value:
            raise ValueError("numbers of this kind are judged by bands; write bands: {test: {idca: {sp: [0.1, 0.2]}}}")
        return value


MeanStdTableContext = Context[MeanStdTable]


def stated(row: Published) -> tuple[str, str, float | None]:
    """Return split, statistic and tolerance in a number's setting: ``split=test;statistic=mean;kappa=0.1``.

    Raises:
        DataError: the setting says something else.
    """
    parts = setting_parts.key_values(row, KEYS)
    split = setting_parts.word_value(row, parts, "split", SPLITS)
    if row.split not in ("", split):
        raise setting_parts.refused(row, f"the column split says {row.split!r}; write the same in both")
    return split, setting_parts.word_value(row, parts, "statistic", STATISTICS), setting_parts.kappa(row, parts)


def setting_of(context: Context[Any], row: Published) -> tuple[Setting | None, str]:
    """Return the setting of the exhibit's first experiment that a number is of, or ``None`` and the reason.

    It has the number's dataset and algorithm, and its interval and kappa where the number states them.
    """
    experiment, (_, _, kappa) = context.experiments[0], stated(row)
    key = (experiment, row.dataset, row.algorithm)
    candidates = [setting for setting in run_files.settings(context) if setting[:3] == key]
    if not candidates:
        return None, f"no run of {row.algorithm} on {row.dataset} in {experiment}"
    interval = format_interval(context.config.experiment(experiment).runs[row.dataset].interval)
    if row.interval and row.interval != interval:
        return None, f"{experiment} constrains I = {interval} on {row.dataset}, not I = {row.interval}"
    matching = [setting for setting in candidates if kappa is None or math.isclose(setting.kappa, kappa)]
    if len(matching) == 1:
        return matching[0], ""
    kappas = ", ".join(f"{setting.kappa:g}" for setting in candidates)
    runs_at = f"{experiment} runs {row.algorithm} on {row.dataset} at kappa {kappas}"
    if kappa is not None:
        return None, f"{runs_at}, not at {kappa:g}"
    return None, f"{runs_at}; state the number's own in its setting, as in kappa={candidates[0].kappa:g}"


def band(context: MeanStdTableContext, row: Published, spread: float | None) -> tuple[float, float]:
    """Return what counts as reproduced: the entry's band, else three standard errors of a difference of two means.

    For a standard deviation, the range that its ratio to another one has in 99 of 100 cases where both are the same.
    """
    split, statistic, _ = stated(row)
    n = len(context.config.seeds(context.experiments[0]))
    if statistic == "std":
        low, high = run_scores.ratio_range(n, row.seeds or n, 0.99) if n > 1 else (1.0, 1.0)
        return row.value * low, row.value * high
    entry = context.options.bands.get(split, {}).get(row.algorithm, {}).get(row.metric)
    if entry is not None:
        return entry[0], entry[1]
    # Two means of n runs each with standard deviation s differ with standard error s sqrt(1/n + 1/n).
    width = STANDARD_ERRORS * math.sqrt(2 / n) * (spread or 0.0)
    return row.value - width, row.value + width


def reproduce(context: MeanStdTableContext, row: Published) -> ReproducedNumber:
    """Return mean, or standard deviation, over the runs of the number's method."""
    setting, reason = setting_of(context, row)
    if setting is None:
        return ReproducedNumber(None, reason)
    if not run_scores.is_metric(row.metric):
        return ReproducedNumber(None, f"no metric {row.metric!r} is computed here")
    split, statistic, _ = stated(row)
    estimate, spread = run_scores.mean_and_spread(context, setting, row.metric, split)
    if not estimate.n:
        return ReproducedNumber(None, "not run")
    where = f"{row.metric} of {setting.experiment}, {split} rows"
    band_limits = band(context, row, _spread(context, row, setting))
    excluded = len(context.config.seeds(setting.experiment, setting.dataset, setting.algorithm)) - estimate.n
    note = f"{excluded} runs without a value are left out" if excluded else ""
    null_values = _null_values(context, setting, row)
    if statistic == "std":
        interval = run_scores.spread_interval(spread, estimate.n, context.results.level)
        chance, source = _chance(context, row, estimate.n), f"standard deviation over runs, {where}"
        return ReproducedNumber(interval, note, source, band_limits, nulls=null_values, explained=chance)
    return ReproducedNumber(estimate, note, f"mean over runs, {where}", band_limits, nulls=null_values)


def _chance(context: MeanStdTableContext, row: Published, n: int) -> tuple[float, float] | None:
    """Return the range of standard deviations over n runs that chance alone explains, given the published one."""
    if n < 2:
        return None
    low, high = run_scores.ratio_range(n, row.seeds or n, context.results.level)
    return row.value * low, row.value * high


def _null_values(context: MeanStdTableContext, setting: Setting, row: Published) -> dict[str, float]:
    """Return the values of other methods on the dataset: a number that one of them reproduces too has no power."""
    split, statistic, _ = stated(row)
    same_dataset = (candidate for candidate in run_files.settings(context) if candidate[:2] == setting[:2])
    other_settings = [candidate for candidate in same_dataset if candidate.algorithm != setting.algorithm]
    counts = Counter(candidate.algorithm for candidate in other_settings)
    values = {}
    for other_setting in other_settings:
        estimate, spread = run_scores.mean_and_spread(context, other_setting, row.metric, split)
        kappa_text = f" at {other_setting.kappa:.3g}" if counts[other_setting.algorithm] > 1 else ""
        title = style.plot_style(other_setting.algorithm).label + kappa_text
        values[title] = spread if statistic == "std" else estimate.mean
    return {name: value for name, value in values.items() if not math.isnan(value)}


Statistic = tuple[Setting | None, str, str, str]


def statistic_of(context: Context[Any], row: Published) -> Statistic:
    """Return setting, metric, split and statistic of a published number."""
    split, statistic, _ = stated(row)
    return setting_of(context, row)[0], row.metric, split, statistic


def _spread(context: MeanStdTableContext, row: Published, setting: Setting) -> float | None:
    """Return the published standard deviation that stands beside a published mean."""
    key = (setting, row.metric, stated(row)[0], "std")
    spreads = (number.value for number in context.published if statistic_of(context, number) == key)
    return next(spreads, None)


def csv_lines(context: MeanStdTableContext) -> list[Line]:
    """Return one line per setting, split and metric: ``COLUMNS``; the first experiment has published numbers."""
    published_rows = {statistic_of(context, row): row for row in context.published}
    lines = []
    for setting in run_files.settings(context):
        for split in SPLITS:
            for metric in context.options.metrics:
                estimate, spread = run_scores.mean_and_spread(context, setting, metric, split)
                line: Line = setting._asdict() | {"split": split, "metric": metric, "mean": estimate.mean}
                line |= {"std": spread, "ci_low": estimate.low, "ci_high": estimate.high, "n_runs": estimate.n}
                published_mean = published_rows.get((setting, metric, split, "mean"))
                if published_mean is not None:
                    published_std = _spread(context, published_mean, setting)
                    line |= {"published_mean": published_mean.value, "published_std": published_std}
                    line["band_low"], line["band_high"] = band(context, published_mean, line["published_std"])
                    line["verdict"] = scorecard.compare(context, published_mean, reproduce)["verdict"]
                lines.append(line)
    return _with_best(lines)


def _with_best(lines: list[Line]) -> list[Line]:
    """Mark the smallest mean of each column within an experiment and dataset (the largest of a quality)."""
    columns = ("experiment", "dataset", "split", "metric")
    for line in lines:
        column = [entry for entry in lines if all(entry[name] == line[name] for name in columns)]
        estimated = [entry["mean"] for entry in column if not math.isnan(entry["mean"])]
        best = max if get(line["metric"]).direction == "quality" else min
        line["best"] = int(len(estimated) > 1 and line["mean"] == best(estimated)) if line["metric"] != _NO_BEST else 0
    return lines


def tables(context: MeanStdTableContext, lines: Sequence[Line]) -> list[Table]:
    """Return one table per split."""
    return [_table(context, split, [line for line in lines if line["split"] == split]) for split in SPLITS]


def _table(context: MeanStdTableContext, split: str, lines: Sequence[Line]) -> Table:
    metrics = context.options.metrics
    rows: list[list[Cell]] = []
    separators, previous_title = set(), ""
    has_kappas = _has_several_kappas(lines)
    for setting_key, group in groupby(lines, key=lambda line: tuple(line[name] for name in Setting._fields)):
        setting, lines_by_metric = Setting(*setting_key), {line["metric"]: line for line in group}
        title = _title(context, setting)
        if title != previous_title:
            separators.add(len(rows))
        run_count = max(line["n_runs"] for line in lines_by_metric.values())
        method = cells.text(style.plot_style(setting.algorithm).label)
        head = [Cell(title if title != previous_title else "", "text wrap"), method]
        head += [Cell(style.kappa_symbol(setting.kappa))] if has_kappas else []
        rows.append([*head, Cell(str(run_count)), *(_cell(lines_by_metric[metric]) for metric in metrics)])
        if any("published_mean" in line for line in lines_by_metric.values()):
            published = [_published(lines_by_metric[metric]) for metric in metrics]
            rows.append([*(cells.text("") for _ in head), Cell("published", "published"), *published])
        previous_title = title
    first_columns = ["runs of", "method", *(["κ"] if has_kappas else []), "runs"]
    columns = [*first_columns, *(short(metric) for metric in metrics)]
    groups = [("", len(first_columns)), (f"{split} rows, mean ± standard deviation over runs", len(metrics))]
    return Table(groups, columns, rows, frozenset(separators))


def _has_several_kappas(lines: Sequence[Line]) -> bool:
    """Tell whether an algorithm has several tolerances on a dataset, whose lines only kappa tells apart."""
    settings = {tuple(line[name] for name in Setting._fields) for line in lines}
    return len({setting[:3] for setting in settings}) < len(settings)


def _title(context: MeanStdTableContext, setting: Setting) -> str:
    """Return the experiment's title, and the dataset where it has several."""
    experiment = context.config.experiment(setting.experiment)
    return (
        f"{experiment.title}, {style.dataset_title(setting.dataset)}" if len(experiment.runs) > 1 else experiment.title
    )


def short(metric: str) -> str:
    """Return the name in brackets in a metric's title, if there is one."""
    title = get(metric).title
    return title.partition("(")[2].rstrip(")") or title


def _cell(line: Line) -> Cell:
    if not line["n_runs"]:
        return Cell("not run", "none")
    spread = "" if math.isnan(line["std"]) else f" ± {line['std']:.4f}"
    note = f"band {line['band_low']:.4f} to {line['band_high']:.4f}" if "band_low" in line else ""
    text = f"{line['mean']:.4f}{spread}{' *' if line['best'] else ''}"
    return Cell(text, cells.verdict_kind(line.get("verdict", ""), "number"), note)


def _published(line: Line) -> Cell:
    if "published_mean" not in line:
        return Cell("–", "none")
    spread = "" if line["published_std"] is None else f" ± {line['published_std']:.4f}"
    return Cell(f"{line['published_mean']:.4f}{spread}", "published")


def body(context: MeanStdTableContext, lines: Sequence[Line]) -> str:
    """Return all tables as HTML."""
    return "\n".join(cells.html(table) for table in tables(context, lines))


KIND = ExhibitKind.from_lines(
    MeanStdTable, COLUMNS, csv_lines, table=body, reproduce=reproduce, refuse=lambda _, row: stated(row)
)
