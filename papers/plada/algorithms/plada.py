"""PLADA: single-loop proximal-perturbed Lagrangian method, one multiplier and slack per gap."""

from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field, PositiveFloat

from papers.plada.algorithms import gap_tasks
from papers.plada.algorithms.gap_runs import Curve, run
from papers.plada.algorithms.gap_tasks import GapAlgorithm, GapSettings, GapTask, step_of
from papers.plada.algorithms.linear_gaps import LinearGaps
from papers.plada.algorithms.plada_solver import Constants, Parameters, Plada, Recorded, safe_steps
from partialfair.algorithms.contract import Fit, PlotStyle, Task

Step = PositiveFloat | Literal["theory", "loss"]


class Variant(Constants):
    """One choice of PLADA's parameters (the paper's Table 2; kappa, u_max and the slack's start are unpublished).

    Attributes:
        eta, tau: steps of theta and of the slack; ``theory``: nine tenths of the paper's own bounds, from the data;
            ``loss`` (theta): nine tenths of 1 / L_F. From a list for eta, the training rows choose the best.
        slack: start of the slack: 0, or the slack of the constraint at the start (``gap``).
        theta_step: reading of the theta-step.
    """

    eta: Step | Annotated[list[Step], Field(min_length=1)] = "theory"
    tau: PositiveFloat | Literal["theory"] = "theory"
    slack: Literal["zero", "gap"] = "zero"
    theta_step: Literal["linearised", "prox_linear", "exact"] = "prox_linear"

    def candidates(self, problem: LinearGaps) -> list[Parameters]:
        """Return the parameters for every eta; steps without a number follow from the data."""
        # tau < 1 / (3 rho) and eta < 1 / (L_F + 3 rho M_G^2), the bounds of Algorithm 1, from the training rows
        constants = {name: getattr(self, name) for name in Constants.model_fields}
        safe = safe_steps(problem.curvature_of_loss(), problem.jacobian_norm(), self.rho)
        tau = safe[1] if self.tau == "theory" else self.tau
        steps = self.eta if isinstance(self.eta, list) else [self.eta]
        etas = [safe[0] if eta == "theory" else step_of(eta, problem) for eta in steps]
        return [Parameters(eta=eta, tau=tau, **constants) for eta in etas]


class PladaSettings(GapSettings):
    """Variants that are run side by side.

    Attributes:
        variants: variants by name; the first gives the model, and no rows choose among them.
        batched: whether all variants run as one batch. This is faster but gives no separate times; the variants must
            agree in ``slack`` and ``theta_step`` and have a single eta each.
        residuals: whether the residual of the paper's Theorem 1 is recorded in every iteration.
    """

    variants: Annotated[dict[str, Variant], Field(min_length=1)] = Field({"theory": Variant()})
    batched: bool = False
    residuals: bool = False


class PLADA(GapAlgorithm[PladaSettings]):
    """Linear scores by PLADA, several variants side by side."""

    settings = PladaSettings
    label = "PLADA"
    paper = "PLADA paper, Algorithm 1"
    look = PlotStyle("#0072B2", "o")

    def fit(self, task: Task, settings: PladaSettings) -> Fit:
        """Run every variant for the same number of iterations; the last iterate of the first is the result."""
        gap_task = GapTask(task, settings)
        steps = settings.steps(task.train.name, 2 + len(gap_task.problem.eps))
        parameters = {
            name: _tuned(gap_task, variant, settings.trial(steps)) for name, variant in settings.variants.items()
        }
        curves = _batched(gap_task, settings, parameters, steps) if settings.batched else {}
        for name in settings.variants if not curves else ():
            curves[name] = _alone(gap_task, settings, name, parameters[name], steps)
            last = curves[name]
            task.report(
                f"{name}: loss {last.loss[-1]:.5f}, violation {last.violation[-1]:.1e}, {last.seconds[-1]:.1f} s"
            )
        result = next(iter(curves))
        numbers = {name: value.model_dump() | {"rho": value.rho} for name, value in parameters.items()}
        chosen = {"variants": numbers, "iterations": steps, "slack_start": settings.variants[result].slack}
        theta = curves[result].points[steps]
        return gap_tasks.fit_of(gap_task, curves, result, theta, chosen, 2 * gap_task.problem.weak_convexity())


def _slack(gap_task: GapTask, variant: Variant, batch: int) -> Any:
    """Return the start of the slack: at theta = 0 every gap is 0, so that the slack is eps."""
    # u_0 = -G(theta_0) makes G + u = 0 hold at the start
    start = gap_task.problem.eps if variant.slack == "gap" else np.zeros(len(gap_task.problem.eps))
    return np.repeat(np.minimum(start, variant.u_max)[:, None], batch, axis=1)


def _tuned(gap_task: GapTask, variant: Variant, steps: int) -> Parameters:
    """Return the parameters of a variant; several etas run as one batch for ``steps``, and the best one is chosen."""
    candidates = variant.candidates(gap_task.problem)
    if len(candidates) == 1:
        return candidates[0]
    start = np.zeros((gap_task.problem.size, len(candidates)))
    method = Plada(gap_task.problem, candidates, start, _slack(gap_task, variant, len(candidates)), variant.theta_step)
    curves = {f"{index}": curve for index, curve in enumerate(run(method, steps))}
    return candidates[int(gap_tasks.preferred(curves))]


def _alone(gap_task: GapTask, settings: PladaSettings, name: str, parameters: Parameters, steps: int) -> Curve:
    variant, start = settings.variants[name], np.zeros((gap_task.problem.size, 1))
    kind = Recorded if settings.residuals else Plada
    method = kind(gap_task.problem, parameters, start, _slack(gap_task, variant, 1), variant.theta_step)
    return run(method, steps, gap_tasks.kept_iterations(steps, settings.points))[0]


def _batched(
    gap_task: GapTask, settings: PladaSettings, parameters: dict[str, Parameters], steps: int
) -> dict[str, Curve]:
    variant = next(iter(settings.variants.values()))
    start = np.zeros((gap_task.problem.size, len(parameters)))
    method = Plada(
        gap_task.problem,
        list(parameters.values()),
        start,
        _slack(gap_task, variant, len(parameters)),
        variant.theta_step,
    )
    curves = run(method, steps, gap_tasks.kept_iterations(steps, settings.points))
    return dict(zip(parameters, curves, strict=True))


ALGORITHM = PLADA()
