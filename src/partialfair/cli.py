"""The command line: each verb is one function call into :mod:`partialfair.jobs`, imported when it is used."""

import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from partialfair.errors import PartialFairError
from partialfair.options import PairCommand

app = typer.Typer(
    help="Partial fairness: data, training, evaluation, figures and tables; the workflow calls these verbs.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
data_app = typer.Typer(
    help="Obtain, verify, prepare and split datasets.", no_args_is_help=True, pretty_exceptions_enable=False
)
app.add_typer(data_app, name="data")

ConfigOption = Annotated[Path, typer.Option("--config", envvar="PARTIALFAIR_PARAMS", help="The experiment grid.")]
RawOption = Annotated[Path, typer.Option("--raw", help="Folder of the raw files.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON in place of text.")]
PARAMS = Path("params.yaml")
RAW = Path("data/raw")


class Kind(StrEnum):
    """What a skeleton can be of."""

    DATASET = "dataset"
    ALGORITHM = "algorithm"
    METRIC = "metric"


class What(StrEnum):
    """What a manifest lists."""

    TABLES = "tables"
    MODELS = "models"


def main() -> None:
    """Run the command line; an error that a person can act on is one sentence and exit status 2."""
    try:
        app()
    except PartialFairError as error:
        from partialfair.masking import masked

        print(f"partialfair: {masked(error)}", file=sys.stderr)
        sys.exit(2)
    except Exception as error:
        from partialfair.guard import machine_fault

        fault = machine_fault(error)
        if fault is None:
            raise
        print(f"partialfair: {fault}", file=sys.stderr)
        sys.exit(2)


def _print_json(content: object) -> None:
    import json

    print(json.dumps(content, indent=1))


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

    grid = load_config(config)
    for path in verify(datasets or grid.datasets, raw, grid.params.datasets):
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
    config: ConfigOption = PARAMS,
    table: Annotated[Path | None, typer.Option(help="Prepared table; by default where the workflow has it.")] = None,
    out: Annotated[Path | None, typer.Option(help="Split to write; by default where the workflow has it.")] = None,
) -> None:
    """Divide a table into training, validation and test rows."""
    from partialfair.config import load_config
    from partialfair.jobs.split import split
    from partialfair.workflow import SPLIT, TABLE

    target = out or Path(SPLIT.format(dataset=dataset, seed=seed))
    options = load_config(config).dataset_options(dataset)
    made = split(table or Path(TABLE.format(dataset=dataset)), seed, target, options)
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
    from partialfair.jobs.inputs import require_parts
    from partialfair.jobs.train import train as run
    from partialfair.workflow import SPLIT

    job = load_config(config).job(experiment, dataset, algorithm, kappa, seed)
    require_parts(SPLIT.format(dataset=dataset, seed=seed))
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
def batch(
    experiment: Annotated[list[str] | None, typer.Option(help="Only these experiments; by default all.")] = None,
    algorithm: Annotated[list[str] | None, typer.Option(help="Only these algorithms; by default all.")] = None,
    cores: Annotated[int, typer.Option(min=1, help="Runs at a time.")] = 1,
    config: ConfigOption = PARAMS,
) -> None:
    """Train and evaluate all outdated runs from one process: less start-up than a job each; same files.

    Afterwards `snakemake --touch --forcerun train evaluate -- evaluation` records them.
    """
    from partialfair.config import load_config
    from partialfair.jobs.batch import outdated, run_batch

    grid = load_config(config, check_plugins=True)
    chosen = [job for name in experiment or grid.experiments for job in grid.jobs(name)]
    chosen = [job for job in chosen if not algorithm or job.algorithm in algorithm]
    todo = outdated(grid, chosen)
    print(f"{len(chosen) - len(todo)} runs are up to date, {len(todo)} to make", flush=True)
    failed = run_batch(config, grid, todo, cores, lambda line: print(line, flush=True))
    if failed:
        raise PartialFairError(f"{len(failed)} of {len(todo)} runs failed, the first is {failed[0].path}; see its log")


@app.command()
def card(
    run: Annotated[Path, typer.Argument(help="Folder of an evaluated run, below data/runs.")],
    out: Annotated[Path | None, typer.Option(help="Markdown file to write in place of printing it.")] = None,
) -> None:
    """Print the model card of a run: data, use, constraint, metrics with intervals, limits."""
    from partialfair.files import atomic_path
    from partialfair.model_card import render

    text = render(run)
    if out is None:
        print(text, end="")
        return
    with atomic_path(out) as path:
        path.write_text(text, encoding="utf-8")
    print(out)


@app.command()
def collect(experiment: str, config: ConfigOption = PARAMS) -> None:
    """Gather the runs of an experiment into tidy tables."""
    from partialfair.jobs.collect import collect_experiment

    for path in collect_experiment(config, experiment):
        print(path)


