"""Limits of memory and cores are those of the process's own control group, or of any group above it."""

from pathlib import Path

import pytest

from reproduction.grid.machine import core_limit, machine_limits

MOUNTS_1 = """\
31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755
32 31 0:29 {top} /sys/fs/cgroup/cpu,cpuacct rw,relatime - cgroup cgroup rw,cpu,cpuacct
35 31 0:32 {top} /sys/fs/cgroup/memory rw,relatime shared:9 - cgroup cgroup rw,memory
"""
MOUNTS_2 = "31 23 0:28 {top} /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n"
MEMBERS_1 = "4:memory:{group}\n2:cpu,cpuacct:{group}\n1:name=systemd:/\n0::/\n"
MEMBERS_2 = "0::{group}\n"
GIB = 1 << 30


def system(root: Path, mounts: str, members: str, limits: dict[str, str]) -> Path:
    """A file system with the tables of mounts and groups of a process, and some limits."""
    files = {"proc/self/mountinfo": mounts, "proc/self/cgroup": members} | limits
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


@pytest.mark.parametrize("depth", ["", "/a", "/a/job 7", "/a/job 7/step"])
@pytest.mark.parametrize("version", [1, 2])
def test_the_smallest_limit_above_the_process_counts(tmp_path: Path, version: int, depth: str) -> None:
    memory, quota = ("sys/fs/cgroup/memory", "sys/fs/cgroup/cpu,cpuacct") if version == 1 else ("sys/fs/cgroup",) * 2
    limits = {f"{memory}{depth}/{'memory.limit_in_bytes' if version == 1 else 'memory.max'}": f"{GIB // 4}\n"}
    if version == 1:
        limits |= {f"{quota}{depth}/cpu.cfs_quota_us": "100000\n", f"{quota}{depth}/cpu.cfs_period_us": "100000\n"}
    else:
        limits |= {f"{quota}{depth}/cpu.max": "100000 100000\n"}
    mounts, members = (MOUNTS_1, MEMBERS_1) if version == 1 else (MOUNTS_2, MEMBERS_2)
    root = system(tmp_path, mounts.format(top="/"), members.format(group="/a/job 7/step/deeper"), limits)
    assert machine_limits("cpu", root)["mem_mb"] == int(0.9 * GIB / 4 / 1e6)
    assert core_limit(root) == 1


def test_the_limit_of_another_group_does_not_count(tmp_path: Path) -> None:
    limits = {"sys/fs/cgroup/other/memory.max": "1000000\n", "sys/fs/cgroup/a/memory.max": "max\n"}
    root = system(tmp_path, MOUNTS_2.format(top="/"), "0::/a\n", limits)
    assert machine_limits("cpu", root) == machine_limits("cpu", tmp_path / "nothing here")


def test_a_container_sees_its_own_group_as_the_top(tmp_path: Path) -> None:
    """The mount then begins at the group of the container, to which the names of groups are relative."""
    limits = {"sys/fs/cgroup/inner/memory.max": f"{GIB // 8}\n"}
    root = system(tmp_path, MOUNTS_2.format(top="/docker/7"), "0::/docker/7/inner\n", limits)
    assert machine_limits("cpu", root)["mem_mb"] == int(0.9 * GIB / 8 / 1e6)
    limits = {"sys/fs/cgroup/memory.high": f"{GIB // 16}\n"}
    root = system(tmp_path / "hidden", MOUNTS_2.format(top="/"), "0::/../../elsewhere\n", limits)
    assert machine_limits("cpu", root)["mem_mb"] == int(0.9 * GIB / 16 / 1e6)


def test_half_a_core_is_one(tmp_path: Path) -> None:
    root = system(tmp_path, MOUNTS_2.format(top="/"), "0::/a\n", {"sys/fs/cgroup/a/cpu.max": "50000 100000\n"})
    assert core_limit(root) == 1
