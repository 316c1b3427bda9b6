"""Curves of training stored with the models (:mod:`partialfair.models.traced`), with the clock of the histories."""

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from partialfair.models.traced import read_trace
from reproduction.exhibits.exhibit import Context
from reproduction.grid import paths
from reproduction.verdicts import run_scores
from reproduction.verdicts.lookups import is_here
from reproduction.verdicts.results import Setting

Curves = dict[str, NDArray[Any]]


def curves(context: Context[Any], setting: Setting, seed: int) -> tuple[dict[str, Curves], str]:
    """Return curves by candidate, or nothing and the reason; ``seconds`` belongs to the iterates in ``kept``."""
    found, reason = run_scores.folder(context, setting, seed)
    if found is None or not is_here(found / paths.MODEL):
        return {}, reason or "not run"
    traces = read_trace(found / paths.MODEL)
    table = pd.read_parquet(found / paths.HISTORY) if traces else pd.DataFrame()
    for name, trace in traces.items():
        own = table[table["candidate"] == name].sort_values("iteration")
        trace["clock"], trace["clock_at"] = own["cpu_seconds"].to_numpy(), own["iteration"].to_numpy(float)
    return traces, "" if traces else "the run stored no curves"


def seconds(trace: Curves, iterations: NDArray[Any]) -> NDArray[np.float64]:
    """Processor seconds at iterations, between those that the clock was read at."""
    return np.interp(iterations, trace["clock_at"], trace["clock"])
