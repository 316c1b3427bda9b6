"""What a paper states of its data and settings is found in tables and grid, never taken from the published value."""

import math
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from partialfair.data.dataset import Dataset
from partialfair.errors import ConfigError
from reproduction.exhibits import answers, exhibit
from reproduction.grid.config import load_config
from reproduction.verdicts import scorecard, stated_numbers
from reproduction.verdicts.line import SETTINGS, counts
from reproduction.verdicts.published import Published

ROOT = Path(__file__).parents[2]
EXHIBITS = [
    name for name, entry in load_config(ROOT / "params.yaml").params.exhibits.items() if entry.kind == "settings"
]


def row(metric, value, dataset="bank", algorithm="", setting="", split=""):
    return Published("p", "e", dataset, algorithm, "", "", setting, metric, value, split)


@pytest.fixture
def shown(tmp_path):
    """An exhibit of the real grid in a folder with one small prepared table."""
    folder = tmp_path / "data/processed/bank"
    (folder / "splits").mkdir(parents=True)
    n = np.arange(10)
    table = Dataset(
        X=np.column_stack([20.0 + n, n]).astype(np.float32),
        y=np.where(n < 3, 1.0, -1.0),
        group=(n >= 6).astype(np.int16),
        feature_names=("age", "in_group:b"),
        group_names=("a", "b"),
        name="bank",
        numeric=np.array([0]),
    )
    table.save(folder / "table.npz")
    np.savez(folder / "splits/seed=0.npz", train=n[:6], validation=n[6:8], test=n[8:])
    return exhibit.context(load_config(ROOT / "params.yaml"), "auc_protocol_data", tmp_path)


def found(shown, published, parts=None, **source):
    name = f"{published.algorithm}.{published.metric}" if published.algorithm else published.metric
    extra = {"parts": parts} if parts else {}
    return stated_numbers.reproduce(shown, published, stated_numbers.StatedSources(sources={name: source}, **extra))


@pytest.mark.parametrize(
    ("source", "value"),
    [
        ({"count": "rows"}, 10),
        ({"count": "rows", "group": 1}, 4),
        ({"count": "columns", "plus": 2}, 3),
        ({"count": "memberships"}, 1),
        ({"count": "groups"}, 2),
        ({"count": "positive_share"}, 0.3),
        ({"count": "min", "column": "age", "group": 1}, 26),
        ({"count": "max", "column": "age"}, 29),
        ({"count": "share", "part": "train"}, 0.6),
        ({"count": "share", "part": "val"}, 0.2),
    ],
)
def test_counts_of_a_table(shown, source, value):
    right, wrong = found(shown, row("x", float(value)), **source), found(shown, row("x", value + 1.0), **source)
    assert right.estimate.mean == wrong.estimate.mean == pytest.approx(value)
    assert (right.verdict, wrong.verdict) == ("as stated", "differs from the paper")


def test_the_part_is_that_of_the_published_row(shown):
    both = {"train": ["train", "validation"], "test": ["test"]}
    assert found(shown, row("x", 0.8, split="train"), both, count="share").verdict == "as stated"
    assert found(shown, row("x", 0.8, split="test"), both, count="share").estimate.mean == pytest.approx(0.2)


@pytest.mark.parametrize(
    ("published", "source", "value", "verdict"),
    [
        (row("h", 10.0, algorithm="iqrc"), {"setting": "hidden"}, 10, "as stated"),
        (
            row("w", -3.0),
            {"setting": "largest_shift", "algorithm": "auc_post_processing", "times": -1},
            -3,
            "as stated",
        ),
        (row("c", 0.1, algorithm="sfls"), {"setting": "constants", "use": "among"}, 0.1, "as stated"),
        (row("c", 0.017, algorithm="sfls"), {"setting": "constants", "use": "among"}, None, "differs from the paper"),
        (row("c", 0.1, algorithm="idca"), {"setting": "constants", "use": "among"}, None, ""),
        (row("n", 3.0), {"runs": "seeds"}, 15, "differs from the paper"),
        (row("n", 15.0), {"runs": "seeds"}, 15, "as stated"),
        (row("n", 3.0), {"absent": "not here"}, None, ""),
    ],
)
def test_settings_of_the_grid(shown, published, source, value, verdict):
    outcome = found(shown, published, **source)
    assert (outcome.estimate.mean if outcome.estimate else None) == value and outcome.verdict == verdict


@pytest.mark.parametrize(
    ("printed", "ours", "same"),
    [(0.308, 0.3084, True), (0.308, 0.3086, False), (9.0, 9.4, False), (1e-5, 1.4e-5, False), (1e-5, 1e-5, True)],
)
def test_rounded_to_what_is_printed(printed, ours, same):
    assert (abs(ours - printed) <= stated_numbers._half_unit(printed)) is same


