"""What an exhibit is: an entry of ``params.yaml`` drawn by its kind.

A kind is a file of ``exhibits`` that binds ``KIND``, found by scanning; the file's name is the kind's. Its
options are a model of their own, so that ``partialfair check`` refuses an entry that could not be drawn. One picture
may be drawn from several sources of numbers: ``KIND`` is then a mapping, and the option ``source`` names the entry.
"""

import csv
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from partialfair import plugins
from partialfair.data.files import write_csv
from partialfair.errors import ConfigError, DataError
from partialfair.metrics import names as metric_names
from partialfair.pages import cells
from partialfair.pages.cells import Table
from partialfair.plugins import did_you_mean
from reproduction.exhibits import canvas, document, style
from reproduction.grid.checks import validated
from reproduction.grid.config import Config
from reproduction.verdicts import claim_checks
from reproduction.verdicts.evidence import Evidence, ReproducedNumber
from reproduction.verdicts.missing_files import noting_missing
from reproduction.verdicts.numbers import Constructed, Noise
from reproduction.verdicts.published import Published
from reproduction.verdicts.results import Convention, Results, convention
from reproduction.verdicts.run_scores import is_metric

FOLDER = "exhibits"
_FAIRNESS = "fairness"  # in a tolerance, it stands for every metric but accuracy


class Options(BaseModel):
    """What every kind takes; a kind adds its own by a class that inherits from this one."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    kind: str = Field(description="what draws it")
    title: str = Field("", description="its title")
    caption: str = Field("", description="what a reader should know, below the title")
    section: str | None = Field(None, description="heading of the report that it stands under, instead of its paper's")
    experiments: list[str] = Field([], description="experiments whose results it shows; all of them if none is named")
    datasets: list[str] = Field([], description="datasets that it counts besides those of its experiments")
    published: str | None = Field(None, description="key of the exhibit's published numbers, if it is not its own")
    notes: dict[str, str] = Field({}, description="notes on the lines of a dataset in the scorecard")
    tolerance: dict[str, float | dict[str, float]] = Field(
        {}, description="by metric, the difference up to which a published number is near; stated before the run"
    )
    tolerance_later: dict[str, str | dict[str, str]] = Field(
        {}, description="by metric and dataset, why a tolerance was set after a first look at results"
    )
    noise: Noise | None = Field(
        None, description="what differences are judged by, where it is not the spread over seeds"
    )
    by_construction: list[Constructed] = Field([], description="published numbers that a setting was chosen to meet")


O_co = TypeVar("O_co", bound=Options, covariant=True)

Line = dict[str, Any]
"""One line of an exhibit's CSV by column; a column without a value may be left out."""


@dataclass(frozen=True)
class Context(Evidence[O_co]):
    """Everything a kind draws from.

    Attributes:
        out_dir: where its files go.
        formats: in which figures are written; none where only what stands in CSV and HTML is wanted.
        keep: whether lines of claims stay as they stand in the exhibit's CSV where they lack their runs here.
        replace: whether numbers in the exhibit's CSV give way to "not run" where they lack their runs here.
    """

    out_dir: Path
    formats: Sequence[str] = (canvas.FORMAT,)
    keep: bool = False
    replace: bool = False

    def convention(self, experiment: str) -> Convention:
        """Return title and metrics of what an experiment constrains."""
        return convention(self.config.experiment(experiment).constraint)

    def path(self, suffix: str) -> Path:
        """Return the output file ``{out_dir}/{name}.{suffix}``."""
        return self.out_dir / f"{self.name}.{suffix}"

    @classmethod
    def for_claims(cls, config: Config, experiments: list[str], results: Results, root: Path) -> "Context[Any]":
        """Return what the claims of a paper are decided on, with names as figures show them."""
        return Context(config, "claims", {"experiments": experiments}, results, root, root)

    def label(self, algorithm: str) -> str:
        """Return the name of an algorithm as figures show it."""
        return style.plot_style(algorithm).label


