"""What the processes of this machine's jobs may use together: memory, processor cores and GPUs.

A batch system, a container or systemd limits a process by its control group, or by any group above it. Both versions of
control groups are read where ``/proc/self/mountinfo`` says that they are mounted.
"""

import os
from collections.abc import Iterator
from pathlib import Path

GPU_FILES = tuple(map(Path, ("/dev/nvidiactl", "/dev/kfd", "/dev/dxg")))
"""Of which one is there where PyTorch may find a GPU: NVIDIA's, AMD's, and Windows' for its Linux."""
MEMORY = ("memory.max", "memory.high", "memory.limit_in_bytes")
"""Files of a control group that hold a limit of memory in bytes, or a word."""


def machine_limits(device: str, root: Path = Path("/")) -> dict[str, int]:
    """Return what jobs that run at once on this machine may claim of it together, where the user sets no limits.

    Args:
        device: "cpu", "cuda", or "auto" for a GPU where there is one.
        root: where the file system begins.

    Returns:
        ``mem_mb``, 90% of the memory that a process here may use, in MB; and ``gpu``, 1: Snakemake gives jobs no
        device of their own, so jobs side by side would share the first one. Without a GPU there is none to share.
    """
    physical = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    limits = (_number(folder / name) for folder in _control_groups(root) for name in MEMORY)
    available = min([physical, *(limit for limit in limits if limit is not None)])
    shared = device == "cuda" or any(path.exists() for path in GPU_FILES)
    return {"mem_mb": int(0.9 * available / 1e6), **({"gpu": 1} if shared else {})}


def core_limit(root: Path = Path("/")) -> int:
    """Return how many cores the processes here may keep busy, by affinity and by the quotas of control groups."""
    present = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    quotas = (_quota(folder) for folder in _control_groups(root))
    return max(1, int(min([present, *(quota for quota in quotas if quota is not None)])))


def _control_groups(root: Path) -> Iterator[Path]:
    """Yield the folders of this process's control groups and of all groups above them, in every hierarchy."""
    try:
        mounts = root.joinpath("proc/self/mountinfo").read_text(encoding="utf-8").splitlines()
        members = root.joinpath("proc/self/cgroup").read_text(encoding="utf-8").splitlines()
    except OSError:  # no Linux, or no /proc
        return
    groups: dict[str, str] = {}
    for line in members:
        _, controllers, group = line.split(":", 2)
        groups |= dict.fromkeys(controllers.split(","), group)  # version 2 has no name: ""
    for line in mounts:
        before, _, after = line.partition(" - ")
        kind, options = after.split()[0], after.split()[-1].split(",")
        mounted, mount_root = before.split()[3:5]
        names = [""] if kind == "cgroup2" else [name for name in options if name in groups] if kind == "cgroup" else []
        for name in names[:1]:
            if name not in groups:
                continue
            top = root.joinpath(_unescaped(mount_root).lstrip("/"))
            member = Path(groups[name])
            inside = member.relative_to(mounted) if member.is_relative_to(mounted) else Path()
            names_below = [name for name in inside.parts if name not in ("/", "..")]
            yield from (top.joinpath(*names_below[:depth]) for depth in range(len(names_below), -1, -1))


def _unescaped(text: str) -> str:
    r"""Return a path of ``mountinfo``, in which a space is ``\040``."""
    return text.replace("\\040", " ").replace("\\011", "\t").replace("\\134", "\\")


def _number(path: Path) -> int | None:
    """Return the number in a file; ``None`` if there is no file, or a word such as ``max``."""
    try:
        text = path.read_text(encoding="utf-8").strip()
    except OSError:
        return None
    return int(text) if text.isdigit() else None


def _quota(folder: Path) -> float | None:
    """Return how many cores a control group may keep busy; ``None`` for no limit."""
    quota, period = _number(folder / "cpu.cfs_quota_us"), _number(folder / "cpu.cfs_period_us")
    if quota is None and (folder / "cpu.max").is_file():
        numbers = (folder / "cpu.max").read_text(encoding="utf-8").split()
        quota, period = (int(word) if word.isdigit() else None for word in (*numbers, "100000")[:2])
    return quota / period if quota and period else None
