"""What the workflow's executor asks of this package: to prepare a process for jobs.

The plugin ``snakemake_executor_plugin_warm`` is told of :func:`rehearse` by the profiles; its README says when it is
called.
"""

import ctypes
import io
import multiprocessing
import signal
import sys
import tempfile
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import numba

from partialfair.errors import ResourceError
from partialfair.kernels import compiled
from reproduction.cards import card
from reproduction.datasets import simulated
from reproduction.datasets.splits import make_split
from reproduction.grid import fingerprint, paths
from reproduction.grid.config import Config
from reproduction.grid.params import ParamsModel
from reproduction.jobs.evaluate import evaluate
from reproduction.jobs.train import Files, train

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
