"""`partialfair verify`: an untouched run is whole; whatever is changed by hand is named, with a remedy."""

import copy
import hashlib
import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from partialfair.data.files import sealed, sha256
from reproduction.grid import paths
from reproduction.verify import Fault, verify
from reproduction.verify.runs import _same_but_times
from tests.faults.lab import JOB, RAW, RUN, SPLIT, TABLE, Lab, params
from tests.faults.tamper import (
    append_byte,
    change_array,
    change_cell,
    change_metric,
    change_metric_and_seal,
    change_text,
    checked,
    commit_reports,
    edit_figure,
    shift,
)

pytestmark = pytest.mark.slow


TAMPERED = {
    # name: file, how, fault, fragments of the sentence (problem, remedy)
    "raw file": (RAW, change_text(",yes\n", ",no\n"), Fault.DAMAGED, ["its sha256 is", "restore the file"]),
    "table": (TABLE, change_array("y", lambda y: np.negative(y, out=y)), Fault.DAMAGED, ["raw files", "delete it"]),
    "split": (SPLIT, change_array("train", shift), Fault.DAMAGED, ["the table and its seed", "delete"]),
    "model": (f"{RUN}/model.npz", change_array("weights", shift), Fault.DAMAGED, ["fit.json has it", "delete it"]),
    "history": (f"{RUN}/history.parquet", append_byte, Fault.DAMAGED, ["fit.json has it", "delete it"]),
    "fit": (f"{RUN}/fit.json", change_text('"objective": 0.', '"objective": 1.'), Fault.DAMAGED, ["after the job"]),
    "scores": (f"{RUN}/scores.parquet", change_cell("score"), Fault.DAMAGED, ["metrics.json has it", "snakemake"]),
    "metric": (f"{RUN}/metrics.json", change_metric, Fault.DAMAGED, ["after the job had written it", "snakemake"]),
    "collected metric": (
        "reports/demo/metrics.parquet",
        change_cell("value"),
        Fault.DAMAGED,
        ["value of loans unconstrained inf 0", "its run says", "--forcerun collect"],
    ),
    "exhibit table": ("reports/tradeoff/tradeoff.csv", change_text("0.", "0.1"), Fault.DAMAGED, ["line 2", "exhibit"]),
    "figure": ("reports/tradeoff/tradeoff.svg", edit_figure, Fault.DAMAGED, ["not what the results give", "exhibit"]),
    "page": ("reports/demo/index.html", change_text("</body>", " </body>"), Fault.DAMAGED, ["line", "snakemake"]),
    "main numbers": ("reports/demo/metrics.json", change_text("0.", "0.1"), Fault.DAMAGED, ["metrics.json", "delete"]),
    "card": (f"{RUN}/model_card.md", change_text("Status: **ok**", "Status: **best**"), Fault.DAMAGED, ["its text"]),
    "scorecard": ("reports/demo/scorecard.csv", append_byte, Fault.DAMAGED, ["scorecard.csv", "delete it"]),
}


def test_an_untouched_run_is_whole_and_its_chain_is_printed(finished: Lab) -> None:
    done = finished.cli("verify", "demo", "--deep")
    assert done.returncode == 0, done.stdout
    lines = done.stdout.splitlines()
    stages = ["raw file", "table", "split", "model", "metrics", "collected table", "exhibit", "scorecard", "params"]
    positions = [next(i for i, line in enumerate(lines) if line.startswith(stage + " ")) for stage in stages]
    assert positions == sorted(positions)
    assert any(line.startswith("lock file") for line in lines)
    for part in (RAW, TABLE, "reports/demo/metrics.parquet", "reports/tradeoff/tradeoff.csv", "computed anew"):
        assert part in done.stdout
    assert lines[-1].startswith("whole: ") and lines[-1].endswith(" 0 breaks")


