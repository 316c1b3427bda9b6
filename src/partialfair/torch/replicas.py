"""Means over the replicas of a data-parallel training (DistributedDataParallel, FSDP)."""

from typing import Any

import torch.distributed as dist
from torch import Tensor


def n_replicas(process_group: Any = None) -> int:
    """Number of processes of a group, by default of the default group; 1 where none was initialised."""
    return dist.get_world_size(process_group) if dist.is_available() and dist.is_initialized() else 1


def mean_over_replicas(values: Tensor, process_group: Any = None) -> Tensor:
    """Mean of the tensors that the replicas pass here, without graph; the same bits in all of them."""
    replicas = n_replicas(process_group)
    if replicas == 1:
        return values.detach()
    total = values.detach().clone()  # of all backends only NCCL averages; all of them add
    dist.all_reduce(total, group=process_group)
    return total / replicas
