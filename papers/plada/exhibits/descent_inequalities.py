"""PLADA's Lemmas 3 to 5 along a run of the solver: both sides of every inequality in every iteration.

Runs are made here, from the prepared table, with steps from the paper's own bounds. L_F is an upper bound of the
curvature of the loss, M_G the largest spectral norm of the Jacobian of the gaps at the iterates. The first iteration is
left out: (19c) needs ``lambda_k = mu_k + rho (G(theta_k) + u_k)``, which the start
need not satisfy.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, PositiveFloat, PositiveInt

from papers.cross_paper.exhibits import inequalities
from papers.cross_paper.exhibits.inequalities import Inequality
from papers.plada.algorithms.gap_problem import GapProblem, excess
from papers.plada.algorithms.gap_tasks import GapTask
from papers.plada.algorithms.linear_gaps import LinearGaps
from papers.plada.algorithms.plada import PladaSettings
from papers.plada.algorithms.plada_solver import Constants, Parameters, Plada, ThetaStep, safe_steps
from partialfair.algorithms.contract import Task
from partialfair.data.dataset import Dataset, Split
from reproduction.exhibits.exhibit import Context, Line, Options
from reproduction.grid import paths
from reproduction.verdicts.missing_files import is_here

ALGORITHM = "plada"
SEED = 0  # of the split
Vector = NDArray[np.float64]


class DescentInequalities(Options):
    """Both sides of the lemmas along runs of PLADA, by decay of the dual step and reading of the step of theta."""

    iterations: PositiveInt = Field(400, description="of each run")
    kappas: list[PositiveFloat] = Field([100.0], description="kappa of delta_k = kappa / (k + 1), a run each")
    theta_steps: list[ThetaStep] = Field(["exact"], description="readings of the step of theta, a run each")


@dataclass(frozen=True, eq=False)
class Iterate:
    """A point of the run.

    Attributes:
        theta: (d,); u, lam, mu: (m,) slack, lambda, mu.
        lagrangian: value of the perturbed Lagrangian.
        residual: norm of its subgradient by theta and u.
        jacobian_norm: spectral norm of the Jacobian of the gaps.
    """

    theta: Vector
    u: Vector
    lam: Vector
    mu: Vector
    lagrangian: float
    residual: float
    jacobian_norm: float

    @classmethod
    def present(cls, method: Plada, problem: GapProblem) -> "Iterate":
        """Return the present point of a run with a single point."""
        state, rho = method.state, method.parameters.rho
        lam, mu, u = method.lam[:, 0], method.mu[:, 0], method.u[:, 0]
        # L = F + <lambda, G + u> - ||lambda - mu||^2 / (2 rho), equation (7)
        lagrangian = state.loss[0] + lam @ (excess(problem, state)[:, 0] + u) - (lam - mu) @ (lam - mu) / (2 * rho)
        jacobian = problem.gradients(state)[1][:, :, 0]
        residual = float(np.sqrt(method.stationarity()[:, 0].sum()))
        return cls(state.theta[:, 0], u, lam, mu, float(lagrangian), residual, float(np.linalg.norm(jacobian, 2)))


@dataclass(frozen=True)
class LemmaConstants:
    """The constants of the lemmas.

    Attributes:
        rho, eta, tau, gamma_0, kappa: of the method.
        curvature: L_F; slope: M_G.
    """

    rho: float
    eta: float
    tau: float
    gamma_0: float
    kappa: float
    curvature: float
    slope: float

    @property
    def decrease(self) -> tuple[float, float]:
        """Return C_1 and C_2 of Lemma 4."""
        c_1 = (1 / self.eta - self.curvature - 3 * self.rho * self.slope**2) / 2
        return c_1, (1 / self.tau - 3 * self.rho) / 2

    @property
    def residual(self) -> float:
        """Return D_p of Lemma 5, with 1/eta twice, as printed."""
        by_theta = self.curvature + 2 / self.eta + self.rho * (self.slope**2 + self.slope)
        return max(by_theta, self.rho * (self.slope + 1) + 1 / self.tau)


def run(problem: GapProblem, parameters: Parameters, iterations: int, theta_step: ThetaStep) -> list[Iterate]:
    """Return the iterates of a run from 0, the start among them."""
    method = Plada(problem, parameters, np.zeros((problem.size, 1)), theta_step=theta_step)
    iterates = [Iterate.present(method, problem)]
    for _ in range(iterations):
        method.step()
        iterates.append(Iterate.present(method, problem))
    return iterates


def along(iterates: list[Iterate], constants: LemmaConstants) -> Iterator[Inequality]:
    """Yield every inequality of every iteration but the first."""
    for k in range(1, len(iterates) - 1):
        yield from of_iteration(iterates[k], iterates[k + 1], k, constants)


def of_iteration(old: Iterate, new: Iterate, k: int, constants: LemmaConstants) -> Iterator[Inequality]:
    """Yield Lemmas 3, 4 and 5 and inequality (33) of the proof of Theorem 1, for iteration k."""
    rho, slope, delta = constants.rho, constants.slope, constants.kappa / (k + 1)
    apart = float((old.lam - old.mu) @ (old.lam - old.mu))
    gamma = min(constants.gamma_0, rho * delta / (apart + 1))
    by_theta, by_u = float(np.linalg.norm(new.theta - old.theta)), float(np.linalg.norm(new.u - old.u))
    moved_mu = float((new.mu - old.mu) @ (new.mu - old.mu))
    yield Inequality("Lemma 3 (19a)", moved_mu, delta**2 / 2)
    yield Inequality("Lemma 3 (19a), equality", abs(moved_mu - (gamma / rho) ** 2 * apart), 0.0)
    behind = float((new.mu - old.lam) @ (new.mu - old.lam))
    yield Inequality("Lemma 3 (19b)", abs(behind - (1 - gamma / rho) ** 2 * apart), 0.0)
    moved_lam = float((new.lam - old.lam) @ (new.lam - old.lam))
    right = 3 * rho**2 * (slope**2 * by_theta**2 + by_u**2) + 3 * (gamma / rho) ** 2 * apart
    yield Inequality("Lemma 3 (19c)", moved_lam, right)
    c_1, c_2 = constants.decrease
    slack = delta**2 / (2 * rho) + delta / rho
    change = new.lagrangian - old.lagrangian
    yield Inequality("Lemma 4", change, -c_1 * by_theta**2 - c_2 * by_u**2 + slack)
    yield Inequality("Lemma 5", new.residual, constants.residual * (by_theta + by_u) + (slope + 1) * delta)
    yield Inequality("(33), larger of C_1, C_2", max(c_1, c_2) * (by_theta**2 + by_u**2), slack - change)
    yield Inequality("(33), smaller of C_1, C_2", min(c_1, c_2) * (by_theta**2 + by_u**2), slack - change)


def csv_lines(context: Context[DescentInequalities]) -> Iterator[Line]:
    """Yield a line per dataset, reading of M_G and of the step, and statement; with a note where data are missing."""
    for experiment in context.experiments:
        for dataset in context.options.datasets:
            table, split_path = (context.root / path for path in (paths.table(dataset), paths.split(dataset, SEED)))
            if not (is_here(table) and is_here(split_path)):
                yield {"dataset": dataset, "setting": experiment, "note": f"{dataset} is not prepared"}
                continue
            problem = problem_of(context, experiment, dataset)
            for theta_step, kappa in product(context.options.theta_steps, context.options.kappas):
                for line in lines_of(problem, context.options.iterations, theta_step, kappa):
                    yield {"dataset": dataset, "setting": experiment} | line


def problem_of(context: Context[DescentInequalities], experiment: str, dataset: str) -> LinearGaps:
    """Return the problem of an experiment on the training rows of a table, at its first tolerance."""
    entry, data = context.config.experiment(experiment), Dataset.load(context.root / paths.table(dataset))
    rows = data.take(Split.load(context.root / paths.split(dataset, SEED), data.n_rows).train)
    run_entry, settings = entry.runs[dataset], context.config.algorithm_settings(experiment, ALGORITHM)
    task = Task(
        train=rows, validation=rows, constraint=entry.constraint, interval=run_entry.interval,
        kappa=run_entry.algorithms[ALGORITHM][0], kappa_scale=entry.kappa_scale, surrogate=entry.surrogate,
        report=lambda _: None,
    )  # fmt: skip
    return GapTask(task, PladaSettings(**settings)).problem


def lines_of(problem: LinearGaps, iterations: int, theta_step: ThetaStep, kappa: float) -> Iterator[Line]:
    """Yield the lines of one run."""
    curvature, at_start = problem.curvature_of_loss(), problem.jacobian_norm()
    eta, tau = safe_steps(curvature, at_start, Constants().rho)
    parameters = Parameters(eta=eta, tau=tau, kappa=kappa)
    iterates = run(problem, parameters, iterations, theta_step)
    slope = max(iterate.jacobian_norm for iterate in iterates)
    constants = LemmaConstants(parameters.rho, eta, tau, parameters.gamma_0, kappa, curvature, slope)
    for line in inequalities.summary(list(along(iterates, constants))):
        yield {"fit": f"kappa {kappa:g}, {theta_step} step, M_G {slope:.3g}"} | line


FROM_TABLES = True
KIND = inequalities.kind(DescentInequalities, csv_lines)
