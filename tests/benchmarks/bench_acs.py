"""One constrained fit on the national ACSIncome table, in a process of its own: seconds and peak memory."""

import json
import subprocess
import sys

from tests.benchmarks.common import ROOT, Result, real_dataset, result

FIT = """
import json, resource, sys, time
sys.path[:0] = [".", "src"]
from partialfair import plugins
from partialfair.algorithms.contract import Task
from partialfair.algorithms.measure import measure
from reproduction.datasets.splits import make_split
from tests.benchmarks.common import real_dataset
data = real_dataset("acs_income")
split = make_split(data, 0)
start = time.perf_counter()
task = Task(data.take(split.train), data.take(split.validation), "partial_statistical_parity", [[0.2, 0.4]], 0.05,
            kappa_scale="absolute", report=lambda line: print(line, file=sys.stderr))
del data
algorithm = plugins.load("algorithms", "alm").ALGORITHM
fit = algorithm.fit(task, algorithm.settings())
measured = measure(algorithm, task, fit)
print(json.dumps({
    "seconds": time.perf_counter() - start, "gib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20,
    "rows": task.train.n_rows, "features": task.train.n_features, "objective": measured.objective,
    "violation": measured.max_violation, "kkt": measured.kkt_residual,
    "evaluations": fit.trace.records[-1].work, "status": measured.status}))
"""


def run() -> list[Result]:
    """Fit pSP on [0.2, 0.4] at kappa 0.05 (absolute) with the direct solver."""
    real_dataset("acs_income")
    done = subprocess.run([sys.executable, "-c", FIT], cwd=ROOT, check=True, capture_output=True, text=True)
    found = json.loads(done.stdout)
    how = (
        f"direct solver, pSP on [0.2, 0.4], kappa 0.05 absolute, {found['rows']:,} training rows x {found['features']} "
        f"features: {found['evaluations']} evaluations to loss {found['objective']:.5f}, violation "
        f"{found['violation']:.1e}, KKT residual {found['kkt']:.1e} ({found['status']}); one thread"
    )
    return [
        result("acs_fit_seconds", found["seconds"], "s", "<= 60", how),
        result("acs_fit_gib", found["gib"], "GiB", "<= 4", "peak memory of that process, loading included"),
    ]
