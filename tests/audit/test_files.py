"""Score files, the command and its exit status, and the page."""

import gzip
import io
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from partialfair.audit import audit_file, audit_scores
from partialfair.audit.choose import suggest_for_file
from partialfair.commands.cli import app
from partialfair.commands.options import joined_pairs
from partialfair.errors import DataError, PartialFairError

BASE = ("--score", "s", "--group", "sex", "--label", "y")


def run(*arguments: str) -> Any:
    return CliRunner().invoke(app, ["audit", *arguments])


def test_csv_parquet_and_arrays_give_the_same_numbers(frame: pd.DataFrame, csv: Path, tmp_path: Path) -> None:
    parquet = tmp_path / "scores.parquet"
    frame.to_parquet(parquet)
    semicolon = tmp_path / "semicolon.csv"
    frame.to_csv(semicolon, index=False, sep=";")
    expected = audit_scores(frame["s"], frame["sex"], frame["y"]).to_dict()
    for path in (csv, parquet, semicolon):
        found = audit_file(path, score="s", group="sex", label="y").to_dict()
        assert len(found.pop("file_sha256")) == 64 and found.pop("date").endswith("+00:00")
        assert found | {"source": ""} == expected | {"source": ""}, path.name


def test_gates_set_the_exit_status(csv: Path) -> None:
    interval = ("--interval", "0.05", "0.30")
    assert run(str(csv), *BASE, *interval).exit_code == 0
    assert run(str(csv), *BASE, *interval, "--max-sp", "0.99", "--max", "sp_full=0.9").exit_code == 0
    exceeded = run(str(csv), *BASE, *interval, "--max-sp", "0.1")
    assert exceeded.exit_code == 1 and "gate partial statistical parity (sp) <= 0.1: exceeded" in exceeded.stdout
    assert run(str(csv), *BASE, *interval, "--max", "dp_full=0.01").exit_code == 1
    unlabelled = run(str(csv), "--score", "s", "--group", "sex", "--no-confidence-intervals", "--max-eop", "1")
    assert unlabelled.exit_code == 1 and "no labels were given" in unlabelled.stdout


def test_repeated_intervals_are_a_union_and_json_is_alone_on_the_output(csv: Path) -> None:
    out = run(str(csv), *BASE, "--interval", "0.05", "0.3", "--interval", "0.5", "0.6", "--json")
    found = json.loads(out.stdout)
    assert found["interval"] == "0.05-0.3+0.5-0.6" and found["passed"] is True
    low, high = found["overall"]["sp"]["ci"]
    assert low <= found["overall"]["sp"]["value"] <= high


def test_pairs_are_joined_only_after_the_option() -> None:
    assert joined_pairs(["f", "--interval", "0", "1e-1", "2", "3"]) == ["f", "--interval", "0,1e-1", "2", "3"]
    assert joined_pairs(["--interval", "0", "--json"]) == ["--interval", "0", "--json"]


GOOD = "s,g,y\n" + "".join(f"{i / 200},{'ab'[i % 2]},{i % 3 % 2}\n" for i in range(200))


