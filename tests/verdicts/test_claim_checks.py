"""`partialfair check` refuses claims, numbers and tolerances that name what the grid does not have."""

import json

import pytest
import synthetic
import yaml
from typer.testing import CliRunner

from partialfair.commands.cli import app
from partialfair.errors import ConfigError, DataError
from reproduction.commands import checking
from reproduction.exhibits import exhibit
from reproduction.exhibits.exhibit import ExhibitKind, Options
from reproduction.grid.config import load_config

RIGHT = {
    "id": "ahead", "section": "7.2", "sentence": "It is ahead", "test": "better", "method": "idca", "against": ["alm"],
    "experiments": ["psp"], "metric": "accuracy", "kappa": 0.1, "exhibit": "table3",
}  # fmt: skip
HEAD = "paper,exhibit,dataset,algorithm,constraint,interval,setting,metric,split,value,spread,spread_kind"
LINE = "mine,table3,a9a,idca,,0.05-0.3,row=1,accuracy,test,0.8,,"


@pytest.fixture
def check(tmp_path, monkeypatch):
    """A function that checks a grid with a paper of one claim and one number, each changed a little."""
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "papers" / "mine"
    folder.mkdir(parents=True)

    def run(claim=None, numbers=f"{HEAD}\n{LINE}\n", about="title: Mine\n", paper="mine", exhibit=None):
        (folder / "paper.yaml").write_text(about)
        (folder / "published.csv").write_text(numbers)
        (folder / "claims.yaml").write_text(yaml.safe_dump([RIGHT | (claim or {})]))
        content = synthetic.params()
        for experiment in content["experiments"].values():
            experiment["paper"] = paper
        entry = content["exhibits"].pop("table3") | {"published": "table3"} | (exhibit or {})
        content["exhibits"]["own_table"] = {key: value for key, value in entry.items() if value is not None}
        del content["exhibits"]["figure1"], content["exhibits"]["kappa_scale"]
        (tmp_path / "params.yaml").write_text(yaml.safe_dump(content))
        checking.check_grid(load_config("params.yaml"))

    return run


def test_what_the_grid_has_is_left_alone(check):
    check()
    check({"exhibit": "own_table"})
    check({"metric": "cpu_seconds", "better": "smaller"})
    check({"metric": "accuracy_repeat_mean", "better": "larger"})
    check({"kappa": None, "at_equal": {"levels": 5}, "kind": "question"})
    check({"against": [{"kappa": 0.2}, {"experiment": "psp_full"}, {"method": "unconstrained"}]})
    check({"test": "bound", "against": [], "kappa": None, "limit": 0.5, "without_nulls": "none"})
    check({"test": "bound", "against": [], "kappa": None, "limit": 0.5, "nulls": [{"name": "none", "value": 0.5}]})
    check({"absent": "no such data", "method": "ssg", "kappa": 0.77})


@pytest.mark.parametrize(
    ("claim", "said"),
    [
        ({"exhibit": "tabel3"}, "unknown exhibit 'tabel3'; did you mean 'table3'?"),
        ({"test": "bound", "limit": 0.5, "nulls": ["idcaa"]}, "unknown algorithm 'idcaa'"),
        ({"test": "bound", "limit": 0.5, "nulls": [{"experiment": "pspp"}]}, "unknown experiment 'pspp'"),
        ({"method": "ssg"}, "psp has no run of ssg; it runs alm, idca, unconstrained"),
        ({"method": "", "methods": ["idca", "ssg"]}, "psp has no run of ssg; it runs"),
        ({"against": ["ssg"]}, "psp has no run of ssg; it runs"),
        ({"against": [{"method": "alm", "experiment": "psp_full"}]}, "psp_full has no run of alm; it runs idca"),
        ({"experiments": ["psp", "psp_full"]}, "psp_full has no run of alm; it runs idca, unconstrained"),
        ({"test": "ordered", "against": [], "order": [["idca"], ["ssg"]]}, "psp has no run of ssg; it runs"),
        ({"kappa": 0.77}, "psp has no run of idca at kappa 0.77; its tolerances are 0.28, 0.2, 0.15, 0.1"),
        ({"against": [{"method": "alm", "kappa": 0.77}]}, "psp has no run of alm at kappa 0.77; its tolerances are"),
        ({"kappa": 0.28, "datasets": ["law_school"]}, "psp has no run of idca at kappa 0.28; its tolerances are 0.2,"),
        ({"kappa": None}, "psp runs idca at several tolerances (0.28, 0.2"),
        ({"test": "similar", "margin": {"a9b": 0.1}}, "unknown dataset of a margin 'a9b'; did you mean 'a9a'?"),
        ({"metric": "acuracy"}, "unknown metric 'acuracy'; did you mean 'accuracy'?"),
        ({"metric": "f1", "better": "larger"}, "unknown metric 'f1'; name a metric, or a column of runs.parquet"),
        ({"kappa": None, "at_equal": {"metric": "rank_gapp"}}, "unknown metric 'rank_gapp'; did you mean 'rank_gap'?"),
        ({"against": ["idca"]}, "against compares idca with itself; name another method or kappa"),
        ({"against": [{"kappa": 0.1}]}, "against compares idca with itself; name another method or kappa"),
        ({"against": [{"experiment": "psp"}]}, "against compares idca with itself; name another method or kappa"),
    ],
)
def test_a_claim_about_runs_that_the_grid_does_not_have_is_refused(check, claim, said):
    with pytest.raises(ConfigError) as caught:
        check(claim)
    assert str(caught.value).startswith(f"papers/mine/claims.yaml: ahead: {said}")


