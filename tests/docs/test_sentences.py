"""Pages are read in sentences of at most 30 words, and write decimals in one style.

Code blocks, tables, comments and formulas are no sentences; what code writes into pages is not counted here.
"""

import re
from collections.abc import Iterator
from pathlib import Path

from tests.workflow.project import ROOT

LONGEST = 30
"""Words of the longest sentence that a page may have."""

MADE = {"papers", "exhibits", "generated", "examples"}
"""Folders of docs/ that the build writes."""

PAGES = sorted(
    [
        *(path for path in (ROOT / "docs").rglob("*.md") if path.relative_to(ROOT / "docs").parts[0] not in MADE),
        *(ROOT / "papers").glob("*/README.md"),
        *(ROOT / name for name in ("README.md", "CONTRIBUTING.md")),
    ]
)

FRONT_MATTER = re.compile(r"\A---\n.*?\n---\n", re.DOTALL)
COMMENT = re.compile(r"<!-- benchmarks: written.*?<!-- end of benchmarks -->|<!--.*?-->", re.DOTALL)
FENCE = re.compile(r"^( *)(```|:::)[^\n]*\n.*?^\1\2 *$", re.MULTILINE | re.DOTALL)
DISPLAY = re.compile(r"\$\$.*?\$\$", re.DOTALL)
PICTURE = re.compile(r"!\[[^\]]*\]\([^)]*\)")
LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")
ITEM = re.compile(r"^\s*(?:[-*] |\d+\. |: |#+ |> ?)", re.MULTILINE)
INDENTED = re.compile(r"(?<=\n\n)(?: {4}(?! *[-*:] ).*\n|\n(?= {4}))+")
ROW = re.compile(r"^ *\|.*$", re.MULTILINE)
ENDING = re.compile(r"(?<=[.!?])[)\"*_”]*\s+(?=[(\"*_“`]*[A-Z0-9`κλ])")
ABBREVIATION = re.compile(r"\b(?:e\.g|i\.e|cf|vs|al|Fig|Eq|Sec|Thm|Lem|Alg|Prop|Ass|p)\.$")
WORD = re.compile(r"[A-Za-z0-9À-ž]")


def sentences(text: str) -> Iterator[str]:
    """Yield the sentences of a page in Markdown, each as plain text on one line."""
    text = FRONT_MATTER.sub("", text)
    for pattern in (COMMENT, FENCE, INDENTED, ROW):
        text = pattern.sub("\n\n", text)
    text = PICTURE.sub(" ", DISPLAY.sub(" formula ", text))
    text = re.sub(r"`[^`]*`", "Code", re.sub(r"\$[^$\n]+(?:\n[^$\n]+)?\$", "Formula", text))
    text = LINK.sub(r"\1", text)
    text = ITEM.sub("\n\n", text)
    for paragraph in re.split(r"\n\s*\n", text):
        line = " ".join(paragraph.split())
        start = 0
        for boundary in ENDING.finditer(line):
            if ABBREVIATION.search(line[start : boundary.start()].rstrip(')"*_”')):
                continue
            yield line[start : boundary.start()]
            start = boundary.end()
        if line[start:]:
            yield line[start:]


def words(sentence: str) -> int:
    """Count the words of a sentence: what stands between spaces and has a letter or a digit."""
    return sum(bool(WORD.search(word)) for word in sentence.split())


def too_long(path: Path) -> list[str]:
    """Return the sentences of a page that are too long, with their number of words."""
    return [f"{path.relative_to(ROOT)}: {words(line)} words: {line}"
            for line in sentences(path.read_text(encoding="utf-8")) if words(line) > LONGEST]  # fmt: skip


def test_no_sentence_of_a_page_is_too_long() -> None:
    assert len(PAGES) > 100
    found = [line for path in PAGES for line in too_long(path)]
    assert not found, f"{len(found)} sentences of more than {LONGEST} words; divide them:\n" + "\n".join(found)


def prose(text: str) -> str:
    """Return a page without code, comments and addresses."""
    for pattern in (COMMENT, FENCE, INDENTED):
        text = pattern.sub("\n\n", text)
    return re.sub(r"`[^`]*`|\]\([^)]*\)", "", text)


def test_a_decimal_number_begins_with_a_digit() -> None:
    bare = re.compile(r"(?<![\w.}/\\])\.\d+")
    found = [f"{path.relative_to(ROOT)}: {number}" for path in PAGES
             for number in bare.findall(prose(path.read_text(encoding="utf-8")))]  # fmt: skip
    assert not found, "write 0.5 in place of .5:\n" + "\n".join(found)


def test_a_long_sentence_is_noticed() -> None:
    many = " ".join(["word"] * LONGEST)
    text = f"# Title\n\n{many}.\n\n- `code` {many}. Short.\n\n```python\n{many} more\n```\n\n| {many} | {many} |\n"
    assert [words(line) for line in sentences(text)] == [1, LONGEST, LONGEST + 1, 1]
    assert [words(line) for line in sentences("It sees [a link](x.md), e.g. one. `x` is code; $a.b$ is math.")] == [
        6,
        6,
    ]