def test_lines_are_listed_and_not_counted(shown):
    line = scorecard.compare(shown, row("x", 10.0), lambda *_: found(shown, row("x", 10.0), count="rows"))
    assert (line["kind"], line["verdict"], line["reproduced"]) == ("setting", "as stated", 10)
    assert not counts(line)
    with pytest.raises(ConfigError, match="a number cannot be 'as stated'"):
        scorecard.write([line | {"kind": "number"}], shown.root / "scorecard.csv")


@pytest.mark.parametrize("name", EXHIBITS)
def test_every_stated_number_of_the_shipped_papers_has_a_place(name):
    config = load_config(ROOT / "params.yaml")
    context = exhibit.context(config, name, ROOT)
    kind = exhibit.kind_of(config, name)
    assert context.published
    for published in context.published:
        outcome = kind.reproduce(context, published)
        assert outcome.kind == "setting" and outcome.note != "nothing here to compare it with", published
        assert outcome.verdict == "" or outcome.verdict in SETTINGS
        assert outcome.estimate is None or not math.isnan(outcome.estimate.mean)


def test_rows_of_raw_files_are_counted_together(tmp_path: Path) -> None:
    folder = tmp_path / "data" / "raw" / "adult"
    folder.mkdir(parents=True)
    (folder / "adult.data").write_text("1, a\n2, b\n\n")
    config = SimpleNamespace(dataset_options=lambda name: {"module": "adult_age"})
    evidence = SimpleNamespace(root=tmp_path, config=config)
    row = Published("p", "e", "adult", "", "", "", "", "n_instances_raw", 3.0)
    places = stated_numbers.StatedSources.model_validate(
        {"sources": {"n_instances_raw": {"lines_of": ["adult.data", "adult.test"]}}, "tables": {"adult": "dp_adult"}}
    )
    assert stated_numbers.reproduce(evidence, row, places).estimate is None  # type: ignore[arg-type]
    (folder / "adult.test").write_text("|1x3 Cross validator\n3, c\n")
    outcome = stated_numbers.reproduce(evidence, row, places)  # type: ignore[arg-type]
    assert outcome.estimate is not None and outcome.estimate.mean == 3 and outcome.verdict == "as stated"


def test_what_holds_by_construction_is_said_so_and_not_compared() -> None:
    places = stated_numbers.StatedSources.model_validate(
        {"sources": {"n_layers": {"by_construction": "one hidden layer and the output"}}}
    )
    row = Published("p", "e", "", "", "", "", "", "n_layers", 2.0)
    outcome = stated_numbers.reproduce(SimpleNamespace(), row, places)  # type: ignore[arg-type]
    assert (outcome.verdict, outcome.note, outcome.estimate) == (
        "by construction",
        "one hidden layer and the output",
        None,
    )


def test_of_several_sources_the_most_particular_counts() -> None:
    names = ["bank", "x", "bank.x", "idca.x"]  # the most particular comes last
    for count in range(1, len(names) + 1):
        places = stated_numbers.StatedSources.model_validate(
            {"sources": {name: {"absent": name} for name in names[:count]}}
        )
        outcome = stated_numbers.reproduce(None, row("x", 1.0, algorithm="idca"), places)  # type: ignore[arg-type]
        assert outcome.note == names[count - 1]


def test_every_experiment_is_decided_by_itself() -> None:
    """Its page stands alone: what an exhibit takes from other experiments, too, is not run there, and no mistake."""
    config = load_config(ROOT / "params.yaml")
    for name in config.experiments:
        answers.scorecard_lines(config.restricted(name), ROOT)


def test_a_setting_of_an_experiment_that_is_left_out_has_no_answer() -> None:
    shown = exhibit.context(load_config(ROOT / "params.yaml").restricted("stoch_table3"), "stochastic_setup", ROOT)
    source = {"setting": "minibatch", "experiment": "stoch_figure5"}
    outcome = found(shown, row("x", 10.0, algorithm="stochastic_ghost"), **source)
    assert (outcome.verdict, outcome.source) == ("", "stoch_figure5, which says so, is not part of this page")
    outcome = found(shown, row("x", 10.0), runs="seeds", experiments=["stoch_figure5"])
    assert outcome.estimate is None and "stoch_figure5" in outcome.source
    with pytest.raises(ConfigError, match="unknown experiment 'stoch_figure6'"):
        whole = exhibit.context(load_config(ROOT / "params.yaml"), "stochastic_setup", ROOT)
        found(whole, row("x", 10.0, algorithm="stochastic_ghost"), setting="minibatch", experiment="stoch_figure6")
