"""Render exhibits, the scorecard and the page from the tidy tables."""

from pathlib import Path

from partialfair.config import Config, load_config
from partialfair.reporting import cells, exhibit, page, scorecard


def render_exhibit(
    config: Config, exhibit_id: str, out_dir: str | Path | None = None, root: str | Path = "."
) -> list[Path]:
    """Draw one exhibit: its CSV ``{exhibit_id}.csv``, its page ``{exhibit_id}.html`` and figure files.

    Args:
        config: the grid.
        exhibit_id: key in ``exhibits`` of params.yaml.
        out_dir: where to write; by default ``reports/{exhibit_id}``.
        root: the project's root.

    Raises:
        ConfigError: no such exhibit, or an unknown kind.
    """
    context = exhibit.context(config, exhibit_id, Path(root), None if out_dir is None else Path(out_dir))
    written = exhibit.kind_of(config, exhibit_id).render(context)
    page_path = context.path("html")
    if page_path not in written:  # a figure: its page has it as the report does
        title, caption = str(context.options["title"]), str(context.options.get("caption", ""))
        written = [*written, cells.write_html(page_path, title, caption, exhibit.body(context))]
    return written


def write_scorecard(config: Config, out_dir: str | Path | None = None, root: str | Path = ".") -> Path:
    """Write ``scorecard.csv``; see :mod:`partialfair.reporting.scorecard`."""
    folder = Path(out_dir) if out_dir is not None else Path(root) / "reports"
    return scorecard.write(scorecard.build(config, Path(root)), folder / "scorecard.csv")


def render_page(config: Config, out_dir: str | Path | None = None, root: str | Path = ".") -> Path:
    """Write ``index.html``: everything on one self-contained page."""
    folder = Path(out_dir) if out_dir is not None else Path(root) / "reports"
    return page.write(config, folder / "index.html", Path(root))


def render(config_path: str | Path, exhibit_id: str) -> list[Path]:
    """Draw one exhibit of the configuration at ``config_path``."""
    return render_exhibit(load_config(config_path), exhibit_id)


def render_scorecard(config_path: str | Path) -> list[Path]:
    """Write the scorecard, and the page that shows it with all exhibits."""
    config = load_config(config_path)
    return [write_scorecard(config), render_page(config)]
