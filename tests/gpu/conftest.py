"""What needs a GPU, for ``make test-gpu``; otherwise these tests are not collected."""

import os

import pytest

WANTED = "PARTIALFAIR_GPU"
collect_ignore_glob = [] if os.environ.get(WANTED) else ["test_*.py"]


@pytest.fixture(scope="session", autouse=True)
def gpu() -> None:
    """A GPU that PyTorch can use, or no test of this folder passes."""
    torch = pytest.importorskip("torch", reason="needs torch: make torch GPU=1")
    if not torch.cuda.is_available():
        pytest.fail("PyTorch finds no CUDA device; install its build for CUDA: make torch GPU=1", pytrace=False)