@pytest.mark.parametrize(
    ("text", "arguments", "parts"),
    [
        ("", (), ["the file is empty", "header"]),
        ("s,g,y\n", (), ["there are no rows"]),
        (GOOD, ("--score", "t"), ["no column 't'", "columns: s, g, y"]),
        (GOOD, ("--group", "g,h"), ["no column 'h'"]),
        (GOOD, ("--label", "s", "--score", "s"), ["'s' is given for two purposes"]),
        (GOOD.replace("0.05,a", "high,a"), (), ["column 's': 'high' in row 11 after the header", "drop"]),
        (GOOD.replace("0.05,a", ",a"), (), ["column 's' has no value in row 11 after the header"]),
        (GOOD.replace("0.05,a", "inf,a"), (), ["'inf'", "finite"]),
        (GOOD.replace("0.05,a", "nan,a"), (), ["column 's' has no value in row 11 after the header ('nan')"]),
        (GOOD.replace("0.05,a", "0.05,"), (), ["column 'g' has no value in row 11 after the header"]),
        (GOOD.replace(",b,", ",a,"), (), ["one group, 'a'", "column 'g'"]),
        (GOOD.replace("0.05,a,1", "0.05,a,7"), ("--label", "y"), ["column 'y': 3 values ('0', '1', '7')", "two"]),
        (
            GOOD.replace("0.05,a,1", "0.05,a,"),
            ("--label", "y"),
            ["column 'y' has no value in row 11", "leave the labels"],
        ),
        (GOOD.replace("0.05,a,1", "0.05,a,1,9"), (), ["not a readable CSV", "correct that line"]),
        ("s,s,g\n1,2,a\n", (), ["column 's' occurs twice"]),
        (GOOD, ("--interval", "0.5", "0.2"), ["[0.5, 0.2]", "alpha < beta"]),
        (GOOD, ("--interval", "0.5"), ["'0.5'", "write two ranks"]),
        (GOOD, ("--max", "sp"), ["METRIC=LIMIT"]),
        (GOOD, ("--max", "spp=0.1"), ["did you mean"]),
        (GOOD, ("--max", "accuracy=0.1"), ["gate on accuracy: it measures quality", "one of sp, "]),
        (GOOD.replace("0.05,a", '"0,386",a'), (), ["'0,386'", "write decimal points for commas"]),
        (GOOD.replace("0.05,a", '"1,386",a'), (), ["'1,386'", "this one can be either"]),
        (GOOD.replace("0.05,a", '"1,308,060",a'), (), ["'1,308,060'", "leave out the commas that divide thousands"]),
        (GOOD.replace("0.05,a", '"1,386.5",a'), (), ["'1,386.5'", "leave out the commas that divide thousands"]),
        (GOOD, ("--label", "y", "--positive", "2"), ["the positive label '2' does not occur; the labels are '0', '1'"]),
        (GOOD, ("--min-group-size", "150"), ["fewer than two groups have at least 150 rows", "a: 100, b: 100"]),
    ],
)
def test_bad_input_is_one_sentence(
    write: Callable[[str], Path], text: str, arguments: tuple[str, ...], parts: list[str]
) -> None:
    defaults = {"--score": "s", "--group": "g"}
    given = [part for pair in defaults.items() if pair[0] not in arguments for part in pair]
    out = run(str(write(text)), *given, *arguments)
    assert isinstance(out.exception, PartialFairError), out.output
    message = str(out.exception)
    assert "\n" not in message
    for part in parts:
        assert part in message, message
    if isinstance(out.exception, DataError):
        assert "scores.csv: " in message


@pytest.mark.parametrize("verb", ["audit", "choose-interval"])
def test_a_verb_without_arguments_says_what_is_missing(verb: str) -> None:
    done = CliRunner().invoke(app, [verb])
    assert done.exit_code == 2 and "Missing" in done.output and "Traceback" not in done.output


def test_a_positive_label_that_nobody_named_is_said_to_be_the_default(tmp_path: Path) -> None:
    path = tmp_path / "scores.csv"
    frame = pd.read_csv(io.StringIO(GOOD))
    frame.assign(y=frame["y"].map({0: "approved", 1: "denied"}), z=frame["y"] * 1.0).to_csv(path, index=False)
    options = ("--score", "s", "--group", "g", "--no-confidence-intervals")
    default = run(str(path), *options, "--label", "y", "--out", str(tmp_path / "audit"))
    assert "positive label 'denied' (default, rather than 'approved')" in default.stdout
    page = (tmp_path / "audit/audit.html").read_text()
    assert "denied (not given; the default, rather than approved)" in page
    named = run(str(path), *options, "--label", "y", "--positive", "approved").stdout
    assert "positive label 'approved'\n" in named.replace(", ", "\n")
    number = run(str(path), *options, "--label", "z", "--positive", "1").stdout
    assert "positive label '1.0'\n" in number.replace(", ", "\n")


