"""Files of single runs that figures draw from: scores of the test rows, and the history of training."""

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from partialfair.data.files import read_json
from partialfair.errors import DataError
from reproduction.exhibits.exhibit import Context
from reproduction.grid import paths
from reproduction.verdicts import run_scores
from reproduction.verdicts.frontiers import START
from reproduction.verdicts.missing_files import is_here
from reproduction.verdicts.results import Setting


@dataclass(frozen=True)
class TestScores:
    """Scores of the test rows of one model.

    Attributes:
        scores: shape (n,).
        group: codes, shape (n,).
        y: labels -1/+1, shape (n,).
    """

    __test__ = False  # not a test class

    scores: NDArray[np.float64]
    group: NDArray[np.int64]
    y: NDArray[np.float64]

    def of_group(self, code: int) -> NDArray[np.float64]:
        """Return the scores of one group."""
        return self.scores[self.group == code]


def test_scores(context: Context[Any], setting: Setting, seed: int) -> tuple[TestScores | None, str]:
    """Return the test scores of a run, or ``None`` and the reason why there are none."""
    run_folder, reason = run_scores.folder(context, setting, seed)
    if run_folder is None or not is_here(run_folder / paths.SCORES):
        return None, reason or "not run, or not evaluated"
    rows = run_scores.scores(context, setting, seed, "test")
    if rows is None:
        return None, _status(run_folder)
    return TestScores(rows.score.astype(float), rows.group.astype(int), rows.y.astype(float)), ""


def history(context: Context[Any], setting: Setting, seed: int) -> tuple[pd.DataFrame | None, str]:
    """Return the history of the candidate that the run chose, or ``None`` and the reason why there is none.

    Columns: iteration, inner_steps, objective, max_violation, true_violation, cpu_seconds.
    """
    run_folder, reason = run_scores.folder(context, setting, seed)
    if run_folder is None or not is_here(run_folder / paths.HISTORY) or not is_here(run_folder / paths.FIT):
        return None, reason or "not run"
    chosen = read_json(run_folder / paths.FIT).get("chosen")
    table = _parquet(run_folder / paths.HISTORY)
    table = table[table["candidate"] == chosen].sort_values("inner_steps", ignore_index=True)
    return (table, "") if len(table) else (None, _status(run_folder))


def group_names(context: Context[Any], dataset: str) -> list[str]:
    """Return the names of the groups from the prepared table; their codes where it is absent."""
    path = context.root / paths.table(dataset)
    if not is_here(path):
        return ["group 0", "group 1"]
    with np.load(path, allow_pickle=False) as stored:
        return [str(name) for name in stored["group_names"]]


def settings(context: Context[Any], algorithms: Iterable[str] | None = None) -> Iterator[Setting]:
    """Yield the settings of an exhibit's experiments by dataset, algorithm and kappa, in order of ``algorithms``."""
    for name in context.experiments:
        for dataset, run in context.config.experiment(name).runs.items():
            for algorithm in run.algorithms if algorithms is None else algorithms:
                for kappa in run.algorithms.get(algorithm, []):
                    yield Setting(name, dataset, algorithm, kappa)


def tightening(context: Context[Any], algorithm: str, kappas: Mapping[str, list[float]]) -> dict[str, list[Setting]]:
    """Return the settings by dataset: the unconstrained model, then those of ``kappas`` from the loosest on."""
    experiment = context.experiments[0]
    return {
        dataset: [
            Setting(experiment, dataset, START, math.inf),
            *(Setting(experiment, dataset, algorithm, float(kappa)) for kappa in sorted(tolerances, reverse=True)),
        ]
        for dataset, tolerances in kappas.items()
    }


def datasets(context: Context[Any]) -> list[str]:
    """Return the datasets of the exhibit's experiments, in their order."""
    return list(
        dict.fromkeys(dataset for name in context.experiments for dataset in context.config.experiment(name).runs)
    )


def _parquet(path: Path) -> pd.DataFrame:
    try:
        return pd.read_parquet(path)
    except (OSError, ValueError) as error:  # pyarrow's complaints are ValueErrors
        raise DataError(f"{path}: not readable ({error}); delete the run folder and run it again") from error


def _status(folder: Path) -> str:
    """Say why a run that has ended has no model."""
    fit: dict[str, Any] = read_json(folder / paths.FIT) if is_here(folder / paths.FIT) else {}
    status, reason = str(fit.get("status", "no fit.json")), fit.get("reason")
    return f"{status}: {reason}" if reason else f"status {status}, without a model"
