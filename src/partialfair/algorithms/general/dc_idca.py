"""IDCA on the general path: one configuration at a time, in double precision.

The method is that of :mod:`partialfair.algorithms.linear.idca_solver`, which runs columns of configurations through
compiled kernels; the two give the same iterates on the problems that both can solve. A loss that is itself a
difference of convex functions is majorised like the constraints are.
"""

import time
from collections.abc import Callable, Sequence

import numpy as np

from partialfair.algorithms.contract import Record
from partialfair.algorithms.general.dc_problem import DCProblem, State
from partialfair.algorithms.linear.idca_solver import Run


def advance(
    problem: DCProblem,
    runs: Sequence[Run],
    rounds: int,
    keep: Sequence[int] = (),
    report: Callable[[Run], None] | None = None,
) -> None:
    """Bring every run to ``rounds`` outer iterations, in place.

    See :func:`partialfair.algorithms.linear.idca_solver.advance`.
    """
    for run in runs:
        state = problem.state(run.params, run.aux)
        if run.round == 0:
            _record(problem, run, state)
        if run.round in keep:
            run.checkpoints[run.round] = (run.params, run.aux)
        while not run.fixed and run.round < rounds:
            # Algorithm 1, line 3: the best point of the inner loop is the next iterate, if there is one
            state_new = _switching(problem, run, state)
            run.round += 1
            run.inner_steps += run.configuration.inner_steps
            run.fixed = state_new is None or _same(state_new, state)
            if state_new is not None and not run.fixed:
                run.params, run.aux = problem.placed(state_new.params, state_new.aux)
                state = state_new if run.params is state_new.params else problem.state(run.params, run.aux)
                _record(problem, run, state)
            if run.round in keep:
                run.checkpoints[run.round] = (run.params, run.aux)
            if report is not None:
                report(run)
        if run.fixed:
            run.checkpoints |= {k: (run.params, run.aux) for k in keep if k >= run.round}


def _switching(problem: DCProblem, run: Run, anchor: State) -> State | None:
    """The switching subgradient subsolver: the best remembered point, ``None`` if no point was within eps."""
    linearisation, eps, shape = problem.linearise(anchor), run.configuration.tolerance, problem.model.shape
    size = problem.model.size
    best: tuple[float, State | None] = (np.inf, None)
    state = anchor
    for _ in range(run.configuration.inner_steps):
        # Algorithm 2, line 4: g_max(v) = max_i g_i(v) decides which function the step follows
        values = problem.majorants(state, linearisation)
        worst = int(values.argmax())
        if values[worst] <= eps:
            loss, gradient = problem.loss_majorant(state, linearisation)
            length = eps
            if loss < best[0]:
                best = (loss, state)
        else:
            gradient, length = problem.majorant_gradient(state, linearisation, worst), float(values[worst])
        # lines 5 and 7: v - eps / |h|^2 h, or v - g_max(v) / |h|^2 h
        square = float(gradient @ gradient)
        if square == 0:
            break
        step = length / square * gradient
        state = problem.state(state.params - step[:size].reshape(shape), state.aux - step[size:])
    return best[1]


def _same(state: State, anchor: State) -> bool:
    return bool(np.array_equal(state.params, anchor.params) and np.array_equal(state.aux, anchor.aux))


def _record(problem: DCProblem, run: Run, state: State) -> None:
    """Add a line to the history of a run."""
    loss, worst = problem.loss(state)[0], float(problem.constraints(state).max())
    run.history.append(Record(run.round, run.inner_steps, loss, worst, time.process_time(), (run.params, run.aux)))
