"""Same seeds, same bits: with compiled kernels new or stored, in whatever order loaded, on other processors.

The kernels of this package are single-threaded and state the order of their sums. The linear algebra library that NumPy
calls may split large products among threads and add in another order; where it does, the difference is bounded here.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from partialfair import plugins
from partialfair.kernels import processor
from tests import needs
from tests.faults import load_order
from tests.faults.every_algorithm import RESNET
from tests.faults.lab import LIMIT, ROOT

pytestmark = pytest.mark.slow

FIT = """
import hashlib
from partialfair.kernels import processor
processor.settle()
import numpy as np
from partialfair import plugins
from partialfair.algorithms.contract import Task
from reproduction.datasets import simulated
from reproduction.datasets.splits import make_split
from partialfair.metrics import evaluate_all

data = simulated.load(rows=20000)
split = make_split(data, 0)
for name, settings, kappa in (
    ("unconstrained", {}, float("inf")),
    ("alm", {"rounds": 6}, 0.1),
    ("idca", {"inner_steps": [30], "tolerances": [0.005], "tuning_rounds": 2, "rounds": [4]}, 0.1),
):
    task = Task(data.take(split.train), data.take(split.validation), "partial_statistical_parity", [[0.1, 0.4]],
                kappa, kappa_scale="absolute", report=lambda line: None)
    algorithm = plugins.load("algorithms", name).ALGORITHM
    model = algorithm.fit(task, algorithm.settings(**settings)).model
    weights = model.weights
    test = data.take(split.test)
    values, _ = evaluate_all(np.asarray(model.scores(test.X, test.group), np.float32), test.y, test.group, [[0.1, 0.4]])
    print(name, hashlib.sha256(weights.tobytes()).hexdigest()[:16], *(float(w).hex() for w in weights.ravel()))
    print(name, "metrics", hashlib.sha256(repr(sorted(values.items())).encode()).hexdigest()[:16])
"""

HASWELL = {"NUMBA_CPU_NAME": "haswell", "NUMBA_CPU_FEATURES": ""}
"""Kernels for a processor without AVX-512; empty features are those of that processor, not of this one."""
QEMU = shutil.which("qemu-x86_64")
CHOSEN = HASWELL if processor.settled_here() else {}
ON_X86 = pytest.mark.skipif(not processor.settled_here(), reason="no x86-64 processor with AVX2, on Linux")


def printed(command: list[str], kernels: Path | None, threads: int, variables: dict[str, str]) -> list[str]:
    """What a Python process prints that has so many threads and this folder of kernels, by default the usual one."""
    count = {name: str(threads) for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS")}
    folder = {"NUMBA_CACHE_DIR": str(kernels)} if kernels else {}
    environment = {**os.environ, "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}", **folder, **count, **variables}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=LIMIT)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout.splitlines()


def fitted(threads: int) -> list[str]:
    """Weights and metrics of three algorithms on rows enough for the linear algebra library to share out."""
    found = printed([sys.executable, "-c", FIT], None, threads, {})
    assert len(found) == 6
    return found


def every_algorithm(kernels: Path | None = None, emulated: tuple[str, ...] = (), **variables: str) -> list[str]:
    """A line per algorithm with a hash of its scores, and one for a network on images."""
    found = printed([*emulated, sys.executable, "-m", "tests.faults.every_algorithm"], kernels, 1, variables)
    assert [line.split()[0] for line in found] == [*plugins.names("algorithms"), RESNET]
    return found


@pytest.fixture(scope="module")
def kernels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for kernels, empty at first."""
    return tmp_path_factory.mktemp("kernels")


def largest_difference(one: list[str], two: list[str]) -> float:
    """The largest difference of a weight; the metrics have to be the same."""
    largest = 0.0
    for first, second in zip(one, two, strict=True):
        if " metrics " in first:
            assert first == second, f"the metrics differ: {first}, {second}"
            continue
        weights = [[float.fromhex(word) for word in line.split()[2:]] for line in (first, second)]
        largest = max(largest, *(abs(a - b) for a, b in zip(*weights, strict=True)))
    return largest


def test_two_threads_change_no_weight_by_more_than_1e_9() -> None:
    assert largest_difference(fitted(threads=1), fitted(threads=2)) <= 1e-9


@pytest.fixture(scope="module")
def here() -> list[str]:
    """Every algorithm on this processor."""
    return every_algorithm()


@pytest.fixture(scope="module")
def haswell(kernels: Path) -> list[str]:
    """Every algorithm in a process that has compiled every kernel it called, for Haswell where it can be chosen."""
    return every_algorithm(kernels, **CHOSEN)


@pytest.mark.long(suite="processors")
@ON_X86
def test_kernels_for_another_processor_give_the_same_bits(here: list[str], haswell: list[str]) -> None:
    assert haswell == here


@pytest.mark.long(suite="processors")
def test_stored_kernels_give_every_algorithm_the_bits_of_new_ones(haswell: list[str], kernels: Path) -> None:
    assert every_algorithm(kernels, **CHOSEN) == haswell


@pytest.mark.long(suite="processors")
def test_the_order_in_which_kernels_are_loaded_changes_no_bit(here: list[str]) -> None:
    """Those of this processor, which ``here`` has called one after another, are all loaded first."""
    assert every_algorithm(**{load_order.VARIABLE: "1"}) == here


@pytest.fixture
def emulator() -> str:
    """Path of QEMU for programs of this kind of machine."""
    return QEMU or needs.lack("emulator", "no qemu-x86_64 here (apt-get install qemu-user)")


@pytest.mark.long(suite="processors")
@ON_X86
@pytest.mark.usefixtures("haswell")  # which has compiled the kernels: compilers are slow in an emulator
def test_an_emulated_haswell_gives_the_same_bits(emulator: str, here: list[str], kernels: Path) -> None:
    """NumPy, OpenBLAS and the C library then find another processor than this one."""
    assert every_algorithm(kernels, (emulator, "-cpu", "Haswell"), **HASWELL) == here
