"""Which tasks are fitted as one: only those that the algorithm says it takes together, and to which it applies."""

from types import SimpleNamespace

import pytest

from partialfair.algorithms import contract
from partialfair.errors import PluginError
from reproduction.jobs import train


class Counting(contract.Algorithm[contract.Settings]):
    """Notes which tasks it gets at once."""

    settings = contract.Settings

    def __init__(self, together):
        self.together = frozenset(together)
        self.calls = []

    def applies_to(self, constraint, data):
        return "one group" if data is None else None

    def fit(self, task, settings):
        self.calls.append(1)
        return task

    def fit_together(self, tasks, settings):
        self.calls.append(len(tasks))
        return list(tasks)


def task(kappa=0.1, seed=0, rows=True):
    return SimpleNamespace(kappa=kappa, seed=seed, constraint="any", train=rows or None)


@pytest.fixture(autouse=True)
def unmeasured(monkeypatch):
    """What is fitted stands for its outcome."""
    monkeypatch.setattr(train, "_outcome", lambda algorithm, fit, task, name: fit)


@pytest.mark.parametrize(
    ("together", "tasks", "calls"),
    [
        ({"kappa"}, [task(0.1), task(0.2), task(0.3)], [3]),
        ({"kappa"}, [task(0.1)], [1]),
        ({"kappa"}, [task(0.1, 0), task(0.2, 1)], [1, 1]),
        ({"kappa", "seed"}, [task(0.1, 0), task(0.2, 1)], [2]),
        ({"seed"}, [task(0.1, 0), task(0.2, 0)], [1, 1]),
        ((), [task(0.1), task(0.2)], [1, 1]),
        ((), [task(0.1), task(0.1)], [1, 1]),
        ({"kappa"}, [task(0.1), task(0.2, rows=False), task(0.3)], [1, 1]),
    ],
)
def test_tasks_that_may_differ_so_are_one_fit_and_others_are_not(together, tasks, calls):
    algorithm = Counting(together)
    found = train.attempt_together(algorithm, tasks, contract.Settings())
    assert algorithm.calls == calls
    for wanted, outcome in zip(tasks, found, strict=True):
        assert outcome is wanted if wanted.train else outcome.status == "not_applicable"


@pytest.mark.parametrize(("given", "words"), [([1], "1 fits for 2 tasks"), (None, "NoneType for 2 tasks")])
def test_fits_that_are_not_as_many_as_the_tasks_are_refused(given, words):
    algorithm = Counting({"kappa"})
    algorithm.fit_together = lambda tasks, settings: given
    with pytest.raises(PluginError, match=f"fit_together returned {words}; correct the plug-in"):
        train.attempt_together(algorithm, [task(0.1), task(0.2)], contract.Settings())


def test_runs_computed_together_share_their_time(monkeypatch):
    ticks = iter([(0.0, 0.0), (10.0, 8.0), (11.0, 9.0), (13.0, 10.0)])
    monkeypatch.setattr(train, "_now", lambda: next(ticks))
    clock = train.Stopwatch()
    clock.share(2)
    assert clock.lap() == {"wall_seconds": 6.0, "cpu_seconds": 5.0, "runs_together": 2}
    assert clock.lap() == {"wall_seconds": 7.0, "cpu_seconds": 5.0, "runs_together": 2}
