"""The RO-Crate of the committed results, read back by the library that others read it with."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest
from rocrate.rocrate import ROCrate

from partialfair.data.files import sha256
from partialfair.errors import PartialFairError
from reproduction.grid.config import load_config
from reproduction.verify.crate import METADATA, PROFILES, write_crate

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A git checkout with the results of two exhibits."""
    folder = tmp_path_factory.mktemp("crate")
    for name in ("figure1", "psp"):
        shutil.copytree(ROOT / "reports" / name, folder / "reports" / name)
    shutil.copytree(ROOT / "papers", folder / "papers", ignore=shutil.ignore_patterns("*.py"))
    for name in ("Snakefile", "params.yaml"):
        shutil.copy(ROOT / name, folder)
    identity = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"]
    for words in (["init", "-q"], ["add", "."], [*identity, "commit", "-q", "-m", "results"]):
        subprocess.run(["git", *words], cwd=folder, check=True)
    return folder


def test_the_crate_states_its_profiles_and_every_result_by_checksum(project: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(project)
    assert write_crate(load_config("params.yaml")) == Path(METADATA)
    crate = ROCrate(project)
    assert {entry.id for entry in crate.root_dataset["conformsTo"]} >= set(PROFILES)
    main = crate.mainEntity
    assert main.id == "Snakefile" and {"File", "SoftwareSourceCode", "ComputationalWorkflow"} <= set(main.type)
    (action,) = crate.root_dataset["mentions"]
    assert action.type == "CreateAction" and action["instrument"].id == main.id and action["endTime"]
    results = {entry.id: entry["sha256"] for entry in action["result"]}
    files = [path for path in (project / "reports").rglob("*") if path.is_file()]
    assert results == {path.relative_to(project).as_posix(): sha256(path) for path in files}
    raw = {entry["name"]: entry for entry in action["object"] if entry["name"].startswith("data/raw/")}
    assert (
        raw["data/raw/a9a/a9a"]["sha256"].startswith("f5d5ffd8d865")
        and "CC BY" in raw["data/raw/a9a/a9a"]["description"]
    )
    parameters = {entry.id for name in ("input", "output") for entry in main[name]}
    assert {entry["exampleOfWork"].id for entry in (*action["object"], *action["result"])} == parameters
    assert len(json.loads((project / METADATA).read_text())["@graph"]) > len(files)


def test_a_folder_without_committed_results_is_refused(tmp_path: Path):
    with pytest.raises(PartialFairError, match="no committed results in reports"):
        write_crate(load_config(ROOT / "params.yaml"), tmp_path)
    assert not list(tmp_path.iterdir())
