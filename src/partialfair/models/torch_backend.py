"""PyTorch is optional: whether it is there, what to say if not, and which device is meant."""

from importlib.util import find_spec
from typing import Any

from partialfair.errors import ConfigError

REMEDY = "needs PyTorch: run `make torch`"


def available() -> bool:
    """Tell whether PyTorch is installed."""
    return find_spec("torch") is not None


def require(feature: str) -> None:
    """Refuse to go on without PyTorch.

    Raises:
        ConfigError: it is not installed.
    """
    if not available():
        raise ConfigError(f"{feature} {REMEDY}")


def pick_device(name: str) -> Any:
    """Return the device meant by "cpu", "cuda" or "auto" (CUDA where there is some).

    Raises:
        ConfigError: "cuda", and there is none.
    """
    import torch

    if name == "cuda" and not torch.cuda.is_available():
        raise ConfigError("device is cuda, and PyTorch finds no CUDA device; set device to cpu or auto in params.yaml")
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    if name == "cuda":  # the same sums in the same order at every run
        torch.backends.cudnn.deterministic = True
        torch.backends.cudnn.benchmark = False
        # Convolutions in TF32, PyTorch's default, moved scores by a thousandth where float32 moves them by a millionth.
        torch.backends.cudnn.allow_tf32 = False
    return torch.device(name)
