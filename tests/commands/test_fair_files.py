"""The verbs adjust and fit: what they write, their exit status, and all faults of a call at once."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet
from typer.testing import CliRunner

from partialfair.audit import audit_scores
from partialfair.commands.cli import app
from partialfair.errors import ConfigError, DataError

INTERVAL = ("--interval", "0", "0.4")


@pytest.fixture
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> pd.DataFrame:
    monkeypatch.chdir(tmp_path)
    random = np.random.default_rng(0)
    sex = random.choice(["F", "M"], 2000)
    score = (random.normal(size=2000) + 0.7 * (sex == "M")).round(4)
    y = np.where(random.random(2000) < 1 / (1 + np.exp(0.5 - score)), "yes", "no")
    city = random.choice(["Rome", "Oslo"], 2000)
    found = pd.DataFrame({"sex": sex, "score": score, "age": np.arange(2000) % 50 + 20, "city": city, "y": y})
    found.to_csv("rows.csv", index=False)
    return found


def call(*words: str) -> Any:
    """The result of a command line; errors that a person can act on are raised."""
    result = CliRunner().invoke(app, [*words])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


@pytest.mark.parametrize("out", ["fair.csv", "fair.parquet"])
def test_adjusted_scores_keep_kappa_and_all_columns(table: pd.DataFrame, out: str) -> None:
    result = call("adjust", "rows.csv", "--group", "sex", *INTERVAL, "--kappa", "0.05", "--out", out)
    assert result.exit_code == 0 and "status: ok" in result.output and out in result.output
    written = pd.read_csv(out) if out.endswith("csv") else pd.read_parquet(out)
    assert [*written.columns] == [*table.columns, "fair_score"] and (written["sex"] == table["sex"]).all()
    audit = audit_scores(written["fair_score"], written["sex"], interval=[(0, 0.4)])
    assert audit.metric("sp") <= 0.0501 < audit_scores(table["score"], table["sex"], interval=[(0, 0.4)]).metric("sp")
    for code in ("F", "M"):
        rows = (written["sex"] == code).to_numpy()
        assert (np.argsort(written["fair_score"][rows]) == np.argsort(table["score"][rows])).mean() > 0.99


def test_a_promise_that_is_not_kept_is_status_one_with_the_file(table: pd.DataFrame) -> None:
    options = ("--group", "sex", *INTERVAL, "--confidence", "0.95", "--json", "--out", "fair.csv")
    kept = call("adjust", "rows.csv", "--kappa", "0.3", *options)
    content = json.loads(kept.output)
    assert kept.exit_code == 0 and content["status"] == "ok" and "in the population" in content["promise"]
    missed = call("adjust", "rows.csv", "--kappa", "0.02", *options)
    assert missed.exit_code == 1 and json.loads(missed.output)["status"].startswith("not promised")
    assert Path("fair.csv").exists()


def test_rows_with_missing_values_are_left_out_where_asked(table: pd.DataFrame) -> None:
    table = table.astype(object)
    table.loc[[3, 5], "sex"], table.loc[7, "score"] = None, None
    table.to_csv("rows.csv", index=False)
    result = call("adjust", "rows.csv", "--group", "sex", *INTERVAL, "--missing", "drop", "--out", "fair.csv")
    assert "3 rows with missing values were left out" in result.output and len(pd.read_csv("fair.csv")) == 1997


def test_every_fault_of_a_call_is_told_at_once_and_nothing_is_written(table: pd.DataFrame) -> None:
    table = table.astype(object)
    table.loc[3, "score"], table.loc[7, "sex"], table.loc[9, "age"], table.loc[11, "y"] = "abc", None, "x", None
    table.to_csv("rows.csv", index=False)
    wrong = ("--interval", "0.4", "0.1", "--kappa", "-1", "--kappa-scale", "x", "--confidence", "3")
    parts = ["alpha < beta", "kappa is -1.0", "kappa_scale is 'x'", "confidence is 3.0", "column 'sex' has no value in"]
    parts += ["row 8 after the header", "'abc' in row 4 after the header"]
    with pytest.raises(DataError) as told:
        call("adjust", "rows.csv", "--group", "sex", *wrong, "--out", "fair.txt")
    assert str(told.value).startswith("rows.csv: 7 faults") and "let it end in .csv" in str(told.value)
    assert all(part in str(told.value) for part in parts)
    with pytest.raises(DataError) as told:
        call("fit", "rows.csv", "--label", "y", "--group", "sex", *wrong, "--drop", "nope", "--out", "fair.csv")
    parts += ["there is no column 'nope'", "'x' in row 10 after the header", "column 'y' has no value in row 12"]
    assert all(part in str(told.value) for part in parts)
    with pytest.raises(DataError, match="2 faults: there is no column 'Score'; did you mean 'score'.*'gender'"):
        call("adjust", "rows.csv", "--score", "Score", "--group", "gender", "--out", "fair.csv")
    with pytest.raises(DataError, match="there is a column 'age' already"):
        call("adjust", "rows.csv", "--group", "city", "--missing", "drop", "--column", "age", "--out", "fair.csv")
    assert not list(Path().glob("fair*"))


def test_a_fit_scores_its_rows_and_those_of_another_file(table: pd.DataFrame) -> None:
    call("fit", "rows.csv", "--label", "y", "--group", "sex", *INTERVAL, "--kappa", "0.2", "--out", "fair.csv")
    fitted = pd.read_csv("fair.csv")
    assert audit_scores(fitted["fair_score"], fitted["sex"], interval=[(0, 0.4)]).metric("sp") <= 0.2001
    assert ((fitted["fair_score_decision"] == fitted["y"]).mean()) > (table["y"] == "no").mean()
    table.iloc[::-1].drop(columns="y").to_csv("new.csv", index=False)
    options = ("--label", "y", "--group", "sex", *INTERVAL, "--kappa", "0.2")
    call("fit", "rows.csv", *options, "--apply", "new.csv", "--out", "again.csv")
    again = pd.read_csv("again.csv")
    assert np.allclose(again["fair_score"].to_numpy()[::-1], fitted["fair_score"])
    table.drop(columns=["y", "sex"]).to_csv("new.csv", index=False)
    blind = ("--label", "y", "--group", "sex", *INTERVAL, "--kappa", "0.8", "--blind")
    call("fit", "rows.csv", *blind, "--apply", "new.csv", "--out", "blind.csv")
    assert len(pd.read_csv("blind.csv")) == 2000


def test_groups_and_columns_of_the_other_file_are_checked(table: pd.DataFrame) -> None:
    table.assign(sex="X").drop(columns="age").to_csv("new.csv", index=False)
    with pytest.raises(DataError, match=r"new.csv: there is no column 'age'"):
        call("fit", "rows.csv", "--label", "y", "--group", "sex", "--apply", "new.csv", "--out", "fair.csv")
    table.assign(sex="X").to_csv("new.csv", index=False)
    with pytest.raises(DataError, match=r"new.csv: .*group 'X' was not among those of rows.csv"):
        call("fit", "rows.csv", "--label", "y", "--group", "sex", "--apply", "new.csv", "--out", "fair.csv")
    assert not Path("fair.csv").exists()


def test_identifiers_are_no_inputs(table: pd.DataFrame) -> None:
    table.assign(name=[f"p{row}" for row in range(2000)]).to_csv("rows.csv", index=False)
    with pytest.raises(DataError, match="column 'name' has 2000 different texts; name it in --drop"):
        call("fit", "rows.csv", "--label", "y", "--group", "sex", "--out", "fair.csv")


FIT = ("fit", "rows.csv", "--label", "y", "--group", "sex", *INTERVAL, "--kappa", "0.9", "--out", "fair.csv")


def test_a_level_of_another_file_is_known_by_its_value(table: pd.DataFrame) -> None:
    table["city"] = table["city"].map({"Rome": "1", "Oslo": "2"})
    table.to_csv("rows.csv", index=False)
    call(*FIT, "--category", "city")
    expected = pd.read_csv("fair.csv")["fair_score"]
    table.assign(city=table["city"] + ".0").to_csv("new.csv", index=False)
    call(*FIT, "--category", "city", "--apply", "new.csv")
    pd.testing.assert_series_equal(pd.read_csv("fair.csv")["fair_score"], expected)
    table.assign(city=np.where(np.arange(2000) % 4 == 0, "3", table["city"])).to_csv("new.csv", index=False)
    result = call(*FIT, "--category", "city", "--apply", "new.csv")
    assert "column 'city': 25.0% of the rows have a level that no fitted row has" in result.output
    table.assign(city="3").to_csv("new.csv", index=False)
    with pytest.raises(DataError, match=r"new.csv: column 'city': no row has a level with which the model was fitted"):
        call(*FIT, "--category", "city", "--apply", "new.csv")


@pytest.mark.parametrize("write", [str.upper, "{} ".format])
def test_a_level_of_another_file_that_is_written_otherwise_is_refused(table: pd.DataFrame, write: Any) -> None:
    table.assign(city=table["city"].map(write)).to_csv("new.csv", index=False)
    with pytest.raises(DataError, match=r"new.csv: column 'city': '.*' looks like '.*', with which"):
        call(*FIT, "--apply", "new.csv")


@pytest.mark.parametrize("codes", [["01", "1E2"], ["02", "100"]])
def test_a_code_with_zeros_or_an_exponent_is_not_the_level_of_its_number(table: pd.DataFrame, codes: list[str]) -> None:
    for path, texts in (("rows.csv", codes), ("new.csv", [f"{float(code):g}" for code in codes])):
        table.assign(city=np.where(table["city"] == "Rome", *texts)).to_csv(path, index=False)
    with pytest.raises(DataError, match=r"new.csv: column 'city': '.*' looks like '(0.|1E2)', with which"):
        call(*FIT, "--category", "city", "--apply", "new.csv")


def test_one_row_of_one_group_is_scored(table: pd.DataFrame) -> None:
    table.iloc[:1].to_csv("one.csv", index=False)
    call(*FIT, "--apply", "one.csv")
    assert len(pd.read_csv("fair.csv")) == 1


def test_the_index_of_a_table_is_no_input(table: pd.DataFrame) -> None:
    noise = table.assign(score=np.random.default_rng(1).normal(size=2000)).sort_values("y")
    noise.index = pd.Index([*range(7, 2007)])
    noise.to_parquet("rows.parquet")
    call("fit", "rows.parquet", *FIT[2:])
    written = pd.read_csv("fair.csv")
    assert (written["fair_score_decision"] == written["y"]).mean() < 0.7


def test_whole_numbers_beside_a_missing_one_stay_what_they_are(table: pd.DataFrame) -> None:
    numbers = pd.array([None, *(2**53 + row % 3 for row in range(1999))], dtype="Int64")
    table.assign(person=numbers).to_parquet("rows.parquet")
    call("adjust", "rows.parquet", "--group", "sex", *INTERVAL, "--out", "fair.parquet")
    assert parquet.read_table("fair.parquet")["person"].to_pylist() == [None, *numbers[1:].tolist()]
    result = call("audit", "rows.parquet", "--score", "score", "--group", "person", "--missing", "drop")
    assert all(str(2**53 + code) in result.output for code in range(3))


def test_neither_new_column_replaces_one_of_the_file(table: pd.DataFrame) -> None:
    table.assign(fair_score_decision="human").to_csv("rows.csv", index=False)
    with pytest.raises(DataError, match="there is a column 'fair_score_decision' already"):
        call(*FIT)


@pytest.mark.parametrize(("name", "told"), [("y", "it is the label"), ("sex", "it is a group")])
def test_a_category_that_is_no_input_is_refused(table: pd.DataFrame, name: str, told: str) -> None:
    with pytest.raises(DataError, match=f"--category {name}: {told}, and no input; leave it out there"):
        call(*FIT, "--category", name)


def test_infinite_and_huge_inputs_are_told_by_column(table: pd.DataFrame) -> None:
    table.assign(age=np.where(np.arange(2000) == 3, np.inf, table["age"])).to_csv("rows.csv", index=False)
    with pytest.raises(DataError, match=r"column 'age': 'inf' in row 4 .* write a finite number, or drop such rows"):
        call(*FIT)
    table.assign(age=table["age"] * 1e14).to_csv("rows.csv", index=False)
    with pytest.raises(DataError, match=r"column 'age' is .* beyond 1e\+12"):
        call(*FIT)


@pytest.mark.parametrize(
    "words",
    [("audit", "--weight", ""), ("audit", "--junit="), ("adjust", "--column", ""), ("choose-interval", "--weight", "")],
)
def test_an_option_without_a_value_is_refused(table: pd.DataFrame, words: tuple[str, ...]) -> None:
    with pytest.raises(ConfigError, match=rf"{words[1].rstrip('=')} is empty; give a value, or leave the option out"):
        call(words[0], "rows.csv", "--group", "sex", *words[1:])


@pytest.mark.parametrize("blind", [(), ("--blind",)])
def test_bad_inputs_of_the_other_file_are_told_by_column_and_row(table: pd.DataFrame, blind: tuple[str, ...]) -> None:
    table = table.astype(object)
    table.loc[3, "age"], table.loc[5, "score"], table.loc[7, "city"] = "abc", "inf", "ROME"
    table.to_csv("new.csv", index=False)
    with pytest.raises(DataError, match=r"^new.csv: 3 faults") as told:
        call(*FIT, "--apply", "new.csv", *blind)
    places = ("column 'age': 'abc' in row 4 after the header", "column 'score': 'inf' in row 6 after the header")
    assert all(place in str(told.value) for place in (*places, "'ROME' in row 8 after"))


def test_a_file_of_which_no_row_is_complete_is_refused(table: pd.DataFrame) -> None:
    table.assign(age="").to_csv("new.csv", index=False)
    with pytest.raises(DataError, match=r"^new.csv: no row has all inputs and a group; fill them in$"):
        call(*FIT, "--apply", "new.csv", "--missing", "drop")


@pytest.mark.parametrize("verb", [("adjust",), ("fit", "--label", "y")])
def test_an_infinite_kappa_constrains_nothing_and_is_json(table: pd.DataFrame, verb: tuple[str, ...]) -> None:
    words = (verb[0], "rows.csv", *verb[1:], "--group", "sex", "--kappa", "inf", "--out", "fair.csv")
    result = call(*words)
    assert result.exit_code == 0 and "nothing is constrained, as kappa is inf" in result.output
    content = json.loads(call(*words, "--json").output, parse_constant=pytest.fail)
    assert content["kappa"] is None and content["status"] == "ok"


def test_a_huge_input_is_told_by_the_row_of_its_file(table: pd.DataFrame) -> None:
    table = table.astype(object)
    table.loc[0, "sex"], table.loc[5, "age"] = None, 1e13
    table.to_csv("rows.csv", index=False)
    with pytest.raises(DataError, match=r"^rows.csv: column 'age' is .* in row 6 after the header, beyond"):
        call(*FIT, "--missing", "drop")


def test_what_the_other_file_lacks_is_told_before_the_fit(table: pd.DataFrame) -> None:
    table.drop(columns="age").assign(fair_score=1).to_csv("new.csv", index=False)
    with pytest.raises(DataError) as told:
        call(*FIT, "--apply", "new.csv", "--confidence", "3")
    parts = ("rows.csv: 3 faults", "confidence is 3.0", "new.csv: there is no column 'age'")
    assert all(part in str(told.value) for part in (*parts, "new.csv: there is a column 'fair_score' already"))
    with pytest.raises(DataError, match=r"2 faults: confidence is 3.0; .* nofile.csv: there is no such file"):
        call(*FIT, "--apply", "nofile.csv", "--confidence", "3")
    with pytest.raises(DataError, match=r"--apply -: standard input can be read once, by the fit; give a file"):
        CliRunner().invoke(
            app, ["fit", "-", *FIT[2:], "--apply", "-"], input=Path("rows.csv").read_bytes(), catch_exceptions=False
        )


def test_other_columns_of_parquet_keep_their_types(table: pd.DataFrame) -> None:
    marks = pa.array([[("a", 1)]] * 2000, pa.map_(pa.string(), pa.int64()))
    clock = pa.array(range(2000), pa.time32("ms"))
    rows = pa.Table.from_pandas(table).append_column("marks", marks).append_column("clock", clock)
    parquet.write_table(rows, "rows.parquet")
    call("adjust", "rows.parquet", "--group", "sex", *INTERVAL, "--out", "fair.parquet")
    written = parquet.read_table("fair.parquet")
    assert written.schema.remove(len(rows.schema)).equals(rows.schema) and written.drop(["fair_score"]).equals(rows)
    assert pd.read_parquet("fair.parquet").shape == (2000, 8)


def test_a_column_that_occurs_twice_is_told_once(table: pd.DataFrame) -> None:
    table.set_axis(["sex", "score", "age", "sex", "y"], axis=1).to_csv("rows.csv", index=False)
    with pytest.raises(DataError, match=r"^rows.csv: column 'sex' occurs twice; rename one of them$"):
        call("adjust", "rows.csv", "--group", "sex", "--out", "fair.csv")


def test_blanks_tell_no_new_column_from_one_of_the_file(table: pd.DataFrame) -> None:
    with pytest.raises(DataError, match="there is a column 'age' already"):
        call("adjust", "rows.csv", "--group", "sex", "--column", " age", "--out", "fair.csv")
