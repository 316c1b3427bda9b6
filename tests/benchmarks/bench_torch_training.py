"""Networks trained under constraints by ``partialfair.torch`` and its peers: loss, gap between groups, time of a step.

All methods get the same networks, batches, constraint values, number of steps and number of trials. A trial draws a
step size and one more setting of the method, each from a range on a logarithmic scale; the draws are the same for all.
Of the trials whose gap on the training rows is at most ``ADMISSIBLE`` times the tolerance, the one with the smallest
validation loss is taken; if there is none, the one with the smallest gap. It is then run from fresh seeds and judged
on the test rows. One thread; every row of the file is one run.
"""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from statistics import median
from typing import Any

import numpy as np
import torch
from sklearn.datasets import load_digits
from threadpoolctl import threadpool_limits
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits as bce
from torch.nn.functional import one_hot

from papers.cross_paper.datasets import acs_income
from partialfair.errors import DataError
from partialfair.models.resnet import Block
from partialfair.seeding import derive_seed, generator
from partialfair.torch import (
    Ascent,
    BalancedBatches,
    BatchConstraint,
    Lagrangian,
    Multipliers,
    plada,
    ssl_alm,
    switching_subgradient,
)
from reproduction.datasets.splits import make_split
from reproduction.jobs.prepare import fetch
from tests.benchmarks.common import ROOT, Result, real_dataset, result
from tests.benchmarks.kept import Kept
from tests.benchmarks.training_cells import ADMISSIBLE, COLUMNS, FILE, KAPPAS, KEYS, MEASURED

TRIALS, SEEDS, TUNING_SEED = 6, 5, 100


@dataclass(frozen=True)
class Rows:
    """Inputs, group codes and labels 0/1 of some rows."""

    X: Tensor
    group: Tensor
    y: Tensor

    def take(self, rows: Any) -> "Rows":
        return Rows(self.X[rows], self.group[rows], self.y[rows])


@dataclass(frozen=True)
class Task:
    """A table in three parts, a network for it, and the constraint.

    Attributes:
        per_group: rows of every group in a batch.
    """

    train: Rows
    validation: Rows
    test: Rows
    network: Callable[[], nn.Module]
    constraint: str
    kappa: float
    steps: int
    per_group: int

    @property
    def n_groups(self) -> int:
        return int(self.train.group.max()) + 1

    def gap(self) -> BatchConstraint:
        return BatchConstraint(self.n_groups, self.constraint, kappa=self.kappa, kappa_scale="absolute")


def mlp(n_features: int) -> nn.Module:
    """The benchmark's network."""
    widths = (n_features, 64, 32, 1)
    layers = [(nn.Linear(a, b), nn.ReLU()) for a, b in zip(widths, widths[1:], strict=False)]
    return nn.Sequential(*[part for pair in layers for part in pair][:-1])


def resnet() -> nn.Module:
    """Five convolutions beside two shortcuts, with batch normalisation: 5,113 weights."""
    stem = nn.Conv2d(3, 8, 3, padding=1, bias=False), nn.BatchNorm2d(8), nn.ReLU()
    return nn.Sequential(
        *stem, Block(8, 8, 1), Block(8, 16, 2), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(16, 1)
    )


def in_three(X: Any, group: Any, y: Any, numeric: bool = True) -> tuple[Rows, Rows, Rows]:
    """Six tenths of the rows of each group to train, two for validation, two for the test; numbers standardised."""
    draw = generator("torch training rows", len(y))
    part = np.zeros(len(y), np.int64)
    for code in np.unique(group):
        rows = draw.permutation(np.flatnonzero(group == code))
        part[rows[int(0.6 * len(rows)) :]] = 1
        part[rows[int(0.8 * len(rows)) :]] = 2
    values = np.asarray(X, np.float32)
    if numeric:
        values = (values - values[part == 0].mean(axis=0)) / values[part == 0].std(axis=0)
    whole = Rows(torch.as_tensor(values), torch.as_tensor(group, dtype=torch.long), torch.as_tensor(y).float())
    first, second, third = (whole.take(torch.as_tensor(part == number)) for number in range(3))
    return first, second, third