@dataclass(frozen=True)
class ExhibitKind:
    """How exhibits of one kind come about; :meth:`from_lines` makes one of the parts that most kinds have.

    Attributes:
        render: writes the files of the exhibit, one of them ``{name}.csv``, and returns their paths.
        fragment: the exhibit as a piece of HTML for the page; figures are those that ``render`` has written.
        reproduce: what was reproduced of one published number; ``None`` for kinds that have none.
        refuse: raises DataError for a published number whose setting it cannot read.
        claims: lines of the scorecard that have no published number (see ``scorecard``).
        needs_results: whether there is nothing to show before an experiment has run.
        options: what its entries take.
        figure: whether it draws one.
        columns: of its CSV, as far as they are known beforehand.
    """

    render: Callable[[Context[Any]], list[Path]]
    fragment: Callable[[Context[Any]], str]
    reproduce: Callable[[Context[Any], Published], ReproducedNumber] | None = None
    refuse: Callable[[Evidence[Any], Published], Any] | None = None
    claims: Callable[[Context[Any]], list[dict[str, Any]]] | None = None
    needs_results: bool = True
    options: type[Options] = Options
    figure: bool = False
    columns: tuple[str, ...] = ()

    @classmethod
    def from_lines(
        cls,
        options: type[O_co],
        columns: Sequence[str],
        lines: Callable[[Context[O_co]], Iterable[Line]],
        *,
        draw: Callable[[Context[O_co], list[Line]], Any] | None = None,
        table: Callable[[Context[O_co], list[Line]], Table | str] | None = None,
        **attributes: Any,
    ) -> "ExhibitKind":
        """Return a kind that writes a CSV and a figure, a table, or both.

        Args:
            options: model of the entries of this kind.
            columns: names of the CSV's columns.
            lines: returns the lines of the CSV, by column.
            draw: returns the matplotlib figure of those lines, which is closed afterwards.
            table: returns the table of those lines, or HTML where there is more than one.
            attributes: other attributes of the kind.
        """

        def render(context: Context[O_co]) -> list[Path]:
            with noting_missing() as missing:
                csv_lines = list(lines(context))
            if missing and not context.replace:
                _refuse_loss(context.path("csv"), csv_lines, missing)
            paths = [write_csv(context.path("csv"), columns, csv_lines)]
            if draw is not None:
                paths += canvas.write_figure(context, lambda: draw(context, csv_lines))
            if table is not None:
                paths.append(
                    document.write_html(context.path("html"), *heading(context), _html(table(context, csv_lines)))
                )
            return paths

        def fragment(context: Context[O_co]) -> str:
            figure = canvas.inline_figure(context) if draw is not None else ""
            return figure + (_html(table(context, list(lines(context)))) if table is not None else "")

        return cls(render, fragment, options=options, figure=draw is not None, columns=tuple(columns), **attributes)


def _refuse_loss(path: Path, lines: Sequence[Line], missing: Iterable[Path]) -> None:
    """Refuse to replace numbers that were drawn beside the runs by what is left without the runs.

    Raises:
        DataError: the CSV has a number where ``lines`` has none, or has more numbers if it has other lines.
    """
    if not path.is_file():
        return
    with path.open(encoding="utf-8", newline="") as stream:
        lines_before = list(csv.DictReader(stream))
    if len(lines_before) == len(lines):
        pairs = zip(lines_before, lines, strict=True)
        loses = any(_filled(before).keys() - _filled(after).keys() for before, after in pairs)
    else:
        loses = sum(map(len, map(_filled, lines))) < sum(map(len, map(_filled, lines_before)))
    if loses:
        absent = sorted(missing)
        raise DataError(
            f"{path}: it shows numbers of runs that are not here ({absent[0]}"
            f"{f' and {len(absent) - 1} more files' if len(absent) > 1 else ''}); nothing was written: train the "
            "runs, give another --out, or say --replace"
        )


def _filled(line: Mapping[str, Any]) -> dict[str, Any]:
    """Return the cells of a line that hold a value, without its note."""
    return {
        name: value for name, value in line.items() if name != "note" and value not in (None, "") and value == value
    }


def _html(content: Table | str) -> str:
    return content if isinstance(content, str) else cells.html(content)


def heading(context: Context[Any]) -> tuple[str, str]:
    """Return title and caption of an exhibit."""
    return str(context.option("title", "")), str(context.option("caption", ""))


def kind_names() -> tuple[str, ...]:
    """Return the names of all kinds, without importing them."""
    return plugins.names(FOLDER)


def kind_by_source(name: str) -> Mapping[str, ExhibitKind]:
    """Return a kind by the sources that it draws from: one entry without a name, or one for each ``source``.

    Raises:
        PluginError: there is no such kind, or its file cannot be imported; the message says what to do.
    """
    kinds = plugins.load(FOLDER, name).KIND
    return kinds if isinstance(kinds, Mapping) else {"": kinds}


