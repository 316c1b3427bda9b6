"""A room may not bind more pronouns than it does, nor a house define more classes twice."""

from pathlib import Path

import pytest

from tests.style import language

STORED = {"pronouns": {"src/a/b": 2}, "doubled": {"src/a": ["Row"]}}


@pytest.mark.parametrize(
    ("text", "pronouns"),
    [
        ("found = [one for one in range(3)]", 2),
        ("def own(first, first_row): pass", 2),
        ("try:\n    pass\nexcept OSError as other:\n    pass", 1),
        ("other_group = left_out = found.own", 0),
    ],
)
def test_names_that_code_binds_are_counted(tmp_path: Path, text: str, pronouns: int):
    path = tmp_path / "module.py"
    path.write_text(text)
    assert language.count_files([path]).pronouns.total() == pronouns


@pytest.mark.parametrize(
    ("pronouns", "doubled", "sentences"),
    [
        ({"src/a/b": 2}, {"src/a": ["Row"]}, []),
        ({"src/a/b": 3}, {"src/a": []}, ["src/a/b: 3 names are pronouns, 1 more than"]),
        ({"src/a/c": 1}, {"src/a": ["Row"]}, ["src/a/c: 1 names are pronouns, 1 more than"]),
        ({"src/a/b": 0}, {"src/a": ["Cell", "Row"]}, ["src/a: class Cell is defined in two files"]),
    ],
)
def test_what_is_stored_may_only_shrink(pronouns: dict[str, int], doubled: dict[str, list[str]], sentences: list[str]):
    now = {"pronouns": pronouns, "doubled": doubled}
    lines = list(language.excess(now, STORED))
    assert len(lines) == len(sentences)
    assert all(line.startswith(sentence) for line, sentence in zip(lines, sentences, strict=True))
    assert not list(language.excess(language.lowered(now, STORED), STORED))


def test_comments_and_lines_of_code_are_told_from_docstrings(tmp_path: Path):
    path = tmp_path / "module.py"
    path.write_text('"""Prose\n# in a text."""\n\nX = 1  # a comment\n# another\nY = 2  # noqa: E741\n')
    count = language.count_files([path])
    assert (count.comments, count.code) == (2, 2)


def test_tests_of_papers_are_no_room(tmp_path: Path):
    for name in ("src/a/b/c/d.py", "src/a/e.py", "papers/p/algorithms/f.py", "papers/p/tests/test_g.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("class Row: pass")
    now = language.measured(language.rooms(tmp_path))
    assert now["pronouns"] == {"src/a/b": 0, "src/a": 0, "papers/p": 0}
    assert now["doubled"] == {"src/a": ["Row"], "papers/p": []}
