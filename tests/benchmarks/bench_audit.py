"""The audit of a million rows: processor time and memory of a process of its own, and growth with groups."""

import json
import subprocess
import sys

from tests.benchmarks.common import ROOT, Result, exponent, result

ROWS, GROUPS = 1_000_000, (5, 10, 20)
AUDIT = """
import json, resource, sys, time
import numpy as np
from partialfair.audit import audit_scores
rows, groups = map(int, sys.argv[1:])
random = np.random.default_rng(0)
group, scores = random.integers(0, groups, rows), random.random(rows)
labels = random.random(rows) < scores
audit_scores(scores[:2000], group[:2000], labels[:2000])
began = time.process_time()
audit_scores(scores, group, labels, interval=[(0.05, 0.3)], threshold=0.8)
spent = time.process_time() - began
print(json.dumps([spent, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20]))
"""


def measured(rows: int, groups: int) -> tuple[float, float]:
    """Processor seconds of an audit in memory, and GiB of its process."""
    done = subprocess.run(
        [sys.executable, "-c", AUDIT, str(rows), str(groups)],
        capture_output=True, text=True, check=True, cwd=ROOT / "src",
    )  # fmt: skip
    seconds, gib = json.loads(done.stdout)
    return float(seconds), float(gib)


def run() -> list[Result]:
    """A million rows with labels, all scores different, an interval and the whole range, with confidence intervals."""
    found = {groups: measured(ROWS, groups) for groups in GROUPS}
    times = [(float(groups), seconds) for groups, (seconds, _) in found.items()]
    words = "; ".join(f"{groups} groups: {seconds:.1f} s, {gib:.2f} GiB" for groups, (seconds, gib) in found.items())
    how = f"audit of {ROWS:,} rows in memory, processor time of one thread and memory of the process: {words}"
    return [
        result("audit_seconds", found[GROUPS[-1]][0], "s", None, how, times, "groups"),
        result("audit_gib", found[GROUPS[-1]][1], "GiB", "<= 1", how),
        result("audit_growth_exponent", exponent(times), "", "<= 1.1", f"growth with groups; {how}"),
    ]
