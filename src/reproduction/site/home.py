"""The first page: which papers reproduce, a figure to look into, and where results differ and why."""

import json
import math
from collections import Counter
from typing import Any

from partialfair.pages import palette
from reproduction.exhibits import document, style
from reproduction.grid.papers import FirstFigure
from reproduction.site import differences, papers, scorecard_entries
from reproduction.site.exhibits import question_of
from reproduction.site.project import Project, read_csv

NUMBERS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine")


def html(project: Project, root: str = "", standing: str = "") -> str:
    """Return the body of the first page.

    Args:
        project: the checkout.
        root: relative address of the site's first page.
        standing: HTML that says which of the results are not of the present grid and code; empty if none.
    """
    verdicts = [papers.Verdict.of_paper(project, name) for name in project.papers]
    commit, date = project.revision
    template = document.environment().get_template("site/home.html.j2")
    return str(
        template.render(
            root=root, verdicts=verdicts, lead=lead(verdicts), commit=commit, date=date, standing=standing,
            settings=scorecard_entries.tally(e for e in project.entries if e.kind == "setting"),
            numbers=sum(e.kind == "number" and not e.power for e in project.entries),
            questions=_count_questions(project),
            figure=first_figure(project), frontier=frontier(project), cards=_cards(project),
            data=_data(project),
        )
    )  # fmt: skip


def _count_questions(project: Project) -> int:
    questions = (entry for entry in project.entries if entry.kind == "question")
    return len({(entry.paper, entry.claim or question_of(entry)) for entry in questions})


def lead(verdicts: list[papers.Verdict]) -> str:
    """Return the answer in one sentence: of how many papers the central claim holds, and so on."""
    counts = Counter(verdict.word for verdict in verdicts)
    phrases = {
        "holds": ("holds", "hold"),
        "partly": ("holds in part and fails nowhere", "hold in part and fail nowhere"),
        "mixed": ("holds in some comparisons and fails in others", "hold in some comparisons and fail in others"),
        "depends": ("depends on how it is read", "depend on how they are read"),
        "does not hold": ("does not hold", "do not hold"),
        "cannot tell": ("cannot be told", "cannot be told"),
    }
    clauses = [f"{count(counts[word])} {phrase[counts[word] > 1]}" for word, phrase in phrases.items() if counts[word]]
    if len(clauses) == 1:
        return f"We re-ran {count(len(verdicts))} papers. The central claim of each {phrases[verdicts[0].word][0]}."
    listed = f"{', '.join(clauses[:-1])}, {clauses[-1]}" if len(clauses) > 2 else " and ".join(clauses)
    return f"We re-ran all of them. Of {count(len(verdicts))} central claims, {listed}."


def count(number: int) -> str:
    """Return a number as it stands in a sentence."""
    return NUMBERS[number - 1] if 0 < number <= len(NUMBERS) else str(number)


def first_figure(project: Project) -> FirstFigure | None:
    """Return the figure that the page offers to look into: that of the first paper which names one."""
    return next((paper.first_figure for paper in project.papers.values() if paper.first_figure), None)


def _data(project: Project) -> list[tuple[str, str]]:
    """Return what the datasets of that figure are."""
    figure = first_figure(project)
    if figure is None or figure.exhibit not in project.exhibits:
        return []
    return project.data_facts(project.exhibits[figure.exhibit].experiments)


def frontier(project: Project) -> str:
    """Return the numbers of that figure as JSON for the script that draws it; empty if it has not been drawn."""
    figure = first_figure(project)
    if figure is None:
        return ""
    path = project.root / "reports" / figure.exhibit / f"{figure.exhibit}.csv"
    if not path.is_file():
        return ""
    rows = read_csv(path)
    names = list(dict.fromkeys(row["algorithm"] for row in rows))
    series = [
        {
            "name": name, "label": style.plot_style(name, names).label, "marker": style.plot_style(name, names).marker,
            "tone": f"var(--tone-{_tone(style.plot_style(name, names).colour)})", "up": style.ascending(name),
            "off": name in figure.hidden,
        }
        for name in names
    ]  # fmt: skip
    intervals = _intervals(project, figure.exhibit)
    panels: dict[tuple[str, str], dict[str, Any]] = {}
    for row in rows:
        key = (row["experiment"], row["dataset"])
        title = f"{style.dataset_title(row['dataset'])}{intervals.get(key, '')}"
        panel = panels.setdefault(key, {"experiment": key[0], "dataset": key[1], "title": title, "points": []})
        values = [_short(row[column]) for column in ("fairness", "fairness_low", "fairness_high")]
        values += [_short(row[column]) for column in ("accuracy", "accuracy_low", "accuracy_high")]
        if values[0] is None or values[3] is None:
            continue
        panel["points"].append(
            {
                "s": names.index(row["algorithm"]), "p": row["source"] == "published", "k": row["kappa"],
                "v": values, "n": row["n_seeds"], "m": int(row.get("missed") or 0),
            }
        )  # fmt: skip
    titles = {name: project.config.experiment(name).title for name, _ in panels}
    return json.dumps({"series": series, "panels": list(panels.values()), "experiments": titles}, separators=(",", ":"))


def _tone(colour: str) -> str:
    return next((name for name, tone in palette.TONES.items() if tone.light == colour.lower()), "ink")


def _intervals(project: Project, exhibit: str) -> dict[tuple[str, str], str]:
    intervals = {}
    for name in project.config.params.exhibits[exhibit].experiments:
        for dataset, run in project.config.experiment(name).runs.items():
            intervals[name, dataset] = f", I = {style.interval_title(run.interval)}"
    return intervals


def _short(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return round(value, 4) if math.isfinite(value) else None


def _cards(project: Project) -> list[dict[str, Any]]:
    cards = []
    for entry in differences.load(project):
        exhibit = project.exhibits.get(entry.exhibit)
        if exhibit is None or entry.paper not in project.papers:
            continue
        picture = "svg" in exhibit.files
        cards.append({"entry": entry, "exhibit": exhibit, "picture": picture, "paper": project.short(entry.paper)})
    return cards
