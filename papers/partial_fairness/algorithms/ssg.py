"""SSG direct: the switching subgradient method on the constraints themselves, without IDCA's linearisation."""

from collections.abc import Sequence
from typing import Literal

import numpy as np
from pydantic import Field, PositiveFloat, PositiveInt, model_validator

from papers.partial_fairness.algorithms.subgradient import Run, Switching, advance, start_runs
from partialfair.algorithms import tuning
from partialfair.algorithms.contract import Algorithm, Fit, PlotStyle, Settings, Task, Trace
from partialfair.algorithms.linear.certificate import LinearPoint
from partialfair.algorithms.linear.problem import linear_problem, score_at

ACCEPTED = 1e-3
"""Largest constraint value accepted: the paper's largest static tolerance."""
ROUNDING = 1e-5  # error of the kernels, which take constraint values in single precision


class SSGSettings(Settings):
    """Candidates and schedule of the tuning protocol (Partial fairness paper, appendix G.7).

    Attributes:
        static: candidates for a constant tolerance eps.
        diminishing: candidates for c in eps = c / (t + 1).
        selection: "printed" chooses the candidate of the smallest objective at termination, feasible or not, as the
            paper does; "feasible_first" puts candidates within their own tolerance before all others.
        start: "zero" starts at zero weights and thresholds, as appendix G.2.2 does for IDCA; appendix G.7 states no
            start, and Algorithm 3 requires f_i <= eps there. "feasible" starts at zero weights and at thresholds that
            satisfy the constraints.
        tuning_steps: steps after which a candidate is chosen.
        total_steps: steps of the chosen candidate.
        record_every: steps between two lines of the history.
    """

    static: list[PositiveFloat] = Field([1e-4, 2e-4, 5e-4, 1e-3])
    diminishing: list[PositiveFloat] = Field([0.2, 0.5, 1.0, 2.0])
    selection: Literal["printed", "feasible_first"] = "printed"
    start: Literal["zero", "feasible"] = "zero"
    tuning_steps: PositiveInt = 10_000
    total_steps: PositiveInt = 50_000
    record_every: PositiveInt = 250

    @model_validator(mode="after")
    def _candidates_and_schedule(self) -> "SSGSettings":
        if not self.static and not self.diminishing:
            raise ValueError("static and diminishing are both empty; give at least one candidate")
        if self.total_steps < self.tuning_steps:
            raise ValueError(f"total_steps must not be smaller than tuning_steps ({self.tuning_steps})")
        return self


class SSG(Algorithm[SSGSettings]):
    """Switching subgradient method on f_i; the loss reached decides between static and diminishing tolerances."""

    settings = SSGSettings
    label = "SSG direct"
    paper = "Partial fairness paper, appendix G.7"
    look = PlotStyle("#7a6a00", "d", (0, (4, 1.5)))
    general = False

    def fit(self, task: Task, settings: SSGSettings) -> Fit:
        """Choose the tolerance by the loss on the training rows, then continue that run; validation rows are unused."""
        problem = linear_problem(task)
        # appendix G.7: both forms of eps_t, the better by its objective after 10,000 steps
        rules = [Switching(static=eps) for eps in settings.static] + [
            Switching(diminishing=c) for c in settings.diminishing
        ]
        start = (np.zeros(problem.model.shape), np.zeros(problem.n_aux)) if settings.start == "zero" else None
        runs = start_runs(problem, rules, start)

        def progress(run: Run) -> None:
            if run.taken % 10_000 == 0:
                record = run.history[-1]
                task.report(
                    f"{_name(run)} step {run.taken}: loss {record.objective:.5f}, violation {record.violation:.1e}"
                )

        advance(problem, runs, settings.tuning_steps, every=settings.record_every, report=progress)
        best = runs[_choice(runs, settings.selection)]
        task.report(f"chosen {_name(best)}, loss {best.history[-1].objective:.5f}")
        advance(problem, [best], settings.total_steps, every=settings.record_every, report=progress)
        assert isinstance(best.rule, Switching)
        eps = best.rule.tolerance(settings.total_steps)
        evaluated_point = LinearPoint(
            problem,
            *best.result,
            active_within=max(2 * eps, 1e-3),
            accepted=max(ACCEPTED, eps) + ROUNDING,
            remedy=f"use static tolerances, or more than {best.taken} steps",
        )
        chosen = {"static": best.rule.static, "diminishing": best.rule.diminishing}
        trace = Trace({_name(run): run.history for run in runs}, _name(best))
        return Fit(score_at(task, *best.result), chosen, trace, evaluated_point)


def _choice(runs: Sequence[Run], selection: str) -> int:
    """Return the index of the candidate to continue, by the point that each candidate would return now."""
    losses = [run.history[-1].objective for run in runs]
    excess = [0.0 if run.settled else run.history[-1].violation for run in runs]
    # Appendix G.7 compares objectives alone; with an infinite limit every candidate counts as within it.
    limit = np.inf if selection == "printed" else 0.0
    return tuning.select({"loss": losses, "violation": excess}, tuning.LOWEST_LOSS_WITHIN, limit=limit).index


def _name(run: Run) -> str:
    """Return the name of a candidate in histories and progress lines."""
    assert isinstance(run.rule, Switching)
    return f"eps={run.rule.static:g}" if run.rule.static else f"eps={run.rule.diminishing:g}/(t+1)"


ALGORITHM = SSG()