@pytest.mark.parametrize("name", TAMPERED)
def test_what_is_changed_by_hand_is_named(name: str, spoilt: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    file, tamper, fault, fragments = TAMPERED[name]
    before = spoilt.path(file).read_bytes()
    tamper(spoilt.path(file))
    assert spoilt.path(file).read_bytes() != before
    chain = checked(spoilt, monkeypatch)
    found = {entry.path: entry for entry in chain.breaks}
    assert file in found, [str(entry) for entry in chain.breaks]
    assert found[file].fault is fault
    for fragment in fragments:
        assert fragment in str(found[file])
    if not file.startswith("reports/"):  # what only follows from the file is not accused as well
        assert not [path for path in found if path.startswith("data/") and path != file], list(found)


def test_a_metric_changed_with_its_seal_disagrees_with_what_was_collected(
    spoilt: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    change_metric_and_seal(spoilt.path(f"{RUN}/metrics.json"))
    assert "reports/demo/metrics.parquet" in {found.path for found in checked(spoilt, monkeypatch).breaks}
    found = checked(spoilt, monkeypatch, deep=True).breaks[0]
    assert (found.path, found.fault) == (f"{RUN}/metrics.json", Fault.DAMAGED)


def test_missing_files_are_named(spoilt: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    for file in (TABLE, f"{RUN}/model.npz", "reports/tradeoff/tradeoff.csv"):
        spoilt.path(file).unlink()
    found = {entry.path: entry for entry in checked(spoilt, monkeypatch).breaks}
    for file in (TABLE, f"{RUN}/model.npz", "reports/tradeoff/tradeoff.csv"):
        assert found[file].fault is Fault.MISSING
        assert "snakemake" in found[file].remedy


def test_changed_settings_make_results_outdated_not_damaged(spoilt: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    content = copy.deepcopy(params())
    content["algorithms"]["alm"]["tolerance"] = 0.002
    spoilt.write_params(content)
    found = checked(spoilt, monkeypatch, reports=False).breaks
    assert [(entry.path, entry.fault) for entry in found] == [(f"{RUN}/fit.json", Fault.OUTDATED)]
    assert '"tolerance": 0.001' in str(found[0]) and '"tolerance": 0.002' in str(found[0])
    assert spoilt.cli("verify", "demo", "--damage").returncode == 0


def test_changed_code_and_other_packages_are_named(spoilt: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    path = spoilt.path(f"{RUN}/fit.json")
    content = json.loads(path.read_text())
    path.write_text(json.dumps(sealed({**content, "closure_hash": "0" * 16})))
    assert "made with hash of its code" in str(checked(spoilt, monkeypatch, reports=False).breaks[0])
    path.write_text(json.dumps(sealed({**content, "versions": {**content["versions"], "numpy": "1.0"}})))
    assert 'version of numpy "1.0"' in str(checked(spoilt, monkeypatch, reports=False).breaks[0])
    lock = spoilt.path("requirements.lock")
    lock.write_text(lock.read_text().replace("\nscipy==", "\nscipy==9"))
    found = checked(spoilt, monkeypatch, reports=False).breaks[0]
    assert found.path == "requirements.lock" and "scipy" in found.problem


def test_a_model_of_another_table_is_named(spoilt: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    path = spoilt.path(f"{RUN}/fit.json")
    content = json.loads(path.read_text())
    path.write_text(json.dumps(sealed({**content, "inputs": {**content["inputs"], "table": "0" * 64}})))
    found = checked(spoilt, monkeypatch, reports=False).breaks[0]
    assert found.path == f"{RUN}/fit.json" and "table" in found.problem


def test_the_verb_names_the_break_and_exits_with_1(spoilt: Lab) -> None:
    change_metric(spoilt.path(f"{RUN}/metrics.json"))
    done = spoilt.cli("verify", "demo", "--damage")
    assert done.returncode == 1
    assert f"BROKEN {RUN}/metrics.json: damaged: its content was changed" in done.stdout
    assert "Traceback" not in done.stdout


def test_results_that_record_nothing_are_outdated(spoilt: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    path = spoilt.path(f"{RUN}/fit.json")
    content = json.loads(path.read_text())
    path.write_text(json.dumps({key: value for key, value in content.items() if key not in ("seal", "inputs")}))
    found = checked(spoilt, monkeypatch, reports=False).breaks[0]
    assert found.fault is Fault.OUTDATED and "does not record what it was made from" in found.problem


def test_a_recorded_figure_is_drawn_anew_only_in_depth(spoilt: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its numbers are made anew in any case; an edit that nobody recorded is found without depth."""
    figure = spoilt.path("reports/tradeoff/tradeoff.svg")
    edit_figure(figure)
    commit_reports(spoilt)
    chain = checked(spoilt, monkeypatch)
    assert chain.is_whole and "figure as recorded" in str([link.tie for link in chain.links])
    (found,) = checked(spoilt, monkeypatch, deep=True).breaks
    assert (found.path, found.fault) == ("reports/tradeoff/tradeoff.svg", Fault.OUTDATED)
    edit_figure(figure)
    (found,) = checked(spoilt, monkeypatch).breaks
    assert (found.path, found.fault) == ("reports/tradeoff/tradeoff.svg", Fault.DAMAGED)
    figure.unlink()
    (found,) = checked(spoilt, monkeypatch).breaks
    assert (found.path, found.fault) == ("reports/tradeoff/tradeoff.svg", Fault.MISSING)
    spoilt.run("git", "checkout", "--quiet", "reports")
    csv = spoilt.path("reports/tradeoff/tradeoff.csv")
    csv.write_text(csv.read_text() + "\n")
    (found,) = checked(spoilt, monkeypatch).breaks
    assert (found.path, found.fault) == ("reports/tradeoff/tradeoff.csv", Fault.DAMAGED)


def test_a_split_that_no_run_was_made_from_is_not_missing(spoilt: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """`partialfair data split` makes one seed's, as the tutorial has it; those of other seeds were called missing."""
    spoilt.path(SPLIT).unlink()
    first = checked(spoilt, monkeypatch).breaks[0]
    assert (first.path, first.fault) == (SPLIT, Fault.MISSING)
    shutil.rmtree(spoilt.path("data/runs"))
    chain = checked(spoilt, monkeypatch)
    assert chain.absent["split"] == 1 and not [found for found in chain.breaks if found.path == SPLIT]


def test_files_that_no_job_makes_are_named(spoilt: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    strays = [f"{RUN}/notes.txt", "data/runs/demo/loans/alm/kappa=0.3/seed=0/model.npz", "reports/tradeoff/old.svg"]
    strays.append("reports/tradeoff/tradeoff.html")  # an exhibit could have one, this one has none
    for file in strays:
        spoilt.path(file).parent.mkdir(parents=True, exist_ok=True)
        spoilt.path(file).write_bytes(b"x")
    found = checked(spoilt, monkeypatch).breaks
    assert sorted(entry.path for entry in found) == sorted(strays)
    assert {entry.fault for entry in found} == {Fault.FOREIGN}


def test_results_of_another_grid_are_counted_and_not_accused(spoilt: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    listed = [path.relative_to(spoilt.path("reports")) for path in spoilt.path("reports").rglob("*") if path.is_file()]
    cache = spoilt.path(".dvc/cache/files/md5/ab/cd.dir")
    cache.parent.mkdir(parents=True)
    spoilt.path("dvc.lock").write_text("stages: {report: {outs: [{path: reports, md5: abcd.dir}]}}\n")
    cache.write_text(json.dumps([{"md5": "", "relpath": path.as_posix()} for path in listed]))
    for file in ("data/runs/mine/loans/alm/kappa=0.3/seed=0/model.npz", "reports/mine/runs.parquet"):
        spoilt.path(file).parent.mkdir(parents=True)
        spoilt.path(file).write_bytes(b"x")
    monkeypatch.chdir(spoilt.folder)
    chain = verify("params.yaml")
    assert chain.is_whole and chain.elsewhere == {"data/runs/mine": 1, "reports/mine": 1}
    assert "not of this grid: data/runs/mine, reports/mine (" in chain.summary()
    cache.write_text(json.dumps([{"md5": "", "relpath": "mine/runs.parquet"}]))  # it came with the committed reports
    assert [(found.path, found.fault) for found in verify("params.yaml").breaks] == [
        ("reports/mine/runs.parquet", Fault.FOREIGN)
    ]


def test_an_edited_exhibit_is_damaged_and_one_that_would_be_drawn_otherwise_now_is_outdated(
    spoilt: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    """DVC's record tells the two apart, before `dvc repro` would adopt the edit."""
    listed = [path for path in spoilt.path("reports").rglob("*") if path.is_file()]
    entries = [
        {
            "md5": hashlib.md5(path.read_bytes()).hexdigest(),
            "relpath": path.relative_to(spoilt.path("reports")).as_posix(),
        }
        for path in listed
    ]
    cache = spoilt.path(".dvc/cache/files/md5/ab/cd.dir")
    cache.parent.mkdir(parents=True)
    cache.write_text(json.dumps(entries))
    spoilt.path("dvc.lock").write_text("stages: {report: {outs: [{path: reports, md5: abcd.dir}]}}\n")
    assert checked(spoilt, monkeypatch, damage=True).is_whole
    # Killed before its page was recorded, `dvc repro` has figures that it knows and a page that it does not.
    unrecorded = [entry for entry in entries if Path(entry["relpath"]).name not in paths.SUMMARY]
    assert len(unrecorded) < len(entries)
    cache.write_text(json.dumps(unrecorded))
    assert checked(spoilt, monkeypatch, damage=True).is_whole
    cache.write_text(json.dumps(entries))
    csv = spoilt.path("reports/tradeoff/tradeoff.csv")
    drawn = csv.read_bytes()
    csv.write_bytes(drawn.replace(b"0.", b"0.1", 1))
    found = checked(spoilt, monkeypatch, damage=True).breaks
    assert [(entry.path, entry.fault) for entry in found] == [("reports/tradeoff/tradeoff.csv", Fault.DAMAGED)]
    content = copy.deepcopy(params())
    content["experiments"]["demo"]["title"] = "Another"
    csv.write_bytes(drawn)
    spoilt.write_params(content)
    assert checked(spoilt, monkeypatch, damage=True).is_whole
    faults = {entry.fault for entry in checked(spoilt, monkeypatch).breaks}
    assert faults == {Fault.OUTDATED}


def test_a_sample_is_trained_again(spoilt: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """A model put in place of the trained one, with records and metrics to match, is found by training alone."""
    chain = checked(spoilt, monkeypatch, again=2)
    assert chain.is_whole and [link.stage for link in chain.links].count("retrained") == 2
    model, fit = spoilt.path(f"{RUN}/model.npz"), spoilt.path(f"{RUN}/fit.json")
    change_array("weights", shift)(model)
    record = json.loads(fit.read_text())
    record["outputs"]["model.npz"] = sha256(model)
    fit.write_text(json.dumps(sealed(record), indent=1, sort_keys=True) + "\n")
    assert spoilt.cli("evaluate", *JOB).returncode == 0
    assert checked(spoilt, monkeypatch, deep=True, reports=False).is_whole
    found = checked(spoilt, monkeypatch, reports=False, again=2).breaks
    assert [(entry.path, entry.fault) for entry in found] == [(f"{RUN}/model.npz", Fault.DAMAGED)]
    record["versions"]["machine"] = "another"
    fit.write_text(json.dumps(sealed(record), indent=1, sort_keys=True) + "\n")
    assert "machine another, here" in str(checked(spoilt, monkeypatch, reports=False, again=2).breaks[0])


def test_times_in_a_model_are_no_difference(tmp_path: Path) -> None:
    one, other = tmp_path / "one.npz", tmp_path / "other.npz"
    np.savez(one, weights=np.zeros(2), **{"path/seconds": np.array([1.0])})
    np.savez(other, weights=np.zeros(2), **{"path/seconds": np.array([2.0])})
    assert _same_but_times(one, other)
    np.savez(other, weights=-np.zeros(2), **{"path/seconds": np.array([1.0])})
    assert not _same_but_times(one, other)
    np.savez(other, weights=np.zeros(2), more=np.zeros(1), **{"path/seconds": np.array([1.0])})
    assert not _same_but_times(one, other)
