"""A step of the methods of ``partialfair.torch`` against one of the project's own networks, on the same rows.

And against what PyTorch needs at least: the same scores and derivatives with the shortest constraint one would write,
and a step of plain SGD.
"""

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from threadpoolctl import threadpool_limits
from torch import nn
from torch.nn.functional import binary_cross_entropy_with_logits

from papers.stochastic_benchmark.algorithms.ssl_alm import SmoothedSteps, SSLALMSettings
from papers.stochastic_benchmark.algorithms.stochastic_switching import StochasticSwitchingSettings, SwitchingSteps
from partialfair.models.stacked import StackedMLP
from partialfair.torch import BatchConstraint, ssl_alm, switching_subgradient
from tests.benchmarks.bench_stochastic import benchmark_problem
from tests.benchmarks.common import Result, result

CASES = (((64, 32), 8), ((64, 32), 256), ((512, 256), 256))
"""Hidden widths and rows per draw; the first is the paper's."""
STEPS, WARM = 30, 5
KAPPA = 0.005


def seconds(*steps: Callable[[int], None]) -> list[float]:
    """Median processor seconds of each kind of step, taken in turn."""
    found: list[list[float]] = [[] for _ in steps]
    for k in range(WARM + STEPS):
        for step, times in zip(steps, found, strict=True):
            began = time.process_time()
            step(k)
            times.append(time.process_time() - began)
    return [float(np.median(times[WARM:])) for times in found]


def case(name: str, hidden: tuple[int, ...], batch: int) -> list[float]:
    """Seconds of the project's own step, of one in a training loop, and of a bare one in PyTorch."""
    problem, group = benchmark_problem()
    problem = replace(problem, score=StackedMLP(9, hidden))
    sizes = {"batch": batch, "group_batch": batch}
    method: Any = (
        SmoothedSteps(SSLALMSettings(**sizes))  # type: ignore[arg-type]
        if name == "ssl_alm"
        else SwitchingSteps(StochasticSwitchingSettings(**sizes))  # type: ignore[arg-type]
    )
    x = problem.score.initial(np.random.default_rng(0))[None].astype(np.float32)
    streams, state = method.streams(problem, [0]), method.start(problem, x)
    for part in streams:
        part.drawn_at(0)  # rows are looked up in lots, once for all

    def rows_of(k: int) -> list[Any]:
        return [part.drawn_at(k)[0] for part in streams]

    steps = _loop(name, hidden, problem, group, rows_of), _bare(name, hidden, problem, group, rows_of)
    return seconds(lambda k: method.step(problem, streams, state, k), *steps)


Rows = Callable[[int], list[Any]]


def _network(hidden: tuple[int, ...]) -> nn.Sequential:
    widths = (9, *hidden, 1)
    layers = [(nn.Linear(a, b), nn.ReLU()) for a, b in zip(widths, widths[1:], strict=False)]
    return nn.Sequential(*[part for pair in layers for part in pair][:-1])


def _loop(name: str, hidden: tuple[int, ...], problem: Any, group: Any, rows_of: Rows) -> Callable[[int], None]:
    """A step as docs/torch.md writes it."""
    network, constraint = _network(hidden), BatchConstraint(2, "loss_parity", kappa=KAPPA)
    optimiser = torch.optim.SGD(network.parameters(), 0.01 if name == "ssl_alm" else 0.5)
    lagrangian = (ssl_alm if name == "ssl_alm" else switching_subgradient)(optimiser, constraint.labels)
    X, y, codes = (torch.as_tensor(part) for part in (problem.X, problem.positive, group))

    def loss(rows: Any) -> Any:
        return binary_cross_entropy_with_logits(network(X[rows])[:, 0], y[rows])

    def values(rows: Any) -> Any:
        return constraint(network(X[rows.ravel()])[:, 0], codes[rows.ravel()], y[rows.ravel()])

    def step(k: int) -> None:
        rows = rows_of(k)
        optimiser.zero_grad()
        if name == "switching":
            total = lagrangian(lambda: loss(rows[0]), lambda: values(rows[2]), strict=lambda: values(rows[1]))
        else:
            total = lagrangian(loss(rows[0]), values(rows[1]), again=lambda: values(rows[2]))
        total.backward()
        optimiser.step()

    return step


def _bare(name: str, hidden: tuple[int, ...], problem: Any, group: Any, rows_of: Rows) -> Callable[[int], None]:
    """Scores and derivatives of such a step with SGD: for switching, a step on the constraint."""
    network = _network(hidden)
    sgd = torch.optim.SGD(network.parameters(), lr=0.01)
    X, y, second = (torch.as_tensor(part) for part in (problem.X, problem.positive, group == 1))

    def value(rows: Any) -> Any:
        losses = binary_cross_entropy_with_logits(network(X[rows])[:, 0], y[rows], reduction="none")
        member = second[rows]
        return losses[member].mean() - losses[~member].mean() - KAPPA

    def step(k: int) -> None:
        rows = rows_of(k)
        with torch.no_grad():
            again = value(rows[2].ravel())
        sgd.zero_grad()
        total = value(rows[1].ravel())
        if name == "ssl_alm":
            total = again * total + binary_cross_entropy_with_logits(network(X[rows[0]])[:, 0], y[rows[0]])
        total.backward()
        sgd.step()

    return step


def run() -> list[Result]:
    """Ratio of a training loop's step to the project's own by method and size, on one thread, and the largest."""
    out, before = [], torch.get_num_threads()
    torch.set_num_threads(1)
    with threadpool_limits(1):
        for name in ("ssl_alm", "switching"):
            for hidden, batch in CASES:
                own, ours, bare = case(name, hidden, batch)
                size = "x".join(map(str, hidden))
                how = (
                    f"processor time of a step of {name} by partialfair.torch ({1e3 * ours:.2f} ms) over the project's "
                    f"NumPy step on the same rows ({1e3 * own:.2f} ms): network 9-{size}-1, {batch} rows per draw, one "
                    "thread; the NumPy step writes its derivatives out and calls no graph; the same scores and "
                    f"derivatives in bare PyTorch with a step of SGD: {1e3 * bare:.2f} ms"
                )
                out.append(result(f"torch_step_{name}_{size}_{batch}", ours / own, "times", None, how))
    torch.set_num_threads(before)
    worst = max(out, key=lambda one: one.value)
    return [result("torch_step", worst.value, "times", "<= 1.5", f"the largest, {worst.id}: {worst.how}"), *out]


if __name__ == "__main__":
    for line in run():
        print(line)
