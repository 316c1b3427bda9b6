"""The built site, shared by the tests of this folder; built once, without a network as far as proxies are concerned."""

import os
import subprocess
import sys
from pathlib import Path

from tests.workflow.project import ROOT


def build(out: Path) -> Path:
    """Build the site into a folder, warnings being errors, and return it."""
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-b", "html", "-d", str(out / "trees")]
    nowhere = dict.fromkeys(("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"), "http://127.0.0.1:9")
    done = subprocess.run(
        [*command, str(ROOT / "docs"), str(out / "html")],
        env={**os.environ, **nowhere}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-4000:]
    return out / "html"
