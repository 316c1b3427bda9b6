"""The few hot loops, compiled by numba behind plain functions.

Everything here works on rows sorted by subset (see :class:`partialfair.models.design.GroupedDesign`),
on scores stored one column per configuration, and is single-threaded: jobs are what runs in parallel.
Sums over rows are taken in float32 over blocks and added up in float64, in a fixed order, so that a
result does not depend on the machine's load or thread count.
"""

import hashlib
from pathlib import Path

import numba

# The eight-lane kernels are straight-line code that only the superword-level vectoriser turns into
# vector instructions: scatter of eight columns on a9a 0.59 ms without it, 0.20 ms with it.
numba.config.SLP_VECTORIZE = 1


SOURCES = (
    "tables/compiled.py", "models/rows.py", "models/gram.py", "constraints/kernels/*.py", "algorithms/*/kernels/*.py",
)  # fmt: skip
"""Where compiled loops stand, below the package."""


def _sources() -> str:
    """Checksum of the compiled loops' sources."""
    found = hashlib.sha256()
    package = Path(__file__).parents[1]
    for path in sorted(path for pattern in SOURCES for path in package.glob(pattern)):
        found.update(path.read_bytes())
    return found.hexdigest()[:16]


# Numba compiles a kernel anew when its own file changes, not when a kernel that it calls does, which another file may
# hold: code of the old one would go on running, on arrays of the old layout. So each state of the sources has a folder.
_folder = Path(numba.config.CACHE_DIR or Path(__file__).with_name("__pycache__"))
numba.config.CACHE_DIR = str(_folder / f"kernels-{_sources()}")

# error_model="numpy" and fastmath let the loops vectorise (a division check alone costs 8x on the loss).
JIT = {"nogil": True, "fastmath": True, "error_model": "numpy", "cache": True}
LANES = 8
BLOCK = 128  # rows whose eight scores fit the first-level cache during a transposition
SUM_BLOCK = 1024  # rows summed in float32 before the sum moves to float64