def income_by_race() -> Task:
    """The stochastic benchmark's table, split, network and constraint."""
    data = real_dataset("acs_income_ok_race")
    split = make_split(data, 0)
    mean, deviation = data.X[split.train].mean(axis=0), data.X[split.train].std(axis=0)
    whole = Rows(
        torch.as_tensor((data.X - mean) / deviation, dtype=torch.float32),
        torch.as_tensor(data.group, dtype=torch.long),
        torch.as_tensor(data.y > 0).float(),
    )
    parts = [whole.take(torch.as_tensor(rows)) for rows in (split.train, split.validation, split.test)]
    return Task(*parts, lambda: mlp(9), "loss_parity", KAPPAS["income by race"], 500, 32)


def income_of_nine_races() -> Task:
    """National rows of ACSIncome, at most 1,500 of each of the nine codes of RAC1P: 72 constraints."""
    fetch("acs_income", ROOT / "data/raw")
    table = acs_income.read_union(acs_income.SPEC.path(ROOT / "data/raw", acs_income.SPEC.files[0].name), None)
    draw = generator("torch training races")
    codes = table["RAC1P"].to_numpy()
    rows = np.concatenate([draw.permutation(np.flatnonzero(codes == code))[:1500] for code in range(1, 10)])
    chosen = table.iloc[rows]
    names = [*acs_income.NUMERIC, *(name for name in acs_income.CATEGORICAL if name != "RAC1P"), "SEX"]
    parts = in_three(chosen[names].fillna(0), codes[rows] - 1, chosen[acs_income.LABEL].to_numpy(float))
    return Task(*parts, lambda: mlp(len(names)), "loss_parity", KAPPAS["income, nine races"], 500, 16)


def coloured_digits() -> Task:
    """Scikit-learn's digits of 8 x 8 pixels in two colours: is it 5 or more? Colour goes with the label, 3 to 1."""
    digits = load_digits()
    draw = generator("torch training colours")
    y = digits.target >= 5
    colour = (draw.random(len(y)) < np.where(y, 0.75, 0.25)).astype(int)
    y = y ^ (draw.random(len(y)) < 0.1)
    images = np.zeros((len(y), 3, 8, 8))
    images[np.arange(len(y)), 2 * colour] = digits.images / 16
    parts = in_three(images, colour, y, numeric=False)
    return Task(*parts, resnet, "partial_demographic_parity", KAPPAS["coloured digits"], 250, 32)


TASKS: dict[str, Callable[[], Task]] = {
    "income by race": cache(income_by_race),
    "income, nine races": cache(income_of_nine_races),
    "coloured digits": cache(coloured_digits),
}


# --- methods ----------------------------------------------------------------------------------------------------------

Compute = Callable[[], tuple[Tensor, Tensor]]
Step = Callable[[Compute], None]


@dataclass(frozen=True)
class Run:
    """What a method is given: parameters, constraint, and its two settings."""

    params: list[Tensor]
    task: Task
    gap: BatchConstraint
    first: float
    second: float

    @property
    def m(self) -> int:
        return len(self.gap.labels)

    def adam(self) -> Any:
        return torch.optim.Adam(self.params, self.first)

    def sgd(self) -> Any:
        return torch.optim.SGD(self.params, self.first)


@dataclass(frozen=True)
class Method:
    """A method and the ranges of its two settings, the first of which is the step size.

    Attributes:
        values: what it takes beside the loss: "values" of the constraints, "signed" gaps, or "scores".
    """

    make: Callable[[Run], Step]
    first: tuple[float, float]
    second: tuple[float, float]
    second_name: str
    package: str = "partialfair"
    values: str = "values"


def unconstrained(run: Run) -> Step:
    optimiser = run.adam()

    def step(compute: Compute) -> None:
        optimiser.zero_grad()
        compute()[0].backward()
        optimiser.step()

    return step


def by_lagrangian(start: Callable[[Run], tuple[Any, Lagrangian]]) -> Callable[[Run], Step]:
    def made(run: Run) -> Step:
        optimiser, lagrangian = start(run)

        def step(compute: Compute) -> None:
            optimiser.zero_grad()
            lagrangian(*compute()).backward()
            optimiser.step()

        return step

    return made


