"""The verbs that start other programs: Snakemake, and the benchmarks of a checkout."""

import fcntl
import os
import platform
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from difflib import get_close_matches
from functools import partial
from importlib.util import find_spec
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from partialfair import plugins
from partialfair.errors import ConfigError, PartialFairError
from reproduction.commands import outdated
from reproduction.commands.common import PARAMS
from reproduction.commands.forecast import recorded
from reproduction.commands.preflight import Command, check_command, explained
from reproduction.commands.progress import follow, planned
from reproduction.grid import paths
from reproduction.grid.folder import share_with_group

if TYPE_CHECKING:
    from reproduction.commands.forecast import Forecast
    from reproduction.grid.config import Config

_RESUME = "cd {} && partialfair resume"
BENCHMARKS = Path("tests/benchmarks/run.py")
LOG = Path("logs/run.log")
PLAN = Path("logs/plan.log")
"""Output of a dry run, which may be asked for while a run writes its own."""
AGAIN = "PARTIALFAIR_AGAIN"
"""Environment variable by which a program that runs the workflow says which of its own commands continues it."""

_REASONS = 5
"""Reasons that a gate prints; the plan has all."""


def run_workflow(
    targets: Sequence[str],
    config: Path,
    cores: str = "all",
    dry_run: bool = False,
    profile: str | None = None,
    verbose: bool = False,
    datasets: str = "",
    force: bool = False,
    cold: bool = False,
    gate: bool = False,
) -> int:
    """Run Snakemake in the current folder, with a line of progress.

    Args:
        targets: experiments, exhibits or files; none for all.
        config: the experiment grid.
        cores: a number, or ``"all"``.
        dry_run: only say what would run.
        profile: name of a folder of ``workflow/profiles``.
        verbose: show Snakemake's output as it comes; of a dry run, in place of three lines.
        datasets: whose raw files the target ``raw`` brings; none for all.
        force: make the targets whether or not they are outdated.
        cold: a process for each job, for a few that train nothing: warm workers take seconds to be ready.
        gate: a dry run that ends with 1 where anything would run, and with Snakemake's reasons.

    Returns:
        Snakemake's exit status; 143 or 130 if SIGTERM or an interrupt stopped it.

    Raises:
        ConfigError: there is no workflow here, no such target or profile, or ``cores`` is no number.
        PartialFairError: Snakemake runs in this folder already.
    """
    if not Path("Snakefile").is_file():
        raise ConfigError(f"{Path.cwd()}: no Snakefile; run this in a checkout of the project")
    if cores != "all" and not (cores.isdecimal() and int(cores) > 0):
        raise ConfigError(f"--cores is {cores!r}; give a number of cores, or all")
    command = [sys.executable, "-m", "snakemake"]
    # A profile of a cluster knows how many there are; those of this machine are none of them.
    command += ["--cores", cores] if profile is None or cores != "all" else []
    command += ["--config", f"params={config}", f"datasets={datasets}"]
    command += ["--dry-run"] * dry_run + ["--force"] * force + _profile_options(profile)
    command += ["--executor", "local", "--scheduler", "greedy"] * cold
    grid = require_targets(targets, config, datasets.split())
    command += ["--", *(targets or ["all"])]
    if find_spec("snakemake") is not None:
        check_command(Command.read(["snakemake", *command[3:]]), {})  # in the Snakefile, its sentence would come late
    share_with_group()
    if dry_run:
        if files := outdated.tables(grid, targets):
            print(
                f"{_count(files)} would be made first; what reads them would go on where they come out the same, so "
                "that the counts below are the most that can be",
                flush=True,
            )
        if verbose:
            return subprocess.run(command, check=False).returncode
        stale, lines = _explained(grid, targets)
        print(*lines, sep="\n", end="\n" * bool(lines), flush=True)
        return _plan(command, grid, targets, cores) or int(gate and _outdated(stale))
    flags = {"--config": str(config) if config != PARAMS else "", "--profile": profile, "--datasets": datasets}
    options = [word for name, value in flags.items() if value for word in (name, value)]
    _, lines = _explained(grid, targets)  # what else only the log would hold
    print(*lines, sep="\n", end="\n" * bool(lines), file=sys.stderr)
    again = partial(_continues, ["partialfair", "run", *targets, "--cores", cores, *options])
    with alone():
        status = _tables_first(command, outdated.tables(grid, targets), again, verbose) or follow(
            command, LOG, again=again, forecast=lambda: recorded(grid, targets), verbose=verbose
        )
        if not status:
            later = require_targets(targets, config, datasets.split())
            if later.jobs() != grid.jobs():  # the run that has ended has opened a second look
                print("second look: more seeds where a central comparison is open", file=sys.stderr)
                status = follow(command, LOG, again=again, forecast=lambda: recorded(later, targets), verbose=verbose)
    for line in () if status else (*idle(grid, targets), *_without_metadata()):
        print(line)
    return status


