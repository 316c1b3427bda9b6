"""An algorithm for tests of the profiles: it claims a GPU, notes when it runs, and fails or waits on demand.

Copied into the algorithms of a scratch project. It needs no real GPU.
"""

import json
import time
from pathlib import Path

from partialfair.algorithms.contract import Fit, Task
from partialfair.algorithms.linear.unconstrained import Unconstrained, UnconstrainedSettings

FOLDER = Path("timed")


class Timed(Unconstrained):
    """The unconstrained fit, one second long."""

    needs_gpu = True

    def fit(self, task: Task, settings: UnconstrainedSettings) -> Fit:
        FOLDER.mkdir(exist_ok=True)
        assert not (FOLDER / "fail").exists(), "told to fail"
        start = time.time()
        fit = super().fit(task, settings)
        (FOLDER / f"started-{task.seed}").touch()
        time.sleep(1.0)
        while (FOLDER / "wait").exists() and time.time() < start + 7200:
            time.sleep(0.1)
        (FOLDER / f"started-{task.seed}").unlink()
        (FOLDER / f"{task.seed}.json").write_text(json.dumps([start, time.time()]))
        return fit


ALGORITHM = Timed()
