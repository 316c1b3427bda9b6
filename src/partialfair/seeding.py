"""Independent random streams named by what they are for.

A seed is never reused for two purposes: the stream of ``("split", "a9a", 0)`` has nothing to do with
that of ``("bootstrap", "a9a", 0)``, and adding a purpose changes no other stream.
"""

import hashlib

import numpy as np


def derive_seed(*names: str | int) -> int:
    """Return a 64-bit seed that depends on every name and on their order."""
    text = "/".join(str(name) for name in names)
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little")


def generator(*names: str | int) -> np.random.Generator:
    """Return a NumPy generator seeded by :func:`derive_seed`."""
    return np.random.default_rng(derive_seed(*names))
