"""The doctor finds what is missing and names the remedy."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from partialfair.commands.cli import app
from reproduction.commands import doctor
from reproduction.commands.doctor import Check
from tests.workflow.project import ROOT, TINY


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A checkout with a small grid; the slow check of a fit is made once, in a test of its own."""
    for name in ("Snakefile", "requirements.lock"):
        shutil.copy(ROOT / name, tmp_path)
    shutil.copytree(ROOT / "workflow", tmp_path / "workflow")
    (tmp_path / "params.yaml").write_text(yaml.safe_dump(TINY))
    monkeypatch.setattr(doctor, "_kernels", lambda: iter(()))
    return tmp_path


def found(project: Path, name: str) -> Check:
    return next(check for check in doctor.examine(project) if check.name == name)


def test_a_good_installation_has_nothing_missing(project: Path) -> None:
    checks = doctor.examine(project)
    assert not doctor.failed(checks), [check for check in checks if check.state == "missing"]
    assert {"Python", "packages", "versions", "snakemake", "dvc", "workflow", "grid", "data", "disk"} <= {
        check.name for check in checks
    }
    assert all(check.remedy for check in checks if check.state != "ok")


def test_linear_algebra_that_crashes_is_named_with_a_remedy() -> None:
    assert [check.state for check in doctor._linear_algebra()] == ["ok"]
    crash = "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)"
    (check,) = doctor._linear_algebra(crash)
    assert check.state == "missing" and "status -11" in check.finding and "numpy>=2.4,<2.5.2" in check.remedy


def test_a_small_fit_is_tried() -> None:
    assert [check.state for check in doctor._kernels()] == ["ok"]


def test_what_is_wrong_is_named_with_a_remedy(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "IMPORTED", ("numpy", "no_such_package"))
    check = found(project, "packages")
    assert check.state == "missing" and "no_such_package" in check.finding and "make demo" in check.remedy
    lock = (project / "requirements.lock").read_text()
    (project / "requirements.lock").write_text(lock.replace("numpy==", "numpy==0.") + "\nno-such-package==1.0\n")
    check = found(project, "versions")
    assert check.state == "warning" and "numpy" in check.finding and "no-such-package" in check.finding
    monkeypatch.setattr(doctor, "NEEDED_DISK", 1 << 60)
    assert found(project, "disk").state == "missing"
    monkeypatch.setenv("PARTIALFAIR_DATA_MIRROR", str(project / "nowhere"))
    assert found(project, "mirror").state == "missing"
    shutil.rmtree(project / "workflow/profiles/default")
    assert found(project, "workflow").state == "missing"


def test_missing_and_damaged_raw_files_are_told_apart(project: Path) -> None:
    params: dict[str, Any] = yaml.safe_load((project / "params.yaml").read_text())
    runs = params["experiments"]["demo"]["runs"]
    params["experiments"]["demo"]["runs"] = {"bank": runs["simulated"]}
    (project / "params.yaml").write_text(yaml.safe_dump(params))
    lines = [check for check in doctor.examine(project) if check.name.startswith("data") and check.state != "ok"]
    assert [(check.state, check.remedy) for check in lines] == [("warning", "partialfair data fetch bank")]
    folder = project / "data/raw/bank"
    folder.mkdir(parents=True)
    (folder / "bank-additional-full.csv").write_text("age;job\n")
    check = found(project, "data bank")
    assert check.state == "missing" and "truncated" in check.finding


def test_exit_status_and_json(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(project)
    result = CliRunner().invoke(app, ["doctor", "--json"])
    assert result.exit_code == 0, result.output
    assert {entry["name"] for entry in json.loads(result.output)} >= {"Python", "grid"}
    (project / "params.yaml").write_text(yaml.safe_dump(TINY | {"seedz": [1]}))
    result = CliRunner().invoke(app, ["doctor"])
    assert result.exit_code == 1
    assert "seedz: unknown key" in result.output and "correct that entry" in result.output
