"""The direct solver, repeated until the constraint itself holds: with the indicator, at all thresholds of the interval.

The augmented Lagrangian bounds smoothed shares at a grid of ranks. What a person asks for, and an audit measures, is
larger: shares jump between ranks, the smoothing is wide where scores lie close together, and just below the interval's
first rank one group is free. So the grid is widened, the slack rescaled by what was measured, and the smoothing made
narrower, each from the solution before. On few rows no solve may converge; then points on the way count as well.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from partialfair import plugins
from partialfair.algorithms.contract import Record, Task
from partialfair.algorithms.linear.augmented_lagrangian import ALMSettings, matching_thresholds, solve
from partialfair.algorithms.linear.problem import LinearProblem, Point
from partialfair.algorithms.linear.rank_map import padded
from partialfair.constraints.family import built
from partialfair.constraints.program import HingeProgram, Side
from partialfair.data.intervals import GroupPairs, for_groups, measure

Vector = NDArray[np.float64]
PSP = "partial_statistical_parity"
SPACING = 0.03
"""Largest distance of two ranks of the widened grid."""
MOST_RANKS = 48
STUCK, STUCK_PENALTY = 3.0, 1000.0
"""A first solution whose gap is so many times kappa lies in a hole that a small penalty opened; this one does not."""
RESCALINGS = 5
AGAIN = 8
"""Rounds of a solve that begins at the solution before it: with 40, of which most change nothing, four groups took
fifty times as many evaluations as two."""
ON_THE_WAY = 8
"""Last points of a solve that are measured where its solution exceeds kappa."""
SLOPES = (0.2, 5.0)
"""Of the affine maps that align the groups' scores for the start."""


class Schedule(NamedTuple):
    """How slack and smoothing change from one attempt to the next.

    Attributes:
        step: smallest factor on the slack from one attempt to the next.
        least: smallest share of the slack that is asked for at last.
        width: of the smoothing before the first change; narrower: factor on it at every change.
    """

    step: float
    least: float
    width: float
    narrower: float


SMOOTHED = (Schedule(0.7, 0.4, 1.0, 0.5), Schedule(0.2, 0.0, 0.5, 1.0))
"""With ever narrower smoothing less slack has to be taken away; a group of few rows may need less than that leaves."""
PLAIN = (Schedule(0.2, 0.0, 1.0, 1.0),)


@dataclass(frozen=True, eq=False)
class Calibrated:
    """The solution that was taken.

    Attributes:
        params, aux: the point, (R, d+1) and (P,).
        problem: the problem whose optimum it is to be, with the slack that was rescaled.
        gap: the constraint's metric on the training rows.
        loss: on the training rows.
        records: of all solves, one after another.
    """

    params: Vector
    aux: Vector
    problem: LinearProblem
    gap: float
    loss: float
    records: list[Record]


def solve_calibrated(
    task: Task,
    problem: LinearProblem,
    settings: ALMSettings,
    gap_of: Callable[[Vector], float],
    *,
    free: Vector,
    start: Point | None = None,
    place: Callable[[Any], Any] = lambda problem: problem,
) -> Calibrated:
    """Minimise the loss so that ``gap_of`` the scores is at most kappa on the training rows.

    Args:
        task: the task, with a finite kappa and a constraint on hinge means.
        problem: its rows, laid out for :func:`constraints` at scale 1.
        settings: of the direct solver.
        gap_of: the metric of scores (n,) in the order of the task's rows.
        free: (R, d+1) parameters without constraints, taken where they meet kappa already.
        start: point of a neighbouring tolerance.
        place: moves a problem to where it is solved.

    Returns:
        Of the points within kappa the one with the lowest loss, else the one with the smallest gap.
    """
    attempts: list[Calibrated] = []
    records: list[Record] = []
    free_gap = gap_of(in_order_of_rows(problem, problem.scores(free)))
    if free_gap <= task.kappa:
        return _unchanged(problem, free, free_gap)

    def attempt(scale: float, width: float, solver_settings: ALMSettings, begin: Point | None) -> Calibrated:
        placed = place(replace(problem, program=_narrowed(constraints(task, scale), width)))
        solution = solve(placed, settings=solver_settings, start=begin)
        records.extend(solution.records)

        def measured(params: Vector, aux: Vector) -> Calibrated:
            gap = gap_of(in_order_of_rows(placed, placed.scores(params)))
            return Calibrated(params, aux, placed, gap, placed.loss(placed.state(params, aux))[0], [])

        last = measured(solution.params, solution.aux)
        if last.gap > task.kappa:
            attempts.extend(measured(*record.point) for record in solution.records[-ON_THE_WAY:])
        attempts.append(last)
        return last

    begin = start if start is not None and start[1].size == problem.n_aux else _start(task, problem, free)
    # 1. the constraints as they are; where their gap is far off, once more with a large penalty from the start
    now = attempt(1.0, 1.0, settings, begin)
    if now.gap > STUCK * task.kappa:
        firm = settings.model_copy(update={"penalty": STUCK_PENALTY})
        now = min(now, attempt(1.0, 1.0, firm, begin), key=lambda solved: solved.gap)
    # 2. the slack times 0.98 kappa / gap, and a narrower surrogate, each attempt from the solution before
    earliest, shorter = now, settings.model_copy(update={"rounds": min(settings.rounds, AGAIN)})
    for schedule in SMOOTHED if task.constraint == PSP else PLAIN:
        now, scale, width = earliest, 1.0, schedule.width
        for _ in range(RESCALINGS):
            if now.gap <= task.kappa:
                break
            target = scale * float(np.clip(0.98 * task.kappa / now.gap, schedule.step, 0.98))
            scale, width = max(target, schedule.least), width * schedule.narrower
            now = attempt(scale, width, shorter, (now.params, now.aux))
        if min(solved.gap for solved in attempts) <= task.kappa:
            break
    taken = _taken(attempts, task.kappa)
    if taken.gap > free_gap:
        taken = _unchanged(problem, free, free_gap)
    return replace(taken, records=records)


