"""Where an estimator's training problem is solved: on the CPU, or with its rows on a GPU."""

from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

from partialfair.errors import ConfigError
from partialfair.estimators.inputs import InputError
from partialfair.models import torch_backend

DEVICES = ("auto", "cpu", "cuda")


def on_device(device: str) -> Callable[[Any], Any]:
    """Return what moves a linear problem to a device (see :mod:`partialfair.algorithms.linear.torch_problem`)."""
    from partialfair.algorithms.linear.torch_problem import TorchProblem

    return lambda problem: TorchProblem.on_device(problem, device)


def placement(device: str, solver: str, fused: bool) -> Callable[[Any], Any] | None:
    """Return what moves a problem to a GPU, where one is asked for, or "auto" finds one; ``None``: it stays on the CPU.

    Args:
        device: "cpu", "cuda" or "auto".
        solver: name of the solver; "alm" alone runs on a GPU.
        fused: whether the compiled kernels serve the constraint; only such problems run on a GPU.

    Raises:
        InputError: no such device, or "cuda" for what does not run there.
        ConfigError: "cuda", and PyTorch is missing or finds none.
    """
    if device not in DEVICES:
        raise InputError(f"device is {device!r}; choose from {', '.join(DEVICES)}")
    able = solver == "alm" and fused
    if device == "cpu" or (device == "auto" and not (able and find_spec("torch") is not None and _has_gpu())):
        return None
    if not able:
        subject = f"solver={solver!r}" if solver != "alm" else "this constraint"
        raise InputError(f"device is 'cuda', and {subject} runs on the CPU only; use device='cpu' or 'auto'")
    torch_backend.require("device='cuda'")
    if not _has_gpu():
        raise ConfigError("device is 'cuda', and PyTorch finds no CUDA device; use device='cpu' or 'auto'")
    torch_backend.pick_device(device)
    return on_device(device)


def _has_gpu() -> bool:
    import torch

    return bool(torch.cuda.is_available())