def kinds() -> Mapping[tuple[str, str], ExhibitKind]:
    """Return all kinds by name and source."""
    return {(name, source): kind for name in kind_names() for source, kind in kind_by_source(name).items()}


def context(
    config: Config,
    name: str,
    root: Path = Path(),
    out_dir: Path | None = None,
    formats: Sequence[str] = (canvas.FORMAT,),
    keep: bool = False,
    replace: bool = False,
) -> Context[Any]:
    """Gather what the exhibit ``name`` is drawn from; ``out_dir`` is ``reports/{name}`` by default.

    Raises:
        ConfigError: there is no such exhibit, or its entry is wrong.
    """
    entries = config.params.exhibits
    if name not in entries:
        raise ConfigError(f"{config.source}: unknown exhibit {name!r}; {did_you_mean(name, entries)}")
    experiments = config.with_between(entries[name].experiments or config.experiments)
    results = Results.load(root / "reports", experiments, config.params.bootstrap.level)
    folder = out_dir or root / "reports" / name
    return Context(config, name, options_of(config, name), results, root, folder, formats, keep, replace)


def kind_of(config: Config, name: str) -> ExhibitKind:
    """Return the kind of an exhibit, of a kind with several sources the one that draws from its ``source``.

    Raises:
        ConfigError: its ``kind`` or its ``source`` is unknown.
    """
    entry = config.params.exhibits[name]
    entry_path = f"{config.source}: exhibits.{name}"
    if entry.kind not in kind_names():
        raise ConfigError(f"{entry_path}.kind: unknown kind {entry.kind!r}; {did_you_mean(entry.kind, kind_names())}")
    kinds = kind_by_source(entry.kind)
    source = str((entry.model_extra or {}).get("source", next(iter(kinds))))
    if len(kinds) > 1 and source not in kinds:
        raise ConfigError(f"{entry_path}.source: {entry.kind} draws from no {source!r}; {did_you_mean(source, kinds)}")
    return kinds[source] if len(kinds) > 1 else next(iter(kinds.values()))


def options_of(config: Config, name: str) -> Any:
    """Return an exhibit's entry as its kind's model of options.

    Raises:
        ConfigError: the kind or an option is unknown, or a value is wrong.
    """
    options_model = kind_of(config, name).options
    entry = config.params.exhibits[name].model_dump(exclude_unset=True)
    return validated(entry, options_model, config.source, ("exhibits", name))


def _check_published(config: Config, name: str, options: Options) -> None:
    """Refuse numbers whose setting the kind of their exhibit cannot read, and metrics that there are not."""
    evidence = Evidence(config, name, options, Results.load(Path("reports"), ()), Path())
    refuse = kind_of(config, name).refuse
    if refuse is not None:
        for row in evidence.published:
            refuse(evidence, row)
    for key in ("metric", "metrics"):
        values = getattr(options, key, None) or []
        for metric in [values] if isinstance(values, str) else values:
            if not is_metric(metric):
                hint = did_you_mean(metric, metric_names())
                raise ConfigError(f"{config.source}: exhibits.{name}.{key}: unknown metric {metric!r}; {hint}")
    allowed_metrics = {_FAIRNESS, "accuracy", *(row.metric for row in evidence.published)}
    for key in ("tolerance", "tolerance_later"):
        for metric in getattr(options, key):
            if metric not in allowed_metrics and not is_metric(metric):
                option_path = f"{config.source}: exhibits.{name}.{key}.{metric}"
                raise ConfigError(f"{option_path}: unknown metric; {did_you_mean(metric, allowed_metrics)}")


def check_exhibits(config: Config) -> None:
    """Refuse an exhibit whose kind is unknown or whose options its kind does not take, and claims about neither.

    Raises:
        ConfigError: one sentence that names the key, the value and the remedy.
        DataError: the same of a line of ``published.csv``.
    """
    for name in config.params.exhibits:
        _check_published(config, name, options_of(config, name))
    claim_checks.check(config, lambda name: kind_of(config, name).columns)


def body(context: Context[Any]) -> str:
    """Return an exhibit as a piece of HTML, or a sentence that says what it waits for."""
    kind = kind_of(context.config, context.name)
    if kind.needs_results and context.results.metrics.empty:
        return f"<p class='missing'>Not run: there are no results of {', '.join(context.experiments)} yet.</p>"
    return kind.fragment(context)
