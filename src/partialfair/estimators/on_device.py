"""Training tasks of the estimators whose rows lie on a GPU."""

from functools import cached_property
from importlib.util import find_spec

from partialfair.algorithms.contract import Task
from partialfair.algorithms.linear.problem import LinearProblem
from partialfair.estimators.inputs import InputError
from partialfair.models import torch_backend

DEVICES = ("auto", "cpu", "cuda")


class DeviceTask(Task):
    """A task that is solved on its device (see :mod:`partialfair.algorithms.linear.torch_problem`)."""

    @cached_property
    def problem(self) -> LinearProblem:
        """The training problem, its rows on the device."""
        from partialfair.algorithms.linear.torch_problem import TorchProblem

        return TorchProblem.of(super().problem, self.device)


def task_class(device: str, solver: str, fused: bool) -> type[Task]:
    """Where a task is solved: by the compiled kernels, or by PyTorch where a GPU is asked for, or "auto" finds one.

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
        return Task
    if not able:
        what = f"solver={solver!r}" if solver != "alm" else "this constraint"
        raise InputError(f"device is 'cuda', and {what} runs on the CPU only; use device='cpu' or 'auto'")
    torch_backend.require("device='cuda'")
    torch_backend.pick_device(device)
    return DeviceTask


def _has_gpu() -> bool:
    import torch

    return bool(torch.cuda.is_available())
