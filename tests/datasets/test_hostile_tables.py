"""Bad files of one's own: each is one sentence that names file, column or row; none gives a silent result."""

import bz2
import gzip
import lzma
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from partialfair.data.dataset import Dataset
from partialfair.errors import ConfigError, DataError
from reproduction.datasets.named import named_dataset
from reproduction.grid.checks import check_files
from reproduction.grid.config import load_config
from tests.workflow.project import TINY

ENTRY: dict[str, Any] = {"module": "csv_table", "file": "t.csv", "label": "y", "groups": "g", "minimum_group_size": 10}
ROWS = 120


def table() -> dict[str, list[str]]:
    random = np.random.default_rng(0)
    return {
        "g": [("f", "m")[i % 2] for i in range(ROWS)],
        "x": [f"{value:.3f}" for value in random.normal(size=ROWS)],
        "town": [("a", "b", "c")[i % 3] for i in range(ROWS)],
        "y": [("0", "1")[int(random.random() < 0.5)] for _ in range(ROWS)],
    }


def text(columns: dict[str, list[str]] | None = None, separator: str = ",", end: str = "\n") -> str:
    columns = columns or table()
    return end.join([separator.join(columns), *map(separator.join, zip(*columns.values(), strict=True))]) + end


def cell(column: str, value: str, row: int = 7) -> str:
    columns = table()
    columns[column][row] = value
    return text(columns)


def whole(column: str, value: Callable[[int], str]) -> str:
    return text({**table(), column: [value(i) for i in range(ROWS)]})


def load(content: str | bytes, **changes: Any) -> Dataset:
    Path("t.csv").write_bytes(content.encode() if isinstance(content, str) else content)
    return named_dataset("mine", {**ENTRY, **changes}).load("data/raw")


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