def _unchanged(problem: LinearProblem, free: Vector, gap: float) -> Calibrated:
    """The free model as a solution, with the thresholds that suit it."""
    aux = matching_thresholds(problem, free)
    return Calibrated(free, aux, problem, gap, problem.loss(problem.state(free, aux))[0], [])


def in_order_of_rows(problem: LinearProblem, scores: Vector) -> Vector:
    """Scores (n,) in the order of the rows, from those in the order of the design."""
    out = np.empty(scores.size)
    out[problem.design.order] = scores
    return out


def _taken(attempts: list[Calibrated], kappa: float) -> Calibrated:
    within = [attempt for attempt in attempts if attempt.gap <= kappa]
    if within:
        return min(within, key=lambda attempt: attempt.loss)
    return min(attempts, key=lambda attempt: attempt.gap)


def constraints(task: Task, scale: float = 1.0) -> HingeProgram:
    """The constraints at ``scale`` times the tolerance; partial statistical parity on a finer grid of ranks."""
    family = plugins.load("constraints", task.constraint)
    rows = task.train
    shared: dict[str, Any] = {"interval": task.interval, "kappa": scale * task.kappa, "kappa_scale": task.kappa_scale}
    unions = for_groups(task.interval, rows.n_groups)
    if task.constraint == PSP and len(set(unions)) == 1:
        shared = _widened(unions, task, scale)
    elif getattr(family, "HAS_GRID", False):
        shared |= {"grid": task.grid, "closed": True}
    else:
        shared["grid"] = task.grid
    program: HingeProgram = built(task.constraint, rows.group, rows.y, **shared)
    return program


def _widened(unions: GroupPairs, task: Task, scale: float) -> dict[str, Any]:
    """Options of the family: ranks from kappa below the interval to its end, not farther apart than kappa.

    Thresholds just above the lower end, where one group's rank is in the interval and the other's below it, are
    constrained so. The last step reaches beyond the end, because grids are half open.
    """
    # kappa as a difference of shares of rows, which is also the largest distance of two ranks of the grid
    slack = task.kappa * (measure(unions[0]) if task.kappa_scale == "relative" else 1.0)
    length = measure(padded(unions[0], slack, 0.0))
    grid = int(np.clip(np.ceil(length / min(SPACING, slack)), task.grid, max(MOST_RANKS, task.grid)))
    pairs = padded(unions[0], slack, length / grid)
    return {"interval": pairs, "kappa": scale * slack, "kappa_scale": "absolute", "grid": grid + 1}


def _narrowed(program: HingeProgram, width: float) -> HingeProgram:
    """The same constraints with a surrogate that rises from 0 to 1 within ``width`` instead of 1."""
    if width == 1:
        return program

    # clip(x / w + 1/2, 0, 1) = (max(x + w/2, 0) - max(x - w/2, 0)) / w: weights by 1 / w, shifts and constants by w
    def side(convex_part: Side) -> Side:
        return replace(convex_part, weight=convex_part.weight / width, constant=convex_part.constant * width)

    narrow = {"shift": program.shift * width, "start": program.start * width}
    return replace(program, convex=side(program.convex), concave=side(program.concave), **narrow)  # type: ignore[arg-type]


def _start(task: Task, problem: LinearProblem, free: Vector) -> Point | None:
    """The free model with its groups' scores aligned on the interval; ``None`` where the solver's own start serves."""
    unions = for_groups(task.interval, task.train.n_groups)
    if task.constraint != PSP or not task.uses_group or len(set(unions)) > 1:
        return None
    scores, starts = problem.scores(free), problem.design.starts
    slack = task.kappa * (measure(unions[0]) if task.kappa_scale == "relative" else 1.0)
    # 31 ranks inside the interval at which the groups' quantiles are brought together
    ranks = np.concatenate([np.linspace(a, b, 33)[1:-1] for a, b in padded(unions[0], slack, 0.0)])
    sorted_scores = [np.sort(scores[a:b]) for a, b in zip(starts, starts[1:], strict=False)]
    quantiles = np.array([np.quantile(group_scores, 1 - ranks) for group_scores in sorted_scores])
    mean = np.array([group_scores.size for group_scores in sorted_scores]) @ quantiles / scores.size
    blocks = problem.model.effective(free)
    for k, group_quantiles in enumerate(quantiles):
        spread = float(group_quantiles.var())
        # least squares of the common quantiles on those of the group: mean = slope * quantiles + shift
        covariance = (group_quantiles - group_quantiles.mean()) @ mean / group_quantiles.size
        slope = float(np.clip(covariance / spread, *SLOPES)) if spread > 0 else 1.0
        blocks[k] *= slope
        blocks[k, 0] += mean.mean() - slope * group_quantiles.mean()
    params = blocks.copy()
    params[1:] -= blocks[:1]
    return params, matching_thresholds(problem, params)
