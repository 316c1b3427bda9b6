"""Input that cannot be used: each kind is refused by the command that meets it first, in one sentence.

Every sentence names the place (file, key or row), the value, and what to do; the exit status is 2, nothing is
written, and there is no traceback.
"""

import json
import math
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from partialfair.commands import cli
from tests.faults.lab import JOB, RAW, RUN, SPLIT, TABLE, Lab, make_lab
from tests.faults.spoil import (
    ALM,
    EVALUATE,
    INTERVAL,
    PREPARE,
    TRAIN,
    arrays,
    cell,
    climbing,
    column,
    content,
    csv,
    cut,
    files,
    grid,
    identifiers,
    nothing,
    other_model,
    pickled,
    put,
    removed,
    text,
)

SPLITTING = ("data", "split", "loans", "--seed", "0")
CHECK, COLLECT, REPORT = ("check",), ("collect", "demo"), ("report", "tradeoff")
AUDIT = ("audit", RAW, "--score", "income", "--group", "sex", "--label", "paid", "--no-confidence-intervals")


@dataclass(frozen=True)
class Case:
    """One kind of bad input.

    Attributes:
        spoil: makes the input bad, in the folder of a finished run.
        command: the verb that must refuse it.
        place, value, remedy: fragments of the sentence.
    """

    spoil: Callable[[Path], None]
    command: tuple[str, ...]
    place: str
    value: str
    remedy: str


