"""Which rows a stochastic method draws at each step: a function of seed, stream and step, not of what was drawn before.

So a resumed run, a run stacked with others and a run by itself read the same rows.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from partialfair.seeding import generator

Rows = NDArray[np.int64]
CHUNK = 256  # steps whose rows are looked up at once


@dataclass(eq=False)
class Permutations:
    """Rows without replacement: permutations of a pool, a new one for every pass, cut into batches that may span two.

    Attributes:
        pool: row numbers.
        batch: rows per step.
        seeds: one per run.
        name: of the stream.
        cyclic: use the first permutation in every pass.
    """

    pool: Rows
    batch: int
    seeds: Sequence[int]
    name: str
    cyclic: bool = False
    _chunk: tuple[int, Rows] = field(default=(-1, np.zeros((0, 0, 0), np.int64)), init=False)
    _passes: dict[tuple[int, int], Rows] = field(default_factory=dict, init=False)

    def drawn_at(self, step: int) -> Rows:
        """Rows (R, batch) of a step."""
        number, index = divmod(step, CHUNK)
        if self._chunk[0] != number:
            self._chunk = number, np.stack([self._rows(seed, number) for seed in self.seeds])
        return self._chunk[1][:, index]

    def _rows(self, seed: int, chunk: int) -> Rows:
        """Rows (CHUNK, batch) of one run."""
        size = self.pool.size
        # rows start .. last of the endless sequence of permutations, one permutation per pass over the pool
        start = chunk * CHUNK * self.batch
        last = start + CHUNK * self.batch
        passes = [self._permutation(seed, number) for number in range(start // size, (last - 1) // size + 1)]
        joined = np.concatenate(passes)[start % size :][: last - start]
        return joined.reshape(CHUNK, self.batch)

    def _permutation(self, seed: int, number: int) -> Rows:
        number = 0 if self.cyclic else number
        if (seed, number) not in self._passes:
            drawn = generator("rows", self.name, seed, number).permutation(self.pool)
            older = [key for key in self._passes if key[0] == seed and key[1] < number - 1]
            for key in older:
                del self._passes[key]
            self._passes[seed, number] = drawn
        return self._passes[seed, number]


@dataclass(eq=False)
class Balanced:
    """Equal numbers of rows from every stratum, each by :class:`Permutations` of its own.

    Attributes:
        strata: row numbers of each stratum.
        batch: rows per stratum and step.
        seeds, name, cyclic: see :class:`Permutations`.
    """

    strata: Sequence[Rows]
    batch: int
    seeds: Sequence[int]
    name: str
    cyclic: bool = False
    _streams: list[Permutations] = field(default_factory=list, init=False)

    def __post_init__(self) -> None:
        for index, rows in enumerate(self.strata):
            name = f"{self.name}/{index}"
            self._streams.append(Permutations(rows, self.batch, self.seeds, name, self.cyclic))

    def drawn_at(self, step: int) -> Rows:
        """Rows (R, S, batch) of a step."""
        return np.stack([stream.drawn_at(step) for stream in self._streams], axis=1)


Streams = tuple[Permutations, Balanced, Balanced]
"""Rows of the objective, and two draws for the constraints."""


def with_two_draws(n_rows: int, strata: Sequence[Rows], settings: Any, seeds: Sequence[int]) -> Streams | None:
    """Return the rows of a method that draws twice for its constraints, ``None`` where it takes all rows.

    Args:
        n_rows: number of rows of the objective.
        strata: row numbers of each stratum of the constraints.
        settings: ``batch``, rows of the objective per step; ``group_batch``, those of each stratum; ``cyclic``, of the
            draws for the constraints, see :class:`Permutations`; ``full_batch``.
        seeds: one per run.
    """
    if settings.full_batch:
        return None
    size, cyclic = settings.group_batch, settings.cyclic
    draw_1, draw_2 = (Balanced(strata, size, seeds, name, cyclic) for name in ("first", "second"))
    return Permutations(np.arange(n_rows), settings.batch, seeds, "objective"), draw_1, draw_2
