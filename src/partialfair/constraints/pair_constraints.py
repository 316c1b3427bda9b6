"""Constraints on sums over pairs of rows, which take O(n log n) with a piecewise-linear surrogate."""

from dataclasses import dataclass
from typing import ClassVar, Generic, Protocol, Self, TypeVar

import numpy as np

from partialfair.constraints.parts import STEEP, Vector
from partialfair.constraints.surrogates import ClippedLinear, Surrogate
from partialfair.errors import ConfigError


class PairProgram(Protocol):
    """A family on fixed rows, before a surrogate is chosen."""

    @property
    def start_score(self) -> float:
        """Score of the feasible start."""
        ...


P = TypeVar("P", bound=PairProgram)


@dataclass(frozen=True, eq=False)
class PairConstraints(Generic[P]):
    """Base of constraints on pairs of rows: they have no auxiliary variables, and any constant score is feasible.

    Attributes:
        program: the family on fixed rows.
        surrogate: its stand-in for the indicator.
        hinges: shifts of the surrogate's parts.
    """

    ranks_rows: ClassVar[bool] = True
    program: P
    surrogate: Surrogate
    hinges: tuple[float, float]

    @classmethod
    def of(cls, program: P, surrogate: Surrogate, name: str) -> Self:
        """The constraints of a family with a surrogate.

        Args:
            program: the family on fixed rows.
            surrogate: a stand-in for the indicator.
            name: name of the constraint, for the message.

        Raises:
            ConfigError: the surrogate is not piecewise linear.
        """
        if surrogate.hinges is None:
            raise ConfigError(
                f"surrogate: {name} sums over pairs of rows, which takes O(n log n) only with a "
                "piecewise-linear one; use clipped_linear (option sharpness)"
            )
        return cls(program, surrogate, surrogate.hinges)

    @property
    def start(self) -> Vector:
        """The family has no auxiliary variables."""
        return np.zeros(0)

    @property
    def start_score(self) -> float:
        """Any constant score is feasible."""
        return self.program.start_score

    def sharp(self) -> Self:
        """The same with a steep clipped-linear surrogate."""
        steep = ClippedLinear(STEEP)
        return type(self)(self.program, steep, steep.hinges)
