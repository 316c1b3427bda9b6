"""Kinds of exhibit: found by scanning, with options of their own that are checked before anything runs."""

from pathlib import Path

import pytest
import synthetic
import yaml

from partialfair import plugins
from partialfair.errors import ConfigError, DataError, PluginError
from reproduction.exhibits import exhibit
from reproduction.grid.config import load_config


def config(tmp_path: Path, **entry: object):
    content = synthetic.params()
    content["exhibits"] = {"figure2": {"title": "x", "experiments": ["psp"], **entry}}
    root = tmp_path / str(len(list(tmp_path.iterdir())))
    root.mkdir()
    return synthetic.project(root, content)


@pytest.mark.parametrize(
    ("entry", "sentence"),
    [
        ({"kind": "rank_curve"}, r"exhibits\.figure2\.kind: unknown kind 'rank_curve'; did you mean 'rank_curves'\?"),
        ({}, r"exhibits\.figure2\.kappas: the key is missing; add it"),
        ({"kappas": {}, "algoritm": "idca"}, r"figure2\.algoritm: unknown key; did you mean 'algorithm'\?"),
        ({"kappas": {"a9a": [0.1]}}, r"figure2\.algorithm: the key is missing; add it"),
        ({"kappas": {"a9a": [0.1]}, "algorithm": "idca", "seed": "0"}, r"figure2\.seed is '0': write a whole number"),
        (
            {"kind": "mean_std_table", "metrics": ["sp"], "tolerance": {"sp": 0.1}},
            r"figure2\.tolerance is \{'sp': 0\.1\}: numbers of this kind are judged by bands; write bands: \{test: ",
        ),
        ({"kappas": {"a9a": 0.1}}, r"figure2\.kappas\.a9a is 0\.1: write a list"),
    ],
)
def test_wrong_entry_is_refused_in_one_sentence(tmp_path, entry, sentence):
    wrong = config(tmp_path, **{"kind": "rank_curves", **entry})
    with pytest.raises(ConfigError, match=sentence):
        exhibit.check_exhibits(wrong)


def test_options_are_a_model_in_every_kind_that_has_one(tmp_path):
    right = config(tmp_path, kind="rank_curves", kappas={"a9a": [0.1]}, algorithm="idca")
    exhibit.check_exhibits(right)
    options = exhibit.context(right, "figure2", tmp_path).options
    assert (options.kappas, options.algorithm, options.seed) == ({"a9a": [0.1]}, "idca", 0)


ONE_FILE = """
from pydantic import Field

from reproduction.exhibits.exhibit import ExhibitKind, Options


class Seeds(Options):
    '''Seeds.'''

    first: int = Field(description="the first seed shown")


def csv_lines(context):
    return [{"seed": seed} for seed in context.config.seeds("psp") if seed >= context.options.first]


def draw(context, lines):
    from matplotlib import pyplot as plt

    figure, axis = plt.subplots()
    axis.plot([line["seed"] for line in lines])
    return figure


KIND = ExhibitKind.from_lines(Seeds, ("seed",), csv_lines, draw=draw)
"""


def test_a_new_kind_is_one_file(tmp_path, monkeypatch):
    import reproduction.exhibits as package

    folder = tmp_path / "source" / exhibit.FOLDER
    folder.mkdir(parents=True)
    (folder / "seeds_of.py").write_text(ONE_FILE)
    (folder / "broken.py").write_text("KIND = nothing\n")
    right, wrong = (config(tmp_path, kind="seeds_of", first=first) for first in (1, "one"))
    monkeypatch.setattr(plugins, "homes", lambda: ((tmp_path / "source", "reproduction"),))
    monkeypatch.setattr(package, "__path__", [*package.__path__, str(folder)])
    plugins._files.cache_clear()
    try:
        assert exhibit.kind_names() == ("broken", "seeds_of")
        context = exhibit.context(right, "figure2", tmp_path)
        paths = exhibit.kind_of(right, "figure2").render(context)
        assert [path.suffix for path in paths] == [".csv", ".svg"]
        assert paths[0].read_text().split()[:2] == ["seed", "1"]
        with pytest.raises(ConfigError, match=r"figure2\.first is 'one': write a whole number"):
            exhibit.check_exhibits(wrong)
        with pytest.raises(PluginError, match=r"exhibits/broken\.py, line 1: importing it gives NameError"):
            exhibit.kind_by_source("broken")
        with pytest.raises(PluginError, match="unknown kind 'seeds_off'; did you mean 'seeds_of'"):
            exhibit.kind_by_source("seeds_off")
    finally:
        plugins._files.cache_clear()


