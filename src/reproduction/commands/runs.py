"""Verbs on runs: train, evaluate, gather, describe."""

from pathlib import Path
from typing import Annotated

import typer

from partialfair.errors import DataError
from reproduction.commands.common import PARAMS, REPLACE, RESULTS, STEPS, ConfigOption, OutOption
from reproduction.grid import paths

app = typer.Typer()

Name = Annotated[str, typer.Option()]
Kappa = Annotated[str, typer.Option(help="As in the grid; inf for no constraint.")]
Seed = Annotated[int, typer.Option(min=0)]
TableOption = Annotated[Path | None, typer.Option(help="Prepared table; by default where the workflow has it.")]
SplitOption = Annotated[Path | None, typer.Option(help="Its parts; by default where the workflow has them.")]


@app.command(rich_help_panel=STEPS)
def train(
    experiment: Name,
    dataset: Name,
    algorithm: Name,
    kappa: Kappa,
    seed: Seed,
    config: ConfigOption = PARAMS,
    table: TableOption = None,
    split: SplitOption = None,
    out: OutOption = None,
) -> None:
    """Train one model of the grid."""
    from reproduction.grid.config import load_config
    from reproduction.jobs.train import Files
    from reproduction.jobs.train import train as run

    grid = load_config(config)
    job = grid.job(experiment, dataset, algorithm, kappa, seed)
    run(grid, job, Files(table or job.table, split or job.split, out or job.path))


@app.command(rich_help_panel=STEPS)
def evaluate(
    experiment: Name,
    dataset: Name,
    algorithm: Name,
    kappa: Kappa,
    seed: Seed,
    config: ConfigOption = PARAMS,
    table: TableOption = None,
    split: SplitOption = None,
    model: Annotated[Path | None, typer.Option(help="By default model.npz of the run folder.")] = None,
    fit: Annotated[Path | None, typer.Option(help="By default fit.json of the run folder.")] = None,
    out: OutOption = None,
) -> None:
    """Score a trained model; write its metrics and card."""
    from reproduction.cards import card
    from reproduction.grid import fingerprint
    from reproduction.grid.config import load_config
    from reproduction.jobs.evaluate import evaluate as run

    grid = load_config(config)
    job = grid.job(experiment, dataset, algorithm, kappa, seed)
    model, fit, folder = model or job.path / paths.MODEL, fit or job.path / paths.FIT, out or job.path
    if not fit.exists() and fit == job.path / paths.FIT:
        options = f"--experiment {experiment} --dataset {dataset} --algorithm {algorithm} --kappa {kappa} --seed {seed}"
        raise DataError(f"{fit}: this run is not trained yet; `partialfair train {options}` trains it")
    expected = fingerprint.evaluation(grid, job)
    metrics = run(model, fit, table or job.table, split or job.split, folder, expected.settings)
    # Not part of the job above, so that a word in the card makes no evaluation outdated.
    card.write(folder, model, fit)
    print(f"{folder / paths.METRICS}: {metrics['status']}")


@app.command(rich_help_panel=RESULTS)
def spread(
    experiment: Name,
    dataset: Name,
    algorithm: Name,
    kappa: Kappa,
    seed: Seed,
    repeats: Annotated[int, typer.Option(min=1, help="How often to train it again.")] = 5,
    config: ConfigOption = PARAMS,
) -> None:
    """Train a run again to see how much of it is rounding.

    Its columns come in other orders, which changes nothing but rounding.
    """
    from statistics import median

    from reproduction.grid.config import load_config
    from reproduction.jobs.perturbation_study import spread as run

    grid = load_config(config)
    perturbed = run(grid, grid.job(experiment, dataset, algorithm, kappa, seed), repeats)
    width = max(map(len, perturbed.values), default=0)
    print(f"{'metric on test rows':<{width}}{'value':>12}{'median move':>14}{'largest move':>14}")
    for name, value in perturbed.values.items():
        print(f"{name:<{width}}{value:>12.6f}{median(perturbed.moves[name]):>14.1e}{max(perturbed.moves[name]):>14.1e}")
    if perturbed.chosen[0]:
        unchanged = sum(chosen == perturbed.chosen[0] for chosen in perturbed.chosen[1:])
        print(f"tuning chose {perturbed.chosen[0]}, and the same in {unchanged} of {repeats} repetitions")


@app.command(rich_help_panel=RESULTS)
def card(
    run: Annotated[Path, typer.Argument(help="Folder of an evaluated run, below data/runs.")],
    out: Annotated[Path | None, typer.Option(help="Markdown file to write in place of printing it.")] = None,
    page: Annotated[Path | None, typer.Option(help="HTML file to write, with a picture of the interval.")] = None,
) -> None:
    """Print the model card of a run.

    It says what the model is, its groups, constraint, metrics with intervals, and limits.
    """
    from partialfair.data.files import atomic_path
    from reproduction.cards import card as cards

    if out is None and page is None:
        print(cards.render(run), end="")
    for target, make in ((out, cards.render), (page, cards.page)):
        if target is None:
            continue
        text = make(run)
        with atomic_path(target) as path:
            path.write_text(text, encoding="utf-8")
        print(target)


@app.command(rich_help_panel=STEPS)
def collect(
    experiment: str,
    replace: Annotated[bool, typer.Option("--replace", help=REPLACE)] = False,
    config: ConfigOption = PARAMS,
    out: OutOption = None,
) -> None:
    """Gather the runs of an experiment into tidy tables.

    Where these have results of runs that are not here, they are left alone.
    """
    from reproduction.grid import agreement
    from reproduction.grid.config import load_config
    from reproduction.jobs.collect import collect_experiment

    grid = load_config(config)
    jobs = grid.jobs(experiment)
    if not replace and not any((job.path / paths.FIT).is_file() for job in jobs):
        raise DataError(f"{jobs[0].path}: no run of {experiment} is here; `partialfair run {experiment}` trains them")
    written = collect_experiment(grid, experiment, out, replace=replace)
    for path in (*written, agreement.write_collected(grid, experiment, written[0].parent)):
        print(path)
