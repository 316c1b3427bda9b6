"""State of a long computation on disk: plain arrays, read without executing code, written whole or not at all."""

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from partialfair.data.files import UNREADABLE, atomic_path


@dataclass(frozen=True)
class Checkpoint:
    """Where a job keeps its state until it ends.

    Attributes:
        path: an ``.npz`` file.
        key: text that says what the state belongs to (settings and source); the state of another key is not
            taken up.
    """

    path: Path
    key: str = ""

    def save(self, arrays: dict[str, NDArray[Any]]) -> None:
        """Replace the state."""
        with atomic_path(self.path) as temporary, open(temporary, "wb") as stream:
            np.savez(stream, checkpoint_key=np.array(self._digest), **arrays)  # type: ignore[arg-type]

    def load(self) -> dict[str, NDArray[Any]] | None:
        """Return the state, or ``None`` if there is none of this key that can be read."""
        try:
            with np.load(self.path, allow_pickle=False) as stored:
                if str(stored["checkpoint_key"]) != self._digest:
                    return None
                return {name: stored[name] for name in stored.files if name != "checkpoint_key"}
        except UNREADABLE:
            return None

    def discard(self) -> None:
        """Remove the state: the computation has ended."""
        self.path.unlink(missing_ok=True)

    @property
    def _digest(self) -> str:
        return hashlib.sha256(self.key.encode()).hexdigest()
