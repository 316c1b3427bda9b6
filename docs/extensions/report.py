"""The report inside this site: home, papers, exhibits, a gallery and two explorers; from committed results.

``{home}``, ``{paper} NAME``, ``{exhibit} NAME``, ``{gallery}`` and ``{explorer} NAME`` write what
:mod:`reproduction.site` makes of ``reports/``. Nothing is trained and nothing is drawn.
"""

import shutil
from functools import cache
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from partialfair.data.files import atomic_path
from partialfair.pages import palette
from reproduction.exhibits import document
from reproduction.site import exhibits, explorers, home, papers
from reproduction.site.project import FORMATS, Project

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
MARKS = ("<!-- verdicts, written by make docs -->", "<!-- end of verdicts -->")


@cache
def project() -> Project:
    """Return the checkout that the site describes."""
    return Project(ROOT)


def explorer(name: str, root: str) -> str:
    """Return the frame of an explorer, which its script fills."""
    file = {"scorecard": "scorecard.csv", "runs": "runs.js"}[name]
    return str(document.environment().get_template("site/explorer.html.j2").render(name=name, root=root, file=file))


def gallery(root: str) -> str:
    """Return all exhibits by paper, as pictures."""
    from reproduction.site.scorecard_entries import TONES

    own = project()
    sections = [(name, paper.title, papers.exhibits(own, name)) for name, paper in own.papers.items()]
    sections.append(("own", "Beyond the papers", papers.beyond(own)))
    template = document.environment().get_template("site/gallery.html.j2")
    return str(template.render(root=root, sections=sections, tones=TONES))


def costs() -> str:
    """Return what training took, experiment by experiment, as the runs recorded it."""
    import pandas as pd

    own, rows = project(), []
    for name, experiment in own.config.experiments.items():
        path = ROOT / "reports" / name / "runs.parquet"
        if path.is_file():
            runs = pd.read_parquet(path)
            runs = runs[runs["status"] != "not_run"]
            paper = own.short(experiment.paper)
            rows.append((paper, name, len(runs), runs["cpu_seconds"].sum() / 60, runs["peak_memory_mib"].max()))
    table = pd.DataFrame(rows, columns=["paper", "experiment", "runs", "minutes", "memory"])
    template = document.environment().get_template("site/costs.html.j2")
    return str(template.render(papers=list(table.groupby("paper", sort=False)), table=table))


@cache
def standing() -> str:
    """Say how many runs of the present grid the committed tables hold, and how many of them the present code made.

    Empty where that is all of them.
    """
    import pandas as pd

    from reproduction.grid import fingerprint

    key = ["dataset", "algorithm", "kappa", "seed"]
    config, wanted, here, current = project().config, 0, 0, 0
    for name in config.experiments:
        jobs = config.jobs(name)
        wanted += len(jobs)
        path = ROOT / "reports" / name / "runs.parquet"
        if not path.is_file():
            continue
        runs = pd.read_parquet(path, columns=[*key, "closure_hash"])
        made = dict(zip(runs[key].itertuples(index=False, name=None), runs["closure_hash"], strict=True))
        found = [job for job in jobs if (job.dataset, job.algorithm, job.kappa, job.seed) in made]
        here += len(found)
        current += sum(
            made[job.dataset, job.algorithm, job.kappa, job.seed] == fingerprint.run(config, job).code for job in found
        )
    if current == wanted:
        return ""
    older, missing = here - current, wanted - here
    words = [f"{older:,} of the {wanted:,} runs were trained by earlier revisions of the code"] if older else []
    words += [f"{missing:,} {'more ' if older else f'of the {wanted:,} runs '}were not trained"] if missing else []
    more = '<a href="history.html#the-whole-grid-in-one-command">What was compared</a>'
    return f"{', '.join(words)}; <code>make paper</code> trains them. {more}."


