"""Curves of training stored with the models (:mod:`partialfair.models.traced`), with the clock of the histories."""

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from partialfair.models.traced import read_trace
from reproduction.exhibits.exhibit import Context
from reproduction.grid import paths
from reproduction.verdicts import run_scores
from reproduction.verdicts.missing_files import is_here
from reproduction.verdicts.results import Setting

Curves = dict[str, NDArray[Any]]


def curves(context: Context[Any], setting: Setting, seed: int) -> tuple[dict[str, Curves], str]:
    """Return the stored curves by candidate, with ``clock`` (cpu seconds) at the iterations ``clock_at``.

    Where there are none, the second value is the reason. ``seconds`` belongs to the iterates in ``kept``.
    """
    run_folder, reason = run_scores.folder(context, setting, seed)
    if run_folder is None or not is_here(run_folder / paths.MODEL):
        return {}, reason or "not run"
    traces = read_trace(run_folder / paths.MODEL)
    history = pd.read_parquet(run_folder / paths.HISTORY) if traces else pd.DataFrame()
    for name, trace in traces.items():
        candidate_history = history[history["candidate"] == name].sort_values("iteration")
        trace["clock"], trace["clock_at"] = (
            candidate_history["cpu_seconds"].to_numpy(),
            candidate_history["iteration"].to_numpy(float),
        )
    return traces, "" if traces else "the run stored no curves"


def seconds(trace: Curves, iterations: NDArray[Any]) -> NDArray[np.float64]:
    """Interpolate the processor seconds at iterations linearly between the readings of the clock."""
    return np.interp(iterations, trace["clock_at"], trace["clock"])
