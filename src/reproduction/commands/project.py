"""Verbs on the project as a whole: check it, run it, resume it, extend it."""

import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from reproduction.commands.common import PARAMS, PROJECT, ConfigOption, JsonOption, print_json

app = typer.Typer()


class Kind(StrEnum):
    """Kinds of skeletons that ``partialfair new`` writes."""

    DATASET = "dataset"
    ALGORITHM = "algorithm"
    METRIC = "metric"
    CONSTRAINT = "constraint"
    EXHIBIT = "exhibit"
    PAPER = "paper"


@app.command(rich_help_panel=PROJECT)
def check(config: ConfigOption = PARAMS, as_json: JsonOption = False) -> None:
    """Validate the experiment grid and count its jobs."""
    from reproduction.commands.checking import check_grid, without_folder
    from reproduction.grid.checks import check_files
    from reproduction.grid.config import load_config

    grid = load_config(config)
    check_grid(grid)
    check_files(grid)
    for note in without_folder(grid):
        print(f"note: {note}", file=sys.stderr)
    if as_json:
        print_json({name: [str(job.path) for job in grid.jobs(name)] for name in grid.experiments})
        return
    for name, experiment in grid.experiments.items():
        print(f"{name}: {len(grid.jobs(name))} runs on {', '.join(experiment.runs)} under {experiment.constraint}")


class Plugin(StrEnum):
    """Kinds that ``partialfair list`` knows."""

    ALGORITHMS = "algorithms"
    CONSTRAINTS = "constraints"
    LOSSES = "losses"
    DATASETS = "datasets"
    METRICS = "metrics"
    EXHIBITS = "exhibits"


@app.command(name="list", rich_help_panel=PROJECT)
def list_plugins(
    kind: Annotated[Plugin, typer.Argument(help="What to list.", show_default=False)],
    as_json: JsonOption = False,
) -> None:
    """List the plug-ins to choose from, yours included."""
    from reproduction.commands.listing import listed

    plugins = listed(kind.value)
    if as_json:
        print_json(plugins)
        return
    for name, description in plugins.items():
        print(f"{name:<{max(map(len, plugins))}}  {description}")


@app.command(rich_help_panel=PROJECT)
def doctor(
    config: ConfigOption = PARAMS,
    as_json: JsonOption = False,
) -> None:
    """Check the installation and say what to do about it.

    Versions, data, workflow and disk are looked at; exit status 1 if something needed is missing.
    """
    from reproduction.commands.doctor import examine, failed

    checks = examine(".", config)
    if as_json:
        print_json([{"name": c.name, "state": c.state, "found": c.finding, "remedy": c.remedy} for c in checks])
    for check in () if as_json else checks:
        print(f"{check.state:<8} {check.name}: {check.finding}" + (f" -> {check.remedy}" if check.remedy else ""))
    raise typer.Exit(int(failed(checks)))


@app.command(rich_help_panel=PROJECT)
def run(
    targets: Annotated[list[str] | None, typer.Argument(help="Experiments, exhibits or files; by default all.")] = None,
    config: ConfigOption = PARAMS,
    cores: Annotated[str, typer.Option(help="Number of cores, or all.")] = "all",
    dry_run: Annotated[bool, typer.Option("--dry-run", "-n", help="Say what it would cost, and run nothing.")] = False,
    profile: Annotated[str | None, typer.Option(help="A folder of workflow/profiles, such as slurm.")] = None,
    verbose: Annotated[bool, typer.Option("--verbose", help="Show Snakemake's own output.")] = False,
    seeds: Annotated[int | None, typer.Option(min=1, help="How many of the seeds of each experiment.")] = None,
    datasets: Annotated[str, typer.Option(help="Only these, separated by commas; also of the target raw.")] = "",
    methods: Annotated[str, typer.Option(help="Only these algorithms, separated by commas.")] = "",
    minutes: Annotated[float | None, typer.Option(min=0.1, help="As many seeds as take no longer.")] = None,
) -> None:
    """Run what is outdated, with one line of progress.

    Snakemake does it; its whole output goes to logs/run.log. With --seeds, --datasets, --methods or --minutes, a part
    of the grid runs in a folder of its own, reproduced/TARGET, and its page compares it with the committed results.
    """
    from reproduction.commands.runner import run_workflow

    if targets == ["raw"] or not (seeds or minutes or datasets or methods):
        raw = datasets.replace(",", " ")
        raise typer.Exit(run_workflow(targets or [], config, cores, dry_run, profile, verbose, raw))
    from reproduction.commands.reproduce import Limits, make, select
    from reproduction.grid.config import load_config

    grid, limits = load_config(config), Limits(seeds, minutes, cores, profile, verbose)
    for selection in select(targets or [], datasets, methods, seeds):
        make(grid, selection, limits, dry_run)


@app.command(rich_help_panel=PROJECT)
def unchanged(
    targets: Annotated[list[str] | None, typer.Argument(help="Experiments, exhibits or files; by default all.")] = None,
    config: ConfigOption = PARAMS,
) -> None:
    """Exit with 1 where a target is outdated.

    Snakemake's dry run decides, and its reasons are printed: a file, a setting, the code or the packages have changed.
    """
    from reproduction.commands.runner import run_workflow

    raise typer.Exit(run_workflow(targets or [], config, dry_run=True, gate=True))


@app.command(rich_help_panel=PROJECT)
def benchmark() -> None:
    """Measure the solvers side by side, which takes minutes.

    The numbers go to reports/benchmarks.json.
    """
    from reproduction.commands.runner import run_benchmarks

    raise typer.Exit(run_benchmarks())


@app.command(rich_help_panel=PROJECT)
def new(
    kind: Kind,
    name: Annotated[str, typer.Argument(help="Lower case letters, digits and underscores.")],
    project: Annotated[Path, typer.Option(help="Checkout of the project.")] = Path("."),
    paper: Annotated[
        str, typer.Option(help="Folder of papers/ that it serves; by default what several papers share.")
    ] = "cross_paper",
) -> None:
    """Write the skeleton of something new, its test and its page.

    It is that of a dataset, an algorithm, a metric, a constraint or a kind of exhibit; or of a paper, which runs at
    once.
    """
    from reproduction.commands.scaffold import create

    made = create(kind.value, name, project, paper)
    print(*made.files, "Next:", sep="\n")
    for step in made.next_steps:
        print(f"  - {step}")


@app.command(context_settings={"allow_extra_args": True, "ignore_unknown_options": True}, rich_help_panel=PROJECT)
def resume(
    context: typer.Context,
    ended: Annotated[
        bool, typer.Option("--ended", help="The killed run cannot be seen from here; it and its jobs have ended.")
    ] = False,
) -> None:
    """Continue a killed run.

    The jobs it left are cancelled, the folder is unlocked, and its command is repeated, with further arguments if any
    are given.
    """
    from reproduction.commands.runner import alone, repeat
    from reproduction.jobs.resume import resume as run

    sys.exit(run(context.args, ended, start=repeat, alone=alone))
