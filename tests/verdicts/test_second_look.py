"""Which cells take more seeds, on planted frontiers whose answer is known."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import synthetic
import yaml

from partialfair.errors import DataError
from reproduction.grid import looks
from reproduction.grid.config import load_config
from reproduction.jobs.second_look import second_look_lines
from reproduction.verdicts import second_look
from tests.verdicts.planted import context, decided, entry

MORE = [5, 6, 7, 8, 9, 10, 11, 12, 13, 14]
CLAIM = {
    "id": "ahead", "section": "7", "sentence": "It is ahead", "test": "better", "method": "idca", "central": True,
    "against": ["group_auc", "inter_group"], "experiments": ["psp"], "metric": "accuracy", "family": "one",
    "at_equal": {"levels": 4, "every": False}, "practical": {"margin": 1e-6, "unit": "accuracy", "because": "tiny"},
    "readings": {
        "main": {"cut": "all"}, "because": "so",
        "options": {"cut": [{"name": "fair", "fairer_than": 0.7, "because": "so"}]},
    },
}  # fmt: skip


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A grid whose experiment psp has ten more seeds on a9a, and results in which one rival of two is far behind."""
    content = synthetic.params() | {"seeds": list(range(5)), "exhibits": {}}
    model = synthetic.experiment("partial_statistical_parity", algorithms=["idca", "group_auc", "inter_group", "alm"])
    content["experiments"] = {"psp": model | {"paper": "invented", "more_seeds": {"a9a": MORE}}}
    (tmp_path / "papers" / "invented").mkdir(parents=True)
    (tmp_path / "papers" / "invented" / "claims.yaml").write_text(yaml.safe_dump([CLAIM]))
    (tmp_path / "params.yaml").write_text(yaml.safe_dump(content, sort_keys=False))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def collect(project, config, leads, experiment="psp"):
    """Write collected tables of all runs of an experiment, with the leads of idca over its rivals."""

    def shift(job, fairness):
        lead = leads.get(job.algorithm, 0.0)
        return -lead + 2e-3 * np.random.default_rng([job.seed, len(job.algorithm + experiment)]).normal()

    metrics = context(config, shift).results.metrics
    metrics = metrics[metrics.experiment == experiment]
    runs = metrics[["experiment", "dataset", "algorithm", "kappa", "seed", "status"]].drop_duplicates()
    folder = project / "reports" / experiment
    folder.mkdir(parents=True, exist_ok=True)
    metrics.to_parquet(folder / "metrics.parquet")
    runs.to_parquet(folder / "runs.parquet")


def test_methods_of_an_open_comparison_take_more_seeds_and_no_others(project):
    config = load_config("params.yaml")
    assert {job.seed for job in config.jobs()} == set(range(5))
    assert second_look.open_cells(config, "invented") is None, "nothing has been run"
    collect(project, config, {"group_auc": 0.2, "inter_group": 5e-4})
    (line,) = second_look_lines(config)
    assert "3 cells" in line and "psp a9a inter_group" in line
    assert looks.open_cells("invented") == {("psp", "a9a", name) for name in ("idca", "inter_group", "unconstrained")}
    seeds = {name: load_config("params.yaml").seeds("psp", "a9a", name) for name in ("idca", "group_auc", "alm")}
    assert seeds == {"idca": [*range(15)], "group_auc": [*range(5)], "alm": [*range(5)]}
    assert load_config("params.yaml").seeds("psp", "bank", "idca") == [*range(5)]


