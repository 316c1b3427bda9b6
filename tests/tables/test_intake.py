"""The intake itself: one column has the same codes in every container, and each row keeps its own."""

from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from partialfair.data import guards, intake, lookalikes, missing_words
from partialfair.errors import DataError
from partialfair.metrics.choose_interval import suggest_interval
from partialfair.metrics.registry import on_request, registry

NAMES = ["a", "b & c", "Zürich", "x y", "<b>", "0", "-1"]
TEXTS = st.lists(st.sampled_from(NAMES) | st.none(), min_size=1, max_size=30)


def held(column: list[Any]) -> dict[str, Any]:
    """The column in every container that keeps a missing value."""
    gaps = np.array([value is None for value in column])
    return {
        "list": column,
        "tuple": tuple(column),
        "NaN in a list": [float("nan") if value is None else value for value in column],
        "objects": np.array(column, object),
        "masked": np.ma.masked_array(np.array([value or "hidden" for value in column]), gaps),
        "series": pd.Series(column, dtype=object),
        "texts of pandas": pd.Series(column, dtype="string"),
        "category": pd.Series(pd.Categorical(column, [*NAMES, "never"])),
        "categorical": pd.Categorical(column),
        "index": pd.Index(column, dtype=object),
        "Arrow": pa.array(column, pa.string()),
        "dictionary": pa.array(column, pa.string()).dictionary_encode(),
        "chunks": pa.chunked_array([column[:3], column[3:]], pa.string()),
        "large texts": pa.array(column, pa.large_string()),
        "one column of a table": pa.table({"g": pa.array(column, pa.string())}),
        "one column of a frame": pd.DataFrame({"g": column}, dtype=object),
        "mapping": {"g": column},
        "rows": [[value] for value in column],
    }


@given(TEXTS)
def test_a_column_has_the_same_codes_in_every_container(column: list[Any]) -> None:
    expected = sorted({value for value in column if value is not None})
    codes = [-1 if value is None else expected.index(value) for value in column]
    for kind, values in held(column).items():
        found = intake.groups(values, missing="drop")
        assert (found.names, found.codes.tolist()) == (tuple(expected), codes), kind


@given(TEXTS, st.randoms())
def test_permuted_rows_have_permuted_codes(column: list[Any], random: Any) -> None:
    order = list(range(len(column)))
    random.shuffle(order)
    plain, other = (intake.groups(values, missing="group") for values in (column, [column[row] for row in order]))
    assert other.names == plain.names and other.codes.tolist() == plain.codes[order].tolist()


@given(st.lists(st.sampled_from(NAMES), min_size=2, max_size=12, unique=True), st.data())
def test_known_groups_are_found_by_name(names: list[str], data: Any) -> None:
    """Whatever order the rows stand in, and however few they are."""
    fitted = intake.groups(names)
    rows = data.draw(st.lists(st.sampled_from(names), min_size=1))
    codes = intake.known_groups(rows, fitted.names, "groups")
    assert [fitted.names[code] for code in codes] == rows


@given(st.lists(st.floats(allow_nan=True, allow_infinity=False, width=32), min_size=1))
def test_numbers_are_the_same_in_every_container_and_as_texts(column: list[float]) -> None:
    gaps = np.isnan(column)
    texts = ["" if gap else repr(value) for value, gap in zip(column, gaps, strict=True)]
    for values in (column, np.array(column), pd.Series(column), pd.array(column, "Float64"), pa.array(column), texts):
        numbers, missing = intake.numbers(values, "scores")
        np.testing.assert_array_equal(missing, gaps)
        np.testing.assert_array_equal(numbers, column)


@pytest.mark.parametrize(
    "values", [["a", "b", "ab", "a b"], ["1", "10", "-1", "1e2", "1.5"], [">50K", "<=50K"], ["5", "5%"], ["ß", "s"]]
)
def test_different_values_look_different(values: list[str]) -> None:
    assert list(lookalikes.alike(values)) == []