ROW8 = "row 8 after the header"
WORDS = [
    "abc",
    "0x1F",
    '"1,234"',
    "1 234",
    "1_000",
    "12%",
    "$5",
    "1.2.3",
    "#REF!",
    "1e",
    "½",
]
MISSING = [
    "",
    " ",
    "NA",
    "N/A",
    "n/a",
    "#N/A",
    "<NA>",
    "nan",
    "null",
    "NULL",
    "?",
    "-",
    "--",
    ".",
    "None",
    "none",
    "unknown",
    "Unknown",
    "N.A.",
]
BAD: dict[str, tuple[str | bytes, list[str]]] = {
    # One bad cell must not turn a column of numbers into as many categories.
    **{f"bad cell {word}": (cell("x", word), ["column 'x'", ROW8, "categorical or drop"]) for word in WORDS},
    **{f"not finite {word}": (cell("x", word), ["column 'x'", ROW8]) for word in ("inf", "-inf", "Infinity", "1e400")},
    **{f"too large {word}": (cell("x", word), [ROW8, "beyond 1e+12"]) for word in ("1e308", "-1e38", "9" * 60)},
    **{f"missing {word!r}": (cell("x", word), ["column 'x' has no value", "row 8"]) for word in MISSING},
    **{
        f"missing group {word!r}": (cell("g", word), [f"column 'g' has no value in {ROW8}", "missing: drop"])
        for word in ("", "  ")
    },
    **{f"missing label {word!r}": (cell("y", word), ["column 'y' has no value"]) for word in ("", "NA", "NaN")},
    "third label": (cell("y", "2"), ["label 'y': 3 values"]),
    "one label": (whole("y", lambda i: "1"), ["label 'y': 1 value"]),
    "label with a space": (cell("y", " 1"), ["column 'y'", "differ in blanks alone"]),
    "label in another case": (whole("y", lambda i: ("yes", "no", "No")[i % 3]), ["'no' and 'No'", "look alike"]),
    "half of a gzip file": (gzip.compress(text().encode())[:200], ["compressed by gzip", "cannot be unpacked"]),
    "parquet by another name": (b"PAR1" + bytes(60), ["it is parquet", "end in .parquet"]),
    "header without a name": ("\n" + text(), ["line 1 is empty"]),
    "header alone, without its end": ("g,x,town,y", ["there are no rows"]),
    "one group": (whole("g", lambda i: "f"), ["1 groups are left"]),
    "group of one row": (cell("g", "x"), ["fewer than 10 rows in group 'x': 1"]),
    "group with another case": (cell("g", "F"), ["column 'g': 'f' and 'F' in row 8", "look alike"]),
    "group with a space": (cell("g", "f "), ["'f' and 'f ' differ in blanks alone; write them alike"]),
    "groups of one row each": (whole("g", lambda i: f"p{i}"), ["fewer than 10 rows"]),
    # Identifiers.
    "text identifiers": (whole("town", lambda i: f"id{i}"), ["'town' takes 120 different values in 120 rows", "drop"]),
    "half identifiers": (whole("town", lambda i: f"id{i // 3 * 2 + i % 2}"), ["'town' takes"]),
    "addresses": (whole("town", lambda i: f"p{i}@example.org"), ["looks like an identifier"]),
    "dates": (whole("town", lambda i: f"2020-01-{i:03d}"), ["'town' takes 120"]),
    "row numbers": (whole("x", lambda i: str(i)), ["column 'x' numbers the rows (0, 1, ...)"]),
    "row numbers from 1": (whole("x", lambda i: str(i + 1)), ["column 'x' numbers the rows"]),
    "thousands": (whole("x", lambda i: f'"{i},{i % 900 + 100}"'), ["with marks as texts", "write plain numbers"]),
    "decimal commas": (whole("x", lambda i: f'"{i},{i % 7}5"'), ["numbers with marks as texts"]),
    "percentages": (whole("x", lambda i: f"{i}%"), ["numbers with marks as texts"]),
    "lists": (whole("town", lambda i: f'"[{i}]"'), ["'town' takes 120"]),
    # Headers.
    "empty file": ("", ["the file is empty"]),
    "header alone": ("g,x,town,y\n", ["there are no rows"]),
    "no header": (text().split("\n", 1)[1], ["there is no column 'y'"]),
    "nameless column": (text().replace("g,x,", "g,,"), ["column 2 has no name"]),
    "nameless last column": (text().replace("town,y\n", "town,y,\n", 1), ["column 5 has no name"]),
    "repeated column": (text().replace("town,y", "x,y", 1), ["column 'x' occurs twice"]),
    "open quotation": (text().replace("town,y", '"town,y', 1), ["a quotation mark of the header line is not closed"]),
    "header on two lines": (text().replace("town", '"to\nwn"', 1), ["a quotation mark of the header line"]),
    "other label": (text().replace(",y\n", ",Y\n", 1), ["there is no column 'y'", "Y, g, town, x"]),
    "another separator": (text(separator=":"), ["there is no column"]),
    "blanks": (text(separator=" "), ["there is no column"]),
    # Lines.
    "short line": (text().replace("\n", "\nf,1\n", 1), ["not a readable CSV file", "correct that line"]),
    "long line": (text().replace("\n", "\nf,1,a,0,9\n", 1), ["not a readable CSV file"]),
    "total line": (text() + "total,,,\n", ["has no value"]),
    "decimal comma unquoted": (cell("x", "1,5"), ["not a readable CSV file"]),
    # Bytes.
    "latin-1": (text().replace("town", "Straße", 1).encode("latin-1"), ["line 1 is not UTF-8"]),
    "latin-1 below": (cell("town", "ö").encode("latin-1"), ["column 'town'", "save the file as UTF-8"]),
    "utf-16": (text().encode("utf-16"), ["text in UTF-16", "save it as UTF-8"]),
    "zip": (b"PK\x03\x04" + bytes(range(256)), ["t.csv", "ZIP archive or a workbook"]),
    "zeros": (b"\0" * 500, ["t.csv"]),
    "binary": (bytes(range(128, 256)) * 4, ["not UTF-8"]),
    "html": ("<!doctype html>\n<html><body>not found</body></html>\n", ["there is no column"]),
    "json": ('{"g": "f", "x": 1}\n', ["t.csv"]),
    # Numbers that are none, as a column.
    "booleans with a mistake": (cell("y", "true"), ["column 'y': '1' and 'true' in row 8", "look alike"]),
    "a formula": (cell("x", "=1+1"), ["column 'x'", ROW8]),
    "a unit": (cell("x", "3 kg"), ["column 'x'", ROW8]),
    "a range": (cell("x", "3-5"), ["column 'x'", ROW8]),
    "a fraction": (cell("x", "1/2"), ["column 'x'", ROW8]),
    "a date": (cell("x", "2020-01-01"), ["column 'x'", ROW8]),
    "a time": (cell("x", "12:30"), ["column 'x'", ROW8]),
    "a letter O": (cell("x", "1O"), ["column 'x'", ROW8]),
    "brackets": (cell("x", "(5)"), ["column 'x'", ROW8]),
    "an apostrophe": (cell("x", "'5"), ["column 'x'", ROW8]),
    "a long dash": (cell("x", "−5"), ["column 'x'", ROW8]),
    "true among numbers": (cell("x", "True"), ["column 'x'", ROW8]),
    "ten mistakes": (whole("x", lambda i: f"{i / 7:.2f}" if i % 13 else "bad"), ["column 'x' holds 'bad' in row 1 "]),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_a_bad_table_is_one_sentence(case: str) -> None:
    content, parts = BAD[case]
    with pytest.raises((DataError, ConfigError)) as caught:
        load(content)
    message = str(caught.value)
    assert "\n" not in message and len(message) < 600
    for part in ("t.csv", *parts):
        assert part in message, message


GOOD: dict[str, tuple[str | bytes, dict[str, Any]]] = {
    "plain": (text(), {}),
    "gzip": (gzip.compress(text().encode()), {}),
    "bzip2": (bz2.compress(text().encode()), {}),
    "xz": (lzma.compress(text().encode()), {}),
    "Zstandard": (pa.compress(text().encode(), codec="zstd", asbytes=True), {}),
    "Excel's separator line": ("sep=;\n" + text(separator=";"), {}),
    "a separator that only Excel's line tells": ("sep=:\r\n" + text(separator=":", end="\r\n"), {}),
    "a doubled column that is dropped": (
        text().replace("town,y", "town,y,town", 1).replace("\n", ",a\n").replace("town,a", "town", 1),
        {"drop": ["town"]},
    ),
    "semicolons": (text(separator=";"), {}),
    "tabs": (text(separator="\t"), {}),
    "bars": (text(separator="|"), {}),
    "carriage returns": (text(end="\r\n"), {}),
    "byte order mark": (b"\xef\xbb\xbf" + text().encode(), {}),
    "no last line end": (text().rstrip("\n"), {}),
    "blanks in the header": (text().replace("g,x,town,y", "g, x , town,y", 1), {}),
    "quoted header": (text().replace("g,x,town,y", '"g","x","town","y"', 1), {}),
    "a separator in a quoted name": (text().replace("town", '"town, or village; hamlet|farm"', 1), {}),
    "a quotation mark in a name": (text().replace("town", '"the ""town"""', 1), {}),
    "quoted numbers": (whole("x", lambda i: f'"{(i * 37) % 101 / 7:.2f}"'), {}),
    "a line end in a cell": (whole("town", lambda i: '"a\nb"' if i % 2 else "c"), {}),
    "exponents": (whole("x", lambda i: f"{(i * 37) % 101}e-3"), {}),
    "tiny numbers": (cell("x", "1e-310"), {}),
    "whole numbers that repeat": (whole("x", lambda i: str(i % 40)), {}),
    "row numbers, if asked for": (whole("x", lambda i: str(i)), {"numeric": ["x"], "categorical": ["town"]}),
    "a mistake in a dropped column": (cell("x", "abc"), {"drop": ["x"]}),
    "missing rows dropped": (cell("x", ""), {"missing": "drop"}),
    "codes with leading zeros": (whole("town", lambda i: f"0{i % 4}"), {"categorical": ["town"], "numeric": ["x"]}),
    "accents": (cell("town", "Århus"), {"minimum_group_size": 5}),
}


@pytest.mark.parametrize("case", GOOD)
def test_a_good_table_has_as_many_inputs_as_it_should(case: str) -> None:
    content, changes = GOOD[case]
    data = load(content, **changes)
    X = data.X.toarray() if hasattr(data.X, "toarray") else data.X
    assert data.n_rows in (ROWS, ROWS - 1) and np.isfinite(X).all()
    assert X.shape[1] <= 5 and data.group_names == ("f", "m") and set(np.unique(data.y)) == {-1.0, 1.0}


def test_parquet_is_refused_in_the_same_words() -> None:
    frame = pd.DataFrame(table())
    frame["x"] = frame["x"].astype(float)
    frame.loc[7, "x"] = 1e200
    frame.to_parquet("t.parquet")
    with pytest.raises(DataError, match=r"t\.parquet: column 'x' holds 1e\+200 in row 8"):
        load("", file="t.parquet")
    Path("t.parquet").write_bytes(b"PAR1")
    with pytest.raises(DataError, match="not a readable parquet"):
        load("", file="t.parquet")


@pytest.mark.parametrize(
    ("changes", "parts"),
    [
        ({"file": "none.csv"}, ["none.csv: there is no such file"]),
        ({"label": "approved"}, ["datasets.mine: t.csv has no column 'approved'"]),
        ({"groups": ["g", "age"]}, ["no column 'age'"]),
        ({"drop": ["id"]}, ["no column 'id'"]),
        ({"numeric": ["income"]}, ["no column 'income'"]),
    ],
)
def test_check_refuses_files_and_columns_that_are_not_there(changes: dict[str, Any], parts: list[str]) -> None:
    import copy

    import yaml

    Path("t.csv").write_text(text())
    content = copy.deepcopy(TINY)
    runs = content["experiments"]["demo"]["runs"]
    runs["mine"] = runs.pop("simulated")
    content["datasets"] = {"mine": {**ENTRY, **changes}}
    Path("params.yaml").write_text(yaml.safe_dump(content))
    config = load_config("params.yaml")
    with pytest.raises(DataError) as caught:
        check_files(config)
    assert all(part in str(caught.value) for part in parts), caught.value


@pytest.mark.parametrize("positive", ["yes", "no"])
def test_a_label_in_two_cases_is_not_half_negative(positive: str) -> None:
    with pytest.raises(DataError, match="column 'y': 'yes' and 'YES' in row 3 .*look alike; write them alike"):
        load(whole("y", lambda i: ("yes", "no", "YES", "No")[i % 4]), positive=positive)


def test_the_positive_of_two_words_does_not_depend_on_capitals() -> None:
    words = whole("y", lambda i: ("Yes", "no")[i % 2])
    assert load(words).y[0] == 1.0


def test_a_label_that_is_a_number_may_be_larger_than_an_input() -> None:
    found = load(whole("y", lambda i: f"{i}e13"), task="regression")
    assert found.y.max() == 119e13