def test_a_folder_in_place_of_one_of_the_files_stops_both(tmp_path: Path, write: Callable[[str], Path]) -> None:
    (tmp_path / "out/audit.json").mkdir(parents=True)
    out = run(
        str(write(GOOD)), "--score", "s", "--group", "g", "--no-confidence-intervals", "--out", str(tmp_path / "out")
    )
    assert "audit.json is a folder where a file has to be written" in str(out.exception)
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["audit.json"]


def test_missing_and_damaged_files(tmp_path: Path, write: Callable[..., Path]) -> None:
    with pytest.raises(DataError, match="no such file"):
        audit_file(tmp_path / "none.csv", score="s", group="g")
    with pytest.raises(DataError, match="not a readable parquet"):
        audit_file(write("PAR1 no", "scores.parquet"), score="s", group="g")


def test_a_column_of_lists_is_one_sentence(tmp_path: Path) -> None:
    path = tmp_path / "scores.parquet"
    several = [["x"]] * 3 + [["y", "z"]] * 3
    nested = pd.DataFrame({"s": range(6), "g": list("ababab"), "lists": several, "maps": [{"a": 1}, {"a": 2}] * 3})
    nested.to_parquet(path)
    for options in ({"group": "lists"}, {"group": "g,maps"}, {"group": "g", "label": "lists"}):
        name = options.get("label", options["group"].split(",")[-1])
        message = rf"scores\.parquet: column '{name}' has a collection of values in row 1 after the header; write one"
        with pytest.raises(DataError, match=message):
            audit_file(path, score="s", **options)
    with pytest.raises(DataError, match=r"scores\.parquet: column 'lists' has a collection of values in row 1 after"):
        suggest_for_file(path, score="s", group="lists")


def test_bad_input_exits_with_status_two(csv: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    from partialfair.commands import cli

    monkeypatch.setattr("sys.argv", ["partialfair", "audit", str(csv), "--score", "nope", "--group", "sex"])
    with pytest.raises(SystemExit) as caught:
        cli.main()
    assert caught.value.code == 2
    assert capsys.readouterr().err.startswith("partialfair: ")


class Resources(HTMLParser):
    """Addresses that a page would load, and its identifiers."""

    def __init__(self) -> None:
        super().__init__()
        self.loaded: list[str] = []
        self.links: list[str] = []
        self.ids: list[str] = []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        for name, value in attributes:
            if name in ("src", "href", "xlink:href", "data", "srcset"):
                (self.links if tag == "a" else self.loaded).append(value or "")
            if name == "id":
                self.ids.append(value or "")


@pytest.mark.parametrize("group", ["sex", "sex,race"])
def test_the_page_is_self_contained(csv: Path, tmp_path: Path, group: str) -> None:
    result = run(str(csv), "--score", "s", "--group", group, "--label", "y", "--interval", "0.05", "0.3",
                 "--max-sp", "0.1", "--out", str(tmp_path / "out"))  # fmt: skip
    assert result.exit_code == 1
    text = (tmp_path / "out" / "audit.html").read_text(encoding="utf-8")
    page = Resources()
    page.feed(text)
    assert all(address.startswith("#") for address in page.loaded + page.links)
    assert len(page.ids) == len(set(page.ids))
    assert set(page.links) <= {f"#{name}" for name in page.ids}
    assert not re.search(r"url\(\s*['\"]?http|@import", text)
    assert text.count("<svg") == 3
    assert ("Pairs of groups" in text) == (group == "sex,race")
    stored = json.loads((tmp_path / "out" / "audit.json").read_text(encoding="utf-8"))
    assert f">{stored['overall']['sp']['value']:.3f}" in text and stored["passed"] is False


def test_names_of_groups_are_escaped() -> None:
    frame = pd.DataFrame({"s": range(200), "g": ["<b>x</b>", r"y & $\bad$"] * 100})
    text = audit_scores(frame["s"], frame["g"], confidence_intervals=False).to_html()
    assert "<b>x</b>" not in text and "&lt;b&gt;x&lt;/b&gt;" in text


def test_the_verb_takes_several_groups_and_names_with_commas(frame: pd.DataFrame, tmp_path: Path) -> None:
    given = frame.assign(race=np.arange(len(frame)) % 2).rename(columns={"sex": "sex, at birth"})
    given.to_csv(tmp_path / "t.csv", index=False)
    usual = ["audit", str(tmp_path / "t.csv"), "--score", "s", "--no-confidence-intervals", "--json"]
    both = CliRunner().invoke(app, [*usual, "--group", "sex, at birth", "--group", "race"])
    assert len(json.loads(both.stdout)["groups"]) == 4, "both columns are used"
    one = CliRunner().invoke(app, [*usual, "--group", "sex, at birth"])
    assert len(json.loads(one.stdout)["groups"]) == 2


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--threshold", "0.5", "--threshold=0.7"), "--threshold is given twice"),
        (("--positive", "1"), "no labels are given"),
        (("--out", ""), "--out is empty"),
    ],
)
def test_what_would_be_ignored_is_refused(frame: pd.DataFrame, tmp_path: Path, arguments: tuple, said: str) -> None:
    frame.to_csv(tmp_path / "t.csv", index=False)
    done = CliRunner().invoke(app, ["audit", str(tmp_path / "t.csv"), "--score", "s", "--group", "sex", *arguments])
    assert isinstance(done.exception, PartialFairError) and said in str(done.exception)