CASES = {
    # ---------------------------------------------------------------- params.yaml
    "no params": Case(removed("params.yaml"), CHECK, "params.yaml", "No such file", "give the path"),
    "params no yaml": Case(content("params.yaml", b"seeds: [0\n"), CHECK, "params.yaml", "line 2", "not valid YAML"),
    "params wrong encoding": Case(
        content("params.yaml", b"a: \xff\xfe"), CHECK, "params.yaml", "0xff", "not valid YAML"
    ),
    "params a list": Case(content("params.yaml", b"- a\n"), CHECK, "params.yaml", "list", "see the one shipped"),
    "key twice": Case(
        text("params.yaml", lambda t: t + "seeds: [1]\n"), CHECK, "line", "'seeds' stands twice", "remove one"
    ),
    "key unknown": Case(grid("experiments/demo/gird", 4), CHECK, "experiments.demo.gird", "unknown key", "'grid'"),
    "interval reversed": Case(grid(INTERVAL, [[0.4, 0.1]]), CHECK, "loans.interval", "[0.4, 0.1]", "0 <= alpha < beta"),
    "interval overlapping": Case(
        grid(INTERVAL, [[0, 0.3], [0.2, 0.5]]), CHECK, "loans.interval", "0.2 and 0.3", "merge them"
    ),
    "interval nan": Case(grid(INTERVAL, [[0.1, float("nan")]]), CHECK, "loans.interval", "nan", "alpha < beta"),
    "interval per group": Case(grid(INTERVAL, [[[0, 0.2]]] * 3), TRAIN, "interval", "3 groups", "one list for all"),
    "kappa zero": Case(grid(ALM, [0]), CHECK, "algorithms.alm.0", "is 0", "greater than 0"),
    "kappa nan": Case(grid(ALM, [float("nan")]), CHECK, "algorithms.alm.0", "nan", "greater than 0"),
    "kappa missing for alm": Case(grid(ALM, ["inf"]), CHECK, "algorithms.alm", "inf", "unconstrained"),
    "seed negative": Case(grid("seeds", [-1]), CHECK, "seeds.0", "-1", "greater than or equal to 0"),
    "seed twice": Case(grid("seeds", [1, 1]), CHECK, "seeds", "1 stands twice", "remove one"),
    "bootstrap level": Case(grid("bootstrap/level", 95), CHECK, "bootstrap.level", "95", "less than 1"),
    "dataset unknown": Case(grid("datasets/a9", {}), CHECK, "datasets.a9", "'a9'", "did you mean 'a9a'"),
    "algorithm unknown": Case(
        grid("experiments/demo/runs/loans/algorithms/icda", [1]), CHECK, "algorithms.icda", "'icda'", "'idca'"
    ),
    "constraint unknown": Case(
        grid("experiments/demo/constraint", "partial_parity"),
        CHECK,
        "demo.constraint",
        "'partial_parity'",
        "did you mean",
    ),
    "setting unknown": Case(
        grid("algorithms/alm", {"tol": 1}), CHECK, "algorithms.alm.tol", "unknown key", "'tolerance'"
    ),
    "setting negative": Case(
        grid("algorithms/alm", {"tolerance": -1}), CHECK, "algorithms.alm.tolerance", "-1", "greater than 0"
    ),
    "option unknown": Case(
        grid("datasets/loans/labels", "x"), CHECK, "datasets.loans.labels", "unknown option", "'label'"
    ),
    "option of a wrong type": Case(
        grid("datasets/simulated", {"rows": "many"}), CHECK, "datasets.simulated.rows", "'many'", "whole number"
    ),
    "exhibit kind unknown": Case(
        grid("exhibits/tradeoff/kind", "scater"), REPORT, "exhibits.tradeoff.kind", "'scater'", "did you mean 'scatter'"
    ),
    "exhibit kind unknown to the check": Case(
        grid("exhibits/tradeoff/kind", "scater"), CHECK, "exhibits.tradeoff.kind", "'scater'", "did you mean 'scatter'"
    ),
    "exhibit kind like no other": Case(
        grid("exhibits/tradeoff/kind", "tradeof"), CHECK, "exhibits.tradeoff.kind", "'tradeof'", "choose from"
    ),
    "exhibit option unknown": Case(
        grid("exhibits/tradeoff/algoritms", ["idca"]),
        CHECK,
        "exhibits.tradeoff.algoritms",
        "unknown key",
        "'algorithms'",
    ),
    "exhibit option of a wrong type": Case(
        grid("exhibits/tradeoff/algorithms", "idca"), CHECK, "exhibits.tradeoff.algorithms", "'idca'", "list"
    ),
    "exhibit of nothing": Case(
        grid("exhibits/tradeoff/experiments", ["demos"]), CHECK, "exhibits.tradeoff.experiments", "'demos'", "'demo'"
    ),
    "job not in the grid": Case(
        nothing, ("train", *JOB[:-4], "--kappa", "0.3", *JOB[-2:]), "alm", "0.3", "choose from 0.2"
    ),
    "seed not in the grid": Case(nothing, ("train", *JOB[:-1], "7"), "'demo'", "no seed 7", "choose from 0"),
    # ---------------------------------------------------------------- entries of a person's own table
    **{
        f"own {key} {value!r}": Case(grid(f"datasets/loans/{key}", value), CHECK, f"datasets.loans{dot}", said, do)
        for key, value, dot, said, do in (
            ("small_groups", "dropp", "", "'dropp'", "did you mean 'drop'"),
            ("missing", True, "", "True", "choose from"),
            ("task", "regresion", "", "'regresion'", "did you mean 'regression'"),
            ("groups", [], ".groups", "[]", "list of columns"),
            ("groups", ["sex", "sex"], "", "'sex'", "name each column once"),
            ("groups", {"sex": 1}, ".groups", "{'sex': 1}", "list of columns"),
            ("minimum_group_size", -1, ".minimum_group_size", "-1", "whole number of rows"),
            ("label", None, ".label", "empty", "name the column"),
            ("file", "nothere.csv", ".file", "nothere.csv", "check the path"),
            ("sha256", 12345, ".sha256", "12345", "in quotes"),
            ("split", {"train": math.nan, "validation": 0.5, "test": 0.5}, ".split", "nan", "sum to 1"),
        )
    },
    "one resample": Case(grid("bootstrap/replicates", 1), CHECK, "bootstrap.replicates", "is 1", "0 for none, or 2"),
    # ---------------------------------------------------------------- data files
    "raw file missing": Case(removed(RAW), PREPARE, RAW, "no such file", "correct datasets.loans.file"),
    "raw file changed": Case(text(RAW, lambda t: t + "\n"), PREPARE, RAW, "sha256", "restore the file"),
    "raw file empty": Case(csv(lambda lines: []), PREPARE, RAW, "line 1 is empty", "write the names"),
    "raw file without rows": Case(csv(lambda lines: lines[:1]), PREPARE, RAW, "no rows", "write one line per row"),
    "raw file in latin-1": Case(
        csv(cell(3, 3, "é"), "latin-1"), PREPARE, RAW, "column 'job'", "save the file as UTF-8"
    ),
    "raw file in utf-16": Case(csv(lambda lines: lines, "utf-16"), PREPARE, RAW, "text in UTF-16", "save it as UTF-8"),
    "ragged row": Case(csv(lambda lines: [*lines[:5], "1,2", *lines[6:]]), PREPARE, RAW, "got 2", "correct that line"),
    "column missing": Case(grid("datasets/loans/label", "payed"), PREPARE, RAW, "'payed'", "did you mean 'paid'"),
    "column twice": Case(
        csv(lambda lines: [lines[0].replace("debt", "income"), *lines[1:]]), PREPARE, RAW, "'income'", "rename one"
    ),
    "number missing": Case(csv(cell(7, 1, "")), PREPARE, "row 7 after the header", "'income'", "missing: drop"),
    "number infinite": Case(csv(cell(7, 1, "inf")), PREPARE, "row 7 after the header", "'inf'", "correct it"),
    "number huge": Case(csv(cell(7, 1, "1e30")), PREPARE, RAW, "1e+30 in row 7", "rescale the column"),
    "label missing": Case(csv(cell(9, 5, "")), PREPARE, "row 9 after the header", "'paid'", "missing: drop"),
    "group missing": Case(csv(cell(9, 4, "")), PREPARE, RAW, "'sex'", "row"),
    "positive label never seen": Case(
        grid("datasets/loans/positive", "yess"), PREPARE, "'paid'", "'yess'", "mean 'yes'"
    ),
    "identifier as input": Case(identifiers, PREPARE, "'id'", "1200 different values", "put it into drop"),
    "one group": Case(csv(column(4, "f")), PREPARE, RAW, "1 groups", "at least 2"),
    "group too small": Case(csv(cell(3, 4, "x")), PREPARE, RAW, "'x': 1", "small_groups"),
    "split of the raw file": Case(nothing, (*SPLITTING, "--table", RAW), "--table", RAW, "`partialfair data prepare`"),
    "prepare without an entry": Case(nothing, ("data", "prepare", "csv_table"), "csv_table.file", "missing", "add it"),
    "prepare of a near name": Case(nothing, ("data", "prepare", "loan"), "unknown dataset", "'loan'", "mean 'loans'"),
    "one class": Case(lambda folder: arrays(TABLE, y=np.ones_like)(folder), SPLITTING, "loans", "+1", "both classes"),
    # ---------------------------------------------------------------- tables, splits, models
    "table truncated": Case(cut(TABLE), TRAIN, TABLE, "not a readable table", "delete the file and prepare"),
    "table with nan": Case(
        arrays(TABLE, X_data=put(5, np.nan), X=put((5, 0), np.nan)), TRAIN, "row", "nan", "impute or drop"
    ),
    "table with a label off": Case(arrays(TABLE, y=put(3, 0.0)), TRAIN, "row 3", "0.0", "map the labels"),
    "table with a group off": Case(arrays(TABLE, group=put(3, 7)), TRAIN, "row 3", "group code 7", "index group_names"),
    "table with a group without rows": Case(arrays(TABLE, group=np.zeros_like), SPLITTING, "loans", "'m'", "add rows"),
    "table with a name twice": Case(
        arrays(TABLE, feature_names=put(1, "income"), group_names=lambda n: n), TRAIN, "loans", "'income'", "rename"
    ),
    "table with a pickle": Case(pickled(TABLE, "y"), TRAIN, TABLE, "allow_pickle=False", "delete the file"),
    "table that climbs": Case(climbing, TRAIN, TABLE, "not a readable table", "delete the file"),
    "table missing": Case(removed(TABLE), TRAIN, TABLE, "No such file", "prepare"),
    "split truncated": Case(cut(SPLIT), TRAIN, SPLIT, "not a readable split", "delete the file and split"),
    "split with a row twice": Case(
        arrays(SPLIT, train=lambda t: np.concatenate([t, t[:1]])), TRAIN, SPLIT, "two parts", "split again"
    ),
    "split of another table": Case(arrays(SPLIT, test=put(0, 9999)), EVALUATE, SPLIT, "row 9999", "split again"),
    "split of numbers": Case(arrays(SPLIT, train=lambda t: t + 0.5), TRAIN, SPLIT, "float64", "split again"),
    "split with an empty part": Case(arrays(SPLIT, train=lambda t: t[:0]), TRAIN, SPLIT, "train", "split again"),
    "model truncated": Case(cut(f"{RUN}/model.npz"), EVALUATE, "model.npz", "not a readable model", "train again"),
    "model with a pickle": Case(pickled(f"{RUN}/model.npz", "weights"), EVALUATE, "model.npz", "pickle", "train again"),
    "model with nan": Case(
        arrays(f"{RUN}/model.npz", weights=put((0, 1), np.nan)), EVALUATE, "weight (0, 1)", "nan", "train"
    ),
    "model of other data": Case(other_model, EVALUATE, "features", "trained on", "train"),
    "fit no json": Case(content(f"{RUN}/fit.json", b"{"), EVALUATE, f"{RUN}/fit.json", "Expecting", "train again"),
    "fit without status": Case(
        content(f"{RUN}/fit.json", b"{}"), EVALUATE, f"{RUN}/fit.json", "'status'", "train again"
    ),
    "metrics no json": Case(
        content(f"{RUN}/metrics.json", b"]"), COLLECT, f"{RUN}/metrics.json", "Expecting", "delete"
    ),
    # ---------------------------------------------------------------- score files
    "scores without column": Case(nothing, (*AUDIT[:3], "score", *AUDIT[4:]), RAW, "'score'", "columns: id"),
    "scores of one group": Case(text(RAW, lambda t: t.replace(",f,", ",m,")), AUDIT, RAW, "'m'", "group"),
    "scores not finite": Case(
        text(RAW, lambda t: t.replace("\n3,", "\n3,x", 1)), AUDIT, "row 4", "'x", "correct or drop"
    ),
    "interval no numbers": Case(nothing, (*AUDIT, "--interval", "a,b"), "--interval", "'a,b'", "--interval 0.05 0.30"),
    "gate on nothing": Case(nothing, (*AUDIT, "--max", "spp=0.1"), "gate", "'spp'", "did you mean 'sp'"),
}