@pytest.mark.parametrize(
    ("claim", "said"),
    [
        ({"margin": -0.02}, "margin is -0.02: input should be greater than or equal to 0"),
        ({"margin": float("nan")}, "margin is nan: write a finite number"),
        ({"margin": float("inf")}, "margin is inf: write a finite number"),
        ({"margin": {"a9a": -1.0}}, "margin"),
        ({"margin": {"a9a": 0.0}}, ": test similar needs margin (above 0, stated before the run)"),
        ({"margin": {}}, ": test similar needs margin (above 0, stated before the run)"),
        ({"at_equal": {"levels": 0}}, "at_equal.levels is 0: input should be greater than or equal to 1"),
        ({"at_equal": {"levels": []}}, "at_equal.levels"),
        ({"at_equal": {"levels": [5.0]}}, "at_equal.levels"),
        ({"at_equal": {"levles": 3}}, "at_equal.levles: unknown key; did you mean 'levels'?"),
        ({"at_equal": {"fairer_than": 0.9, "less_fair_than": 0.8}}, "at_equal"),
        ({"section": 4}, "section is 4: write text, in quotes where it looks like a number"),
    ],
)
def test_a_claim_that_would_be_decided_by_a_slip_is_refused(check, claim, said):
    with pytest.raises(ConfigError) as caught:
        check({"test": "similar", "margin": 0.01, "kappa": None, "at_equal": {"levels": 5}} | claim)
    message = str(caught.value)
    assert message.startswith("papers/mine/claims.yaml: ahead") and said in message, message


def test_a_table_has_one_row_of_numbers_for_a_method(check):
    table = {"exhibit": "own_table", "value": "reproduced", "seed": None}
    more = {"metric": "", "table": table, "better": "larger", "kappa": None}
    check(more)
    with pytest.raises(ConfigError, match="against compares idca with itself"):
        check(more | {"against": [{"experiment": "psp_full"}]})


def test_the_numbers_of_a_paper_and_what_is_said_of_it_are_read(check):
    with pytest.raises(DataError, match=r"papers/mine/published\.csv: there is no column 'value'"):
        check(numbers=f"{HEAD.replace('value', 'number')}\n{LINE}\n")
    with pytest.raises(DataError, match=r"line 3: the number of line 2 once more"):
        check(numbers=f"{HEAD}\n{LINE}\n{LINE}\n")
    with pytest.raises(ConfigError, match=r"papers/mine/paper\.yaml: sedes"):
        check(about="title: Mine\nsedes: 5\n")


@pytest.mark.parametrize("key", ["tolerance", "tolerance_later"])
def test_a_tolerance_of_no_metric_is_refused(check, key):
    check(exhibit={key: dict.fromkeys(["accuracy", "fairness", "rank_gap"], 0.1 if key == "tolerance" else "why")})
    with pytest.raises(ConfigError, match=rf"exhibits\.own_table\.{key}\.acuracy: unknown metric; did you mean 'acc"):
        check(exhibit={key: {"acuracy": 0.1 if key == "tolerance" else "why"}})


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("table3", "tabel3", "unknown exhibit 'tabel3'; did you mean 'table3'?"),
        ("a9a", "a9b", "unknown dataset 'a9b'; did you mean 'a9a'?"),
        ("idca", "icda", "unknown algorithm 'icda'; did you mean 'idca'?"),
    ],
)
def test_a_number_of_what_the_grid_does_not_have_is_refused(check, old, new, said):
    with pytest.raises(ConfigError) as caught:
        check(numbers=f"{HEAD}\n{LINE.replace(old, new)}\n")
    assert str(caught.value) == f"papers/mine/published.csv, line 2: {said}"


