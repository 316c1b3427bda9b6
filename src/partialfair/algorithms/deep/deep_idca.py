"""Stochastic IDCA for networks (Partial fairness paper, section 3, "Deep models")."""

import math
import time
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import NonNegativeFloat, PositiveFloat, PositiveInt

from partialfair.algorithms.contract import Settings, Task
from partialfair.algorithms.deep.networks import (
    Arrays,
    NetworkSettings,
    Training,
    applies,
    load_state,
    part,
    validation_accuracy,
)
from partialfair.algorithms.solution import Certificate, Record, Solution
from partialfair.algorithms.transition import Fit
from partialfair.seeding import generator
from partialfair.tables.dataset import Dataset

HALVINGS = 6
"""How often the step is halved before a run ends with what it has."""


class DeepIDCASettings(NetworkSettings):
    """Settings of the network and of the method; see
    :class:`partialfair.algorithms.deep.stochastic_idca.Configuration`.

    Attributes:
        start: begin at the network trained without constraints, or at a constant score (its last layer set to 0).
            Either has thresholds that suit its scores; the second satisfies every constraint.
        rounds: outer iterations.
        inner_steps, rho, step_scale, next_iterate, keep_queues: constants of the method.
        tolerance: violation up to which an outer iterate counts as feasible when one is chosen.
    """

    start: Literal["unconstrained", "constant"] = "constant"
    rounds: PositiveInt = 20
    inner_steps: PositiveInt = 100
    rho: NonNegativeFloat = 0.1
    step_scale: PositiveFloat = 1.0
    next_iterate: Literal["average", "last"] = "average"
    keep_queues: bool = False
    tolerance: PositiveFloat = 0.01


class DeepIDCA:
    """IDCA whose convex subproblems are solved on mini-batches by a primal-dual method.

    Every outer iterate is measured on all training rows. Of those that violate no constraint by more than the
    tolerance, the one with the best validation accuracy is returned; if there is none, the one with the smallest
    violation. A constant start, which satisfies every constraint and tells nothing apart, is not among them. An outer
    iteration whose numbers do not stay finite is made again with half the step.
    """

    needs_gpu: ClassVar[bool] = True
    constrained: ClassVar[bool] = True
    kappa_is_slack: ClassVar[bool] = True
    settings: ClassVar[type[Settings]] = DeepIDCASettings

    def applies_to(self, constraint: str, dataset: Dataset) -> tuple[bool, str]:
        """Families of hinge-mean constraints on a classification dataset, where PyTorch is installed."""
        return applies(constraint, dataset)

    def fit(self, task: Task, settings: Settings) -> Fit:
        """Train without constraints, then run the outer iterations; both go on after an interruption."""
        assert isinstance(settings, DeepIDCASettings)
        return _Run(task, settings).fit()


@dataclass(eq=False)
class _Candidate:
    """An outer iterate that may be returned, and by what it is judged."""

    order: tuple[float, ...]
    x: Any
    round: int
    accuracy: float
    multipliers: Any


