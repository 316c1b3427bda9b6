"""A step of ``Lagrangian`` in a training loop against steps of cooper and of humancompatible-train, in the same run.

The network, the rows, the constraint and the optimiser of the parameters are the same; so is what is left out: a step
with the loss plus the sum of the constraint values. The two libraries are in no lock of this project:
``pip install cooper-optim==1.0.1 humancompatible-train==0.4.2``.
"""

import math
import time
from collections.abc import Callable
from importlib.util import find_spec
from statistics import median
from typing import Any

import torch
from threadpoolctl import threadpool_limits
from torch import nn
from torch.nn.functional import binary_cross_entropy_with_logits as bce

from partialfair.torch import (
    Ascent,
    BatchConstraint,
    Lagrangian,
    Multipliers,
    alm,
    plada,
    ssl_alm,
    switching_subgradient,
)
from tests.benchmarks.common import Result, result

CASES = ((32, 64), (1024, 512))
"""Hidden width and rows of a batch."""
ROUNDS, WARM = 400, 50
KAPPA, ROWS = 0.05, 2000

Step = Callable[[], None]
Optimiser = Callable[[Any], torch.optim.Optimizer]


class Task:
    """Rows of two groups, a network on eight features, and the constraint; every method gets them anew."""

    def __init__(self, width: int, batch: int) -> None:
        draw = torch.Generator().manual_seed(0)
        self.width, self.batch = width, batch
        self.group = torch.randint(0, 2, (ROWS,), generator=draw)
        self.X = torch.randn(ROWS, 8, generator=draw)
        self.X[:, 0] += 1.5 * self.group
        self.y = (torch.rand(ROWS, generator=draw) < torch.sigmoid(self.X[:, 0] + self.X[:, 1])).float()
        self.gap = BatchConstraint(2, "partial_demographic_parity", kappa=KAPPA)

    def network(self) -> nn.Module:
        torch.manual_seed(0)
        return nn.Sequential(nn.Linear(8, self.width), nn.ReLU(), nn.Linear(self.width, 1))

    def parts(self, network: nn.Module, signed: bool = False) -> tuple[Any, Any]:
        """Loss and constraint values of drawn rows."""
        rows = torch.randint(0, ROWS, (self.batch,))
        scores = network(self.X[rows])[:, 0]
        return bce(scores, self.y[rows]), (self.gap.signed if signed else self.gap)(scores, self.group[rows])


def adam(params: Any) -> torch.optim.Optimizer:
    return torch.optim.Adam(params, 1e-3)


def sgd(params: Any) -> torch.optim.Optimizer:
    return torch.optim.SGD(params, 0.05)


def bare(task: Task, optimiser_of: Optimiser) -> Step:
    """The least: the same loss and values, their derivative, and the optimiser."""
    network = task.network()
    optimiser = optimiser_of(network.parameters())

    def step() -> None:
        loss, values = task.parts(network)
        optimiser.zero_grad()
        (loss + values.sum()).backward()
        optimiser.step()

    return step


def ours(task: Task, optimiser_of: Optimiser, make: Callable[..., Lagrangian], signed: bool = False) -> Step:
    network = task.network()
    optimiser = optimiser_of(network.parameters())
    lagrangian = make(optimiser, 1 if signed else 2)

    def step() -> None:
        loss, values = task.parts(network, signed)
        optimiser.zero_grad()
        lagrangian(loss, values).backward()
        optimiser.step()

    return step


def humancompatible(task: Task, optimiser_of: Optimiser, method: str) -> Step:
    """As its documentation writes a loop."""
    from humancompatible.train.dual_optim import ALM, SSG, MoreauEnvelope

    network = task.network()
    optimiser: Any = optimiser_of(network.parameters())
    dual = SSG(m=2) if method == "SSG" else ALM(m=2, lr=0.1, penalty=1.0, is_ineq=True)
    if method == "Moreau":
        optimiser = MoreauEnvelope(optimiser)

    def step() -> None:
        loss, values = task.parts(network)
        dual.forward_update(loss, values).backward()
        optimiser.step()
        optimiser.optimizer.zero_grad() if method == "Moreau" else optimiser.zero_grad()

    return step


