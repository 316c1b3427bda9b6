"""Settings under which the linear algebra of NumPy, SciPy and PyTorch gives the same bits on every x86-64 with AVX2.

Their libraries choose code by processor when they are loaded, so :func:`settle` has to come before NumPy is imported:
the command line, the workflow and the tests begin with it. Importing this package sets nothing; in a program that has
imported NumPy before, and on other processors, results agree to rounding alone. The package's own compiled kernels need
no setting (:mod:`partialfair.kernels.compiled`).
"""

import os
import platform
from pathlib import Path
from typing import Any

SETTINGS = {
    "OPENBLAS_CORETYPE": "Haswell",
    "NPY_DISABLE_CPU_FEATURES": "X86_V4 AVX512_ICL AVX512_SPR",
    "ATEN_CPU_CAPABILITY": "avx2",
    "ONEDNN_MAX_CPU_ISA": "AVX2",
    "MKL_CBWR": "COMPATIBLE",
}
"""Environment variables of OpenBLAS, NumPy and PyTorch (ATen, oneDNN, MKL)."""
THREADS = {f"{library}_NUM_THREADS": "1" for library in ("OPENBLAS", "OMP", "MKL")}
"""Products that several threads share are added up in another order.

A job of the workflow has the threads that it is given.
"""
_CORES = ("Haswell", "Zen")  # names that OpenBLAS has for the same code
_CPUINFO = Path("/proc/cpuinfo")


def settle(threads: bool = True) -> None:
    """Set the variables that have no value, where the processor knows AVX2.

    Args:
        threads: whether to set the number of threads too.
    """
    if settled_here():
        for name, value in (SETTINGS | (THREADS if threads else {})).items():
            os.environ.setdefault(name, value)


def settled_here() -> bool:
    """Whether this machine is one on which results are meant to be the same: Linux on x86-64 with AVX2."""
    return platform.machine() == "x86_64" and {"avx2", "fma"} <= set(_cpuinfo("flags").split())


def deviations() -> list[str]:
    """In what this process computes otherwise than :data:`SETTINGS` say; nothing where they do not apply."""
    if not settled_here():
        return []
    features = ", ".join(name for name in SETTINGS["NPY_DISABLE_CPU_FEATURES"].split() if _numpy_features().get(name))
    differences = [f"NumPy uses {features}"] if features else []
    foreign = [blas for blas in _blas() if blas.get("architecture") not in _CORES]
    return differences + [f"OpenBLAS {blas['version']} computes as on {blas.get('architecture')}" for blas in foreign]


def record() -> dict[str, str]:
    """Processor, C library, linear algebra and NumPy's code paths, as far as this system tells."""
    copies = {
        f"openblas {blas['version']} {blas.get('architecture')}, {blas['num_threads']} threads" for blas in _blas()
    }
    levels = [name for name, used in _numpy_features().items() if used and name.startswith(("X86_V", "ASIMD", "SVE"))]
    description = {
        "processor": _cpuinfo("model name") or platform.processor(),
        "libc": " ".join(platform.libc_ver()),
        "blas": "; ".join(sorted(copies)),
        "numpy features": " ".join(levels),
    }
    return {name: value for name, value in description.items() if value.strip()}


def _cpuinfo(field: str) -> str:
    """The first value of a field of Linux's description of the processor; empty elsewhere."""
    try:
        lines = _CPUINFO.read_text(encoding="utf-8").splitlines()
    except OSError:
        return ""
    return next((line.partition(":")[2].strip() for line in lines if line.startswith(field)), "")


def _numpy_features() -> dict[str, bool]:
    """The features of the processor that NumPy knows, and whether it uses them."""
    from numpy._core._multiarray_umath import __cpu_features__  # type: ignore[import-not-found]

    return dict(__cpu_features__)


def _blas() -> list[dict[str, Any]]:
    """The copies of OpenBLAS that this process has loaded."""
    from threadpoolctl import threadpool_info

    return [blas for blas in threadpool_info() if blas.get("internal_api") == "openblas"]