def ascent(run: Run) -> tuple[Any, Lagrangian]:
    optimiser = run.adam()
    return optimiser, Lagrangian(Multipliers(run.m, Ascent(run.second)).follow(optimiser))


def nupi(run: Run) -> tuple[Any, Lagrangian]:
    optimiser = run.adam()
    rule = Ascent(run.second, penalty=0.0, proportional=10.0, smoothing=0.5, dual_first=True)
    return optimiser, Lagrangian(Multipliers(run.m, rule).follow(optimiser))


def smoothed_alm(run: Run) -> tuple[Any, Lagrangian]:
    optimiser = run.sgd()
    return optimiser, ssl_alm(optimiser, run.m, penalty=run.second)


def switching(run: Run) -> tuple[Any, Lagrangian]:
    optimiser = run.sgd()
    settings = {"tolerance": run.task.kappa, "tolerance_decay": 1.0}
    return optimiser, switching_subgradient(optimiser, run.m, constraint_lr=run.second, **settings)


def proximal(run: Run) -> tuple[Any, Lagrangian]:
    optimiser = run.sgd()
    lagrangian = plada(optimiser, run.m // 2, tolerance=run.task.kappa, penalty=run.second, slack_step=0.3 / run.second)
    return optimiser, lagrangian


def by_humancompatible(name: str, adaptive: bool = True, **settings: Any) -> Callable[[Run], Step]:
    """As the toolkit's documentation writes a loop; a setting may be a function of the run."""

    def made(run: Run) -> Step:
        from humancompatible.train import dual_optim

        given = {key: value(run) if callable(value) else value for key, value in settings.items()}
        dual = getattr(dual_optim, name)(m=run.m, **given)
        optimiser = run.adam() if adaptive else run.sgd()

        def step(compute: Compute) -> None:
            optimiser.zero_grad()
            dual.forward_update(*compute()).backward()
            optimiser.step()

        return step

    return made


def second(run: Run) -> float:
    return run.second


def by_cooper(dual: Callable[[Any, float], Any], penalty: bool = False) -> Callable[[Run], Step]:
    """As cooper's documentation writes a loop, with simultaneous steps."""

    def made(run: Run) -> Step:
        import cooper

        class Problem(cooper.ConstrainedMinimizationProblem):  # type: ignore[misc]
            def __init__(self) -> None:
                super().__init__()
                multiplier = cooper.multipliers.DenseMultiplier(num_constraints=run.m)
                augmented: dict[str, Any] = {}
                if penalty:
                    augmented["formulation_type"] = cooper.formulations.AugmentedLagrangian
                    weight = torch.full((run.m,), run.second)
                    augmented["penalty_coefficient"] = cooper.penalty_coefficients.DensePenaltyCoefficient(weight)
                self.gap = cooper.Constraint(cooper.ConstraintType.INEQUALITY, multiplier=multiplier, **augmented)

            def compute_cmp_state(self, compute: Compute) -> Any:
                loss, values = compute()
                return cooper.CMPState(loss, observed_constraints={self.gap: cooper.ConstraintState(values)})

        problem = Problem()
        optimiser = cooper.optim.SimultaneousOptimizer(problem, run.adam(), dual(problem.dual_parameters(), run.second))
        return lambda compute: optimiser.roll(compute_cmp_state_kwargs={"compute": compute}) and None

    return made


def dual_sgd(params: Any, rate: float) -> Any:
    return torch.optim.SGD(params, rate, maximize=True)


def dual_nupi(params: Any, rate: float) -> Any:
    from cooper.optim import nuPI

    return nuPI(params, rate, Kp=10.0, ema_nu=0.5, maximize=True)


def by_fairret(run: Run) -> Step:
    """The norm loss of positive rates, as a penalty; on loss parity, too, as in the benchmark's paper."""
    from fairret.loss import NormLoss
    from fairret.statistic import PositiveRate

    penalty, optimiser = NormLoss(PositiveRate()), run.adam()

    def step(compute: Any) -> None:
        loss, (scores, group) = compute()
        optimiser.zero_grad()
        (loss + run.second * penalty(scores[:, None], one_hot(group, run.task.n_groups).float())).backward()
        optimiser.step()

    return step


ADAM, SGD, DUAL = (1e-3, 3e-2), (1e-2, 1.0), (1e-2, 10.0)
HUMAN = "humancompatible"
METHODS: dict[str, Method] = {
    "no constraint, Adam": Method(unconstrained, ADAM, DUAL, "none"),
    "partialfair `Ascent`, Adam": Method(by_lagrangian(ascent), ADAM, DUAL, "dual step"),
    "partialfair `Ascent` (nuPI), Adam": Method(by_lagrangian(nupi), ADAM, DUAL, "dual step"),
    "partialfair `ssl_alm`, SGD": Method(by_lagrangian(smoothed_alm), SGD, DUAL, "penalty"),
    "partialfair `switching_subgradient`, SGD": Method(by_lagrangian(switching), SGD, SGD, "step on the constraint"),
    "partialfair `plada`, SGD": Method(by_lagrangian(proximal), SGD, DUAL, "penalty", values="signed"),
    "humancompatible-train `ALM`, Adam": Method(
        by_humancompatible("ALM", lr=second, penalty=1.0, is_ineq=True), ADAM, DUAL, "dual step", HUMAN
    ),
    "humancompatible-train `iALM`, Adam": Method(
        by_humancompatible("iALM", beta=second, is_ineq=True), ADAM, DUAL, "penalty and dual step", HUMAN
    ),
    "humancompatible-train `nuPI`, Adam": Method(
        by_humancompatible("nuPI", ki=second, kp=lambda run: 10 * run.second, nu=0.5, is_ineq=True),
        ADAM, DUAL, "integral gain", HUMAN,
    ),
    "humancompatible-train `PBM`, Adam": Method(
        by_humancompatible(
            "PBM", init_duals=0.01, gamma=0.9, penalty_range=lambda run: (run.second, 1.0),
            epoch_length=lambda run: max(1, run.task.steps // 10),
        ),
        ADAM, (1e-3, 1e-1), "smallest penalty", HUMAN,
    ),
    "humancompatible-train `SSG`, SGD": Method(
        by_humancompatible("SSG", adaptive=False, constraint_tol=lambda run: run.task.kappa,
                           constraint_scale=lambda run: run.second / run.first),
        SGD, SGD, "step on the constraint", HUMAN,
    ),
    "cooper simultaneous, Adam": Method(by_cooper(dual_sgd), ADAM, DUAL, "dual step", "cooper"),
    "cooper nuPI, Adam": Method(by_cooper(dual_nupi), ADAM, DUAL, "dual step", "cooper"),
    "cooper augmented, Adam": Method(by_cooper(dual_sgd, penalty=True), ADAM, DUAL, "penalty and dual step", "cooper"),
    "fairret `NormLoss`, Adam": Method(by_fairret, ADAM, DUAL, "weight", "fairret", "scores"),
}  # fmt: skip


def drawn_settings(method: Method, number: int) -> tuple[float, float]:
    """Both settings of a trial."""
    shares = generator("torch training trials", number).random(2)
    first, second = (
        float(low * (high / low) ** share)
        for (low, high), share in zip((method.first, method.second), shares, strict=True)
    )
    return first, second


# --- runs -------------------------------------------------------------------------------------------------------------


def batches_of(task: Task, seed: int) -> Iterator[tuple[Rows, Tensor]]:
    """Batches of a run, with the weights that make the mean loss of all rows out of theirs."""
    batches = BalancedBatches(task.train.group, task.per_group, batches=task.steps, seed=seed, replicas=1, rank=0)
    for rows in batches:
        batch = task.train.take(torch.as_tensor(rows))
        yield batch, batches.weights[batch.group]


def trained(task: Task, method: Method, settings: tuple[float, float], seed: int) -> dict[str, float]:
    """Train, and measure on all rows of each part; time is the median processor time of a step.

    Where steps diverge, losses and gaps are NaN.
    """
    torch.manual_seed(derive_seed("torch training", seed) % 2**63)
    network, gap = task.network(), task.gap()
    step = method.make(Run(list(network.parameters()), task, gap, *settings))
    spent = []
    for batch, weights in batches_of(task, seed):

        def compute(batch: Rows = batch, weights: Tensor = weights) -> Any:
            scores = network(batch.X).reshape(-1)
            loss = (weights * bce(scores, batch.y, reduction="none")).mean()
            if method.values == "scores":
                return loss, (scores, batch.group)
            return loss, (gap.signed if method.values == "signed" else gap)(scores, batch.group, batch.y)

        began = time.process_time()
        try:
            step(compute)
        except DataError:  # the loss of a trial with too large a step is no number any more
            nn.init.constant_(next(network.parameters()), torch.nan)
            break
        spent.append(time.process_time() - began)
    network.eval()
    measured = {"milliseconds": 1e3 * median(spent)}
    with torch.no_grad():
        for name, part in (("train", task.train), ("validation", task.validation), ("test", task.test)):
            scores = network(part.X).reshape(-1)
            measured[f"{name}_loss"] = float(bce(scores, part.y))
            measured[f"{name}_gap"] = float(gap(scores, part.group, part.y).max()) + task.kappa
    return measured


def chosen(kept: Kept, task: str, method: str, kappa: float) -> tuple[float, float]:
    """Settings of the best trial."""
    trials = kept.where(lambda row: (row["task"], row["method"], row["kind"]) == (task, method, "trial"))

    def order(row: dict[str, str]) -> tuple[bool, float]:
        gap, loss = (float(row[name]) for name in ("train_gap", "validation_loss"))
        inside = gap <= ADMISSIBLE * kappa or method.startswith("no constraint")
        return not inside, loss if inside else gap if np.isfinite(gap) else np.inf

    best = min(trials, key=order)
    return float(best["first"]), float(best["second"])


def measure(kept: Kept) -> None:
    """Run what the file lacks: the trials of a method, then its seeds."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    with threadpool_limits(1):
        for task_name, make in TASKS.items():
            for name, method in METHODS.items():
                if not find_spec(method.package):
                    continue
                keys = [(task_name, name, "trial", number) for number in range(TRIALS)]
                keys += [(task_name, name, "seed", number) for number in range(SEEDS)]
                for _, _, kind, number in kept.missing(keys):
                    task = make()
                    trial = kind == "trial"
                    settings = drawn_settings(method, number) if trial else chosen(kept, task_name, name, task.kappa)
                    measured = trained(task, method, settings, TUNING_SEED if trial else number)
                    row = dict(zip(KEYS, (task_name, name, kind, number), strict=True))
                    both = dict(zip(("first", "second"), settings, strict=True))
                    kept.add(row | both | {"steps": task.steps} | measured)
    torch.set_num_threads(threads)


def table() -> Kept:
    """The rows that there are."""
    return Kept(FILE, COLUMNS, KEYS, MEASURED)


def run() -> list[Result]:
    """Run what the file lacks; the largest ratio of a step of ``Ascent`` to the faster of two peers, over the tasks."""
    kept = table()
    measure(kept)
    ratios = []
    for task in TASKS:
        times = {
            name: median(float(row["milliseconds"]) for row in rows)
            for name in METHODS
            if (rows := [row for row in kept.rows if (row["task"], row["method"]) == (task, name)])
        }
        peers = [
            times[name] for name in ("humancompatible-train `ALM`, Adam", "cooper simultaneous, Adam") if name in times
        ]
        if len(peers) == 2:
            ratios.append(times["partialfair `Ascent`, Adam"] / min(peers))
    how = (
        "median processor time of a step of Ascent with Adam over the faster of humancompatible-train's ALM and "
        f"cooper's simultaneous step, {TRIALS + SEEDS} runs each, the largest of {len(ratios)} tasks; runs came one "
        "after another on a shared machine: torch_peers takes steps in turn"
    )
    return [result("torch_training_step", max(ratios, default=float("nan")), "times", None, how)]


if __name__ == "__main__":
    for line in run():
        print(line)
