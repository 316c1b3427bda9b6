"""Pages are read in sentences of at most 30 words, and write decimals in one style.

Code blocks, tables, comments and formulas are no sentences; what code writes into pages is not counted here.
"""

import re
from collections.abc import Iterator
from typing import Any

import yaml

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


def _texts_of_papers() -> Iterator[tuple[str, str]]:
    """Yield what pages quote of a paper's files, by name: claim and verdict, titles and captions of exhibits."""
    for path in sorted((ROOT / "papers").glob("*/*.yaml")):
        content: Any = yaml.safe_load(path.read_text(encoding="utf-8")) if path.stem in ("paper", "grid") else {}
        for entry, texts in [("", content), *(content.get("exhibits") or {}).items()]:
            for key in ("central_claim", "verdict", "title", "caption"):
                yield f"{path.relative_to(ROOT)}: {entry or key}", texts.get(key) or ""


TEXTS = [
    *((str(path.relative_to(ROOT)), path.read_text(encoding="utf-8")) for path in PAGES),
    *_texts_of_papers(),
]


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


def test_no_sentence_of_a_page_is_too_long() -> None:
    assert len(PAGES) > 100 and len(TEXTS) > len(PAGES) + 100
    found = [f"{name}: {words(line)} words: {line}"
             for name, text in TEXTS for line in sentences(text) if words(line) > LONGEST]  # fmt: skip
    assert not found, f"{len(found)} sentences of more than {LONGEST} words; divide them:\n" + "\n".join(found)


def prose(text: str) -> str:
    """Return a page without code, comments and addresses."""
    for pattern in (COMMENT, FENCE, INDENTED):
        text = pattern.sub("\n\n", text)
    return re.sub(r"`[^`]*`|\]\([^)]*\)", "", text)


def test_a_decimal_number_begins_with_a_digit() -> None:
    bare = re.compile(r"(?<![\w.}/\\])\.\d+")
    found = [f"{name}: {number}" for name, text in TEXTS for number in bare.findall(prose(text))]
    assert not found, "write 0.5 in place of .5:\n" + "\n".join(found)


def test_a_verdict_is_said_in_the_words_of_verdicts() -> None:
    # The history tells verdicts in the words of its time.
    found = [name for name, text in TEXTS if "undecided" in prose(text) and name != "docs/history.md"]
    assert not found, "write that one cannot tell in place of undecided: " + ", ".join(found)


def test_a_long_sentence_is_noticed() -> None:
    many = " ".join(["word"] * LONGEST)
    text = f"# Title\n\n{many}.\n\n- `code` {many}. Short.\n\n```python\n{many} more\n```\n\n| {many} | {many} |\n"
    assert [words(line) for line in sentences(text)] == [1, LONGEST, LONGEST + 1, 1]
    assert [words(line) for line in sentences("It sees [a link](x.md), e.g. one. `x` is code; $a.b$ is math.")] == [
        6,
        6,
    ]
