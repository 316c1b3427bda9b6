"""A network as a function of one flat vector of weights, with its derivatives; batch statistics are fixed."""

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from partialfair.data.dataset import Matrix
from partialfair.models.network import BATCH, read_batch

Inputs = tuple[torch.Tensor, torch.Tensor]


class NetworkFunction:
    """``h_w(x)``: what a solver needs to know of a network.

    The network is used as at prediction time: batch normalisation with stored statistics. So the score of a row is
    a function of that row and the weights alone, as the formulation assumes.

    Args:
        network: a module with ``forward(x, group)``; its present weights are :attr:`start`.
        device: where to compute.
        channels_last: memory layout of images, faster on recent GPUs.
        autocast: compute convolutions in bfloat16 (CUDA only).
    """

    def __init__(
        self, network: torch.nn.Module, device: torch.device, channels_last: bool = False, autocast: bool = False
    ) -> None:
        self.network = network.to(device).eval()
        self.device, self.channels_last = device, channels_last
        self.autocast = autocast and device.type == "cuda"
        self._parts = [(name, parameter.shape) for name, parameter in self.network.named_parameters()]
        self._sizes = [shape.numel() for _, shape in self._parts]

    @property
    def size(self) -> int:
        """Return the number of weights."""
        return sum(self._sizes)

    def start(self) -> torch.Tensor:
        """Return the network's weights, flat, (size,)."""
        return torch.cat([parameter.detach().reshape(-1) for _, parameter in self.network.named_parameters()])

    def put(self, w: torch.Tensor) -> None:
        """Write a flat vector of weights (size,) into the module, in place."""
        with torch.no_grad():
            for parameter, values in zip(self.network.parameters(), w.split(self._sizes), strict=True):
                parameter.copy_(values.view(parameter.shape))

    def inputs(self, X: Matrix, group: NDArray[np.integer], rows: NDArray[np.integer]) -> Inputs:
        """Return the rows as the network reads them."""
        x, codes = read_batch(X, group, rows, self.device)
        if self.channels_last and x.ndim == 4:
            x = x.contiguous(memory_format=torch.channels_last)
        return x, codes

    def scores(self, w: torch.Tensor, inputs: Inputs) -> torch.Tensor:
        """Return the scores (b,), differentiable by ``w``."""
        views = {
            name: values.view(shape) for (name, shape), values in zip(self._parts, w.split(self._sizes), strict=True)
        }
        with torch.autocast(self.device.type, torch.bfloat16, enabled=self.autocast):
            out: torch.Tensor = torch.func.functional_call(self.network, views, inputs)
        return out.to(w.dtype)

    def tangent(self, w: torch.Tensor, direction: torch.Tensor, inputs: Inputs) -> NDArray[np.float64]:
        """Directional derivatives ``<dh/dw, direction>`` of the scores, (b,)."""
        with torch.no_grad():
            _, out = torch.func.jvp(lambda v: self.scores(v, inputs), (w,), (direction,))
        return to_numpy(out)

    def all_scores(self, w: torch.Tensor, X: Matrix, group: NDArray[np.integer]) -> NDArray[np.float64]:
        """Return the scores (n,) with weights w (size,), ``BATCH`` rows at a time, without a graph."""
        out = np.empty(X.shape[0])
        with torch.no_grad():
            for begin in range(0, X.shape[0], BATCH):
                rows = np.arange(begin, min(begin + BATCH, X.shape[0]))
                out[rows] = to_numpy(self.scores(w, self.inputs(X, group, rows)))
        return out

    def state(self, w: torch.Tensor) -> dict[str, NDArray[Any]]:
        """Return the weights and batch statistics by name, as plain arrays."""
        self.put(w)
        return {name: values.detach().cpu().numpy().copy() for name, values in self.network.state_dict().items()}


def to_numpy(values: torch.Tensor) -> NDArray[np.float64]:
    """Return the values as a float64 array."""
    return values.detach().cpu().numpy().astype(np.float64)
