"""Compiled kernels on disk: never those of other sources."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import partialfair

SCORE = """
import numpy as np
from partialfair.algorithms.linear.kernels.subgradient import compute_scores
from partialfair.models.design import GroupedDesign
X = np.array([[0.0, 2.0], [1.0, 3.0]], np.float32)
design = GroupedDesign.build(X, np.zeros(2, np.int64), np.zeros(1, np.int64))
scores, packed = np.empty((1, 2), np.float32), np.zeros((1, len(design.members)), np.float32)
compute_scores((*design.arrays, design.members), np.ones((1, 1, 3)), np.zeros((1, 1, 4)), packed, scores)
print(*scores[0])
"""


def test_kernel_is_compiled_anew_when_one_that_it_calls_has_changed(tmp_path):
    source = tmp_path / "src" / "partialfair"
    shutil.copytree(Path(partialfair.__file__).parent, source, ignore=shutil.ignore_patterns("__pycache__"))
    environment = os.environ | {"PYTHONPATH": str(source.parent), "NUMBA_CACHE_DIR": str(tmp_path / "kernels")}

    def scores() -> str:
        done = subprocess.run([sys.executable, "-c", SCORE], env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    assert scores() == "3.0 5.0"
    rows = source / "models" / "rows.py"
    text = rows.read_text()
    assert text.count("out[:] = table[0]") == 1
    rows.write_text(text.replace("out[:] = table[0]", "out[:] = table[0] + 10"))
    assert scores() == "13.0 15.0"