@dataclass(eq=False)
class _Run:
    """State of one fit."""

    task: Task
    settings: DeepIDCASettings
    history: list[Record] = field(default_factory=list)
    best: _Candidate | None = None
    halvings: int = 0

    def fit(self) -> Fit:
        from partialfair.algorithms.deep.stochastic_idca import Configuration, first_state, outer_iteration

        task, settings = self.task, self.settings
        names = ("inner_steps", "batch", "rho", "step_scale", "next_iterate", "keep_queues")
        configuration = Configuration(**{name: getattr(settings, name) for name in names})
        self.training = Training.start(task, settings)
        state = self._resumed()
        if state is None:
            self.training.run()
            problem, w, aux = self._start()
            state = first_state(problem, w, aux)
            self._observe(problem, state)
        problem = self._problem()
        while state.round < settings.rounds:
            stream = generator("deep_idca", task.train.name, task.seed, state.round)
            shortened = replace(configuration, step_scale=configuration.step_scale / 2**self.halvings)
            following = outer_iteration(problem, shortened, state, stream)
            if self._observe(problem, following):
                state = following
                if task.checkpoint is not None:
                    task.checkpoint.save(self._arrays(state))
            elif not self._halved(following.round, shortened.step_scale):
                break
        return self._result(problem)

    def _halved(self, number: int, step_scale: float) -> bool:
        """Whether an outer iteration that has diverged is made again, with half the step."""
        again = self.halvings < HALVINGS
        self.halvings += again
        remedy = f"again with step_scale {step_scale / 2:g}" if again else "stopped; lower step_scale"
        self.task.report(f"round {number}: the numbers are no longer finite, {remedy}")
        return again

    def _problem(self) -> Any:
        from partialfair.algorithms.deep.network_problem import NetworkProblem

        data, program = self.task.train, self.task.program()
        assert program is not None, "kappa is finite"
        return NetworkProblem(self.training.function, data.X, data.y, data.group, program)

    def _start(self) -> tuple[Any, Any, Any]:
        """The problem, and the weights and thresholds that the outer iterations start from."""
        problem, function = self._problem(), self.training.function
        if self.settings.start == "constant":
            function.network.make_constant(problem.program.start_score)
            return problem, function.start(), problem.program.start
        w = function.start()
        return problem, w, problem.feasible_aux(function.all_scores(w, problem.X, problem.group))

    def _observe(self, problem: Any, state: Any) -> bool:
        """Measure an outer iterate, and keep it if it is the best so far; whether its numbers are finite."""
        value = problem.value(state.x)
        if not np.isfinite(value.objective):
            return False
        accuracy = validation_accuracy(self.task, problem.function, problem.parts(state.x)[0])
        if value.violation <= self.settings.tolerance:
            order = (0.0, -accuracy, value.violation)
        else:
            order = (1.0, value.violation, -accuracy)
        if state.round == 0 and self.settings.start == "constant":
            order = (math.inf,)  # type: ignore[assignment]  # stands only until there is another
        if self.best is None or order < self.best.order:
            self.best = _Candidate(order, state.x, state.round, accuracy, state.multipliers)
        # In place of millions of weights the record holds the training scores: the true violation follows from them.
        steps = state.round * self.settings.inner_steps
        record = Record(
            state.round, steps, value.objective, value.violation, time.process_time(), value.scores, value.aux
        )
        self.history.append(record)
        self.task.report(
            f"round {state.round}: loss {value.objective:.4f}, violation {value.violation:.4f}, "
            f"validation accuracy {accuracy:.4f}"
        )
        return True

    def _result(self, problem: Any) -> Fit:
        """The best outer iterate with its certificate."""
        best = self.best
        assert best is not None
        w, aux = problem.parts(best.x)
        value = problem.value(best.x)
        problem.function.put(w)
        residual = problem.stationarity(best.x, best.multipliers, self._unit(problem, w))
        certificate = Certificate(value.objective, max(value.violation, 0.0), residual, best.multipliers)
        selected = {
            "round": best.round,
            "validation_accuracy": best.accuracy,
            "within_tolerance": value.violation <= self.settings.tolerance,
            "weights": problem.function.size,
            "start_epoch": self.training.best[1],
        }
        solution = Solution(value.scores, aux, certificate, self.history)
        return Fit(
            solution, self.training.model(w, aux), selected, {"idca": self.history}, "idca", problem.true_violation
        )

    def _unit(self, problem: Any, w: Any) -> float:
        """Norm of the loss gradient with the last layer set to a constant score: the unit of the residual."""
        problem.function.put(w)
        problem.function.network.make_constant(0.0)
        x = problem.point(problem.function.start(), problem.program.start)
        unit = float(problem.gradient(x, np.zeros(problem.program.n_constraints)).norm())
        problem.function.put(w)
        return unit if unit > 0 and math.isfinite(unit) else 1.0

    def _arrays(self, state: Any) -> Arrays:
        """Everything that the next outer iteration and the choice depend on."""
        best = self.best
        assert best is not None
        arrays: Arrays = {
            f"net/{name}": v for name, v in self.training.function.state(self.training.function.start()).items()
        }
        arrays |= {"x": state.x.cpu().numpy(), "queues": state.queues, "multipliers": state.multipliers}
        arrays |= {
            "best/x": best.x.cpu().numpy(),
            "best/multipliers": best.multipliers,
            "best/order": np.array(best.order),
        }
        arrays |= {"best/rest": np.array([best.round, best.accuracy]), "round": np.array(state.round)}
        arrays |= {"start/epoch": np.array(self.training.best[:2]), "halvings": np.array(self.halvings)}
        numbers = [(r.iteration, r.inner_steps, r.objective, r.max_violation, r.cpu_seconds) for r in self.history]
        arrays |= {"history/numbers": np.array(numbers)}
        arrays |= {"history/scores": np.array([record.params for record in self.history])}
        return arrays | {"history/aux": np.array([record.aux for record in self.history])}

    def _resumed(self) -> Any:
        """The state of an interrupted run; ``None`` if it had not come to the outer iterations."""
        import torch

        from partialfair.algorithms.deep.stochastic_idca import State

        arrays = self.task.checkpoint.load() if self.task.checkpoint is not None else None
        if arrays is None or "queues" not in arrays:
            return None
        function = self.training.function
        load_state(function.network, part(arrays, "net/"))
        accuracy, epoch = arrays["start/epoch"].tolist()
        self.training.best = (accuracy, int(epoch), {})
        rest, order = arrays["best/rest"].tolist(), tuple(arrays["best/order"].tolist())
        x = torch.from_numpy(arrays["best/x"]).to(function.device)
        self.best = _Candidate(order, x, int(rest[0]), rest[1], arrays["best/multipliers"])
        rows = zip(arrays["history/numbers"], arrays["history/scores"], arrays["history/aux"], strict=True)
        self.history = [
            Record(int(k), int(steps), float(loss), float(worst), float(seconds), scores, aux)
            for (k, steps, loss, worst, seconds), scores, aux in rows
        ]
        self.halvings = int(arrays["halvings"])
        self.task.report(f"taken up after round {int(arrays['round'])}")
        x = torch.from_numpy(arrays["x"]).to(function.device)
        return State(x, arrays["queues"], arrays["multipliers"], int(arrays["round"]))


ALGORITHM = DeepIDCA()