@pytest.mark.parametrize(("labels", "doubtful"), [(("Yes", "no"), True), (("9", "10"), True), (("yes", "no"), False)])
def test_a_doubtful_positive_label_is_asked_for(frame: pd.DataFrame, labels: tuple[str, str], doubtful: bool) -> None:
    y = np.where(frame["y"] > 0, *labels)
    if doubtful:
        with pytest.raises(DataError, match="is positive is doubtful"):
            audit_scores(frame["s"], frame["sex"], y, confidence_intervals=False)
    found = audit_scores(frame["s"], frame["sex"], y, confidence_intervals=False, positive=labels[0])
    assert found.positive_label == labels[0]
    numbers = audit_scores(frame["s"], frame["sex"], np.where(frame["y"] > 0, 10, 9), confidence_intervals=False)
    assert numbers.positive_label == "10"


FORMATS: dict[str, tuple[Callable[[pd.DataFrame, Path], Any], str]] = {
    "scores.feather": (lambda frame, path: frame.to_feather(path), "it is Feather"),
    "scores.pkl": (lambda frame, path: frame.to_pickle(path), "it holds pickled objects of Python"),
    "scores.xlsx": (lambda frame, path: path.write_bytes(b"PK\x03\x04" + bytes(50)), "workbook"),
    "scores.xls": (lambda frame, path: path.write_bytes(b"\xd0\xcf\x11\xe0" + bytes(50)), "old Excel"),
    "scores.h5": (lambda frame, path: path.write_bytes(b"\x89HDF\r\n" + bytes(50)), "HDF5"),
    "scores.npy": (lambda frame, path: np.save(path, frame["s"].to_numpy()), "an array of NumPy"),
    "scores.dta": (lambda frame, path: frame.to_stata(path), "Stata"),
    "scores.jsonl": (lambda frame, path: frame.to_json(path, orient="records", lines=True), "it is JSON"),
    "scores.json": (lambda frame, path: frame.to_json(path, orient="records"), "it is JSON"),
    "scores.orc": (lambda frame, path: frame.to_orc(path), "it is ORC"),
    "scores.tar": (lambda frame, path: path.write_bytes(bytes(257) + b"ustar" + bytes(250)), "tar archive"),
}


