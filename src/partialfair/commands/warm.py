"""What the workflow's executor asks of this package: to prepare a process, and to make jobs together.

The plugin ``snakemake_executor_plugin_warm`` is told these functions by ``workflow/profiles/default``; its README says
when each is called. Which jobs are made together, :mod:`partialfair.commands.blocks` says.
"""

import ctypes
import io
import multiprocessing
import signal
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import numba
import typer

from partialfair.cards import card
from partialfair.commands import runs
from partialfair.commands.masking import masked
from partialfair.datasets import simulated
from partialfair.datasets.splits import make_split
from partialfair.errors import PartialFairError, ResourceError
from partialfair.grid import fingerprint, paths
from partialfair.grid.config import Config, Job, load_config
from partialfair.grid.params import ParamsModel
from partialfair.jobs.evaluate import evaluate
from partialfair.jobs.train import Files, train, train_together
from partialfair.tables import compiled

REHEARSED: dict[str, Any] = {
    "seeds": [0],
    "bootstrap": {"replicates": 2, "level": 0.95},
    "datasets": {"simulated": {"rows": 300}},
    "experiments": {
        "rehearsal": {
            "title": "Rehearsal",
            "paper": "partial_fairness",
            "constraint": "partial_statistical_parity",
            "grid": 4,
            "kappa_scale": "absolute",
            "algorithms": {
                "idca": {"inner_steps": [5], "tolerances": [0.005], "tuning_rounds": 1, "rounds": [2]},
                "alm": {"tolerance": 0.5},
            },
            "runs": {
                "simulated": {
                    "interval": [[0.1, 0.4]],
                    "algorithms": {"unconstrained": ["inf"], "idca": [5], "alm": [5]},
                }
            },
        }
    },
}
"""The grid of the rehearsal: the algorithms whose kernels most runs of the papers execute, on few rows."""


PR_SET_PDEATHSIG = 1


def together(jobs: Sequence[Sequence[str]], report: Callable[[Iterable[int]], None]) -> None:
    """Train a block in this process.

    An error is told and leaves the jobs unreported: the executor then makes them one by one, so that each has its own.

    Args:
        jobs: the arguments of each, as after ``python -m partialfair``.
        report: to be told which jobs have been made.
    """
    try:
        parsed = [_parsed(arguments) for arguments in jobs]
        config = load_config(parsed[0]["config"])
        of = [_job(config, options) for options in parsed]
        print(f"training {len(of)} runs together: {', '.join(job.path.as_posix() for job in of)}", file=sys.stderr)
        train_together(config, of, [Files(each["table"], each["split"], each["out"]) for each in parsed])
    except PartialFairError as error:
        print(f"partialfair: {masked(error)}", file=sys.stderr)
    else:
        report(range(len(jobs)))


def _parsed(arguments: Sequence[str]) -> dict[str, Any]:
    """Return the options of a training job, read as the command line reads them."""
    command = typer.main.get_command(runs.app)
    with command.make_context("partialfair", list(arguments)) as outer:
        name, verb, rest = command.resolve_command(outer, list(arguments))  # type: ignore[attr-defined]
        with verb.make_context(name, rest, parent=outer) as context:
            found: dict[str, Any] = context.params
            return found


def _job(config: Config, options: Mapping[str, Any]) -> Job:
    """Return the run of the grid that a training job's options name."""
    return config.job(**{name: options[name] for name in ("experiment", "dataset", "algorithm", "kappa", "seed")})


def rehearse() -> None:
    """Train and evaluate a tiny run of the commonest kinds: kernels and modules that it loads, no job has to.

    The first rehearsal after a change of the kernels' sources is another process's, which fills the cache: what the
    compiler takes of memory would else be inherited by every job.

    Raises:
        ResourceError: that process died; nothing says then that the cache is full, and jobs do without a rehearsal.
    """
    mark = _mark()
    if not mark.exists():
        process = multiprocessing.get_context("fork").Process(target=_rehearse_alone)
        process.start()
        process.join()
        if process.exitcode:
            raise ResourceError(
                f"the process that rehearses ended with exit code {process.exitcode}; each job compiles what it needs"
            )
        mark.parent.mkdir(parents=True, exist_ok=True)
        mark.touch()
    _rehearse()


def _rehearse_alone() -> None:
    """Rehearse in a process that ends with the one that waits for it."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    _rehearse()


def _mark() -> Path:
    """Return the file that says that the kernels of a rehearsal are in the cache."""
    return compiled.CACHE / f"rehearsed-{numba.__version__}"


def _rehearse() -> None:
    """Train and evaluate in a temporary folder."""
    config = Config(ParamsModel(**REHEARSED), "rehearsal")
    data = simulated.load(rows=REHEARSED["datasets"]["simulated"]["rows"])
    with (
        tempfile.TemporaryDirectory() as folder,
        redirect_stdout(io.StringIO()),
        redirect_stderr(io.StringIO()),
    ):
        table, split = Path(folder, "table.npz"), Path(folder, "seed=0.npz")
        data.save(table)
        make_split(data, 0).save(split)
        for job in config.jobs():
            train(config, job, Files(table, split, folder))
            settings = fingerprint.evaluation(config, job).settings
            evaluate(Path(folder, paths.MODEL), Path(folder, paths.FIT), table, split, folder, settings)
            card.write(Path(folder))
