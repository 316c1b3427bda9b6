"""Stochastic IDCA for networks (Partial fairness paper, appendix G.9)."""

import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from papers.partial_fairness.algorithms.networks import (
    Arrays,
    DeepIDCASettings,
    Training,
    load_state,
    under_prefix,
    untrainable,
    validation_accuracy,
)
from partialfair.algorithms.contract import Algorithm, Fit, PlotStyle, Record, Task, Trace
from partialfair.algorithms.tuning import ACCURATE_WITHIN, select
from partialfair.data.dataset import Dataset
from partialfair.seeding import generator

HALVINGS = 6
"""How often the step is halved before a run ends with what it has."""


class DeepIDCA(Algorithm[DeepIDCASettings]):
    """IDCA whose convex subproblems are solved on mini-batches by a primal-dual method.

    Every outer iterate is measured on all training rows. Of those that violate no constraint by more than the
    tolerance, the one with the best validation accuracy is returned; if there is none, the one with the smallest
    violation. A constant start, which satisfies every constraint and tells nothing apart, is not among them. An outer
    iteration whose numbers do not stay finite is made again with half the step.
    """

    settings = DeepIDCASettings
    label = "Network, stochastic IDCA"
    paper = "Partial fairness paper, appendix G.9"
    look = PlotStyle("#0072B2", "o")
    needs_gpu = True
    general = False

    def applies_to(self, constraint: str, data: Dataset) -> str | None:
        """Families of hinge-mean constraints on a classification dataset, where PyTorch is installed."""
        return untrainable(constraint, data)

    def fit(self, task: Task, settings: DeepIDCASettings) -> Fit:
        """Train without constraints, then run the outer iterations; both go on after an interruption."""
        return _Run(task, settings).fit()


@dataclass(eq=False)
class _Candidate:
    """An outer iterate that may be returned, and by what it is judged."""

    x: Any
    round: int
    accuracy: float
    violation: float
    multipliers: Any


@dataclass(eq=False)
class _Run:
    """State of one fit, from round to round."""

    task: Task
    settings: DeepIDCASettings
    records: list[Record] = field(default_factory=list)
    best: _Candidate | None = None
    halvings: int = 0

    def fit(self) -> Fit:
        from papers.partial_fairness.algorithms.stochastic_idca import first_state, outer_iteration

        task, settings = self.task, self.settings
        self.training = Training.start(task, settings)
        state = self._resumed()
        if state is None:
            self.training.run()
            problem, w, aux = self._start()
            state = first_state(problem, w, aux)
            self._observe(problem, state)
        problem = self._problem()
        while state.round < settings.rounds:
            # a stream per outer iteration: a resumed run draws what an uninterrupted one would
            stream = generator("deep_idca", task.train.name, task.seed, state.round)
            shortened = settings.model_copy(update={"step_scale": settings.step_scale / 2**self.halvings})
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
        from papers.partial_fairness.algorithms.network_problem import NetworkProblem

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
        accuracy = validation_accuracy(self.task, problem.function, problem.weights_and_aux(state.x)[0])
        self._keep(_Candidate(state.x, state.round, accuracy, value.violation, state.multipliers))
        # In place of millions of weights the record holds the training scores: the true violation follows from them.
        steps = state.round * self.settings.inner_steps
        point = value.scores, value.aux
        self.records.append(Record(state.round, steps, value.objective, value.violation, time.process_time(), point))
        self.task.report(
            f"round {state.round}: loss {value.objective:.4f}, violation {value.violation:.4f}, "
            f"validation accuracy {accuracy:.4f}"
        )
        return True

    def _keep(self, challenger: _Candidate) -> None:
        """Keep the better of two; all of them would be more than the memory holds."""
        best = self.best
        if best is None or (best.round == 0 and self.settings.start == "constant"):
            self.best = challenger  # a constant start stands only until there is another
            return
        pair = best, challenger
        qualities = {
            "validation_accuracy": [candidate.accuracy for candidate in pair],
            "violation": [candidate.violation for candidate in pair],
        }
        self.best = pair[select(qualities, ACCURATE_WITHIN, limit=self.settings.tolerance).index]

    def _result(self, problem: Any) -> Fit:
        """The fit of the best outer iterate so far, with its evaluated point."""
        from papers.partial_fairness.algorithms.network_problem import NetworkPoint

        best = self.best
        assert best is not None
        w, aux = problem.weights_and_aux(best.x)
        problem.function.put(w)
        chosen = {
            "round": best.round,
            "validation_accuracy": best.accuracy,
            "within_tolerance": best.violation <= self.settings.tolerance,
            "weights": problem.function.size,
            "start_epoch": self.training.best[1],
        }
        evaluated_point = NetworkPoint(problem, best.x, best.multipliers)
        return Fit(self.training.model(w, aux), chosen, Trace({"idca": self.records}, "idca"), evaluated_point)

    def _arrays(self, state: Any) -> Arrays:
        """Everything that the next outer iteration and the choice depend on."""
        best = self.best
        assert best is not None
        arrays: Arrays = {
            f"net/{name}": v for name, v in self.training.function.state(self.training.function.start()).items()
        }
        arrays |= {"x": state.x.cpu().numpy(), "queues": state.queues, "multipliers": state.multipliers}
        arrays |= {"best/x": best.x.cpu().numpy(), "best/multipliers": best.multipliers}
        arrays |= {"best/rest": np.array([best.round, best.accuracy, best.violation]), "round": np.array(state.round)}
        arrays |= {"start/epoch": np.array(self.training.best[:2]), "halvings": np.array(self.halvings)}
        numbers = [(r.step, r.work, r.objective, r.violation, r.seconds) for r in self.records]
        arrays |= {"records/numbers": np.array(numbers)}
        arrays |= {"records/scores": np.array([record.point[0] for record in self.records])}
        return arrays | {"records/aux": np.array([record.point[1] for record in self.records])}

    def _resumed(self) -> Any:
        """The state of an interrupted run; ``None`` if it had not come to the outer iterations."""
        import torch

        from papers.partial_fairness.algorithms.stochastic_idca import OuterIterate

        arrays = self.task.checkpoint.load() if self.task.checkpoint is not None else None
        if arrays is None or "queues" not in arrays:
            return None
        function = self.training.function
        load_state(function.network, under_prefix(arrays, "net/"))
        accuracy, epoch = arrays["start/epoch"].tolist()
        self.training.best = (accuracy, int(epoch), {})
        number, best_accuracy, violation = arrays["best/rest"].tolist()
        x = torch.from_numpy(arrays["best/x"]).to(function.device)
        self.best = _Candidate(x, int(number), best_accuracy, violation, arrays["best/multipliers"])
        rows = zip(arrays["records/numbers"], arrays["records/scores"], arrays["records/aux"], strict=True)
        self.records = [
            Record(int(k), int(steps), float(loss), float(worst), float(seconds), (scores, aux))
            for (k, steps, loss, worst, seconds), scores, aux in rows
        ]
        self.halvings = int(arrays["halvings"])
        self.task.report(f"taken up after round {int(arrays['round'])}")
        x = torch.from_numpy(arrays["x"]).to(function.device)
        return OuterIterate(x, arrays["queues"], arrays["multipliers"], int(arrays["round"]))


ALGORITHM = DeepIDCA()
