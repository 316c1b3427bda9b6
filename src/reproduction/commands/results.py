"""Verbs on results: exhibits, scorecard, checksums, summary, verification."""

from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from reproduction.commands.common import (
    PARAMS,
    REPLACE,
    RESULTS,
    STEPS,
    ConfigOption,
    JsonOption,
    OutOption,
    print_json,
)

app = typer.Typer()


class What(StrEnum):
    """Lists that ``partialfair manifest`` writes: prepared tables, or models."""

    TABLES = "tables"
    MODELS = "models"


class Format(StrEnum):
    """Formats of figures."""

    SVG = "svg"
    PDF = "pdf"
    PNG = "png"


@app.command(rich_help_panel=STEPS)
def report(
    exhibit: str,
    page: Annotated[
        Path | None, typer.Option(help="Draw nothing: write this file, a page with the exhibit as it was drawn.")
    ] = None,
    keep: Annotated[bool, typer.Option("--keep", help="Keep claims that lack their runs here.")] = False,
    replace: Annotated[bool, typer.Option("--replace", help=REPLACE)] = False,
    formats: Annotated[
        list[Format] | None, typer.Option("--format", help="Of a figure; svg is what is committed.")
    ] = None,
    config: ConfigOption = PARAMS,
    out: OutOption = None,
) -> None:
    """Draw a figure or table, with the CSV of its numbers.

    Where that CSV has numbers of runs that are not here, it is left alone.
    """
    from reproduction.grid import agreement
    from reproduction.grid.config import load_config
    from reproduction.jobs.report import render_exhibit, render_exhibit_page

    grid = load_config(config)
    if page is not None:
        print(render_exhibit_page(grid, exhibit, page))
        return
    chosen = formats or [Format.SVG]
    drawn = render_exhibit(grid, exhibit, out, formats=[kind.value for kind in chosen], keep=keep, replace=replace)
    for path in (*drawn, agreement.write_exhibit(grid, exhibit, drawn[0].parent)):
        print(path)


@app.command(rich_help_panel=STEPS)
def scorecard(
    experiment: Annotated[str | None, typer.Option(help="Restrict it to one experiment.")] = None,
    keep: Annotated[
        bool, typer.Option("--keep", help="Keep lines that were decided and lack their runs here.")
    ] = False,
    replace: Annotated[bool, typer.Option("--replace", help=REPLACE)] = False,
    config: ConfigOption = PARAMS,
    out: OutOption = None,
) -> None:
    """Set published numbers beside reproduced ones.

    They go into a table and on a page with all exhibits. Where the scorecard has decided lines whose trained runs are
    not here, it is left alone; --keep leaves these lines as they are and writes the others, --replace writes "not
    run".
    """
    from reproduction.grid import agreement
    from reproduction.grid.config import load_config
    from reproduction.jobs.scorecard import Undecided, write_all

    if keep and replace:
        raise typer.BadParameter("--keep and --replace exclude each other")
    undecided = Undecided.KEEP if keep else Undecided.REPLACE if replace else Undecided.REFUSE
    grid = load_config(config)
    if experiment is not None:
        grid = grid.restricted(experiment)
    written = write_all(grid, out or grid.reports, undecided=undecided)
    if experiment is None and not grid.name:
        written.append(agreement.write_summary(grid, written[0].parent))
    for path in written:
        print(path)


@app.command(rich_help_panel=STEPS)
def manifest(
    what: What,
    config: ConfigOption = PARAMS,
    out: Annotated[Path | None, typer.Option(help="JSON file to write.")] = None,
) -> None:
    """Write the checksums of all tables or trained models."""
    from reproduction.grid import paths
    from reproduction.grid.config import load_config
    from reproduction.jobs.manifest import manifest as run

    target = out or Path(paths.MANIFEST.format(what=what.value))
    print(f"{target}: {len(run(load_config(config), what.value, target))} files")


@app.command(rich_help_panel=RESULTS)
def summary(
    experiment: Annotated[str | None, typer.Argument(help="Name; by default the verdict on every paper.")] = None,
    config: ConfigOption = PARAMS,
    as_json: JsonOption = False,
) -> None:
    """Print what came of every paper, or of one experiment."""
    from reproduction.jobs.summary import read
    from reproduction.jobs.summary import summary as run

    if as_json:
        print_json(read(config, experiment))
    for line in () if as_json else run(config, experiment):
        print(line)


@app.command(rich_help_panel=RESULTS)
def verify(
    experiment: Annotated[str | None, typer.Argument(help="Name; by default everything.")] = None,
    config: ConfigOption = PARAMS,
    deep: Annotated[
        bool, typer.Option("--deep", help="Also compute all metrics again and draw every figure anew.")
    ] = False,
    damage: Annotated[
        bool, typer.Option("--damage", help="Only look for damaged or edited results; what is outdated may be.")
    ] = False,
    retrain: Annotated[
        int, typer.Option(min=0, metavar="N", help="Also train N runs, drawn at random, again and compare.")
    ] = 0,
    complete: Annotated[
        bool, typer.Option("--complete", help="Exit with status 1, too, if a result of the grid is not here.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Check that the numbers in reports/ follow from the data.

    Every number has to follow from raw data, settings, source and lock; exit status 1 if one does not. Results that
    are not here are counted; they break nothing.
    """
    from rich.console import Console

    from reproduction.commands.progress import at_times
    from reproduction.verify import verify as run
    from reproduction.verify.dvc_lock import remove_torn_lock

    console = Console(stderr=True)
    if damage and (torn := remove_torn_lock()):
        console.print(f"{torn}: half-written by a DVC that was killed; removed")
    with console.status("verifying") as status:  # shown in a terminal only
        progress = status.update if console.is_terminal else at_times(console.print)
        chain = run(config, experiment, deep, progress=progress, damage=damage, again=retrain)
    good = chain.is_whole and not (complete and chain.absent)
    if as_json:
        facts = {name: [asdict(fact) for fact in getattr(chain, name)] for name in ("links", "breaks")}
        counts = {name: getattr(chain, name) for name in ("absent", "unfollowed", "elsewhere")}
        print_json({"passed": good, "whole": chain.is_whole, **facts, **counts})
    for line in () if as_json else (*chain.lines(), chain.summary()):
        print(line)
    raise typer.Exit(0 if good else 1)


@app.command(rich_help_panel=RESULTS)
def crate(config: ConfigOption = PARAMS) -> None:
    """Describe the committed results as an RO-Crate.

    It writes ro-crate-metadata.json beside the Snakefile, for archives that read the Workflow Run profile.
    """
    from reproduction.grid.config import load_config
    from reproduction.verify.crate import write_crate

    print(write_crate(load_config(config)))
