"""The lock file: what is installed, and what results were made with, against what it pins."""

import re
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from reproduction.verify.chain import Chain, Fault

LOCK = Path("requirements.lock")
PINNED = ("numpy", "scipy", "numba")
"""Packages whose version every training job records, since its numbers can depend on it."""
INSTALLED = (*PINNED, "pandas", "pyarrow", "scikit-learn", "matplotlib", "llvmlite")


def check_lock(chain: Chain) -> dict[str, str]:
    """Compare installed packages with the lock file; return its versions by package."""
    if not LOCK.is_file():
        chain.broken(LOCK, Fault.MISSING, "there is no such file", "restore it from the repository")
        return {}
    text = LOCK.read_text(encoding="utf-8")
    pins = dict(re.findall(r"^([a-z0-9._-]+)==([^\s;\\]+)", text, re.MULTILINE))
    different = [f"{name} {_installed(name)}, not {pins[name]}" for name in INSTALLED if _differs(name, pins)]
    if different:
        remedy = "install what it says (delete .venv/.ready and run `make test`)"
        chain.broken(LOCK, Fault.OUTDATED, f"installed is {'; '.join(different)}", remedy)
    else:
        chain.link(
            "lock", LOCK, f"{len(pins)} packages with checksums; the {len(INSTALLED)} that compute are installed"
        )
    return pins


def _differs(name: str, pins: dict[str, str]) -> bool:
    return name in pins and _installed(name) != pins[name]


def _installed(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "absent"