def _plan(command: Sequence[str], config: "Config", targets: Sequence[str], cores: str) -> int:
    """Print what a dry run came to in three lines: steps by rule, their cost, and where to read more.

    Returns:
        Snakemake's exit status.
    """
    from reproduction.jobs import cost

    PLAN.parent.mkdir(parents=True, exist_ok=True)
    counts, status, faults = planned(command, PLAN)
    if status:
        print("\n".join(faults), file=sys.stderr)
        print(f"failed with status {status}; the whole output is in {PLAN.absolute()}", file=sys.stderr)
        return status
    if not counts:
        print(f"nothing to do: all results are up to date\nnothing was run; the whole plan is in {PLAN}")
        return 0
    forecast = recorded(config, targets)
    print(", ".join(f"{rule} {count}" for rule, count in counts.items()))
    if forecast is None:
        print("no time is recorded of these runs")
    else:
        speed, used = cost.speed(), (os.cpu_count() or 1) if cores == "all" else int(cores)
        seconds = forecast.total(counts)
        print(
            f"about {seconds / 60 / speed / used:,.1f} minutes on {used} cores ({seconds / 60:,.1f} processor minutes "
            f"as recorded; this machine is {speed:.2f} times as fast)"
        )
    print(f"nothing was run; the whole plan is in {PLAN}; --seeds 1 runs a part in a folder of its own")
    return 0


def _outdated(told: bool) -> bool:
    """Print why the last plan runs anything, each of Snakemake's reasons once; tell whether it does.

    Args:
        told: the results themselves have said in what they disagree, so that nothing is printed.
    """
    prefix = "    reason: "
    lines = PLAN.read_text(encoding="utf-8", errors="replace").splitlines()
    reasons = sorted({line.removeprefix(prefix) for line in lines if line.startswith(prefix)})
    for reason in () if told else reasons[:_REASONS]:
        print(f"outdated: {reason if len(reason) < 300 else reason[:300] + ' ...'}")
    return bool(reasons)


def _explained(config: "Config", targets: Sequence[str]) -> tuple[bool, list[str]]:
    """Tell whether results here do not agree with the grid, and what the Snakefile says of them."""
    from reproduction.grid.agreement import Agreement
    from reproduction.grid.workflow import Grid

    agreement = Agreement(Grid(config))
    stale = agreement.stale(targets)
    return bool(stale), explained(agreement, targets, stale)


def _without_metadata() -> Iterator[str]:
    """Yield what Snakemake says of results that it has no record of."""
    with suppress(OSError):
        for line in LOG.read_text(encoding="utf-8", errors="replace").splitlines():
            if "missing provenance/metadata" in line:
                yield f"Snakemake: {line.strip()}"


def _continues(command: Sequence[str]) -> str:
    """What continues a run that has stopped: its own command, unless it was killed or another program started it."""
    from reproduction.jobs.resume import LOCKS

    if LOCKS.is_dir() and any(LOCKS.iterdir()):
        return _RESUME.format(shlex.quote(os.getcwd()))
    return os.environ.get(AGAIN) or shlex.join(command)


def _tables_first(command: Sequence[str], files: Sequence[str], again: Callable[[], str], verbose: bool) -> int:
    """Make outdated tables and splits in a run of their own; see :mod:`reproduction.commands.outdated`."""
    from reproduction.jobs.resume import followed_by

    if not files:
        return 0
    print(f"first {_count(files)}: what reads them goes on where they come out the same", file=sys.stderr)
    with followed_by(command[3:]):
        return follow([*command[: command.index("--") + 1], *files], LOG, again=again, verbose=verbose)


def _count(files: Sequence[str]) -> str:
    return f"{len(files)} tables or splits of other code or settings" if len(files) > 1 else files[0]


def _profile_options(profile: str | None) -> list[str]:
    """Return Snakemake's options for a profile of this project, by its name, or for any other, by its folder.

    Raises:
        ConfigError: there is none of that name.
    """
    if profile is None:
        return []
    folder = Path("workflow", "profiles", profile)
    if not (folder / "config.yaml").is_file() and Path(profile).is_dir():
        folder = Path(profile)
    if not any(folder.glob("config*.yaml")):
        profiles = ", ".join(sorted(path.parent.name for path in folder.parent.glob("*/config.yaml")))
        raise ConfigError(
            f"--profile {profile!r}: no {folder}/config.yaml; choose from {profiles}, or name another profile's folder"
        )
    return ["--workflow-profile", str(folder)]


def idle(config: "Config", targets: Sequence[str]) -> Iterator[str]:
    """Yield a line per experiment with runs of methods that do not apply, as its collected table has them.

    Args:
        config: the experiment grid.
        targets: experiments and exhibits, whose experiments are meant; none for all.
    """
    from pyarrow import ArrowException, parquet

    of_exhibits = [config.params.exhibits[name].experiments for name in targets if name in config.params.exhibits]
    names = {*targets, *chain.from_iterable(of_exhibits)}
    for name in (name for name in config.experiments if name in names or not targets):
        try:
            path = paths.COLLECTED.format(experiment=name, table="runs")
            statuses = parquet.read_table(path, columns=["status"]).column("status").to_pylist()
        except (ArrowException, KeyError, OSError):  # not collected yet
            continue
        if count := statuses.count("not_applicable"):
            runs = f"{count:,} of {len(statuses):,} runs"
            yield f"{name}: in {runs} the method does not apply; `reason` in {path} says why"


