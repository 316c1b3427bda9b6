"""What the project says of itself in several places agrees."""

import re
import stat
import tomllib
from pathlib import Path
from typing import Any

import yaml

from partialfair.grid.config import load_config
from partialfair.grid.params import ParamsModel
from partialfair.grid.workflow import Grid
from partialfair.reporting.exhibit import kind_of
from tests.workflow.project import ROOT

PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
EXTRAS = PYPROJECT["project"]["optional-dependencies"]
WITHOUT_TORCH = ("workflow", "acs", "convex", "docs", "dev")


def requirement(text: str) -> tuple[str, frozenset[str]]:
    """Name and version bounds of a requirement, in pip's or conda's spelling."""
    name, bounds = re.fullmatch(r"([A-Za-z0-9._-]+)\s*(.*)", text).groups()  # type: ignore[union-attr]
    return name.lower(), frozenset(bounds.replace(" ", "").split(",")) - {""}


def test_environment_yml_says_the_same_as_pyproject():
    wanted = [*PYPROJECT["project"]["dependencies"], *(text for extra in WITHOUT_TORCH for text in EXTRAS[extra])]
    environment = yaml.safe_load((ROOT / "environment.yml").read_text(encoding="utf-8"))
    given = dict(requirement(text) for text in environment["dependencies"])
    assert given.pop("python") == frozenset(PYPROJECT["project"]["requires-python"].split(","))
    given.pop("pip")
    assert given == dict(map(requirement, wanted))


def test_lock_holds_every_requirement_and_no_torch():
    lock = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    pins = dict(re.findall(r"^([a-z0-9._-]+)==(\S+)", lock, re.MULTILINE))
    assert not [name for name in pins if name.startswith(("torch", "nvidia", "triton"))]
    extras = (text for extra in (*WITHOUT_TORCH, "peers") for text in EXTRAS[extra])
    for text in [*PYPROJECT["project"]["dependencies"], *extras]:
        name, bounds = requirement(text)
        assert name in pins, f"{name} is missing in requirements.lock; run `make lock`"
        assert all(bound[2:] == pins[name] for bound in bounds if bound.startswith("==")), name
    assert all("--hash=sha256:" in block for block in re.split(r"^(?=[a-z0-9])", lock, flags=re.MULTILINE)[1:])


def test_snakefmt_ruff_and_others_are_pinned_in_the_lock_as_in_pyproject():
    assert {requirement(text)[0] for text in EXTRAS["dev"]} >= {"ruff", "mypy", "snakefmt", "pytest"}


def test_citation_has_the_version_of_the_package():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert citation["version"] == PYPROJECT["project"]["version"]
    assert citation["license"] == PYPROJECT["project"]["license"]


def test_make_targets_of_the_readme_exist():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    named = set(re.findall(r"\bmake ([a-z]+)", (ROOT / "README.md").read_text(encoding="utf-8")))
    assert {"demo", "test"} <= named
    assert not {target for target in named if not re.search(rf"^{target}:", makefile, re.MULTILINE)}


def test_ci_calls_the_test_command_of_the_readme():
    script = ROOT / ".ci" / "run"
    assert script.stat().st_mode & stat.S_IXUSR
    assert "make test" in script.read_text(encoding="utf-8").splitlines()


def test_audit_names_the_raw_files_and_parameters_that_the_grid_uses():
    stages: dict[str, Any] = yaml.safe_load((ROOT / "dvc.yaml").read_text(encoding="utf-8"))["stages"]
    config = load_config(ROOT / "params.yaml")
    raw = {name for dataset in config.datasets for name in Grid(config).raw_files(dataset)}
    assert {name for name in stages["data"]["deps"] if name.startswith("data/raw/")} == raw
    assert {key for stage in stages.values() for key in stage["params"]} == set(ParamsModel.model_fields) - {"include"}
    included = yaml.safe_load((ROOT / "params.yaml").read_text(encoding="utf-8")).get("include", [])
    assert all(Path(name).parts[0] == "papers" for name in included)
    assert all("papers" in stage["deps"] for stage in stages.values())  # stands for `include`, which may be absent
    for stage in stages.values():
        assert all((ROOT / name).exists() for name in stage["deps"] if name.startswith("src/")), stage["deps"]
        assert all(options["persist"] for out in stage["outs"] for options in out.values())


def test_every_stage_of_the_audit_depends_on_the_source():
    stages = yaml.safe_load((ROOT / "dvc.yaml").read_text(encoding="utf-8"))["stages"]
    assert all("src/partialfair" in stage["deps"] for stage in stages.values())
    assert "requirements.lock" in stages["runs"]["deps"]


def test_the_views_of_dvc_name_files_that_the_report_makes():
    content = yaml.safe_load((ROOT / "dvc.yaml").read_text(encoding="utf-8"))
    config = load_config(ROOT / "params.yaml")
    for name in content["plots"]:
        exhibit = Path(name).stem
        assert name == f"reports/{exhibit}/{exhibit}.png"
        assert kind_of(config, exhibit).figure, f"{exhibit} is no figure"
    assert content["metrics"] == ["reports/metrics.json"]
    assert "<script" not in (ROOT / ".dvc" / "plots.html").read_text(encoding="utf-8")
