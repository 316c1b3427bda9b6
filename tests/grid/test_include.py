"""A configuration that is divided into files: one per paper, each of which also runs alone."""

import pytest
import yaml

from partialfair.errors import ConfigError
from reproduction.grid import fingerprint
from reproduction.grid.checks import check_settings
from reproduction.grid.config import evaluation_settings, job_settings, load_config
from tests.workflow.project import ROOT

EXPERIMENT = {
    "title": "One",
    "paper": "partial_fairness",
    "constraint": "partial_statistical_parity",
    "runs": {"simulated": {"interval": [[0.1, 0.4]], "algorithms": {"alm": [0.1]}}},
}


def write(folder, name, **content):
    """Write a configuration and return its path."""
    (folder / name).write_text(yaml.safe_dump(content, sort_keys=False))
    return folder / name


@pytest.fixture
def files(tmp_path):
    """A configuration that includes another one, which has seeds of its own."""
    write(tmp_path, "other.yaml", seeds=[3], algorithms={"alm": {"tolerance": 0.01}}, experiments={"two": EXPERIMENT})
    return write(tmp_path, "params.yaml", include=["other.yaml"], seeds=[0, 1], experiments={"one": EXPERIMENT})


def test_entries_of_an_included_file_are_added(files):
    config = load_config(files)
    check_settings(config)
    assert list(config.experiments) == ["two", "one"]  # as if it stood where it is included
    settings = [config.algorithm_settings(name, "alm") for name in ("one", "two")]
    assert settings == [{}, {"tolerance": 0.01}]  # those of a file are for its own experiments
    assert (config.seeds("one"), config.seeds("two")) == ([0, 1], [3])


def test_a_job_is_the_same_alone_and_included(files):
    whole, alone = load_config(files), load_config(files.parent / "other.yaml")
    assert [job_settings(whole, job) for job in whole.jobs("two")] == [
        job_settings(alone, job) for job in alone.jobs("two")
    ]


def test_a_stated_checksum_makes_no_run_outdated(tmp_path):
    """It checks the file; the table that is made from it is the same."""
    own = {"module": "csv_table", "file": "own.csv", "label": "y", "groups": ["g"]}
    found = []
    for options in (own, own | {"sha256": "ab" * 32}, own | {"label": "z"}):
        content = {"datasets": {"own": options}, "seeds": [0]}
        content["experiments"] = {"one": EXPERIMENT | {"runs": {"own": EXPERIMENT["runs"]["simulated"]}}}
        config = load_config(write(tmp_path, "params.yaml", **content))
        (job,) = config.jobs("one")
        found.append((fingerprint.table(config, "own"), fingerprint.split(config, "own"), fingerprint.run(config, job)))
    assert found[0] == found[1] and all(one != other for one, other in zip(found[0], found[2], strict=True))


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ({"include": ["absent.yaml"]}, "there is no file .*absent.yaml"),
        ({"include": "other.yaml"}, "include is 'other.yaml': give a list"),
        ({"include": ["other.yaml"], "experiments": {"two": {**EXPERIMENT, "title": "Else"}}}, "experiments.two also"),
        ({"settings_of": "other.yaml"}, "settings_of is 'other.yaml': give a list"),
        ({"settings_of": ["other.yaml"], "algorithms": {"alm": {"tolerance": 0.5}}}, "algorithms.alm also stands"),
        ({"include": ["misspelt.yaml"]}, "misspelt.yaml: unknown key 'experimentz'; did you mean 'experiments'"),
        ({"include": ["params.yaml"]}, r"params.yaml: include: .* name \['other.yaml'\] where it is"),
    ],
)
def test_a_mistake_is_named(files, content, said):
    write(files.parent, "misspelt.yaml", experimentz={"three": EXPERIMENT})
    bad = write(files.parent, "bad.yaml", **({"seeds": [0], "experiments": {"one": EXPERIMENT}} | content))
    with pytest.raises(ConfigError, match=said):
        load_config(bad)


def test_an_unknown_metric_on_request_is_refused(tmp_path):
    bad = write(tmp_path, "params.yaml", seeds=[0], experiments={"one": {**EXPERIMENT, "metrics": ["no_such"]}})
    with pytest.raises(ConfigError, match="experiments.one.metrics: unknown metric on request 'no_such'"):
        check_settings(load_config(bad))


