"""The table of acceptance tests names tests that exist, and names all of this folder."""

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
FOLDER = Path(__file__).parent


def functions(path: Path) -> set[str]:
    """Names of the test functions of a file."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")}


def test_every_named_test_exists_and_every_test_of_the_folder_is_named() -> None:
    named = set(
        re.findall(r"`((?:tests|papers)/[\w/]+\.py)::(test_\w+)`", (FOLDER / "README.md").read_text(encoding="utf-8"))
    )
    assert len(named) > 100
    missing = [f"{path}::{name}" for path, name in sorted(named) if name not in functions(ROOT / path)]
    assert not missing
    others = [path for path in FOLDER.glob("test_*.py") if path != Path(__file__)]
    own = {(f"tests/acceptance/{path.name}", name) for path in others for name in functions(path)}
    assert not own - named
