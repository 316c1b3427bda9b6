"""Batches with equally many rows of every group, for a ``DataLoader``."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from torch import Tensor

from partialfair.errors import ConfigError, DataError
from partialfair.seeding import derive_seed
from partialfair.torch.replicas import n_replicas


class BalancedBatches(torch.utils.data.Sampler):  # type: ignore[misc]
    """Batches of ``per_group`` rows of every group: ``DataLoader(data, batch_sampler=BalancedBatches(group, 16))``.

    The rows of a group come in a random order, each once before any comes again; small groups come round more often
    than large ones. The order is a function of seed and epoch, which ``set_epoch`` sets, as with PyTorch's
    ``DistributedSampler``. In data-parallel training, every replica gets batches of its own.

    The mean loss of such a batch weighs every group alike. Multiply the losses of its rows by ``weights[group]`` for an
    unbiased estimate of the mean over all rows.

    Args:
        group: (n,) codes, for instance of groups, or of groups and labels together.
        per_group: rows of each code in a batch.
        batches: number of batches of an epoch in each replica; by default as many as the largest group fills once.
        seed: of the order.
        replicas, rank: of the data-parallel training; by default those of the default process group.

    Attributes:
        weights: (G,) share of a code among all rows times G; 0 for codes without rows.

    Raises:
        ConfigError: no rows, or a number that is not positive.
        DataError: groups that are no codes.
    """

    def __init__(
        self,
        group: Tensor,
        per_group: int,
        *,
        batches: int | None = None,
        seed: int = 0,
        replicas: int | None = None,
        rank: int | None = None,
    ) -> None:
        codes = _codes(group)
        numbers = {"per_group": per_group, "batches": 1 if batches is None else batches, "rows": codes.numel()}
        for name, value in numbers.items():
            if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
                raise ConfigError(f"{name} is {value!r}; use a positive whole number")
        self.replicas = n_replicas() if replicas is None else replicas
        self.rank = rank if rank is not None else torch.distributed.get_rank() if self.replicas > 1 else 0
        self.rows = [torch.nonzero(codes == code).flatten() for code in codes.unique()]
        self.per_group, self.seed, self.epoch = per_group, seed, 0
        fill = max(len(rows) for rows in self.rows) // (per_group * self.replicas)
        self.batches = max(fill, 1) if batches is None else batches
        counts = torch.bincount(codes)
        self.weights = counts / counts.sum() * len(self.rows)

    def set_epoch(self, epoch: int) -> None:
        """Choose the order of an epoch."""
        self.epoch = epoch

    def __len__(self) -> int:
        return self.batches

    def __iter__(self) -> Iterator[list[int]]:
        draw = torch.Generator().manual_seed(derive_seed("balanced batches", self.seed, self.epoch) % 2**63)
        size = self.batches * self.replicas * self.per_group
        orders = [_repeated(rows, size, draw).view(-1, self.per_group) for rows in self.rows]
        for batch in range(self.rank, self.batches * self.replicas, self.replicas):
            yield torch.cat([order[batch] for order in orders]).tolist()


def _codes(group: Any) -> Tensor:
    """Codes (n,) of the groups, on the CPU."""
    numbers = np.asarray(group.cpu() if isinstance(group, Tensor) else group).reshape(-1)
    if numbers.dtype.kind not in "biuf" or not np.all((numbers >= 0) & (numbers == np.floor(numbers))):
        raise DataError(
            f"group holds {numbers[:3].tolist()}, ...; pass a whole number from 0 on for every row, as "
            "numpy.unique(group, return_inverse=True)[1] has them"
        )
    return torch.as_tensor(numbers.astype(np.int64))


def _repeated(rows: Tensor, size: int, draw: torch.Generator) -> Tensor:
    """As many rows as asked for: random orders of all rows, one after the other."""
    passes = -(-size // len(rows))
    return torch.cat([rows[torch.randperm(len(rows), generator=draw)] for _ in range(passes)])[:size]