@pytest.mark.parametrize("mixed", [[1, "1"], [1.0, "1"], [True, "True"], [True, 1], ["True", True, "a"]], ids=str)
def test_a_list_keeps_what_its_entries_are(mixed: list[Any]) -> None:
    """As an array of NumPy it would hold texts alone, or numbers alone."""
    for column in (mixed, tuple(mixed), mixed[::-1]):
        with pytest.raises(DataError, match="look alike"):
            intake.groups(column)


@pytest.mark.parametrize("text", ["none", "NONE", "None", "?", "unknown", "N.A.", "nan"])
def test_a_word_means_what_its_column_is_for(text: str) -> None:
    absent = {use for use, words in missing_words.MISSING_WORDS.items() if missing_words.is_missing(text, words)}
    assert absent == {
        "nan": {"group", "category", "label", "number"}, "n.a.": {"category", "label", "number"},
    }.get(text.casefold(), {"label", "number"})  # fmt: skip


def test_a_group_of_missing_values_does_not_join_one_of_that_name() -> None:
    with pytest.raises(DataError, match="'missing', which rows without one would join"):
        intake.groups(["Missing", None], missing="group")
    assert intake.groups(["Missing", "b"], missing="group").names == ("Missing", "b")


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("codes", [np.int8, np.uint16, np.int64])
def test_a_guard_hands_on_what_a_job_passes(kind: type, codes: type) -> None:
    """The very arrays: this is why guards are no part of fingerprints."""
    scores, y, group = np.arange(4, dtype=kind), np.array([1.0, -1, 1, -1]), np.array([0, 1, 0, 1], codes)
    assert all(one is other for one, other in zip(guards.rows(scores, y, group), (scores, y, group), strict=True))
    assert all(one is other for one, other in zip(guards.scored_groups(scores, group), (scores, group), strict=True))
    assert guards.rows(scores, None, group)[1] is None


LENGTHS = [name for name in (*registry(), *on_request()) if not name.startswith(("ks_", "auc_gap_signed"))]


@pytest.mark.parametrize("name", LENGTHS)
def test_every_metric_checks_its_rows(name: str) -> None:
    metric = (dict(registry()) | dict(on_request()))[name]
    scores, y, group = np.linspace(0, 1, 40), np.tile([1.0, -1.0], 20), np.repeat([0, 1], 20)
    for wrong, words in (
        ((scores, y[:-1], group), "y: 39 rows, scores have 40"),
        ((scores, y, group[:-1]), "group: 39 rows, scores have 40"),
        ((scores, y, group - 1), "group: the code -1 in row 0 is negative"),
        ((scores, y, group + 0.5), "group: the code 0.5 in row 0 is no whole number"),
        ((np.where(scores > 0.9, np.nan, scores).tolist(), y, group), "scores has no value in row"),
    ):
        with pytest.raises(DataError, match=words):
            metric(*wrong, [(0.0, 1.0)])


@pytest.mark.parametrize(
    ("score", "remedy"), [(np.inf, "write a finite number beyond all others"), (np.nan, "drop such rows")]
)
def test_the_remedy_for_infinite_scores_is_not_that_for_missing_ones(score: float, remedy: str) -> None:
    scores = np.append(np.linspace(0, 1, 99), score)
    with pytest.raises(DataError, match=f"scores.* in row 99.*; {remedy}"):
        suggest_interval(scores, np.arange(100) % 2)


def test_datasets_are_found_by_name() -> None:
    from partialfair import datasets

    assert datasets.csv_table.SPEC.name == "csv_table"
    with pytest.raises(ImportError, match="cannot import name 'csv_tabel'"):
        from partialfair.datasets import csv_tabel  # noqa: F401


@pytest.mark.parametrize("code", ["01", "1E0"])
def test_a_code_is_not_the_level_of_its_number(code: str) -> None:
    assert lookalikes.levels_matched(["1.0"], ["1"], "zip") == {"1.0": "1"}
    with pytest.raises(DataError, match=f"zip: '1' looks like '{code}'"):
        lookalikes.levels_matched(["1"], [code], "zip")
