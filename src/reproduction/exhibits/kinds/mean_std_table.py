"""Tables of means and standard deviations over runs, published beside reproduced."""

import math
from collections import Counter
from collections.abc import Sequence
from itertools import groupby
from typing import Any

from pydantic import Field, field_validator

from partialfair.metrics import get
from partialfair.pages import cells
from partialfair.pages.cells import Cell, Table
from partialfair.tables.intervals import format_interval
from reproduction.exhibits import runs, style
from reproduction.exhibits.exhibit import Context, Kind, Line, Options
from reproduction.verdicts import run_scores, scorecard, setting_parts
from reproduction.verdicts.evidence import Outcome
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
NO_BEST = "loss_difference"  # has a sign, so neither end is best


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


Shown = Context[MeanStdTable]


def stated(row: Published) -> tuple[str, str, float | None]:
    """Split, statistic and tolerance in a number's setting: ``split=test;statistic=mean;kappa=0.1``.

    Raises:
        DataError: the setting says something else.
    """
    given = setting_parts.parts(row, KEYS)
    split = setting_parts.one_of(row, given, "split", SPLITS)
    if row.split not in ("", split):
        raise setting_parts.refused(row, f"the column split says {row.split!r}; write the same in both")
    return split, setting_parts.one_of(row, given, "statistic", STATISTICS), setting_parts.kappa(row, given)


def setting_of(context: Context[Any], row: Published) -> tuple[Setting | None, str]:
    """The setting of the exhibit's first experiment that a number is of, or ``None`` and the reason.

    It has the number's dataset and algorithm, and its interval and kappa where the number states them.
    """
    experiment, (_, _, kappa) = context.experiments[0], stated(row)
    own = [one for one in runs.settings(context) if one[:3] == (experiment, row.dataset, row.algorithm)]
    if not own:
        return None, f"no run of {row.algorithm} on {row.dataset} in {experiment}"
    interval = format_interval(context.config.experiment(experiment).runs[row.dataset].interval)
    if row.interval and row.interval != interval:
        return None, f"{experiment} constrains I = {interval} on {row.dataset}, not I = {row.interval}"
    found = [one for one in own if kappa is None or math.isclose(one.kappa, kappa)]
    if len(found) == 1:
        return found[0], ""
    runs_at = f"{experiment} runs {row.algorithm} on {row.dataset} at kappa {', '.join(f'{s.kappa:g}' for s in own)}"
    if kappa is not None:
        return None, f"{runs_at}, not at {kappa:g}"
    return None, f"{runs_at}; state the number's own in its setting, as in kappa={own[0].kappa:g}"


def band(context: Shown, row: Published, spread: float | None) -> tuple[float, float]:
    """What counts as reproduced: the entry's ``bands``, else three standard errors of a difference of two such means.

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
    width = STANDARD_ERRORS * math.sqrt(2 / n) * (spread or 0.0)
    return row.value - width, row.value + width


def reproduce(context: Shown, row: Published) -> Outcome:
    """Mean, or standard deviation, over the runs of the number's method."""
    setting, reason = setting_of(context, row)
    if setting is None:
        return Outcome(None, reason)
    if not run_scores.is_metric(row.metric):
        return Outcome(None, f"no metric {row.metric!r} is computed here")
    split, statistic, _ = stated(row)
    estimate, spread = run_scores.mean_and_spread(context, setting, row.metric, split)
    if not estimate.n:
        return Outcome(None, "not run")
    where = f"{row.metric} of {setting.experiment}, {split} rows"
    limits = band(context, row, _spread(context, row, setting))
    excluded = len(context.config.seeds(setting.experiment)) - estimate.n
    note = f"{excluded} runs without a value are left out" if excluded else ""
    if statistic == "std":
        found = run_scores.spread_interval(spread, estimate.n, context.results.level)
        spreads, source = _of_others(context, setting, row), f"standard deviation over runs, {where}"
        return Outcome(found, note, source, limits, nulls=spreads, explained=_chance(context, row, estimate.n))
    return Outcome(estimate, note, f"mean over runs, {where}", limits, nulls=_of_others(context, setting, row))


def _chance(context: Shown, row: Published, n: int) -> tuple[float, float] | None:
    """The lowest and highest standard deviation over n runs that differs from the published one by chance alone."""
    if n < 2:
        return None
    low, high = run_scores.ratio_range(n, row.seeds or n, context.results.level)
    return row.value * low, row.value * high


def _of_others(context: Shown, setting: Setting, row: Published) -> dict[str, float]:
    """What the other methods of the same dataset got: if one of them agrees as well, the number has no power."""
    split, statistic, _ = stated(row)
    every = [one for one in runs.settings(context) if one[:2] == setting[:2] and one.algorithm != setting.algorithm]
    counts = Counter(one.algorithm for one in every)
    found = {}
    for other in every:
        estimate, spread = run_scores.mean_and_spread(context, other, row.metric, split)
        at = f" at {other.kappa:.3g}" if counts[other.algorithm] > 1 else ""
        found[style.look(other.algorithm).label + at] = spread if statistic == "std" else estimate.mean
    return {name: value for name, value in found.items() if not math.isnan(value)}


