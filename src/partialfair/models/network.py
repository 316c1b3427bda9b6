"""Scores by a neural network: a trained one as plain arrays, and networks by name."""

import json
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from partialfair.data.dataset import Matrix
from partialfair.data.images import ImageRows
from partialfair.errors import DataError
from partialfair.models import torch_backend
from partialfair.models.stored import Arrays, StoredModel, group_codes

STATE = "state/"
BATCH = 256  # rows scored at once


@dataclass(frozen=True, eq=False)
class NetworkScore(StoredModel):
    """A trained network.

    Attributes:
        architecture: "resnet18", "mlp" or "linear".
        options: arguments of its constructor.
        state: its weights and batch statistics by name.
        aux: (P,) auxiliary variables of the constraints (the thresholds theta of pSP).
        shape: columns of a feature matrix, or channels, height, width of images.
        group_names: of the dataset it was trained on.
        uses_group: whether the score depends on the group.
        status: "ok", or why there is no usable model.
    """

    architecture: str
    options: dict[str, Any]
    state: dict[str, NDArray[Any]]
    aux: NDArray[np.float64]
    shape: tuple[int, ...]
    group_names: tuple[str, ...]
    uses_group: bool = False
    status: str = "ok"
    device: str = field(default="cpu", compare=False)

    @property
    def usable(self) -> bool:
        """Tell whether the model can score rows."""
        return bool(self.state)

    def scores(self, X: Matrix, group: NDArray[np.integer] | None = None) -> NDArray[np.float64]:
        """Return the scores (n,) of raw features (n, d) or images, and group codes (n,).

        Raises:
            DataError: rows of another shape than those trained on, or groups missing or out of range.
            ConfigError: PyTorch is not installed.
        """
        shape = X.image_shape if isinstance(X, ImageRows) else (X.shape[1],)
        if tuple(shape) != self.shape:
            raise DataError(f"rows have shape {tuple(shape)}, the model was trained on {self.shape}")
        codes = group_codes(group, X.shape[0], self.group_names, self.uses_group)
        torch_backend.require("scoring with this model")
        import torch

        out = np.empty(X.shape[0])
        with torch.no_grad():
            for begin in range(0, X.shape[0], BATCH):
                rows = np.arange(begin, min(begin + BATCH, X.shape[0]))
                inputs = read_batch(X, codes, rows, torch.device(self.device))
                out[rows] = self._network(*inputs).cpu().numpy()
        return out

    @cached_property
    def _network(self) -> Any:
        import torch

        network = build(self.architecture, self.options)
        network.load_state_dict({name: torch.from_numpy(np.array(values)) for name, values in self.state.items()})
        return network.to(torch.device(self.device)).eval()

    def arrays(self) -> Arrays:
        """Return what ``save`` writes, by name: the constructor's options are no arrays, and stand as JSON."""
        content = {
            "architecture": self.architecture,
            "options": self.options,
            "shape": list(self.shape),
            "uses_group": self.uses_group,
            "status": self.status,
        }
        return {
            "kind": np.array(self.kind),
            "content": np.array(json.dumps(content, sort_keys=True)),
            "aux": self.aux,
            "group_names": np.array(self.group_names, np.str_),
            **{STATE + name: values for name, values in self.state.items()},
        }

    @classmethod
    def from_arrays(cls, arrays: Arrays) -> Self:
        """Return the model whose arrays these are."""
        content = json.loads(str(arrays["content"]))
        return cls(
            architecture=content["architecture"],
            options=content["options"],
            state={name.removeprefix(STATE): values for name, values in arrays.items() if name.startswith(STATE)},
            aux=arrays["aux"],
            shape=tuple(content["shape"]),
            group_names=tuple(arrays["group_names"].tolist()),
            uses_group=bool(content["uses_group"]),
            status=content["status"],
        )


MODEL = NetworkScore


def build(architecture: str, options: dict[str, Any]) -> Any:
    """Return a network with undefined weights.

    Raises:
        ValueError: unknown architecture.
    """
    if architecture == "resnet18":
        from partialfair.models.resnet import ResNet18

        return ResNet18(**options)
    if architecture == "mlp":
        from partialfair.models.mlp import MLP

        return MLP(**options)
    if architecture == "linear":
        from partialfair.models.linear_network import LinearNetwork

        return LinearNetwork(**options)
    raise ValueError(f"unknown architecture {architecture!r}")


def read_batch(X: Matrix, group: NDArray[np.integer], rows: NDArray[np.integer], device: Any) -> tuple[Any, Any]:
    """Inputs of a network, on its device: features (b, d) or pixels (b, C, H, W), and group codes (b,)."""
    import torch

    if isinstance(X, ImageRows):
        values = torch.from_numpy(X.batch(rows))
    else:
        chosen = X[rows]
        values = torch.from_numpy(np.asarray(chosen if isinstance(X, np.ndarray) else chosen.toarray(), np.float32))
    return values.to(device), torch.from_numpy(np.asarray(group[rows], np.int64)).to(device)