class Report(SphinxDirective):
    """A directive that a function of this project writes as HTML."""

    optional_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Return the HTML."""
        root = "../" * self.env.docname.count("/")
        writers = {
            "home": lambda: home.html(project(), root, standing()),
            "paper": lambda: papers.html(project(), self.arguments[0], root),
            "exhibit": lambda: exhibits.html(project(), self.arguments[0], root),
            "gallery": lambda: gallery(root),
            "costs": costs,
            "explorer": lambda: explorer(self.arguments[0], root),
        }
        return [nodes.raw("", writers[self.name](), format="html")]


def readme(text: str) -> str:
    """Return the README with the present table of verdicts between its two marks."""
    before, _, rest = text.partition(MARKS[0])
    _, _, after = rest.partition(MARKS[1])
    return f"{before}{MARKS[0]}\n{papers.markdown(project())}{MARKS[1]}{after}"


def pages(app: Sphinx) -> None:
    """Write the sources of the pages of papers and exhibits, forget those that are gone; write the README's table."""
    own = project()
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    if app.tags.has("readme") and readme(text) != text:  # `make docs` alone writes a committed file
        with atomic_path(ROOT / "README.md") as target:  # a committed file: a build that is killed leaves it whole
            target.write_text(readme(text), encoding="utf-8")
    wanted = {
        f"papers/{name}.md": f"---\nhide-toc: true\n---\n# {paper.title}\n\n```{{paper}} {name}\n```\n\n"
        f"```{{include}} ../../papers/{name}/README.md\n:relative-docs: ../../docs\n:start-line: 1\n```\n"
        for name, paper in own.papers.items()
    }
    for name, shown in own.exhibits.items():
        wanted[f"exhibits/{name}.md"] = (
            f"---\nhide-toc: true\norphan: true\n---\n# {shown.title or name}\n\n```{{exhibit}} {name}\n```\n"
        )
    for folder in ("papers", "exhibits"):
        (DOCS / folder).mkdir(exist_ok=True)
        for path in (DOCS / folder).glob("*.md"):
            if f"{folder}/{path.name}" not in wanted:
                path.unlink()
    for name, text in wanted.items():
        path = DOCS / name
        if not path.is_file() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def first_page(app: Sphinx, name: str, source: list[str]) -> None:
    """Write into the source of the first page how many papers there are, and name their pages in the grid's order."""
    if name != "index":
        return
    listed = "\n".join(f"{project().short(paper)} <papers/{paper}>" for paper in project().papers)
    number = home.count(len(project().papers))
    source[0] = source[0].replace("{papers}", listed).replace("{number}", number)


def outdated(app: Sphinx, env: Any, added: Any, changed: Any, removed: Any) -> list[str]:
    """Name the pages whose numbers may have changed though their sources have not."""
    made = {"index", "results", "gallery", "comparisons", "scorecard-explorer", "runs-explorer"}
    return [name for name in env.found_docs if name in made or name.startswith(("papers/", "exhibits/"))]


def files(app: Sphinx, failed: Exception | None) -> None:
    """Copy what pages offer, and write what they load."""
    if failed is not None or app.builder.name != "html":
        return
    out, own = Path(app.outdir), project()
    data = out / "data"
    shutil.rmtree(data, ignore_errors=True)
    data.mkdir()
    for shown in own.exhibits.values():
        (data / shown.name).mkdir()
        for suffix in FORMATS:
            if suffix in shown.files:
                shutil.copy(shown.files[suffix], data / shown.name)
    shutil.copy(ROOT / "reports" / "scorecard.csv", data)
    (data / "runs").mkdir()
    for name, script in {"scorecard": explorers.scorecard(own), **explorers.runs(own)}.items():
        (data / f"{name}.js").write_text(script, encoding="utf-8")


def tones() -> str:
    """Return the colours of figures as variables, for light and dark pages."""
    light, dark = (palette.variables(dark=dark) for dark in (False, True))
    return (
        f"body {{ {light} }}\nbody[data-theme=dark] {{ {dark} }}\n"
        f"@media (prefers-color-scheme: dark) {{ body:not([data-theme=light]) {{ {dark} }} }}\n"
    )


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directives and what they load."""
    project.cache_clear()
    static = DOCS / "generated" / "static"
    static.mkdir(parents=True, exist_ok=True)
    (static / "tones.css").write_text(tones(), encoding="utf-8")
    for name in ("home", "paper", "exhibit", "gallery", "explorer", "costs"):
        app.add_directive(name, Report)
    app.connect("builder-inited", pages)
    app.connect("source-read", first_page)
    app.connect("env-get-outdated", outdated)
    app.connect("build-finished", files)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