def test_settings_of_an_evaluation_without_request_do_not_mention_any(files):
    assert "on_request" not in evaluation_settings(load_config(files), "one", "simulated")


def test_a_pattern_finds_files_that_are_not_named(tmp_path):
    for name in ("b", "a", "named"):
        (tmp_path / name).mkdir()
        write(tmp_path / name, "grid.yaml", seeds=[3], experiments={name: EXPERIMENT})
    include = ["*/grid.yaml", "named/grid.yaml", "none/*.yaml"]
    config = load_config(write(tmp_path, "params.yaml", include=include, seeds=[0], experiments={"one": EXPERIMENT}))
    assert list(config.experiments) == ["a", "b", "named", "one"]


ALL_GRIDS = sorted((ROOT / "papers").glob("*/grid.yaml"))
GRIDS = [path for path in ALL_GRIDS if path.with_name("paper.yaml").is_file()]


@pytest.mark.parametrize("path", GRIDS, ids=lambda path: path.parent.name)
def test_a_paper_is_called_by_its_folder(path):
    config = load_config(path)
    assert {experiment.paper for experiment in config.experiments.values()} == {config.name} == {path.parent.name}


@pytest.mark.parametrize("path", ALL_GRIDS, ids=lambda path: path.parent.name)
def test_the_grid_of_a_paper_is_alone_what_it_is_in_the_whole(path):
    whole, alone = load_config(ROOT / "params.yaml"), load_config(path)
    for name, experiment in alone.experiments.items():
        pairs = zip(whole.jobs(name), alone.jobs(name), strict=True)
        assert all(job_settings(whole, one) == job_settings(alone, other) for one, other in pairs), name
        for dataset in experiment.runs:
            assert evaluation_settings(whole, name, dataset) == evaluation_settings(alone, name, dataset)
    exhibits = alone.params.exhibits
    assert exhibits == {name: whole.params.exhibits[name] for name in exhibits}


def test_the_report_of_a_paper_leaves_that_of_the_whole_alone(tmp_path):
    (tmp_path / "papers" / "mine").mkdir(parents=True)
    path = write(tmp_path / "papers" / "mine", "grid.yaml", seeds=[0], experiments={"one": EXPERIMENT})
    config = load_config(path)
    assert config.reports.as_posix() == "reports/mine" and config.whole
    assert config.restricted("one").reports.as_posix() == "reports/one"
    further = load_config(write(path.parent, "more.yaml", seeds=[0], experiments={"one": EXPERIMENT}))
    assert further.reports.as_posix() == "reports/more" and not further.whole
    own = load_config(write(tmp_path, "loans.yaml", seeds=[0], experiments={"one": EXPERIMENT}))
    assert own.reports.as_posix() == "reports/loans"
    whole = load_config(write(tmp_path, "params.yaml", seeds=[0], experiments={"one": EXPERIMENT}))
    assert whole.reports.as_posix() == "reports" and whole.whole
    with pytest.raises(ConfigError, match="papers/mine/grid.yaml: experiments.mine: .* folder of a report"):
        load_config(write(path.parent, "grid.yaml", seeds=[0], experiments={"mine": EXPERIMENT}))


def test_settings_of_another_file_are_taken_where_it_is_asked_for(files):
    content = {"settings_of": ["other.yaml"], "experiments": {"three": EXPERIMENT}}
    asking = write(files.parent, "asking.yaml", seeds=[0], **content)
    assert load_config(asking).algorithm_settings("three", "alm") == {"tolerance": 0.01}
    content = {"include": ["asking.yaml"], "experiments": {"one": EXPERIMENT}}
    whole = load_config(write(files.parent, "whole.yaml", seeds=[1], **content))
    assert whole.algorithm_settings("three", "alm") == {"tolerance": 0.01} and whole.seeds("three") == [0]


def test_a_key_that_stands_twice_is_named_with_the_path_of_its_file(files):
    folder = files.parent / "papers" / "mine"
    folder.mkdir(parents=True)
    (folder / "grid.yaml").write_text("seeds: [0]\nseeds: [1]\n")
    path = write(
        files.parent, "params.yaml", include=["papers/*/grid.yaml"], seeds=[0], experiments={"one": EXPERIMENT}
    )
    with pytest.raises(ConfigError) as caught:
        load_config(path)
    assert str(caught.value).startswith("papers/mine/grid.yaml: not valid YAML: line 2: key 'seeds' stands twice")
