"""The page of exhibits lists every kind with its options, from their models."""

import importlib.util
import re
from pathlib import Path

import pytest

from reproduction.exhibits.exhibit import Options, kinds

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture(scope="module")
def page() -> str:
    pytest.importorskip("sphinx")
    spec = importlib.util.spec_from_file_location("facts", DOCS / "extensions" / "facts.py")
    facts = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(facts)
    return facts.kinds()


def test_every_kind_is_listed_with_its_options(page):
    sections = dict(re.findall(r"^## (`.*?)$(.*?)(?=^## |\Z)", page, re.MULTILINE | re.DOTALL))
    for (name, source), kind in kinds().items():
        own = sections[f"`{name}`" + (f", source `{source}`" if source else "")]
        for option in set(kind.options.model_fields) - set(Options.model_fields):
            assert f"| `{option}` |" in own, f"{name}: {option}"
    assert len(sections) == len(kinds())


def test_every_figure_kind_has_a_picture_that_exists(page):
    pictures = re.findall(r"!\[(\w+) (\w*)\]\((.*?)\)", page)
    assert {(name, source) for name, source, _ in pictures} >= {key for key, kind in kinds().items() if kind.figure}
    assert all((DOCS / path).is_file() for _, _, path in pictures)


def test_the_page_asks_for_the_list():
    assert "{kinds}" in (DOCS / "exhibit-kinds.md").read_text(encoding="utf-8")
