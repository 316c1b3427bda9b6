"""An algorithm for tests of the cluster: it claims a GPU, tells which one it was given, and waits at a gate.

Copied into the algorithms of a scratch project. It needs no real GPU.
"""

import os
import time
from pathlib import Path

from partialfair.algorithms.contract import Fit, Task
from partialfair.algorithms.linear.unconstrained import Unconstrained, UnconstrainedSettings

LIMIT = 7200.0  # seconds at the gate


class Gated(Unconstrained):
    """The unconstrained fit, once the file ``gate/SEED`` is gone."""

    needs_gpu = True

    def fit(self, task: Task, settings: UnconstrainedSettings) -> Fit:
        task.report(f"CUDA_VISIBLE_DEVICES={os.environ.get('CUDA_VISIBLE_DEVICES', 'unset')}")
        start = time.monotonic()
        while Path(f"gate/{task.seed}").exists():
            assert time.monotonic() - start < LIMIT, "nobody opened the gate"
            time.sleep(0.1)
        return super().fit(task, settings)


ALGORITHM = Gated()
