"""The comparisons of a claim as a table: one row per place, one column per other side."""

from reproduction.site.comparisons import arrange
from reproduction.site.exhibits import TestedClaim
from reproduction.site.scorecard_entries import entry


def line(verdict, **more):
    return entry({"kind": "claim", "verdict": verdict, "counts": "yes", "algorithm": "idca"} | more)


def test_rows_are_named_by_what_differs_and_sides_by_the_titles_of_their_experiments():
    lines = [
        line("holds", dataset="a9a", setting="psp", against="ALM in other"),
        line("fails", dataset="a9a", setting="psp", against="SSG"),
        line("undecided", dataset="a9a", setting="pdp", against="SSG"),
    ]
    found = arrange(TestedClaim("It is ahead.", lines), {"psp": "Partial statistical parity", "other": "Fewer labels"})
    assert found.columns == ["ALM: Fewer labels", "SSG"]
    assert [place for place, _ in found.rows] == ["Partial statistical parity", "pdp"]
    outcomes = [[[one.outcome for one in cell] for cell in cells] for _, cells in found.rows]
    assert outcomes == [[["holds"], ["fails"]], [[], ["cannot tell"]]]


def test_a_single_place_is_its_dataset():
    found = arrange(TestedClaim("It converges.", [line("holds", dataset="law_school")]), {})
    assert [place for place, _ in found.rows] == ["law school"] and found.columns == [""]