def test_every_option_is_described():
    for (name, _), kind in exhibit.kinds().items():
        for key, field in kind.options.model_fields.items():
            assert field.description, f"{name}: say what {key} is"


HEAD = "paper,exhibit,dataset,algorithm,constraint,interval,setting,metric,split,value,spread,spread_kind"


@pytest.mark.parametrize(
    ("entry", "line", "sentence"),
    [
        ({"kind": "pairs", "sides": "range"}, "row=0,accuracy,test", "row is '0'; give a whole number from 1 on"),
        ({"kind": "pairs", "sides": "grid"}, "kappa=0.1,accuracy,test", "grid is missing; write kappa=0.1;grid=20"),
        ({"kind": "mean_std_table", "metrics": ["sp"]}, "kappa=0.1,sp,test", "split is missing; write split=train or"),
        (
            {"kind": "mean_std_table", "metrics": ["sp"]},
            "split=test;statistic=median,sp,test",
            "statistic is 'median'; write statistic=mean or statistic=std",
        ),
        (
            {"kind": "mean_std_table", "metrics": ["sp"]},
            "split=test;statistic=mean,sp,train",
            "the column split says 'train'; write the same in both",
        ),
        (
            {"kind": "scatter", "source": "risk", "series": {}, "datasets": ["a9a"]},
            "kappa=0.1,risk,test",
            "it states no tolerance; write eps=2^-8, or unconstrained",
        ),
        (
            {"kind": "scatter", "source": "risk", "series": {}, "datasets": ["a9a"]},
            "eps=2^x,risk,test",
            "it states no tolerance; write eps=2^-8, or unconstrained",
        ),
    ],
)
def test_a_setting_that_a_kind_cannot_read_is_refused_with_file_and_line(tmp_path, monkeypatch, entry, line, sentence):
    folder = tmp_path / "papers" / "mine"
    folder.mkdir(parents=True)
    setting = line.partition(",")[0]
    (folder / "published.csv").write_text(f"{HEAD}\nmine,figure2,a9a,idca,,0.05-0.3,{line},0.5,,\n")
    content = synthetic.params()
    content["experiments"] = {"psp": content["experiments"]["psp"] | {"paper": "mine"}}
    content["exhibits"] = {"figure2": {"title": "x", "experiments": ["psp"], **entry}}
    (tmp_path / "params.yaml").write_text(yaml.safe_dump(content))
    monkeypatch.chdir(tmp_path)
    with pytest.raises(DataError) as caught:
        exhibit.check_exhibits(load_config("params.yaml"))
    assert str(caught.value).startswith(f"papers/mine/published.csv, line 2: setting {setting!r}: {sentence}")


def test_files_that_may_be_missing_are_asked_for_in_one_place():
    """What asks otherwise could say "not run" in a clone, and `partialfair verify` would take that for the result."""
    source = Path(exhibit.__file__).parents[3]
    patterns = ("src/reproduction/exhibits/**/*.py", "src/reproduction/verdicts/*.py", "papers/*/exhibits/*.py")
    modules = [path for pattern in patterns for path in source.glob(pattern)]
    asking = {path.name for path in modules if ".exists()" in path.read_text(encoding="utf-8")}
    assert len(modules) > 60 and asking == {"missing_files.py"}
