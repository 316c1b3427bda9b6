"""What the project says of itself in several places agrees."""

import ast
import re
import stat
import sys
import tomllib
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pytest
import yaml
from packaging.specifiers import SpecifierSet

from partialfair import __version__
from partialfair.commands.cli import main
from reproduction.datasets.sources import MIRROR_VARIABLE
from reproduction.exhibits.exhibit import kind_of
from reproduction.grid.config import load_config
from reproduction.grid.params import ParamsModel
from reproduction.grid.workflow import Grid
from tests import fixtures, needs
from tests.browser import chromium
from tests.workflow.project import ROOT

PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
WORKBENCH = tomllib.loads((ROOT / "src/reproduction/pyproject.toml").read_text(encoding="utf-8"))
EXTRAS = PYPROJECT["project"]["optional-dependencies"] | WORKBENCH["project"]["optional-dependencies"]
# The workbench asks for the releases that its results were computed with, the library for two years of them.
REQUIRED = [*PYPROJECT["project"]["dependencies"], *WORKBENCH["project"]["dependencies"]]
REQUIRED.remove(f"partialfair=={__version__}")
WITHOUT_TORCH = ("workflow", "acs", "convex", "docs", "dev")


def requirement(text: str) -> tuple[str, frozenset[str]]:
    """Name and version bounds of a requirement, in pip's or conda's spelling."""
    name, bounds = re.fullmatch(r"([A-Za-z0-9._-]+)\s*(.*)", text).groups()  # type: ignore[union-attr]
    return name.lower(), frozenset(bounds.replace(" ", "").split(",")) - {""}


def test_environment_yml_says_the_same_as_pyproject():
    wanted = [*REQUIRED, *(text for extra in WITHOUT_TORCH for text in EXTRAS[extra])]
    environment = yaml.safe_load((ROOT / "environment.yml").read_text(encoding="utf-8"))
    given = dict(requirement(text) for text in environment["dependencies"])
    assert given.pop("python") == frozenset(PYPROJECT["project"]["requires-python"].split(","))
    given.pop("pip")
    assert given.pop("libopenblas") == {"<0.3.34"}, "a package of its own under conda; pip's NumPy brings it along"
    assert given == dict(map(requirement, wanted))


def test_lock_holds_every_requirement_and_no_torch():
    lock = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    pins = dict(re.findall(r"^([a-z0-9._-]+)==(\S+)", lock, re.MULTILINE))
    assert not [name for name in pins if name.startswith(("torch", "nvidia", "triton"))]
    extras = (text for extra in (*WITHOUT_TORCH, "peers") for text in EXTRAS[extra])
    for text in [*REQUIRED, *extras]:
        name, bounds = requirement(text)
        assert name in pins, f"{name} is missing in requirements.lock; run `make lock`"
        assert all(bound[2:] == pins[name] for bound in bounds if bound.startswith("==")), name
    assert all("--hash=sha256:" in block for block in re.split(r"^(?=[a-z0-9])", lock, flags=re.MULTILINE)[1:])


DISTRIBUTIONS = {"PIL": "pillow", "sklearn": "scikit-learn", "yaml": "pyyaml"}
"""Names of distributions that differ from what is imported."""

PARTS = {"llvmlite": "numba"}
"""Imported packages whose version is another one's to choose."""


def imported(file: Path) -> set[str]:
    """Packages that a module imports anywhere, without the standard library and the project's own."""
    found = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            found.add(str(node.module).partition(".")[0])
    return found - sys.stdlib_module_names - {"partialfair", "reproduction", "papers"}


def test_every_package_that_is_imported_is_declared():
    every = [*REQUIRED, *(text for texts in EXTRAS.values() for text in texts)]
    declared = {requirement(text)[0] for text in every}
    houses = (ROOT / "src/partialfair", ROOT / "src/reproduction", *(ROOT / "papers").glob("*/[!t]*/"))
    used = set().union(*(imported(path) for house in houses for path in house.rglob("*.py")))
    names = {PARTS.get(name, DISTRIBUTIONS.get(name, name.replace("_", "-"))) for name in used}
    assert len(names) > 15 and not names - declared
    lock = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    for part, whole in PARTS.items():
        comes_with = rf"^{part}==[^#]*# via[\s#]*{whole}$"
        assert re.search(comes_with, lock, re.MULTILINE), f"{part} does not come with {whole}"


def test_mypy_is_told_of_imported_packages_alone():
    used = set().union(*map(imported, (ROOT / "src").rglob("*.py")), {"partialfair", "papers", "fairret", "folktables"})
    named = {module.partition(".")[0] for entry in PYPROJECT["tool"]["mypy"]["overrides"] for module in entry["module"]}
    assert len(named) > 10 and not named - used


def test_every_package_offers_its_types():
    packages = [ROOT / package for package in PYPROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]]
    packages += [path.parent for path in (ROOT / "src").glob("*/pyproject.toml")]
    assert len(packages) == 4 and all((package / "py.typed").is_file() for package in packages)


