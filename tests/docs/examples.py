"""Write anew what the pages say that their code prints: python -m tests.docs.examples [PAGE ...]

The blocks of a page run in a scratch folder. What a block prints replaces the text block after it, and the pictures
that it writes replace those of ``docs/pictures`` that the page shows.
"""

import contextlib
import io
import os
import re
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

import matplotlib as mpl

from tests.docs.test_blocks import FENCE, ROOT, Page, commands, run_command, run_python


def rewritten(path: Path) -> str:
    """Return the text of a page with the present output of its blocks."""
    text, shown = path.read_text(encoding="utf-8"), Page(path.name, Path(), {})

    def block(found: re.Match[str]) -> str:
        kind = (found[1].split() or [""])[0]
        if kind == "python":
            run_python(shown, found[2])
        elif kind == "console":
            for line in commands(found[2]):
                run_command(shown, line)
        elif kind == "text" and shown.printed:
            printed, shown.printed = shown.printed, ""
            return f"```{found[1]}\n{printed.rstrip()}\n```"
        return found[0]

    return FENCE.sub(block, text)


def main(names: list[str]) -> None:
    """Rewrite pages of docs/ by name, the tutorial by default."""
    os.environ.setdefault("SOURCE_DATE_EPOCH", "0")
    mpl.rcParams.update({"svg.hashsalt": "partialfair", "svg.fonttype": "none"})  # the same file every time
    for name in names or ["tutorial.md"]:
        path = ROOT / "docs" / name
        before: Any = Path.cwd()
        with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stderr(io.StringIO()):
            shutil.copy(ROOT / "params.yaml", folder)
            shutil.copytree(ROOT / "papers", Path(folder) / "papers")
            os.chdir(folder)
            try:
                text = rewritten(path)
                for picture in re.findall(r"\]\(pictures/([\w.-]+)\)", text):
                    (ROOT / "docs" / "pictures").mkdir(exist_ok=True)
                    shutil.copy(picture, ROOT / "docs" / "pictures" / picture)
            finally:
                os.chdir(before)
        path.write_text(text, encoding="utf-8")
        print(path)


if __name__ == "__main__":
    main(sys.argv[1:])
