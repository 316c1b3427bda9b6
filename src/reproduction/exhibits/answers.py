"""What the exhibits of a grid say to the numbers and statements of their papers: the lines of the scorecard."""

from pathlib import Path
from typing import Any

from reproduction.exhibits import exhibit
from reproduction.grid.config import Config
from reproduction.verdicts import scorecard
from reproduction.verdicts.scorecard import Answers


def lines(config: Config, root: Path = Path()) -> list[dict[str, Any]]:
    """Return all lines of the scorecard from the tidy tables below ``root``."""
    found = []
    for name in config.params.exhibits:
        kind = exhibit.kind_of(config, name)
        found.append(Answers(exhibit.context(config, name, root), kind.reproduce, kind.claims))
    return scorecard.build(config, found, root, exhibit.Context)
