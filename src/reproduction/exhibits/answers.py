"""The scorecard of a grid: its exhibits answer the numbers and the statements of their papers, line by line."""

from pathlib import Path
from typing import Any

from reproduction.exhibits import exhibit
from reproduction.grid.config import Config
from reproduction.verdicts import scorecard
from reproduction.verdicts.scorecard import Answers


def scorecard_lines(config: Config, root: Path = Path()) -> list[dict[str, Any]]:
    """Return all lines of the scorecard from the tidy tables below ``root``."""
    answers = []
    for name in config.params.exhibits:
        kind = exhibit.kind_of(config, name)
        answers.append(Answers(exhibit.context(config, name, root), kind.reproduce, kind.claims))
    return scorecard.build(config, answers, root, exhibit.Context)
