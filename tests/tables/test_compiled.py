"""Compiled kernels on disk: never those of other sources."""

import ast
import os
import shutil
import subprocess
import sys
from pathlib import Path

import partialfair

SCORE = """
import numpy as np
from partialfair.kernels.subgradient_steps import compute_scores
from partialfair.models.design import GroupedDesign
X = np.array([[0.0, 2.0], [1.0, 3.0]], np.float32)
design = GroupedDesign.build(X, np.zeros(2, np.int64), np.zeros(1, np.int64))
scores, packed = np.empty((1, 2), np.float32), np.zeros((1, len(design.members)), np.float32)
weights, active = np.ones((1, 1, 3)), np.ones(1, np.bool_)
compute_scores((*design.arrays, design.members), weights, np.zeros((1, 1, 4)), packed, scores, active, False)
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
    rows = source / "kernels" / "row_sums.py"
    text = rows.read_text()
    assert text.count("out[:] = table[0]") == 1
    rows.write_text(text.replace("out[:] = table[0]", "out[:] = table[0] + 10"))
    assert scores() == "13.0 15.0"


def test_importing_and_calling_kernels_leaves_numbas_settings_as_they_were():
    code = """
import numba
def settings(): return {name: getattr(numba.config, name) for name in dir(numba.config) if name.isupper()}
before = settings()
import numpy as np
from partialfair.kernels.row_sums import expand
assert settings() == before, "the import changed them"
expand(np.ones((1, 2)), np.array([[0, 1]]), np.empty((1, 1)))
assert settings() == before, "a call changed them"
assert len(expand.stats.cache_misses) + len(expand.stats.cache_hits) == 1
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


LIBM = {"exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "pow", "power", "tanh", "sinh", "cosh", "sin", "cos"}


def calls_of_the_c_library(source: str) -> list[str]:
    """Calls in compiled functions of what the C library or NumPy computes, as ``function:name``."""
    kernels = [
        node
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.FunctionDef) and "kernel" in map(ast.unparse, node.decorator_list)
    ]
    return [
        f"{function.name}:{node.attr}"
        for function in kernels
        for node in ast.walk(function)
        if isinstance(node, ast.Attribute) and node.attr in LIBM and ast.unparse(node.value) in ("np", "math")
    ]


def test_compiled_loops_call_no_function_whose_last_bit_another_library_decides():
    package, compiled = Path(partialfair.__file__).parent, 0
    for path in package.rglob("*.py"):
        source = path.read_text(encoding="utf-8")
        compiled += "@kernel\n" in source
        assert not calls_of_the_c_library(source), path
        assert "njit" not in source or path.name == "compiled.py", f"{path}: use kernel, which keeps the order of sums"
    assert compiled >= 10


def test_such_a_call_is_found():
    source = "@kernel\ndef f(x):\n    return np.sqrt(x) + math.log(x)\n\ndef g(x):\n    return np.exp(x)\n"
    assert calls_of_the_c_library(source) == ["f:log"]
