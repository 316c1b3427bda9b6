"""Every example runs to its end by itself, within seconds of processor time, and shows something."""

import os
import re
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from tests.workflow.project import ROOT

EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
SECONDS = 10
"""Processor time of an example, without the compilation of kernels that the first run on a machine does, and without
the import of PyTorch, which takes most of the time of the example that needs it."""


def run(arguments: list[str], folder: Path) -> float:
    """Run Python in an empty folder; return its processor seconds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        [sys.executable, *arguments], cwd=folder, env={**os.environ, "MPLBACKEND": "agg"},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert done.returncode == 0, done.stderr[-2000:]
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_runs_in_seconds(path: Path, tmp_path: Path) -> None:
    if "import torch" in path.read_text(encoding="utf-8"):
        pytest.importorskip("torch")
        limit = SECONDS + run(["-c", "import torch, partialfair.torch"], tmp_path)
    else:
        limit = SECONDS
    assert run([str(path)], tmp_path) < limit or run([str(path)], tmp_path) < limit  # the first may compile
    assert not list(tmp_path.iterdir()), "an example leaves files where it is started"


def test_an_example_needs_no_download_and_is_listed_on_the_site() -> None:
    assert len(EXAMPLES) == 8
    settings = (ROOT / "docs" / "conf.py").read_text(encoding="utf-8")
    for path in EXAMPLES:
        text = path.read_text(encoding="utf-8")
        assert f'"{path.name}"' in settings, "name it in docs/conf.py, where the order of the gallery stands"
        assert not re.search(r"fetch_|urlopen|requests|https?://", text), path


@pytest.mark.long(suite="site")
def test_the_site_has_every_example_with_its_notebook(site: Path) -> None:
    downloads = {path.name for path in (site / "_downloads").rglob("*.ipynb")}
    for path in EXAMPLES:
        page = site / "examples" / f"{path.stem}.html"
        assert f"{path.stem}.ipynb" in downloads and page.is_file()
        text = page.read_text(encoding="utf-8")
        assert "sphx-glr-script-out" in text or "output_html" in text, "the page shows no output"
