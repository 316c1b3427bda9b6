"""The command line: each verb is one function call into :mod:`partialfair.jobs`, imported when it is used."""

import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from partialfair.errors import PartialFairError

app = typer.Typer(
    help="Partial fairness: data, training, evaluation, figures and tables; the workflow calls these verbs.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
data_app = typer.Typer(
    help="Obtain, verify, prepare and split datasets.", no_args_is_help=True, pretty_exceptions_enable=False
)
app.add_typer(data_app, name="data")

ConfigOption = Annotated[Path, typer.Option("--config", envvar="PARTIALFAIR_PARAMS", help="The experiment grid.")]
RawOption = Annotated[Path, typer.Option("--raw", help="Folder of the raw files.")]
PARAMS = Path("params.yaml")
RAW = Path("data/raw")


class What(StrEnum):
    """What a manifest lists."""

    TABLES = "tables"
    MODELS = "models"


def main() -> None:
    """Run the command line; an error that a person can act on is one sentence and exit status 2."""
    try:
        app()
    except PartialFairError as error:
        print(f"partialfair: {error}", file=sys.stderr)
        sys.exit(2)


@data_app.command("fetch")
def data_fetch(
    datasets: Annotated[list[str] | None, typer.Argument(help="Names; by default those that the grid uses.")] = None,
    config: ConfigOption = PARAMS,
    raw: RawOption = RAW,
    extras: Annotated[bool, typer.Option("--extras", help="Also files that only document a dataset.")] = False,
    offline: Annotated[bool, typer.Option("--offline", help="Do not use the network.")] = False,
) -> None:
    """Obtain raw files from the DVC cache, a mirror or the upstream address; every byte is verified."""
    from partialfair.config import load_config
    from partialfair.jobs.prepare import fetch

    grid = load_config(config)
    for fetched in fetch(datasets or grid.datasets, raw, grid.params.datasets, extras, offline):
        print(f"{fetched.path}: {fetched.origin}")


@data_app.command("verify")
def data_verify(
    datasets: Annotated[list[str] | None, typer.Argument(help="Names; by default those that the grid uses.")] = None,
    config: ConfigOption = PARAMS,
    raw: RawOption = RAW,
) -> None:
    """Check the raw files against their published checksums."""
    from partialfair.config import load_config
    from partialfair.jobs.prepare import verify

    for path in verify(datasets or load_config(config).datasets, raw):
        print(f"{path}: as published")


@data_app.command("prepare")
def data_prepare(
    dataset: str,
    config: ConfigOption = PARAMS,
    raw: RawOption = RAW,
    out: Annotated[Path | None, typer.Option(help="Table to write; by default where the workflow has it.")] = None,
) -> None:
    """Build the table of a dataset from its raw files."""
    from partialfair.config import load_config
    from partialfair.jobs.prepare import prepare
    from partialfair.workflow import TABLE

    target = out or Path(TABLE.format(dataset=dataset))
    table = prepare(dataset, raw, target, load_config(config).dataset_options(dataset))
    print(f"{target}: {table.n_rows} rows, {table.n_features} features, groups {', '.join(table.group_names)}")


@data_app.command("split")
def data_split(
    dataset: str,
    seed: Annotated[int, typer.Option(min=0)],
    table: Annotated[Path | None, typer.Option(help="Prepared table; by default where the workflow has it.")] = None,
    out: Annotated[Path | None, typer.Option(help="Split to write; by default where the workflow has it.")] = None,
) -> None:
    """Divide a table into training, validation and test rows."""
    from partialfair.jobs.prepare import split
    from partialfair.workflow import SPLIT, TABLE

    target = out or Path(SPLIT.format(dataset=dataset, seed=seed))
    made = split(table or Path(TABLE.format(dataset=dataset)), seed, target)
    print(f"{target}: {len(made.train)} training, {len(made.validation)} validation, {len(made.test)} test rows")


@app.command()
def train(
    experiment: Annotated[str, typer.Option()],
    dataset: Annotated[str, typer.Option()],
    algorithm: Annotated[str, typer.Option()],
    kappa: Annotated[str, typer.Option(help="As in the grid; inf for no constraint.")],
    seed: Annotated[int, typer.Option(min=0)],
    config: ConfigOption = PARAMS,
    out: Annotated[Path | None, typer.Option(help="Run folder; by default where the workflow has it.")] = None,
) -> None:
    """Train one model of the grid."""
    from partialfair.config import load_config
    from partialfair.jobs.train import train as run

    job = load_config(config).job(experiment, dataset, algorithm, kappa, seed)
    run(config, experiment, dataset, algorithm, job.kappa_text, seed, out or job.path)


@app.command()
def evaluate(
    experiment: Annotated[str, typer.Option()],
    dataset: Annotated[str, typer.Option()],
    algorithm: Annotated[str, typer.Option()],
    kappa: Annotated[str, typer.Option(help="As in the grid; inf for no constraint.")],
    seed: Annotated[int, typer.Option(min=0)],
    config: ConfigOption = PARAMS,
) -> None:
    """Score a trained model of the grid and compute its metrics."""
    from partialfair.config import evaluation_settings, load_config
    from partialfair.jobs.evaluate import evaluate as run
    from partialfair.workflow import SPLIT, TABLE

    grid = load_config(config)
    folder = grid.job(experiment, dataset, algorithm, kappa, seed).path
    table, split = TABLE.format(dataset=dataset), SPLIT.format(dataset=dataset, seed=seed)
    settings = evaluation_settings(grid, experiment, dataset)
    metrics = run(folder / "model.npz", folder / "fit.json", table, split, folder, settings)
    print(f"{folder / 'metrics.json'}: {metrics['status']}")


@app.command()
def collect(experiment: str, config: ConfigOption = PARAMS) -> None:
    """Gather the runs of an experiment into tidy tables."""
    from partialfair.jobs.collect import collect_experiment

    for path in collect_experiment(config, experiment):
        print(path)


@app.command()
def report(exhibit: str, config: ConfigOption = PARAMS) -> None:
    """Draw a figure or table, with the CSV of its numbers."""
    from partialfair.jobs.report import render

    for path in render(config, exhibit):
        print(path)


@app.command()
def scorecard(
    experiment: Annotated[str | None, typer.Option(help="Restrict it to one experiment.")] = None,
    config: ConfigOption = PARAMS,
) -> None:
    """Set published numbers beside reproduced ones, in a table and on a page with all exhibits."""
    from partialfair.config import load_config
    from partialfair.jobs.report import render_page, write_scorecard

    grid, folder = load_config(config), Path("reports")
    if experiment is not None:
        grid, folder = grid.restricted(experiment), folder / experiment
    print(write_scorecard(grid, folder))
    print(render_page(grid, folder))


@app.command()
def manifest(
    what: What,
    config: ConfigOption = PARAMS,
    out: Annotated[Path | None, typer.Option(help="JSON file to write.")] = None,
) -> None:
    """Write the checksums of all prepared tables, or of all trained models."""
    from partialfair.jobs.manifest import manifest as run

    target = out or Path(f"data/manifest/{what.value}.json")
    print(f"{target}: {len(run(config, what.value, target))} files")


@app.command()
def summary(
    experiment: Annotated[str | None, typer.Argument(help="Name; by default all.")] = None,
    config: ConfigOption = PARAMS,
) -> None:
    """Print a short table of the results and where they are."""
    from partialfair.jobs.summary import summary as run

    for line in run(config, experiment):
        print(line)


@app.command()
def check(config: ConfigOption = PARAMS) -> None:
    """Validate the experiment grid and count its jobs."""
    from partialfair.config import load_config

    grid = load_config(config, check_plugins=True)
    for name, experiment in grid.experiments.items():
        print(f"{name}: {len(grid.jobs(name))} runs on {', '.join(experiment.runs)} under {experiment.constraint}")
