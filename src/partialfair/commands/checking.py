"""Everything that is checked of a grid before anything runs: settings, exhibits and claims."""

import hashlib

from partialfair.grid import memo, papers
from partialfair.grid.checks import check_settings
from partialfair.grid.config import Config


def check_grid(config: Config) -> None:
    """Import the algorithms and kinds of exhibits of a grid and refuse settings, exhibits and claims that cannot be.

    Raises:
        ConfigError: one sentence that names the key, the value and the remedy.
    """
    from partialfair.reporting.exhibit import check_exhibits

    check_settings(config)
    check_exhibits(config)


def check_grid_once(config: Config) -> None:
    """The same, unless this source has found nothing to refuse in the same grid and papers before.

    Raises:
        ConfigError: see :func:`check_grid`.
    """
    digest = hashlib.sha256(repr((config.name, config.source, config.whole, config.params)).encode())
    for path in sorted(papers.FOLDER.rglob("*.yaml")):
        digest.update(f"\0{path.as_posix()}\0".encode() + path.read_bytes())

    def check() -> str:
        check_grid(config)
        return "nothing to refuse"

    memo.answer(f"grid {digest.hexdigest()}", check)
