"""How a run that is trained again is compared with the recorded one."""

import math
from pathlib import Path
from types import SimpleNamespace

import pytest

from partialfair.data.files import write_json
from reproduction.verify import runs
from reproduction.verify.chain import Chain


def test_two_evaluations_are_compared_on_test_rows():
    one = {"splits": {"train": {"sp": 0.0}, "test": {"sp": 0.1, "auc": 0.5}}}
    other = {"splits": {"train": {"sp": 0.9}, "test": {"sp": 0.13, "auc": 0.5}}}
    assert runs._farthest(one, other) == ("sp", pytest.approx(0.03))
    assert runs._farthest(one, {"splits": {"test": {"sp": 0.1, "auc": None}}}) == ("auc", math.inf)


@pytest.mark.parametrize(("apart", "whole"), [(0.01, True), (0.03, False)])
def test_a_run_of_another_machine_may_be_off_by_little_alone(tmp_path, monkeypatch, apart, whole):
    monkeypatch.chdir(tmp_path)
    job = SimpleNamespace(path=Path("run"), table="table", split="split")
    write_json(Path("run/fit.json"), {"versions": {"machine": "there"}})
    write_json(Path("run/metrics.json"), {"splits": {"test": {"sp": 0.1}}})
    Path("run/model.npz").write_text("one")

    def train(config, job, files):
        (Path(files.folder) / "model.npz").write_text("other")

    monkeypatch.setattr(runs, "train", train)
    monkeypatch.setattr(runs, "_same_but_times", lambda one, other: False)
    monkeypatch.setattr(runs, "versions", lambda: {"machine": "here"})
    monkeypatch.setattr(runs, "evaluate", lambda *_: {"splits": {"test": {"sp": 0.1 + apart}}})
    monkeypatch.setattr(runs.fingerprint, "evaluation", lambda *_: SimpleNamespace(settings={}))
    chain = Chain()
    runs._retrain_one(chain, None, job)
    assert chain.is_whole == whole and len(chain.links) == whole
