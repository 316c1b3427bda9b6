"""The page of changed verdicts lists only claims whose verdict is another one than it was."""

import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
sys.path.append(str(ROOT / "docs" / "extensions"))

import changes  # noqa: E402

PAPERS = list(changes.claims_now())


@pytest.mark.parametrize("paper", PAPERS)
def test_every_listed_claim_says_something_else_now(paper: str) -> None:
    now = changes.claims_now()[paper]
    listed = {name: before for change in changes.load()[paper] for name, before in change.claims.items()}
    present = {name: changes.label(now[name]) for name in listed if name in now}
    assert [name for name, word in present.items() if word == listed[name]] == []


@pytest.mark.parametrize("paper", PAPERS)
def test_a_listed_claim_stands_in_the_claims_of_its_paper(paper: str) -> None:
    entries = yaml.safe_load((ROOT / "papers" / paper / "claims.yaml").read_text(encoding="utf-8"))
    names = {entry["id"] for entry in entries}
    listed = {name for change in changes.load()[paper] for name in change.claims}
    assert listed - names == set()


def test_a_line_shows_both_verdicts() -> None:
    text = changes.text("plada")
    assert "holds in part, now **some hold, some fail**" in text