def test_a_claim_that_is_not_central_may_take_a_second_look(project):
    """Table 3 compares an interval with the full range: the side in another experiment takes the seeds, too."""
    content = yaml.safe_load((project / "params.yaml").read_text())
    model = content["experiments"]["psp"]
    content["experiments"]["psp_full"] = model | {"runs": {"a9a": model["runs"]["a9a"]}}
    (project / "params.yaml").write_text(yaml.safe_dump(content, sort_keys=False))
    settings = {"central": False, "against": [{"experiment": "psp_full"}], "family": ""}
    path = project / "papers" / "invented" / "claims.yaml"
    path.write_text(yaml.safe_dump([CLAIM | settings]))
    config = load_config("params.yaml")
    for name in ("psp", "psp_full"):
        collect(project, config, {"idca": -5e-4 if name == "psp" else 0.0}, name)
    assert second_look.open_cells(config, "invented") is None, "no claim asks for a second look"
    path.write_text(yaml.safe_dump([CLAIM | settings | {"second_look": True}]))
    names = ("idca", "unconstrained")
    cells = {(experiment, "a9a", name) for experiment in ("psp", "psp_full") for name in names}
    assert second_look.open_cells(config, "invented") == cells - {("psp_full", "a9a", "unconstrained")}


def test_the_second_look_changes_nothing_of_the_first(project):
    config = load_config("params.yaml")
    collect(project, config, {"group_auc": 0.2, "inter_group": 5e-4})
    assert [*second_look_lines(config)]
    opened = (project / "papers" / "invented" / looks.FILE).read_text()
    config = load_config("params.yaml")
    collect(project, config, {"group_auc": 0.2, "inter_group": 0.2})  # whatever the further seeds say
    rows = pd.read_parquet("reports/psp/metrics.parquet")
    collect(project, config.at_first_look(), {"group_auc": 0.2, "inter_group": 5e-4})
    early = pd.read_parquet("reports/psp/metrics.parquet")
    pd.concat([early, rows[rows.seed > 4]]).to_parquet("reports/psp/metrics.parquet")
    assert [*second_look_lines(config)] == []
    assert (project / "papers" / "invented" / looks.FILE).read_text() == opened


def test_five_seeds_decide_at_the_first_boundary_alone(project):
    """A lead with p between the boundaries of the looks is open after five seeds; without a second look it holds."""
    config = load_config("params.yaml")
    claim = entry(**{key: value for key, value in CLAIM.items() if key not in ("id", "section", "sentence")})
    evidence = context(config, lambda job, _: 4e-4 * (job.algorithm == "idca"), noise=2e-4)
    lines = [line for line in decided(evidence, claim) if line.dataset == "a9a"]
    content = yaml.safe_load((project / "params.yaml").read_text())
    del content["experiments"]["psp"]["more_seeds"]
    (project / "params.yaml").write_text(yaml.safe_dump(content, sort_keys=False))
    with_one_look = replace(evidence, config=load_config("params.yaml"))
    once = [line for line in decided(with_one_look, claim) if line.dataset == "a9a"]
    assert [line.p_value for line in lines] == [line.p_value for line in once]
    assert all(1.1e-4 < line.p_value < 0.025 for line in lines)
    assert {line.verdict for line in lines} == {"undecided"} and {line.verdict for line in once} == {"holds"}


def test_a_comparison_that_stops_at_the_first_look_lacks_no_seeds_of_the_second(project):
    """Without a seed of its rival's second look it was called incomplete, and so its word rested on single seeds."""
    config = load_config("params.yaml")
    collect(project, config, {"group_auc": 0.2, "inter_group": 5e-4})
    assert [*second_look_lines(config)]
    config = load_config("params.yaml")
    claim = entry(**{key: value for key, value in CLAIM.items() if key not in ("id", "section", "sentence")})
    shift = {"group_auc": -0.2, "inter_group": -5e-4}
    evidence = context(config, lambda job, _: shift.get(job.algorithm, 0.0), noise=2e-4)
    line = next(line for line in decided(evidence, claim) if (line.dataset, line.against) == ("a9a", "Group AUC"))
    assert (line.n, line.verdict, line.robust, line.seeds_flip) == (5, "holds", "holds", "0 of 15")


def test_a_damaged_file_says_what_to_do(project):
    (project / "papers" / "invented" / looks.FILE).write_text(json.dumps({"closed": {}}))
    with pytest.raises(DataError, match="second_look.json: not a second look .*delete it"):
        load_config("params.yaml").jobs()