def test_there_are_enough_kinds() -> None:
    assert len(CASES) >= 60


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_bad_input_is_refused_in_a_sentence(
    name: str, spoilt: Lab, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    case = CASES[name]
    case.spoil(spoilt.folder)
    before = files(spoilt.folder)
    monkeypatch.chdir(spoilt.folder)
    monkeypatch.setattr(sys, "argv", ["partialfair", *case.command])
    monkeypatch.delenv("PARTIALFAIR_PARAMS", raising=False)
    with pytest.raises(SystemExit) as stopped:
        cli.main()
    told = capsys.readouterr()
    assert stopped.value.code == 2, told
    message = told.err[told.err.index("partialfair: ") :]
    for fragment in (case.place, case.value, case.remedy):
        assert fragment in message, message
    assert "Traceback" not in told.err and message.count("\n") == 1
    assert files(spoilt.folder) == before


@pytest.mark.slow
def test_an_interval_too_narrow_for_a_group_is_a_reason_in_the_results(spoilt: Lab) -> None:
    grid(INTERVAL, [[0.1, 0.1001]])(spoilt.folder)
    assert spoilt.cli(*EVALUATE).returncode == 0
    found = json.loads(spoilt.path(f"{RUN}/metrics.json").read_text())
    assert found["splits"]["test"]["sp"] is None and found["splits"]["test"]["accuracy"] is not None
    reason = found["not_estimable"]["test"]["sp"]
    assert "interval 0.1-0.1001 keeps" in reason and "widen the interval" in reason


def test_a_constant_column_is_no_fault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from partialfair.data.dataset import Dataset
    from partialfair.models.features import Standardiser

    lab = make_lab(tmp_path / "lab")
    csv(column(2, "3.5"))(lab.folder)
    assert lab.cli(*PREPARE).returncode == 0
    data = Dataset.load(lab.path(TABLE))
    position = data.feature_names.index("debt")
    scaled = Standardiser.fit(data.X, np.array([position]))
    assert np.isfinite(scaled.values(data.X)).all() and scaled.scale[0] == 1.0


def test_the_seal_of_a_record_is_not_optional(finished: Lab) -> None:
    for name in ("fit.json", "metrics.json"):
        assert "seal" in json.loads(finished.path(f"{RUN}/{name}").read_text())
