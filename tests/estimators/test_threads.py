"""The linear algebra of a fit has one thread, and the program its own number again afterwards."""

from typing import Any

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from partialfair.algorithms.linear import calibrated
from partialfair.estimators import PartialFairClassifier, training
from partialfair.estimators.threads import on_one_thread


def threads() -> list[int]:
    """Of every library of linear algebra that is loaded."""
    return [one["num_threads"] for one in threadpool_info() if one["user_api"] == "blas"]


def test_a_function_runs_on_one_thread_and_leaves_the_others() -> None:
    with threadpool_limits(2, "blas"):
        before = threads()
        assert 2 in before and set(on_one_thread(threads)()) == {1} and threads() == before
        with pytest.raises(ZeroDivisionError):
            on_one_thread(lambda: 1 / 0)()
        assert threads() == before


def test_a_fit_runs_on_one_thread(make_rows: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    seen, solve = [], calibrated.solve_calibrated

    def watched(*arguments: Any, **options: Any) -> Any:
        seen.append(threads())
        return solve(*arguments, **options)

    monkeypatch.setattr(training.calibrated, "solve_calibrated", watched)
    rows = make_rows(300, groups=("a", "b"))
    with threadpool_limits(2, "blas"):
        before = threads()
        PartialFairClassifier(kappa=0.2, solver="alm").fit(rows.X, rows.y, sensitive_features=np.array(rows.group))
        assert threads() == before
    assert 2 in before and [set(one) for one in seen] == [{1}]