@contextmanager
def alone() -> Iterator[None]:
    """Refuse to run beside another run of this folder, whose log would be lost.

    Snakemake may have outlived its command, so that it is looked for, too; of one on another machine its lock tells.

    Raises:
        PartialFairError: one runs on this machine.
    """
    _refuse_beside_another()
    LOG.parent.mkdir(parents=True, exist_ok=True)
    with LOG.with_suffix(".lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise PartialFairError("another run has just begun in this folder; wait for it, or stop it") from None
        except OSError:  # the folder is on a file system without locks
            pass
        yield


def _refuse_beside_another() -> None:
    """Refuse to run beside a Snakemake of this folder.

    Raises:
        PartialFairError: one runs on this machine.
    """
    from reproduction.jobs.orphaned_jobs import is_snakemake_here
    from reproduction.jobs.resume import read_record, stopping

    record = None
    with suppress(PartialFairError):  # one that cannot be read tells of none; Snakemake's own lock may
        record = read_record()
    pid = record["pid"] if record is not None and record["host"] == platform.node() else None
    if pid is not None and is_snakemake_here(pid):
        raise PartialFairError(f"Snakemake still runs here as process {pid}; {stopping(pid)}")


def make_recorded(path: Path, config: Path) -> bool:
    """Have the workflow make a file, so that it knows what the file was made from and notices when that changes.

    Returns:
        Whether it did: not outside a checkout, nor without Snakemake.

    Raises:
        typer.Exit: it failed.
    """
    import typer

    if not Path("Snakefile").is_file() or find_spec("snakemake") is None:
        return False
    from reproduction.grid.agreement import snakemake_record

    record = snakemake_record(str(path))
    if status := run_workflow([str(path)], config, force=path.exists() and not record.exists(), cold=True):
        raise typer.Exit(status)
    return True


def repeat(command: Sequence[str]) -> int:
    """Run a recorded command of Snakemake again, with a line of progress; a dry run shows its own output.

    Whoever calls it sees to it that no other run is under way here: :func:`alone`.

    Args:
        command: interpreter, ``-m snakemake`` and its arguments.

    Returns:
        Snakemake's exit status; 143 or 130 if SIGTERM or an interrupt stopped it.
    """
    if {"-n", "--dry-run", "--dryrun"} & set(command):
        become(command)

    def forecast() -> "Forecast | None":
        from reproduction.grid.config import load_config

        if "--" not in command:  # it was no command of ours: which of its words are targets is not known
            return None
        grids = [word.removeprefix("params=") for word in command if word.startswith("params=")]
        return recorded(load_config(grids[-1] if grids else PARAMS), command[command.index("--") + 1 :])

    return follow(command, LOG, again=lambda: _RESUME.format(shlex.quote(os.getcwd())), forecast=forecast)


def become(command: Sequence[str]) -> NoReturn:
    """Run a command in place of this process, so that signals reach it; does not return."""
    sys.stdout.flush()
    os.execv(command[0], list(command))  # noqa: S606 (no shell is wanted)


def require_targets(targets: Sequence[str], config: Path, datasets: Sequence[str] = ()) -> "Config":
    """Refuse a target that is neither a file nor a name of the grid or of the Snakefile, and a dataset that is none.

    Returns:
        The grid.

    Raises:
        ConfigError: naming all such, each with the nearest name.
    """
    from reproduction.grid.checks import TARGETS
    from reproduction.grid.config import load_config

    grid = load_config(config)
    target_names = sorted({*TARGETS, *grid.experiments, *grid.params.exhibits})
    faults = []
    for target in targets:
        if target not in target_names and "/" not in target and "." not in target:
            near = ", ".join(get_close_matches(target, target_names, n=3, cutoff=0))
            faults.append(f"{config}: there is no target {target!r}; the nearest are {near}")
    dataset_names = {*grid.datasets, *plugins.names("datasets")}
    faults += [
        f"--datasets: unknown dataset {dataset!r}; {plugins.did_you_mean(dataset, dataset_names)}"
        for dataset in datasets
        if dataset not in dataset_names
    ]
    if faults:
        raise ConfigError("\n".join(faults))
    return grid


def run_benchmarks() -> int:
    """Run the benchmarks of a checkout.

    Raises:
        ConfigError: they are not here.
    """
    if not BENCHMARKS.is_file():
        raise ConfigError(f"{Path.cwd()}: no {BENCHMARKS}; run this in a checkout of the project")
    return subprocess.run([sys.executable, str(BENCHMARKS)], check=False).returncode