@pytest.mark.parametrize("name", FORMATS)
def test_another_format_is_named(name: str, tmp_path: Path) -> None:
    write, words = FORMATS[name]
    write(pd.read_csv(io.StringIO(GOOD)), tmp_path / name)
    for use in (audit_file, suggest_for_file):
        with pytest.raises(DataError, match=rf"{name}: this is no CSV file; .*{words}"):
            use(tmp_path / name, score="s", group="g")


def test_a_file_that_is_named_in_another_encoding_is_audited(tmp_path: Path) -> None:
    path = Path(os.fsdecode(os.fsencode(tmp_path) + b"/m\xe4nner.csv"))
    path.write_text(GOOD)
    out = Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xe4"))
    names = ["--by", os.fsdecode(b"Zo\xeb"), "--owner", os.fsdecode(b"Zo\xeb")]
    done = run(str(path), "--score", "s", "--group", "g", "--no-confidence-intervals", "--out", str(out), *names)
    assert done.exit_code == 0, done.output
    page = (out / "audit.html").read_text(encoding="utf-8")
    assert "m\\xe4nner.csv" in page and "Zo\\xeb" in page
    bad = run(str(path), "--score", "nope", "--group", "g")
    assert "there is no column 'nope'" in str(bad.exception)


@pytest.mark.parametrize("compress", [lambda text: text, gzip.compress], ids=["plain", "gzip"])
@pytest.mark.parametrize("verb", ["audit", "choose-interval"])
def test_what_comes_through_a_pipe_is_read(verb: str, compress: Callable[[bytes], bytes], tmp_path: Path) -> None:
    (tmp_path / "s.csv").write_text(GOOD)
    options = ["--score", "s", "--group", "g", "--json", *(["--no-confidence-intervals"] if verb == "audit" else [])]

    def told(source: str, **given: Any) -> Any:
        command = [sys.executable, "-m", "partialfair", verb, source, *options]
        done = subprocess.run(command, capture_output=True, check=True, **given)
        found = json.loads(done.stdout)
        return {
            name: value for name, value in found.items() if name not in ("source", "command", "date", "file_sha256")
        }

    wanted = told(str(tmp_path / "s.csv"))
    for source in ("-", "/dev/stdin"):
        assert told(source, input=compress(GOOD.encode())) == wanted
    reader, writer = os.pipe()
    os.write(writer, compress(GOOD.encode()))
    os.close(writer)
    assert told(f"/dev/fd/{reader}", pass_fds=(reader,)) == wanted


def test_an_error_of_decoding_names_column_and_row(tmp_path: Path) -> None:
    lines = ["sex,id,score", *(f"m{'äö'[row % 2]},{row},0.{row}" for row in range(60))]
    (tmp_path / "s.csv").write_bytes("\n".join(lines).replace("mä,0", "ma,0").encode("latin-1"))
    for use in (audit_file, suggest_for_file):
        with pytest.raises(DataError, match=r"column 'sex' holds b'm\\xf6' in row 2 after the header, .*not UTF-8"):
            use(tmp_path / "s.csv", score="score", group="sex")


def test_excels_line_tells_the_separator(tmp_path: Path) -> None:
    wanted = audit_scores(
        *(pd.read_csv(io.StringIO(GOOD))[name] for name in "sg"), confidence_intervals=False
    ).to_dict()
    for first, mark in (("sep=;", ";"), ("SEP=\t", "\t"), ('"sep=,"', ",")):
        (tmp_path / "s.csv").write_text(f"{first}\n{GOOD.replace(',', mark)}")
        found = audit_file(tmp_path / "s.csv", score="s", group="g", confidence_intervals=False).to_dict()
        assert found["overall"] == wanted["overall"]
    (tmp_path / "s.csv").write_text("sep=;\n")
    with pytest.raises(DataError, match="line 2 is empty; write the names of the columns there"):
        audit_file(tmp_path / "s.csv", score="s", group="g")
