"""Predictions of a regression model on a sample: a number per row, or a distribution on common atoms per row."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from partialfair.errors import DataError


@dataclass(frozen=True, eq=False)
class Predictions:
    """What a model predicts for n rows.

    Attributes:
        values: (n,) predicted numbers; of a randomised predictor the conditional means.
        atoms: (G,) ascending numbers that a randomised predictor chooses from, or that a deterministic one may be
            binned by; ``None`` if there are none.
        probabilities: (n, G) probability of each atom; ``None`` for a deterministic predictor.
    """

    values: NDArray[np.float64]
    atoms: NDArray[np.float64] | None = None
    probabilities: NDArray[np.float64] | None = None

    def __post_init__(self) -> None:
        shape = None if self.probabilities is None else self.probabilities.shape
        if shape is not None and (self.atoms is None or shape != (len(self.values), len(self.atoms))):
            raise DataError(f"predictions: probabilities of shape {shape} need one atom per column, a value per row")

    def __len__(self) -> int:
        return len(self.values)

    def __iter__(self) -> Iterator[float]:
        return iter(self.values.tolist())

    @classmethod
    def randomised(cls, atoms: NDArray[np.float64], probabilities: NDArray[np.float64]) -> "Predictions":
        """Return the predictions of a randomised predictor."""
        return cls(probabilities @ atoms, atoms, probabilities)

    @property
    def is_randomised(self) -> bool:
        """Tell whether a row has a distribution rather than a number."""
        return self.probabilities is not None

    def mode(self) -> NDArray[np.float64]:
        """Most probable atom of each row (n,), the smallest of several; the values of a deterministic predictor."""
        if self.probabilities is None or self.atoms is None:
            return self.values
        return np.asarray(self.atoms[np.argmax(self.probabilities, axis=1)])

    def sample(self, random: np.random.Generator) -> NDArray[np.float64]:
        """Draw a number for each row (n,); the values of a deterministic predictor."""
        if self.probabilities is None or self.atoms is None:
            return self.values
        steps = np.cumsum(self.probabilities, axis=1)
        drawn = random.random(len(steps)) * steps[:, -1]
        return np.asarray(self.atoms[(steps < drawn[:, None]).sum(axis=1)])