def cooper_step(task: Task, optimiser_of: Optimiser) -> Step:
    """As its documentation writes a loop: simultaneous steps on the plain Lagrangian."""
    import cooper

    class Problem(cooper.ConstrainedMinimizationProblem):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            multiplier = cooper.multipliers.DenseMultiplier(num_constraints=2)
            self.gap = cooper.Constraint(constraint_type=cooper.ConstraintType.INEQUALITY, multiplier=multiplier)

        def compute_cmp_state(self) -> Any:
            loss, values = task.parts(network)
            return cooper.CMPState(loss=loss, observed_constraints={self.gap: cooper.ConstraintState(violation=values)})

    network = task.network()
    problem = Problem()
    optimiser = cooper.optim.SimultaneousOptimizer(
        problem,
        optimiser_of(network.parameters()),
        torch.optim.SGD(problem.dual_parameters(), 0.1, maximize=True),
    )
    return lambda: optimiser.roll() and None


def steps(task: Task) -> dict[str, Step]:
    """Every kind of step by name; those of libraries that are not installed are missing."""

    def ascent(optimiser: Any, m: int) -> Lagrangian:
        return Lagrangian(Multipliers(m, Ascent(dual_step=0.1, penalty=1.0)).follow(optimiser))

    found = {
        "bare, Adam": bare(task, adam),
        "Lagrangian, Adam": ours(task, adam, ascent),
        "bare, SGD": bare(task, sgd),
        "alm, SGD": ours(task, sgd, alm),
        "ssl_alm, SGD": ours(task, sgd, ssl_alm),
        "plada, SGD": ours(task, sgd, plada, signed=True),
        "switching_subgradient, SGD": ours(task, sgd, switching_subgradient),
    }
    if find_spec("humancompatible"):
        found |= {
            "humancompatible-train ALM, Adam": humancompatible(task, adam, "ALM"),
            "humancompatible-train ALM and Moreau envelope, SGD": humancompatible(task, sgd, "Moreau"),
            "humancompatible-train SSG, SGD": humancompatible(task, sgd, "SSG"),
        }
    if find_spec("cooper"):
        found["cooper simultaneous, Adam"] = cooper_step(task, adam)
    return found


def times(task: Task) -> dict[str, float]:
    """Median processor seconds of each kind of step, taken in turn."""
    kinds = steps(task)
    seconds: dict[str, list[float]] = {name: [] for name in kinds}
    for _ in range(ROUNDS):
        for name, step in kinds.items():
            began = time.process_time()
            step()
            seconds[name].append(time.process_time() - began)
    return {name: median(values[WARM:]) for name, values in seconds.items()}


PEERS = ("humancompatible-train ALM, Adam", "cooper simultaneous, Adam")


def run() -> list[Result]:
    """Ratio of a step of ``Lagrangian`` with Adam to the faster of the two peers, one thread, by size; the largest."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    with threadpool_limits(1):
        measured = {case: times(Task(*case)) for case in CASES}
    torch.set_num_threads(before)
    out = []
    for (width, batch), seconds in measured.items():
        peers = [seconds[name] for name in PEERS if name in seconds]
        ratio = seconds["Lagrangian, Adam"] / min(peers) if len(peers) == len(PEERS) else math.nan
        listed = ", ".join(f"{name} {1e3 * value:.2f}" for name, value in seconds.items())
        how = (
            f"network 8-{width}-1, {batch} rows, one thread, median ms of {ROUNDS - WARM} steps taken in turn: {listed}"
        )
        out.append(result(f"torch_peers_{width}_{batch}", ratio, "times", None, how))
    values = [one.value for one in out]
    worst = math.nan if any(map(math.isnan, values)) else max(values)
    how = (
        "processor time of a step of Lagrangian with Adam over the faster of humancompatible-train's ALM with Adam and "
    )
    how += "cooper's simultaneous step with Adam, the larger of two sizes"
    return [result("torch_peers", worst, "times", "<= 1.3", how), *out]


if __name__ == "__main__":
    for line in run():
        print(line)