@app.command()
def report(
    exhibit: str,
    page: Annotated[
        Path | None, typer.Option(help="Draw nothing: write this file, a page with the exhibit as it was drawn.")
    ] = None,
    config: ConfigOption = PARAMS,
) -> None:
    """Draw a figure or table, with the CSV of its numbers."""
    from partialfair.config import load_config
    from partialfair.jobs.report import render_exhibit, render_exhibit_page

    grid = load_config(config)
    for path in render_exhibit(grid, exhibit) if page is None else [render_exhibit_page(grid, exhibit, page)]:
        print(path)


@app.command()
def scorecard(
    experiment: Annotated[str | None, typer.Option(help="Restrict it to one experiment.")] = None,
    config: ConfigOption = PARAMS,
) -> None:
    """Set published numbers beside reproduced ones, in a table and on a page with all exhibits."""
    from partialfair.config import load_config
    from partialfair.jobs.headline import write_headline
    from partialfair.jobs.report import render_page, write_scorecard

    grid, folder = load_config(config), Path("reports")
    if experiment is not None:
        grid, folder = grid.restricted(experiment), folder / experiment
    print(write_scorecard(grid, folder))
    print(render_page(grid, folder))
    print(write_headline(grid, folder))


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
def verify(
    experiment: Annotated[str | None, typer.Argument(help="Name; by default everything.")] = None,
    config: ConfigOption = PARAMS,
    deep: Annotated[bool, typer.Option("--deep", help="Also compute all metrics again from the models.")] = False,
    damage: Annotated[
        bool, typer.Option("--damage", help="Only look for damaged data and runs; what is outdated may be.")
    ] = False,
) -> None:
    """Check that every number in reports/ follows from raw data, settings, source and lock; exit status 1 if not."""
    from rich.console import Console

    from partialfair.provenance import Fault
    from partialfair.provenance import verify as run

    with Console(stderr=True).status("verifying") as status:  # shown in a terminal only
        chain = run(config, experiment, deep, reports=not damage, progress=status.update)
    if damage:
        chain.breaks = [found for found in chain.breaks if found.fault is Fault.DAMAGED]
    for line in chain.lines():
        print(line)
    print(f"{'whole' if chain.is_whole else 'BROKEN'}: {len(chain.links)} links, {len(chain.breaks)} breaks")
    raise typer.Exit(0 if chain.is_whole else 1)


@app.command()
def check(config: ConfigOption = PARAMS, as_json: JsonOption = False) -> None:
    """Validate the experiment grid and count its jobs."""
    from partialfair.config import load_config

    grid = load_config(config, check_plugins=True)
    if as_json:
        _print_json({name: [str(job.path) for job in grid.jobs(name)] for name in grid.experiments})
        return
    for name, experiment in grid.experiments.items():
        print(f"{name}: {len(grid.jobs(name))} runs on {', '.join(experiment.runs)} under {experiment.constraint}")


@app.command()
def doctor(
    config: ConfigOption = PARAMS,
    as_json: JsonOption = False,
) -> None:
    """Check the installation, versions, data, workflow and disk; exit status 1 if something needed is missing."""
    from partialfair.doctor import examine, failed

    checks = examine(".", config)
    if as_json:
        _print_json([{"name": c.name, "state": c.state, "found": c.found, "remedy": c.remedy} for c in checks])
    for check in () if as_json else checks:
        print(f"{check.state:<8} {check.name}: {check.found}" + (f" -> {check.remedy}" if check.remedy else ""))
    raise typer.Exit(int(failed(checks)))


@app.command()
def run(
    targets: Annotated[list[str] | None, typer.Argument(help="Experiments, exhibits or files; by default all.")] = None,
    config: ConfigOption = PARAMS,
    cores: Annotated[str, typer.Option(help="Number of cores, or all.")] = "all",
    dry_run: Annotated[bool, typer.Option("--dry-run", "-n", help="Say what would run, and why.")] = False,
    profile: Annotated[str | None, typer.Option(help="A folder of workflow/profiles, such as slurm.")] = None,
) -> None:
    """Run what is outdated, with Snakemake; its progress is shown as it goes."""
    from partialfair.runner import run_workflow

    raise typer.Exit(run_workflow(targets or [], config, cores, dry_run, profile))


@app.command()
def benchmark() -> None:
    """Measure the solvers side by side, which takes minutes, and write reports/benchmarks.json."""
    from partialfair.runner import run_benchmarks

    raise typer.Exit(run_benchmarks())


@app.command()
def new(
    kind: Kind,
    name: Annotated[str, typer.Argument(help="Lower case letters, digits and underscores.")],
    project: Annotated[Path, typer.Option(help="Checkout of the project.")] = Path("."),
) -> None:
    """Write the skeleton of a dataset, an algorithm or a metric, with its test."""
    from partialfair.scaffold import create

    made = create(kind.value, name, project)
    print(f"{made.module}\n{made.test}\nNext:")
    for step in (*made.next_steps, f"run `pytest {made.test}`, and `partialfair check` once params.yaml names it"):
        print(f"  - {step}")


