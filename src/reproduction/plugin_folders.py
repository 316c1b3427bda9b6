"""Where plug-ins stand besides those of the library: in this package, and in the folders of the papers."""

import sys
from collections.abc import Iterator
from pathlib import Path

HERE = Path(__file__).parent


def project() -> Path:
    """Return the folder that holds ``papers``: the checkout of this source, else the working directory."""
    checkout = HERE.parents[1]
    return checkout if (checkout / "papers").is_dir() else Path.cwd()


def folders() -> Iterator[tuple[Path, str]]:
    """Yield each package that may hold folders of plug-ins, as its folder and dotted name; papers become importable."""
    yield HERE, HERE.name
    root = project()
    papers = sorted(path for path in (root / "papers").glob("[a-z]*") if path.is_dir())
    if papers and str(root) not in sys.path:
        sys.path.append(str(root))
    yield from ((paper, f"papers.{paper.name}") for paper in papers)
