"""The verb ``reproduce``: one figure or table, the committed one beside one's own, in minutes."""

import os
import shlex
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from partialfair.errors import ConfigError, PartialFairError
from reproduction.commands.common import PARAMS, RESULTS, ConfigOption

if TYPE_CHECKING:
    from reproduction.grid.config import Config
    from reproduction.grid.narrowed import Selection

app = typer.Typer()

FOLDER = Path("reproduced")
LINKED = ("Snakefile", "workflow", "profiles", "src", "papers", "requirements.lock")


@app.command(rich_help_panel=RESULTS)
def reproduce(
    exhibit: Annotated[str, typer.Argument(help="A figure or table, say figure1.")],
    seeds: Annotated[int | None, typer.Option(min=1, help="How many seeds; 1 by default.")] = None,
    datasets: Annotated[str, typer.Option(help="Only these, separated by commas.")] = "",
    methods: Annotated[str, typer.Option(help="Only these algorithms, separated by commas.")] = "",
    minutes: Annotated[float | None, typer.Option(min=0.1, help="As many seeds as take no longer.")] = None,
    cores: Annotated[str, typer.Option(help="A number, or all.")] = "all",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what it would cost, and run nothing.")] = False,
    config: ConfigOption = PARAMS,
) -> None:
    """Make a figure anew, beside the committed one.

    It takes any figure or table and, by default, one seed of its runs. It trains in a folder of its own,
    reproduced/EXHIBIT, and leaves the committed results as they are. The page there compares every setting with the
    band of all committed seeds. Interrupted, the same command goes on.
    """
    from reproduction.grid.config import load_config
    from reproduction.grid.narrowed import Selection, narrowed

    if seeds is not None and minutes is not None:
        raise typer.BadParameter("--seeds and --minutes exclude each other")
    if not Path("Snakefile").is_file():
        raise ConfigError(f"{Path.cwd()}: no Snakefile; run this in a checkout of the project")
    count = (os.cpu_count() or 1) if cores == "all" else int(cores) if cores.isdecimal() and int(cores) else 0
    if not count:
        raise ConfigError(f"--cores is {cores!r}; give a number of cores, or all")
    whole = load_config(config)
    selection = Selection(exhibit, seeds or 1, _names(datasets), _names(methods))
    narrowed(whole, selection)  # refuses what is not there before anything is drawn
    folder = FOLDER / exhibit
    if not dry_run:
        print(_redrawn(whole, exhibit, folder / "committed"), flush=True)
    selection = _affordable(whole, selection, folder, count, minutes)
    if dry_run:
        return
    _run(whole, selection, folder, cores)
    from reproduction.jobs.reproduction import write_page

    print(write_page(whole, selection, Path(), folder))


def _names(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(",") if name.strip())


def _redrawn(config: "Config", exhibit: str, out: Path) -> str:
    """Draw the committed exhibit from its tables, or copy it where it was drawn from files of single runs."""
    from reproduction.jobs.report import render_exhibit

    source = Path("reports") / exhibit
    try:
        render_exhibit(config, exhibit, out, keep=True)
        how = "drawn from the committed tables"
    except PartialFairError as error:
        shutil.copytree(source, out, dirs_exist_ok=True)
        how = f"copied, as it cannot be drawn from the committed tables alone: {error}"
    shown = next((path for suffix in ("png", "html", "csv") for path in sorted(out.glob(f"*.{suffix}"))), out)
    return f"the committed {exhibit}: {shown} ({how})"


def _affordable(
    whole: "Config", selection: "Selection", folder: Path, cores: int, minutes: float | None
) -> "Selection":
    """Print the cost of a selection in a line; with a limit, return the one with as many seeds as keep it.

    Raises:
        ConfigError: one seed takes longer than the limit.
    """
    from dataclasses import replace

    from reproduction.grid.narrowed import narrowed
    from reproduction.jobs import cost

    speed = cost.speed()
    available = max(len(whole.seeds(name)) for name in narrowed(whole, selection).experiments)

    def of(count: int) -> cost.Cost:
        return cost.cost(narrowed(whole, replace(selection, seeds=count)), Path(), folder, speed)

    seeds = min(selection.seeds, available)
    if minutes is not None:
        fitting = [count for count in range(1, available + 1) if of(count).minutes(cores) <= minutes]
        if not fitting:
            needed = of(1).minutes(cores)
            raise ConfigError(
                f"--minutes {minutes:g}: one seed of {selection.exhibit} takes about {needed:.1f} minutes on {cores} "
                "cores here; name some of its --datasets or --methods, or allow more minutes"
            )
        seeds = max(fitting)
    estimate = of(seeds)
    steps = ", ".join(f"{rule} {count}" for rule, count in estimate.steps.items() if count)
    print(
        f"{seeds} of {available} seeds: {steps}; about {estimate.minutes(cores):.1f} minutes on {cores} cores "
        f"({estimate.seconds / 60:.1f} processor minutes as recorded; this machine is "
        f"{estimate.speed:.2f} times as fast)"
        + (f"; no time is recorded of {estimate.unknown} trainings" if estimate.unknown else ""),
        flush=True,
    )
    return replace(selection, seeds=seeds)


def _run(whole: "Config", selection: "Selection", folder: Path, cores: str) -> None:
    """Train and evaluate a selection in its folder, which has the source and the raw files of this checkout.

    Raises:
        typer.Exit: with the status of the workflow, if it did not end well.
    """
    from partialfair.tables.files import atomic_path
    from reproduction.commands.runner import AGAIN, run_workflow
    from reproduction.grid import paths
    from reproduction.grid.narrowed import as_yaml, narrowed

    root = Path.cwd()
    (root / paths.RAW).mkdir(parents=True, exist_ok=True)
    for name in (*LINKED, paths.RAW):
        link = folder / name
        link.parent.mkdir(parents=True, exist_ok=True)
        if not link.is_symlink():
            link.symlink_to(root / name)
    part = narrowed(whole, selection)
    with atomic_path(folder / PARAMS) as path:
        path.write_text(as_yaml(part.params), encoding="utf-8")
    os.environ.setdefault("NUMBA_CACHE_DIR", str(root / ".cache" / "numba"))
    os.environ.pop("PARTIALFAIR_PARAMS", None)
    os.environ[AGAIN] = shlex.join(["partialfair", "reproduce", selection.exhibit, *selection.options()])
    os.chdir(folder)
    try:
        status = run_workflow([*paths.collected(part.experiments)], PARAMS, cores)
    finally:
        os.chdir(root)
    if status:
        raise typer.Exit(status)
