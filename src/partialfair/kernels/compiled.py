"""How kernels are compiled: numba behind plain functions, with the constants that all of them share.

The kernels of linear scores work on rows sorted by subset (see :class:`partialfair.models.design.GroupedDesign`)
and on scores stored one column per configuration. All are single-threaded: jobs are what runs in parallel.
Sums over rows are taken in float32 over blocks and added up in float64, in an order that the code
states, so that a result depends on neither the processor nor the compiler nor the machine's load.
"""

import hashlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numba
from numba.core.compiler import Compiler


def _sources() -> str:
    """Checksum of the compiled loops' sources."""
    digest = hashlib.sha256()
    for path in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


# Numba compiles a kernel anew when its own file changes, not when a kernel that it calls does, which another file may
# hold: code of the old one would go on running, on arrays of the old layout. So each state of the sources has a folder.
CACHE = Path(numba.config.CACHE_DIR or Path(__file__).with_name("__pycache__")) / f"kernels-{_sources()}"
"""Folder of the compiled kernels."""

LANES = 8
"""Columns of scores, one per run, that a kernel takes together. (The lanes of
:mod:`partialfair.kernels.ordered_sums` are the partial sums of one column.)"""
SUM_BLOCK = 1024  # rows summed in float32 before the sum moves to float64


@contextmanager
def _numba_setting(name: str, value: object) -> Iterator[None]:
    """Hold a setting of numba at a value; a program that imports this package has its own again afterwards."""
    before = getattr(numba.config, name)
    setattr(numba.config, name, value)
    try:
        yield
    finally:
        setattr(numba.config, name, before)


class _Vectorising(Compiler):
    """Numba's compiler with the superword-level vectoriser.

    Straight-line code over a few lanes becomes vector instructions by it alone.
    """

    def _compile_core(self) -> Any:
        with _numba_setting("SLP_VECTORIZE", 1):  # under numba's lock: no other thread compiles meanwhile
            return super()._compile_core()


def kernel(function: Callable[..., Any]) -> Any:
    """Compile a function when it is first called, and keep the result in :data:`CACHE`.

    Its arithmetic is that of IEEE 754 in the order written, without ``fastmath``: so neither the processor, nor the
    version of the compiler, nor what was inlined where, changes a bit of a result. A loop that adds up one number does
    not vectorise under these terms; sums over rows are taken in lanes (:mod:`partialfair.kernels.ordered_sums`), and
    exp and log are the package's own (:mod:`partialfair.kernels.elementary`).
    """
    # error_model="numpy" lets loops vectorise that divide (a check of the divisor alone costs 8x on the loss).
    with _numba_setting("CACHE_DIR", str(CACHE)):
        return numba.njit(nogil=True, error_model="numpy", cache=True, pipeline_class=_Vectorising)(function)
