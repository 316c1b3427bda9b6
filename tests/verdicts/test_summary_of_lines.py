"""A summary of lines does not depend on whether they were decided just now or read from the committed file."""

from reproduction.grid.config import load_config
from reproduction.site.project import read_csv
from reproduction.verdicts import scorecard
from tests.workflow.project import ROOT


def test_lines_with_more_digits_than_the_file_give_the_same_summary():
    config = load_config(ROOT / "params.yaml")
    lines = read_csv(ROOT / "reports" / "scorecard.csv")
    numbers = ("lead", "lead_low", "lead_high")
    read = [line | {name: float(line[name]) for name in numbers if line[name]} for line in lines]
    finer = [{name: value + 3e-9 for name, value in line.items() if isinstance(value, float)} for line in read]
    computed = [line | digits for line, digits in zip(read, finer, strict=True)]
    assert scorecard.paper_summaries(config, read, ROOT) == scorecard.paper_summaries(config, computed, ROOT)
