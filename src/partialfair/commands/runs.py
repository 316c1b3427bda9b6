"""Verbs on runs: train, evaluate, gather, describe."""

from pathlib import Path
from typing import Annotated

import typer

from partialfair.commands.common import PARAMS, ConfigOption, OutOption

app = typer.Typer()

TableOption = Annotated[Path | None, typer.Option(help="Prepared table; by default where the workflow has it.")]
SplitOption = Annotated[Path | None, typer.Option(help="Its parts; by default where the workflow has them.")]


@app.command()
def train(
    experiment: Annotated[str, typer.Option()],
    dataset: Annotated[str, typer.Option()],
    algorithm: Annotated[str, typer.Option()],
    kappa: Annotated[str, typer.Option(help="As in the grid; inf for no constraint.")],
    seed: Annotated[int, typer.Option(min=0)],
    config: ConfigOption = PARAMS,
    table: TableOption = None,
    split: SplitOption = None,
    out: OutOption = None,
) -> None:
    """Train one model of the grid."""
    from partialfair.grid.config import load_config
    from partialfair.jobs.train import Files
    from partialfair.jobs.train import train as run

    grid = load_config(config)
    job = grid.job(experiment, dataset, algorithm, kappa, seed)
    run(grid, job, Files(table or job.table, split or job.split, out or job.path))


@app.command()
def evaluate(
    experiment: Annotated[str, typer.Option()],
    dataset: Annotated[str, typer.Option()],
    algorithm: Annotated[str, typer.Option()],
    kappa: Annotated[str, typer.Option(help="As in the grid; inf for no constraint.")],
    seed: Annotated[int, typer.Option(min=0)],
    config: ConfigOption = PARAMS,
    table: TableOption = None,
    split: SplitOption = None,
    model: Annotated[Path | None, typer.Option(help="By default model.npz of the run folder.")] = None,
    fit: Annotated[Path | None, typer.Option(help="By default fit.json of the run folder.")] = None,
    out: OutOption = None,
) -> None:
    """Score a trained model of the grid, compute its metrics and write its model card."""
    from partialfair.grid import fingerprint
    from partialfair.grid.config import load_config
    from partialfair.jobs import card
    from partialfair.jobs.evaluate import evaluate as run

    grid = load_config(config)
    job = grid.job(experiment, dataset, algorithm, kappa, seed)
    model, fit, folder = model or job.path / "model.npz", fit or job.path / "fit.json", out or job.path
    wanted = fingerprint.evaluation(grid, job)
    metrics = run(model, fit, table or job.table, split or job.split, folder, wanted.settings)
    # Not part of the job above, so that a word in the card makes no evaluation outdated.
    card.write(folder, model, fit)
    print(f"{folder / 'metrics.json'}: {metrics['status']}")


@app.command()
def card(
    run: Annotated[Path, typer.Argument(help="Folder of an evaluated run, below data/runs.")],
    out: Annotated[Path | None, typer.Option(help="Markdown file to write in place of printing it.")] = None,
) -> None:
    """Print the model card of a run: data, use, constraint, metrics with intervals, limits."""
    from partialfair.jobs.card import render
    from partialfair.tables.files import atomic_path

    text = render(run)
    if out is None:
        print(text, end="")
        return
    with atomic_path(out) as path:
        path.write_text(text, encoding="utf-8")
    print(out)


@app.command()
def collect(experiment: str, config: ConfigOption = PARAMS, out: OutOption = None) -> None:
    """Gather the runs of an experiment into tidy tables."""
    from partialfair.grid.config import load_config
    from partialfair.jobs.collect import collect_experiment

    for path in collect_experiment(load_config(config), experiment, out):
        print(path)
