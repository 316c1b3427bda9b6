"""docs/torch.md: a loop under a constraint is at most six lines longer than one without, and cooper's does the same."""

import re
import textwrap
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from tests.docs.test_blocks import blocks  # noqa: E402
from tests.workflow.project import ROOT  # noqa: E402

PAGE = ROOT / "docs" / "torch.md"


def code() -> list[str]:
    return [text for kind, text in blocks(PAGE) if kind == "python"]


def lines(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.strip()]


def vector(names: dict[str, Any]) -> Any:
    return torch.cat([p.detach().reshape(-1) for p in names["network"].parameters()])


def test_a_constraint_takes_six_lines_at_most() -> None:
    without, under = lines(code()[1]), lines(code()[2])
    assert "for epoch in range(20):" in without and "for epoch in range(20):" in under
    assert len(under) - len(without) <= 6
    new = [line for line in under if line not in without]
    assert len(new) <= 6 and sum("backward()" in line for line in new) == 1


def test_coopers_program_on_the_page_takes_the_same_steps() -> None:
    """Run where cooper is installed; it is in no lock of this project."""
    pytest.importorskip("cooper")
    names: dict[str, Any] = {}
    for block in code()[:3]:
        exec(block, names)
    ours = vector(names)
    program = re.search(r"code-block:: python\n\n(.*?)\n```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert program is not None
    exec(textwrap.dedent(program[1]), names)
    torch.testing.assert_close(vector(names), ours, rtol=1e-4, atol=1e-5)
    assert float(names["duals"].dual.max()) > 0.05
    theirs = next(iter(names["problem"].dual_parameters()))
    torch.testing.assert_close(theirs.detach(), names["duals"].dual, rtol=1e-3, atol=1e-4)
