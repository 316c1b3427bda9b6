"""The small workflow after one undisturbed run, made once for all tests and copied for each that spoils it."""

import shutil
import time
from pathlib import Path

import pytest

from tests.faults.lab import LIMIT, Lab, make_lab


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Lab:
    """The workflow after one run; do not change it. Parallel workers share it."""
    base = tmp_path_factory.getbasetemp()
    shared = (base.parent if base.name.startswith("popen-") else base) / "finished-lab"
    done = shared.with_suffix(".done")
    try:
        shared.with_suffix(".claimed").mkdir()
    except FileExistsError:
        return _wait(done, shared)
    lab = make_lab(shared)
    start = time.monotonic()
    ran = lab.snakemake()
    (shared / "seconds").write_text(f"{time.monotonic() - start:.3f}")
    done.write_text("" if ran.returncode == 0 else ran.stdout[-6000:])
    return _wait(done, shared)


def _wait(done: Path, shared: Path) -> Lab:
    """Wait for the worker that makes it."""
    deadline = time.monotonic() + LIMIT
    while not done.exists():
        assert time.monotonic() < deadline, "the undisturbed run did not end"
        time.sleep(0.2)
    assert not done.read_text(), done.read_text()
    return Lab(shared)


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    """The folder before any run."""
    return make_lab(tmp_path / "lab")


@pytest.fixture
def spoilt(finished: Lab, tmp_path: Path) -> Lab:
    """A copy of the finished run, to be spoilt."""
    shutil.copytree(finished.folder, tmp_path / "lab", symlinks=True)
    return Lab(tmp_path / "lab")
