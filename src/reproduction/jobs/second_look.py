"""What a run that has ended well opens: the second look at the cells whose first look decided nothing."""

from collections.abc import Iterator
from pathlib import Path

from reproduction.grid.config import Config


def second_look_lines(config: Config, root: Path = Path()) -> Iterator[str]:
    """Write the second looks that the results now ask for, and yield what to say of cells that are newly open."""
    if not any(experiment.more_seeds for experiment in config.experiments.values()):
        return
    from reproduction.verdicts import second_look

    news = second_look.update(config, root)
    if news:
        listed = "; ".join(news[:5]) + (f"; and {len(news) - 5} more" if len(news) > 5 else "")
        yield f"second look: more seeds for {len(news)} cells ({listed}); the same command runs them"