@app.command(context_settings={"allow_extra_args": True, "ignore_unknown_options": True})
def resume(
    context: typer.Context,
    ended: Annotated[
        bool, typer.Option("--ended", help="The killed run was elsewhere; it and its jobs have ended.")
    ] = False,
) -> None:
    """Continue a killed run: cancel the jobs it left, unlock, repeat its command (with further arguments, if any)."""
    from partialfair.jobs.resume import resume as run

    sys.exit(run(context.args, ended))


Limit = Annotated[float | None, typer.Option(min=0, max=1, help="Exit with status 1 if the violation is larger.")]


@app.command(cls=PairCommand)
def audit(
    source: Annotated[Path, typer.Argument(help="CSV (with a header line) or parquet file with one row per score.")],
    score: Annotated[str, typer.Option(help="Column of the scores.")],
    group: Annotated[str, typer.Option(help="Column of the groups; several, joined by commas, are intersected.")],
    label: Annotated[str | None, typer.Option(help="Column of the labels; two values.")] = None,
    interval: Annotated[
        list[str] | None,
        typer.Option(metavar="ALPHA BETA", help="Ranks, 0 = highest score; repeat it for a union. By default 0 1."),
    ] = None,
    threshold: Annotated[
        float | None, typer.Option(help="Decision threshold; by default 0.5 for scores in [0, 1], else 0.")
    ] = None,
    positive: Annotated[str | None, typer.Option(help="The positive label; by default the larger one.")] = None,
    out: Annotated[Path | None, typer.Option(help="Folder for audit.html and audit.json.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON in place of the summary.")] = False,
    min_group_size: Annotated[int, typer.Option(help="Groups with fewer rows are listed, not compared.")] = 30,
    replicates: Annotated[int, typer.Option(help="Bootstrap resamples; 0 for no intervals.")] = 200,
    seed: Annotated[int, typer.Option(help="Seed of the bootstrap.")] = 0,
    max_sp: Limit = None,
    max_rank_gap: Limit = None,
    max_dp: Limit = None,
    max_dp_gap: Limit = None,
    max_gauc: Limit = None,
    max_eop: Limit = None,
    max_eod: Limit = None,
    max_other: Annotated[
        list[str] | None, typer.Option("--max", help="A limit on any metric, METRIC=LIMIT; repeatable.")
    ] = None,
) -> None:
    """Audit the scores of any model; exit status 1 if a limit is exceeded, 2 if the input cannot be used."""
    from partialfair.audit.command import run

    limits = {"sp": max_sp, "rank_gap": max_rank_gap, "dp": max_dp, "dp_gap": max_dp_gap, "gauc": max_gauc}
    limits |= {"eop": max_eop, "eod": max_eod}
    options = {"score": score, "group": group, "label": label, "threshold": threshold, "positive": positive}
    options |= {"min_group_size": min_group_size, "replicates": replicates, "seed": seed}
    status = run(
        source, limits=limits, others=max_other or (), intervals=interval or (), out=out, as_json=as_json, **options
    )
    raise typer.Exit(status)


@app.command("choose-interval")
def choose_interval(
    source: Annotated[Path, typer.Argument(help="CSV (with a header line) or parquet file with one row per score.")],
    score: Annotated[str, typer.Option(help="Column of the scores of an unconstrained model.")],
    group: Annotated[str, typer.Option(help="Column of the groups; several, joined by commas, are intersected.")],
    threshold: Annotated[
        float | None, typer.Option(help="Decision threshold; by default 0.5 for scores in [0, 1], else 0.")
    ] = None,
    measure: Annotated[str, typer.Option(help="What is compared: sp, rank_gap or gauc.")] = "sp",
    length: Annotated[
        list[float] | None, typer.Option(help="Length of candidates; repeatable. By default 0.2, 0.25 and 0.3.")
    ] = None,
    step: Annotated[float, typer.Option(help="Distance of the grid on which candidates begin.")] = 0.05,
    min_group_size: Annotated[int, typer.Option(help="Groups with fewer rows are left out.")] = 30,
    out: Annotated[Path | None, typer.Option(help="Picture to draw: .png, .svg or .pdf.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON in place of the table.")] = False,
) -> None:
    """Suggest an interval of ranks: of those that cover the positive rate, the one where groups differ most."""
    from partialfair.audit.choose import run
    from partialfair.choose_interval import LENGTHS

    options = {"score": score, "group": group, "threshold": threshold, "measure": measure, "step": step}
    run(source, out, as_json, lengths=length or LENGTHS, min_group_size=min_group_size, **options)
