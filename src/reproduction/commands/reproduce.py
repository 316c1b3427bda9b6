"""The verb ``reproduce``: one figure or table, the committed one beside one's own, in minutes."""

import os
import shlex
import shutil
from dataclasses import dataclass
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
    from partialfair.plugins import did_you_mean
    from reproduction.grid.config import load_config
    from reproduction.grid.narrowed import Selection

    grid = load_config(config)
    if exhibit not in grid.params.exhibits:
        hint = did_you_mean(exhibit, grid.params.exhibits)
        raise ConfigError(f"{config}: no figure or table {exhibit!r}; {hint}")
    selection = Selection(exhibit, seeds or 1, _names(datasets), _names(methods))
    make(grid, selection, Limits(seeds, minutes, cores), dry_run)


@dataclass(frozen=True)
class Limits:
    """What a run of a selection may use.

    Attributes:
        seeds: how many seeds were asked for, if any were.
        minutes: how long it may take by the forecast, on the cores of this machine.
        cores: a number, or ``"all"``.
        profile, verbose: as for :func:`reproduction.commands.runner.run_workflow`.

    Raises:
        BadParameter: both ``seeds`` and ``minutes`` are given.
        ConfigError: ``cores`` is no number.
    """

    seeds: int | None
    minutes: float | None
    cores: str
    profile: str | None = None
    verbose: bool = False

    def __post_init__(self) -> None:
        if self.seeds is not None and self.minutes is not None:
            raise typer.BadParameter("--seeds and --minutes exclude each other")
        if self.cores != "all" and not (self.cores.isdecimal() and int(self.cores)):
            raise ConfigError(f"--cores is {self.cores!r}; give a number of cores, or all")

    @property
    def processors(self) -> int:
        """How many cores are used."""
        return (os.cpu_count() or 1) if self.cores == "all" else int(self.cores)


def select(targets: list[str], datasets: str, methods: str, seeds: int | None) -> "list[Selection]":
    """Return the selection of each target of a grid; without targets, that of the whole grid."""
    from reproduction.grid.narrowed import ALL, Selection

    return [Selection(target, seeds or 1, _names(datasets), _names(methods)) for target in targets or [ALL]]


def make(config: "Config", selection: "Selection", limits: Limits, dry_run: bool = False) -> None:
    """Say what a selection costs, make it in a folder of its own, and write its page.

    Raises:
        ConfigError: the selection is empty, or one seed takes longer than the limit.
        typer.Exit: the workflow did not end well.
    """
    from reproduction.grid.narrowed import narrowed

    if not Path("Snakefile").is_file():
        raise ConfigError(f"{Path.cwd()}: no Snakefile; run this in a checkout of the project")
    narrowed(config, selection)  # refuses what is not there before anything is drawn
    folder = FOLDER / selection.target
    if selection.target in config.params.exhibits and not dry_run:
        print(_redrawn(config, selection.target, folder / "committed"), flush=True)
    selection, cost_lines = _affordable(config, selection, folder, limits)
    if dry_run:
        print("\n".join([*cost_lines, f"made in {folder}, and committed results stay as they are; nothing was run"]))
        return
    print("; ".join(cost_lines), flush=True)
    _run(config, selection, folder, limits)
    from reproduction.jobs.reproduction import write_page

    print(write_page(config, selection, Path(), folder))


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
    picture = next((path for suffix in ("svg", "html", "csv") for path in sorted(out.glob(f"*.{suffix}"))), out)
    return f"the committed {exhibit}: {picture} ({how})"


def _affordable(
    config: "Config", selection: "Selection", folder: Path, limits: Limits
) -> tuple["Selection", tuple[str, str]]:
    """Return a selection with as many seeds as keep the limit, and its steps and cost in words.

    Raises:
        ConfigError: one seed takes longer than the limit.
    """
    from dataclasses import replace

    from reproduction.grid.narrowed import narrowed
    from reproduction.jobs import cost

    speed, cores, minutes = cost.speed(), limits.processors, limits.minutes
    available = max(len(config.seeds(name)) for name in narrowed(config, selection).experiments)

    def cost_of(count: int) -> cost.Cost:
        return cost.cost(narrowed(config, replace(selection, seeds=count)), Path(), folder, speed)

    seeds = min(selection.seeds, available)
    if minutes is not None:
        fitting = [count for count in range(1, available + 1) if cost_of(count).minutes(cores) <= minutes]
        if not fitting:
            needed = cost_of(1).minutes(cores)
            raise ConfigError(
                f"--minutes {minutes:g}: one seed of {selection.target} takes about {needed:.1f} minutes on {cores} "
                "cores here; name some of its --datasets or --methods, or allow more minutes"
            )
        seeds = max(fitting)
    estimate = cost_of(seeds)
    steps = ", ".join(f"{rule} {count}" for rule, count in estimate.steps.items() if count)
    unknown = f"; no time is recorded of {estimate.unknown} trainings" if estimate.unknown else ""
    took = (
        f"about {estimate.minutes(cores):.1f} minutes on {cores} cores ({estimate.seconds / 60:.1f} processor minutes "
        f"as recorded; this machine is {estimate.speed:.2f} times as fast){unknown}"
    )
    return replace(selection, seeds=seeds), (f"{seeds} of {available} seeds: {steps}", took)


def _link(link: Path, target: Path) -> None:
    """Link to a file of this checkout, relatively, so that the link holds wherever the checkout is moved or copied.

    Raises:
        ConfigError: something else is in the way.
    """
    link.parent.mkdir(parents=True, exist_ok=True)
    relative = os.path.relpath(target, link.parent.resolve())
    if link.is_symlink() and os.readlink(link) != relative:
        link.unlink()
    if not link.is_symlink():
        if link.exists():
            raise ConfigError(f"{link}: a link to {target} belongs here; move away what is in its place")
        link.symlink_to(relative)


def _run(config: "Config", selection: "Selection", folder: Path, limits: Limits) -> None:
    """Train and evaluate a selection in its folder, which has the source and the raw files of this checkout.

    Raises:
        typer.Exit: with the status of the workflow, if it did not end well.
    """
    from partialfair.data.files import atomic_path
    from reproduction.commands.runner import AGAIN, run_workflow
    from reproduction.grid import paths
    from reproduction.grid.narrowed import as_yaml, narrowed

    root = Path.cwd()
    (root / paths.RAW).mkdir(parents=True, exist_ok=True)
    for name in (*LINKED, paths.RAW):
        _link(folder / name, root / name)
    grid = narrowed(config, selection)
    with atomic_path(folder / PARAMS) as path:
        path.write_text(as_yaml(grid.params), encoding="utf-8")
    os.environ.setdefault("NUMBA_CACHE_DIR", str(root / ".cache" / "numba"))
    os.environ.pop("PARTIALFAIR_PARAMS", None)
    os.environ[AGAIN] = shlex.join(selection.command(config))
    os.chdir(folder)
    try:
        targets = [*paths.collected(grid.experiments)]
        status = run_workflow(targets, PARAMS, limits.cores, profile=limits.profile, verbose=limits.verbose)
    finally:
        os.chdir(root)
    if status:
        raise typer.Exit(status)
