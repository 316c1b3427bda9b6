"""Draw exhibits from the tidy tables."""

from collections.abc import Sequence
from pathlib import Path

from reproduction.exhibits import canvas, document, exhibit
from reproduction.grid.config import Config


def render_exhibit(
    config: Config,
    exhibit_id: str,
    out_dir: str | Path | None = None,
    root: str | Path = ".",
    formats: Sequence[str] = (canvas.FORMAT,),
    keep: bool = False,
    replace: bool = False,
) -> list[Path]:
    """Draw one exhibit: its CSV ``{exhibit_id}.csv`` and its figure or table (HTML).

    Args:
        config: the grid.
        exhibit_id: key in ``exhibits`` of params.yaml.
        out_dir: where to write; by default ``reports/{exhibit_id}``.
        root: the project's root.
        formats: in which to draw a figure, of svg, pdf and png; with none, only its CSV is written.
        keep: whether claims that lack their runs here stay as they stand in the exhibit's CSV.
        replace: whether its numbers give way to "not run" where they lack their runs here.

    Raises:
        ConfigError: no such exhibit, or an unknown kind.
        DataError: the exhibit's CSV has numbers of runs that are not here, and neither ``keep`` nor ``replace`` helps.
    """
    folder = None if out_dir is None else Path(out_dir)
    context = exhibit.context(config, exhibit_id, Path(root), folder, formats, keep, replace)
    return exhibit.kind_of(config, exhibit_id).render(context)


def render_exhibit_page(config: Config, exhibit_id: str, target: str | Path) -> Path:
    """Write a self-contained page with one exhibit that has been rendered, as Snakemake's report takes it.

    Raises:
        ConfigError: no such exhibit, or an unknown kind.
        DataError: the exhibit's figure has not been drawn.
    """
    context = exhibit.context(config, exhibit_id)
    title, caption = exhibit.heading(context)
    return document.write_html(Path(target), title, caption, exhibit.body(context))