def test_numbers_without_the_file_that_says_what_they_are_of_are_refused(check, tmp_path):
    check()
    (tmp_path / "papers/mine/paper.yaml").unlink()
    with pytest.raises(
        ConfigError, match=r"papers/mine/paper\.yaml: there is no such file, and there is papers/mine/pub"
    ):
        checking.check_grid(load_config("params.yaml"))


FIRST = {"kind": "scatter", "source": "fairness", "tolerance": None, "sides": None}


@pytest.mark.parametrize(
    ("figure", "said"),
    [
        ({"exhibit": "own_tabel"}, "first_figure.exhibit: unknown exhibit 'own_tabel'; did you mean 'own_table'?"),
        ({"hidden": ["idac"]}, "first_figure.hidden: unknown algorithm 'idac'; did you mean 'idca'?"),
    ],
)
def test_a_figure_of_the_first_page_that_is_not_in_the_grid_is_refused(check, figure, said):
    own = {"exhibit": "own_table", "source": "Figure 1", "hidden": ["alm"]}
    check(about=yaml.safe_dump({"title": "Mine", "first_figure": own}), exhibit=FIRST)
    with pytest.raises(ConfigError) as caught:
        check(about=yaml.safe_dump({"title": "Mine", "first_figure": own | figure}), exhibit=FIRST)
    assert str(caught.value) == f"papers/mine/paper.yaml: {said}"


def test_a_table_is_no_figure_of_the_first_page(check):
    about = {"title": "Mine", "first_figure": {"exhibit": "own_table", "source": "Table 3"}}
    with pytest.raises(ConfigError, match=r"exhibit: own_table does not show accuracy against fairness; name an exh"):
        check(about=yaml.safe_dump(about))


def test_a_column_of_no_metric_is_refused(check):
    table = {"kind": "mean_std_table", "published": None, "tolerance": {}, "sides": None, "metrics": ["accuracy"]}
    check({"exhibit": ""}, numbers=f"{HEAD}\n", exhibit=table)
    with pytest.raises(ConfigError, match=r"exhibits\.own_table\.metrics: unknown metric 'acuracy'; did you mean 'acc"):
        check({"exhibit": ""}, numbers=f"{HEAD}\n", exhibit=table | {"metrics": ["acuracy"]})


def test_the_metric_of_a_kind_of_ones_own_is_checked(check, monkeypatch):
    class Shown(Options):
        metric: str = "accuracy"

    shown = ExhibitKind.from_lines(Shown, ("value",), lambda context: [])
    kind_of = exhibit.kind_of
    monkeypatch.setattr(
        exhibit, "kind_of", lambda config, name: shown if name == "own_table" else kind_of(config, name)
    )
    entry = {"kind": "shown", "published": None, "tolerance": {}, "sides": None}
    check({"exhibit": ""}, numbers=f"{HEAD}\n", exhibit=entry | {"metric": "accuracy"})
    with pytest.raises(ConfigError, match=r"exhibits\.own_table\.metric: unknown metric 'acuracy'; did you mean 'acc"):
        check({"exhibit": ""}, numbers=f"{HEAD}\n", exhibit=entry | {"metric": "acuracy"})


def test_a_paper_without_a_folder_is_named_with_the_nearest(check):
    check()
    check(paper="mime")
    (note,) = checking.without_folder(load_config("params.yaml"))
    assert note == (
        "params.yaml: no numbers or claims for the paper of pdp, psp, psp_full, psp_grid20: no papers/mime/paper.yaml; "
        "did you mean 'mine'?"
    )
    found = CliRunner().invoke(app, ["check", "--json"])
    assert found.exit_code == 0 and note in found.stderr and "psp" in json.loads(found.stdout)
    check(paper="other_one")
    (note,) = checking.without_folder(load_config("params.yaml"))
    assert note.endswith("`partialfair new paper other_one` writes one")


def test_a_changed_file_of_numbers_is_checked_again(check, monkeypatch):
    check()
    asked = []
    monkeypatch.setattr(checking.answer_cache, "answer", lambda question, compute: asked.append(question))
    for value in ("0.8", "0.7", "0.7"):
        with open("papers/mine/published.csv", "w") as file:
            file.write(f"{HEAD}\n{LINE.replace('0.8', value)}\n")
        checking.check_grid_once(load_config("params.yaml"))
    assert asked[0] != asked[1] == asked[2]
