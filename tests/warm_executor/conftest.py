import signal
import sys
from pathlib import Path

import pytest

from tests.warm_executor.toy import WARM, Toy

# In the background of a script, pytest and all its children would ignore interrupts, which tests send.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
if sys.platform != "linux":
    collect_ignore_glob = ["test_*.py"]  # warm processes are Linux's; elsewhere the executor is the local one


@pytest.fixture
def toy(tmp_path: Path) -> Toy:
    return Toy(tmp_path)


@pytest.fixture(scope="session")
def pair(tmp_path_factory: pytest.TempPathFactory) -> tuple[Toy, Toy]:
    """The same workflow run with Snakemake's own executor and with the plugin."""
    cold, warm = (Toy(tmp_path_factory.mktemp(name)) for name in ("cold", "warm"))
    for project in (cold, warm):
        (project.folder / "results.smk").rename(project.folder / "Snakefile")
    assert cold.run("--cores", "2", "--scheduler", "greedy") == 0, cold.output
    assert warm.run("--cores", "2", *WARM, "--warm-rehearse", "toy.library:rehearse") == 0, warm.output
    return cold, warm