def test_the_entry_point_is_the_command_line():
    entry = PYPROJECT["project"]["scripts"]["partialfair"]
    assert EntryPoint("partialfair", entry, "console_scripts").load() is main
    recipe = yaml.safe_load((ROOT / "recipe" / "meta.yaml").read_text(encoding="utf-8"))
    assert recipe["build"]["entry_points"] == [f"partialfair = {entry}"]


def test_snakefmt_ruff_and_others_are_pinned_in_the_lock_as_in_pyproject():
    assert {requirement(text)[0] for text in EXTRAS["dev"]} >= {"ruff", "mypy", "snakefmt", "pytest"}


def test_citation_has_the_version_of_the_package():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert citation["version"] == PYPROJECT["project"]["version"]
    assert citation["license"] == PYPROJECT["project"]["license"]


def test_the_authors_are_those_of_the_citation():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert citation["authors"] == PYPROJECT["project"]["authors"] != []


def test_make_targets_of_the_readme_exist():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    named = set(re.findall(r"\bmake ([a-z][a-z0-9-]*)", (ROOT / "README.md").read_text(encoding="utf-8")))
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
    assert all({"papers", "src/partialfair", "src/reproduction"} <= set(stage["deps"]) for stage in stages.values())
    assert "requirements.lock" in stages["runs"]["deps"]


def test_the_views_of_dvc_name_files_that_the_report_makes():
    content = yaml.safe_load((ROOT / "dvc.yaml").read_text(encoding="utf-8"))
    config = load_config(ROOT / "params.yaml")
    for name in content["plots"]:
        exhibit = Path(name).stem
        assert name == f"reports/{exhibit}/{exhibit}.svg"
        assert kind_of(config, exhibit).figure, f"{exhibit} is no figure"
    assert content["metrics"] == sorted(path.as_posix() for path in Path("reports").glob("metrics.*.json"))
    assert {Path(name).name.split(".")[1] for name in content["metrics"]} <= set(config.papers)
    assert "<script" not in (ROOT / ".dvc" / "plots.html").read_text(encoding="utf-8")


def test_the_conda_recipe_says_the_same_as_pyproject():
    recipe = yaml.safe_load((ROOT / "recipe" / "meta.yaml").read_text(encoding="utf-8"))
    given = dict(requirement(text) for text in recipe["requirements"]["run"])
    assert given.pop("python") == frozenset(PYPROJECT["project"]["requires-python"].split(","))
    assert given == dict(map(requirement, PYPROJECT["project"]["dependencies"]))
    assert recipe["package"]["version"] == PYPROJECT["project"]["version"]


def test_hosted_checks_call_targets_that_exist():
    steps = [
        step
        for name in (ROOT / ".github" / "workflows").glob("*.yml")
        for job in yaml.safe_load(name.read_text(encoding="utf-8"))["jobs"].values()
        for step in job["steps"]
    ]
    called = {found for step in steps for found in re.findall(r"\bmake (\w[\w-]*)", step.get("run", ""))}
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert {"lint", "test", "demo", "docs"} <= called
    assert all(re.search(rf"^{target}:", makefile, re.MULTILINE) for target in called)


class Reader:
    """A test that reads real data."""

    def get_closest_marker(self, name: str) -> object:
        return object() if name == "real_data" else None


def test_what_ci_demands_is_not_skipped(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    demanded = re.findall(r'PARTIALFAIR_REQUIRE\+=" ([a-z]+)"', (ROOT / ".ci" / "run").read_text(encoding="utf-8"))
    assert set(demanded) == {"data", "browser", "emulator", "cluster"}
    monkeypatch.delenv(MIRROR_VARIABLE, raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    for words, ending in (("", pytest.skip.Exception), (" ".join(demanded), pytest.fail.Exception)):
        monkeypatch.setenv(needs.DEMANDED, words)
        with pytest.raises(ending, match="no real data"):
            fixtures.pytest_runtest_setup(Reader())  # type: ignore[arg-type]
        with pytest.raises(ending, match="no Chromium"), chromium(tmp_path):
            pass
    monkeypatch.setenv(MIRROR_VARIABLE, str(tmp_path))
    fixtures.pytest_runtest_setup(Reader())  # type: ignore[arg-type]


def test_the_workbench_goes_with_the_library():
    """Both have one version; the workbench admits releases that the library admits, up to the same one."""
    library, workbench = PYPROJECT["project"], WORKBENCH["project"]
    assert (
        workbench["version"] == library["version"] and f"partialfair=={library['version']}" in workbench["dependencies"]
    )
    library, workbench = (dict(map(requirement, project["dependencies"])) for project in (library, workbench))
    for name in library.keys() & workbench.keys():
        (oldest, newest), bounds = sorted(workbench[name], reverse=True), SpecifierSet(",".join(library[name]))
        assert oldest[2:] in bounds and newest in library[name], name


def test_the_version_is_that_of_the_project():
    assert __version__ == tomllib.loads(Path("pyproject.toml").read_text())["project"]["version"]
