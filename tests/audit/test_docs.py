"""Every code block of the how-to pages runs, in order, and commands end with the status the page says."""

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from partialfair.cli import app

DOCS = Path(__file__).parents[2] / "docs"
BLOCK = re.compile(r"^```(python|console)\n(.*?)^```", re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("name", ["estimator.md", "audit.md"])
def test_blocks_run(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, Any] = {}
    blocks = BLOCK.findall((DOCS / name).read_text(encoding="utf-8"))
    assert len(blocks) >= 5
    for kind, code in blocks:
        if kind == "python":
            exec(compile(code, name, "exec"), namespace)
            continue
        for line in code.splitlines():
            command, _, note = line.partition("  #")
            words = shlex.split(command.removeprefix("$ "))
            assert words[0] == "partialfair"
            expected = int(found[1]) if (found := re.search(r"exit status (\d)", note)) else 0
            result = CliRunner().invoke(app, words[1:])
            assert result.exit_code == expected, (line, result.output, result.exception)
    if name == "audit.md":
        assert (tmp_path / "audit" / "audit.html").stat().st_size > 10_000
    else:
        assert (tmp_path / "frontier.png").is_file()
        assert namespace["blind"].certificate_.objective > namespace["aware"].certificate_.objective
