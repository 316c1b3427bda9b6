"""The part of a grid that makes one exhibit anew has the runs of the whole grid, with their fingerprints."""

from pathlib import Path

import pytest

from partialfair.errors import ConfigError
from reproduction.grid import fingerprint
from reproduction.grid.config import Config, load_config
from reproduction.grid.narrowed import Selection, as_yaml, narrowed

ROOT = Path(__file__).parents[2]
CONFIG = load_config(ROOT / "params.yaml")


def reloaded(selection: Selection, folder: Path) -> Config:
    (folder / "params.yaml").write_text(as_yaml(narrowed(CONFIG, selection).params), encoding="utf-8")
    return load_config(folder / "params.yaml")


@pytest.mark.parametrize("exhibit", CONFIG.params.exhibits)
def test_one_seed_of_every_exhibit_is_made_of_runs_of_the_whole_grid(exhibit: str, tmp_path: Path):
    part = reloaded(Selection(exhibit), tmp_path)
    assert list(part.params.exhibits) == [exhibit]
    for name in part.experiments:
        assert part.seeds(name) == CONFIG.seeds(name)[:1]
        jobs = part.jobs(name)
        settings = {(job.dataset, job.algorithm, job.kappa_text) for job in CONFIG.jobs(name)}
        assert {(job.dataset, job.algorithm, job.kappa_text) for job in jobs} == settings and len(jobs) == len(settings)
        for job in jobs[:: max(1, len(jobs) // 5)]:
            assert fingerprint.run(part, job).texts() == fingerprint.run(CONFIG, job).texts()
            assert fingerprint.evaluation(part, job).texts() == fingerprint.evaluation(CONFIG, job).texts()
    assert fingerprint.exhibit(part, exhibit).texts()[0] == fingerprint.exhibit(CONFIG, exhibit).texts()[0]


def test_seeds_datasets_and_methods_are_chosen(tmp_path: Path):
    part = reloaded(Selection("figure1", 2, ("a9a",), ("idca", "unconstrained")), tmp_path)
    assert {job.dataset for job in part.jobs()} == {"a9a"}
    assert {job.algorithm for job in part.jobs()} == {"idca", "unconstrained"}
    assert {job.seed for job in part.jobs()} == {0, 1} and set(part.experiments) == {"psp", "pdp"}
    whole = narrowed(CONFIG, Selection("figure1", 0))
    assert {job.seed for job in whole.jobs()} == set(CONFIG.seeds("psp"))
    assert Selection("figure1", 2, ("a9a",)).options() == ["--seeds", "2", "--datasets", "a9a"]


@pytest.mark.parametrize(
    ("selection", "words"),
    [
        (Selection("figur1"), "no figure, table or experiment 'figur1'; did you mean 'figure1'"),
        (Selection("figure1", 1, ("a9",)), "figure1 has no dataset 'a9'; did you mean 'a9a'"),
        (Selection("figure1", 1, (), ("icda",)), "figure1 has no method 'icda'; did you mean 'idca'"),
    ],
)
def test_what_is_not_there_is_named(selection: Selection, words: str):
    with pytest.raises(ConfigError, match=words):
        narrowed(CONFIG, selection)


def test_the_command_of_a_selection_names_its_grid():
    assert Selection("demo").command(Config(CONFIG.params)) == ["partialfair", "run", "demo", "--seeds", "1"]
    of_mine = Selection("demo").command(Config(CONFIG.params, source="mine.yaml"))
    assert of_mine == ["partialfair", "run", "demo", "--seeds", "1", "--config", "mine.yaml"]