Place = tuple[Setting | None, str, str, str]


def place_of(context: Context[Any], row: Published) -> Place:
    """Where a number stands: setting, metric, split and statistic."""
    split, statistic, _ = stated(row)
    return setting_of(context, row)[0], row.metric, split, statistic


def _spread(context: Shown, row: Published, setting: Setting) -> float | None:
    """The published standard deviation that stands beside a published mean."""
    place = (setting, row.metric, stated(row)[0], "std")
    return next((other.value for other in context.published if place_of(context, other) == place), None)


def lines(context: Shown) -> list[Line]:
    """One line per setting, split and metric: ``COLUMNS``; the first experiment has published numbers."""
    known = {place_of(context, row): row for row in context.published}
    found = []
    for setting in runs.settings(context):
        for split in SPLITS:
            for metric in context.options.metrics:
                estimate, spread = run_scores.mean_and_spread(context, setting, metric, split)
                line: Line = setting._asdict() | {"split": split, "metric": metric, "mean": estimate.mean}
                line |= {"std": spread, "ci_low": estimate.low, "ci_high": estimate.high, "n_runs": estimate.n}
                mean = known.get((setting, metric, split, "mean"))
                if mean is not None:
                    line |= {"published_mean": mean.value, "published_std": _spread(context, mean, setting)}
                    line["band_low"], line["band_high"] = band(context, mean, line["published_std"])
                    line["verdict"] = scorecard.compare(context, mean, reproduce)["verdict"]
                found.append(line)
    return _with_best(found)


def _with_best(found: list[Line]) -> list[Line]:
    """Mark the smallest mean of each column within an experiment and dataset (the largest of a quality)."""
    columns = ("experiment", "dataset", "split", "metric")
    for line in found:
        same = [other["mean"] for other in found if all(other[name] == line[name] for name in columns)]
        own = [mean for mean in same if not math.isnan(mean)]
        pick = max if get(line["metric"]).direction == "quality" else min
        line["best"] = int(len(own) > 1 and line["mean"] == pick(own)) if line["metric"] != NO_BEST else 0
    return found


def tables(context: Shown, found: Sequence[Line]) -> list[Table]:
    """One table per split."""
    return [_table(context, split, [line for line in found if line["split"] == split]) for split in SPLITS]


def _table(context: Shown, split: str, found: Sequence[Line]) -> Table:
    metrics = context.options.metrics
    rows: list[list[Cell]] = []
    breaks, previous = set(), ""
    kappas = has_several_kappas(found)
    for key, group in groupby(found, key=lambda line: tuple(line[name] for name in Setting._fields)):
        setting, own = Setting(*key), {line["metric"]: line for line in group}
        title = _title(context, setting)
        if title != previous:
            breaks.add(len(rows))
        count = max(line["n_runs"] for line in own.values())
        head = [Cell(title if title != previous else "", "text wrap"), cells.text(style.look(setting.algorithm).label)]
        head += [Cell(style.kappa_symbol(setting.kappa))] if kappas else []
        rows.append([*head, Cell(str(count)), *(_cell(own[metric]) for metric in metrics)])
        if any("published_mean" in line for line in own.values()):
            published = [_published(own[metric]) for metric in metrics]
            rows.append([*(cells.text("") for _ in head), Cell("published", "published"), *published])
        previous = title
    first = ["runs of", "method", *(["κ"] if kappas else []), "runs"]
    columns = [*first, *(short(metric) for metric in metrics)]
    groups = [("", len(first)), (f"{split} rows, mean ± standard deviation over runs", len(metrics))]
    return Table(groups, columns, rows, frozenset(breaks))


def has_several_kappas(found: Sequence[Line]) -> bool:
    """Whether an algorithm has several tolerances on a dataset, whose lines only kappa tells apart."""
    settings = {tuple(line[name] for name in Setting._fields) for line in found}
    return len({setting[:3] for setting in settings}) < len(settings)


def _title(context: Shown, setting: Setting) -> str:
    """The experiment's title, and the dataset where it has several."""
    experiment = context.config.experiment(setting.experiment)
    return (
        f"{experiment.title}, {style.dataset_title(setting.dataset)}" if len(experiment.runs) > 1 else experiment.title
    )


def short(metric: str) -> str:
    """The name in brackets in a metric's title, if there is one."""
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


def body(context: Shown, found: Sequence[Line]) -> str:
    """All tables as HTML."""
    return "\n".join(cells.html(table) for table in tables(context, found))


KIND = Kind.of(MeanStdTable, COLUMNS, lines, table=body, reproduce=reproduce, refuse=lambda _, row: stated(row))
