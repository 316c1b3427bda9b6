"""A score model stored together with curves of its training: what a convergence figure is drawn from.

The model is read back as what it is (:func:`partialfair.models.stored.load_model` does not see the curves); the curves
are read by :func:`read_trace`. They stand here, and not in the history of the run, which has the same few columns for
every algorithm: these are quantities that a single family knows.
"""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from partialfair.errors import DataError
from partialfair.models.stored import Arrays, ScoreModel, StoredModel

PREFIX = "trace/"


@dataclass(frozen=True, eq=False)
class TracedScore(StoredModel):
    """A score model and arrays by name.

    Attributes:
        model: what scores rows.
        trace: arrays, named ``candidate/quantity``.
    """

    compressed: ClassVar[bool] = True

    model: ScoreModel
    trace: dict[str, NDArray[Any]] = field(repr=False)

    def __getattr__(self, name: str) -> Any:
        """Return everything else is the model's."""
        if name in ("model", "trace"):  # not there yet while a copy is made
            raise AttributeError(name)
        return getattr(self.model, name)

    @property
    def status(self) -> str:
        """Status of the model inside."""
        return self.model.status

    @property
    def usable(self) -> bool:
        """Tell whether the model inside may score rows."""
        return self.model.usable

    @property
    def uses_group(self) -> bool:
        """Tell whether the model inside uses the group at prediction."""
        return self.model.uses_group

    def scores(self, X: Any, group: NDArray[np.integer] | None = None) -> NDArray[np.float64]:
        """Return the scores (n,) of the model inside."""
        return self.model.scores(X, group)

    def arrays(self) -> Arrays:
        """Return the model's arrays, and the curves."""
        return self.model.arrays() | {PREFIX + name: np.asarray(values) for name, values in self.trace.items()}


def read_trace(path: str | Path) -> dict[str, dict[str, NDArray[Any]]]:
    """Return the curves of a stored model by candidate and quantity; none if it has none.

    Raises:
        DataError: the file is missing or damaged.
    """
    trace: dict[str, dict[str, NDArray[Any]]] = {}
    try:
        with np.load(path, allow_pickle=False) as stored:
            for name in stored.files:
                if name.startswith(PREFIX):
                    candidate, _, quantity = name.removeprefix(PREFIX).rpartition("/")
                    trace.setdefault(candidate, {})[quantity] = stored[name]
    except (OSError, ValueError, EOFError, KeyError) as error:
        raise DataError(f"{path}: not a readable model ({error}); delete the file and train again") from error
    return trace
