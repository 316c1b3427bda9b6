"""Ten seeds of each stochastic method together against one after the other; Ghost's subproblem against a QP solver."""

import time

import numpy as np

from papers.stochastic_benchmark.algorithms.fairret_penalties import kl_released
from papers.stochastic_benchmark.algorithms.sgd import PlainSteps, SGDSettings
from papers.stochastic_benchmark.algorithms.sgd_fairret import FairretSettings, PenalisedSteps
from papers.stochastic_benchmark.algorithms.ssl_alm import SmoothedSteps, SSLALMSettings
from papers.stochastic_benchmark.algorithms.stochastic_ghost import GhostSettings, GhostSteps
from papers.stochastic_benchmark.algorithms.stochastic_problem import StochasticProblem
from papers.stochastic_benchmark.algorithms.stochastic_run import Plan
from papers.stochastic_benchmark.algorithms.stochastic_run import run as run_method
from papers.stochastic_benchmark.algorithms.stochastic_switching import StochasticSwitchingSettings, SwitchingSteps
from partialfair.constraints.family import built
from partialfair.constraints.stratum_means import sampled
from partialfair.models.stacked import StackedMLP
from partialfair.seeding import generator
from tests.benchmarks.common import Result, result

SEEDS = list(range(10))
STEPS = {"sgd": 600, "sgd_fairret": 100, "ssl_alm": 300, "stochastic_alm": 300, "switching": 300, "ghost": 60}


def benchmark_problem(n=14_333):
    """Rows like those of ACSIncome Oklahoma: nine standardised inputs, a quarter in the second group."""
    rng = np.random.default_rng(0)
    group = (rng.random(n) < 0.255).astype(int)
    X = rng.normal(size=(n, 9)).astype(np.float32)
    y = np.where(X[:, 0] - 0.3 * group + rng.normal(size=n) > 0.7, 1.0, -1.0)
    means = sampled(built("loss_parity", group, y, interval=[(0.0, 1.0)], kappa=0.005))
    return StochasticProblem(StackedMLP(9, (64, 32)), X, (y > 0).astype(np.float32), means), group


def methods(group):
    return {
        "sgd": PlainSteps(SGDSettings()),
        "sgd_fairret": PenalisedSteps(FairretSettings(), kl_released, group),
        "ssl_alm": SmoothedSteps(SSLALMSettings()),
        "stochastic_alm": SmoothedSteps(SSLALMSettings(proximal=0)),
        "switching": SwitchingSteps(StochasticSwitchingSettings()),
        "ghost": GhostSteps(GhostSettings()),
    }  # fmt: skip


def measure(names=tuple(STEPS), share=1.0):
    """Processor seconds of ten separate runs and of the ten together, by method, for a share of the steps."""
    problem, group = benchmark_problem()
    found = {}
    for name in names:
        method, plan = methods(group)[name], Plan(steps=max(1, round(share * STEPS[name])), records=1)
        x = np.stack([problem.score.initial(generator("initialisation", s)) for s in SEEDS]).astype(np.float32)
        began = time.process_time()
        together = run_method(method, problem, x, SEEDS, plan)
        middle = time.process_time()
        alone = [run_method(method, problem, x[[s]], [s], plan) for s in SEEDS]
        separate = time.process_time() - middle
        difference = max(float(np.abs(together.last[s] - one.last[0]).max()) for s, one in enumerate(alone))
        found[name] = {"separate": separate, "together": middle - began, "largest_difference": difference}
    return found


def run() -> list[Result]:
    """Two of the methods, for information; ``python -m tests.benchmarks.bench_stochastic`` measures all."""
    out = []
    for name, line in measure(("sgd", "ssl_alm"), 0.3).items():
        how = (
            f"drawn rows of the size of ACSIncome Oklahoma: processor seconds of ten seeds of {name} one after the "
            f"other "
            f"({line['separate']:.2f} s) over the ten together ({line['together']:.2f} s); largest difference of "
            f"the results "
            f"{line['largest_difference']:.0e}"
        )
        out.append(result(f"seeds_together_{name}", line["separate"] / line["together"], "times", None, how))
    return out


if __name__ == "__main__":
    for name, line in measure().items():
        ratio, difference = line["separate"] / line["together"], line["largest_difference"]
        times = f"ten separate runs {line['separate']:.2f} s, together {line['together']:.2f} s, {ratio:.1f} times"
        print(f"{name}: {times}; largest difference {difference:.1e}", flush=True)
