"""The plugins are distributions of their own, and say with which releases of Snakemake they were tested."""

import re
import tomllib
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
PLUGINS = sorted(path.parent for path in (ROOT / "src").glob("snakemake_*_plugin_*/__init__.py"))


def project(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = tomllib.loads((folder / "pyproject.toml").read_text())
    return found


def number(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(".")[:3])


@pytest.mark.parametrize("folder", PLUGINS, ids=lambda folder: folder.name)
def test_a_plugin_has_what_a_distribution_needs(folder: Path) -> None:
    found = project(folder)["project"]
    assert found["name"] == folder.name.replace("_", "-")
    assert all((folder / name).read_text().strip() for name in ("README.md", "LICENSE", "CHANGELOG.md"))
    assert f"## {found['version']}" in (folder / "CHANGELOG.md").read_text()


@pytest.mark.parametrize("folder", PLUGINS, ids=lambda folder: folder.name)
def test_the_range_of_releases_is_the_tested_one(folder: Path) -> None:
    (asked,) = [text for text in project(folder)["project"]["dependencies"] if re.match(r"snakemake[<>=]", text)]
    lowest, bound = re.fullmatch(r"snakemake>=([\d.]+),<([\d.]+)", asked).groups()  # type: ignore[union-attr]
    script = (ROOT / "tests/warm_executor/releases.sh").read_text()
    tested = re.search(r"set -- ([\d. ]+) #", script).group(1).split()  # type: ignore[union-attr]
    assert tested == sorted(tested, key=number) and tested[0] == lowest and number(tested[-1]) < number(bound)
    assert number(lowest) <= number(version("snakemake")) < number(bound)
    named = re.search(r"Tested with Snakemake ([\d., and]+) \(", (folder / "README.md").read_text())
    assert named and re.findall(r"[\d.]+\d", named.group(1)) == tested


def test_no_plugin_comes_with_the_library() -> None:
    assert project(ROOT)["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"] == ["src/partialfair"]
