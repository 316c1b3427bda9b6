from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from partialfair import plugins
from partialfair.errors import PluginError


def test_names_are_found_without_import_and_helpers_are_not_among_them():
    found = plugins.names("datasets")
    assert {"a9a", "bank", "law_school", "simulated"} <= set(found)
    assert not {"table", "splits", "spec", "one_hot", "sources"} & set(found)
    assert plugins.names("reproduction.datasets") == found


def test_a_name_is_imported_when_it_is_asked_for():
    assert "idca" in plugins.names("algorithms")
    assert plugins.load("algorithms", "idca").ALGORITHM.settings is not None


@pytest.mark.parametrize(
    ("package", "name", "hint"),
    [
        ("datasets", "law_schol", "did you mean 'law_school'?"),
        ("algorithms", "icda", "did you mean 'idca'?"),
        ("constraints", "partial_statistical_paritty", "did you mean 'partial_statistical_parity'?"),
        ("constraints", "equalized_odds", "did you mean 'loss_equalized_odds' or 'partial_equalized_odds'?"),
        ("constraints", "group_auc", "did you mean 'partial_group_auc'?"),
        ("datasets", "zzz", "choose from a9a, "),
    ],
)
def test_unknown_name_gives_the_nearest_valid_one(package: str, name: str, hint: str):
    with pytest.raises(PluginError) as error:
        plugins.load(package, name)
    assert repr(name) in str(error.value)
    assert hint in str(error.value)


def test_plugins_of_all_houses_are_found_by_one_name():
    """Their modules say where they stand; a constraint of a paper is told from those that the kernels serve."""
    homes = {"linear.idca": "partialfair.algorithms", "plada": "papers.plada.algorithms"}
    assert {plugins.module_of("algorithms", name.rpartition(".")[2]) for name in homes} == {
        f"{home}.{name}" for name, home in homes.items()
    }
    assert plugins.module_of("datasets", "simulated") == "reproduction.datasets.simulated"
    assert plugins.load("datasets", "a9a").__name__ == "papers.cross_paper.datasets.a9a"
    assert plugins.load("exhibits", "scatter").__name__ == "reproduction.exhibits.kinds.scatter"
    assert not plugins.is_fused("intersectional_loss") and plugins.is_fused("partial_demographic_parity")


def test_a_fault_in_a_paper_is_named_with_its_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    for folder in ("algorithms", "papers/mine/algorithms"):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "twice.py").write_text("ALGORITHM = 1\n")
    homes = ((tmp_path, "partialfair"), (tmp_path / "papers/mine", "papers.mine"))
    monkeypatch.setattr(plugins, "homes", lambda: homes[::-1])
    plugins._files.cache_clear()
    try:
        with pytest.raises(PluginError, match="papers/mine/algorithms/twice.py and algorithms/twice.py offer 'twice'"):
            plugins.names("algorithms")
    finally:
        plugins._files.cache_clear()


@pytest.mark.parametrize(
    ("family", "option"), [("auc_gap", "between"), ("loss_gap", "notion"), ("partial_rates", "notion")]
)
def test_a_member_of_a_family_reads_as_a_module_without_option(family: str, option: str):
    module = import_module(f"partialfair.constraints.{family}")
    assert family not in plugins.names("constraints")
    for value, variant in module.VARIANTS.items():
        assert plugins.resolved("constraints", {"name": family, option: value}) == variant.name
        member = plugins.load("constraints", variant.name)
        assert (variant.title, variant.violation) == (member.TITLE, member.VIOLATION)
        assert getattr(member, "SHORT", "") == variant.short
        assert member.build.keywords == {option: value}
        assert plugins.module_of("constraints", variant.name) == module.__name__
    names = ", ".join(variant.name for variant in module.VARIANTS.values())
    with pytest.raises(PluginError, match=f"constraint '{family}' is a family .* option {option}; use one of {names} "):
        plugins.load("constraints", family)


def test_a_choice_without_option_is_its_name():
    assert plugins.resolved("constraints", "auc_gap_group") == "auc_gap_group"
    assert plugins.resolved("constraints", {"name": "auc_gap_group"}) == "auc_gap_group"


@pytest.mark.parametrize(
    ("choice", "words"),
    [
        (
            {"name": "auc_gap", "between": "gruop"},
            "between of constraint 'auc_gap' is 'gruop'; choose from group, inter",
        ),
        ({"name": "auc_gap", "between": ["group"]}, r"is \['group'\]; choose from"),
        ({"name": "auc_gap", "notion": "group"}, "unknown option 'notion' of constraint 'auc_gap'; .* 'between'"),
        ({"name": "auc_gaps", "between": "group"}, "unknown constraint 'auc_gaps' .* 'auc_gap'"),
        ({"name": "partial_group_auc", "between": "group"}, "takes no option, but between is given"),
    ],
)
def test_a_choice_that_means_nothing_is_refused_with_what_there_is(choice: Any, words: str):
    with pytest.raises(PluginError, match=words):
        plugins.resolved("constraints", choice)


@pytest.mark.parametrize(
    "text",
    [
        'VARIANTS = {"a": Variant(name="one")}\n',
        'OPTION = "of"\nVARIANTS = {}\n',
        'OPTION = "of"\nVARIANTS = {"a": Variant(name="o" + "ne")}\n',
        'OPTION = "of"\nVARIANTS = {"a": Variant(title="one")}\n',
    ],
)
def test_a_family_whose_members_cannot_be_read_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str):
    (tmp_path / "constraints").mkdir()
    (tmp_path / "constraints" / "mine.py").write_text(text)
    monkeypatch.setattr(plugins, "homes", lambda: ((tmp_path, "partialfair"),))
    plugins._files.cache_clear()
    try:
        with pytest.raises(PluginError, match=r"constraints/mine.py: its members cannot be read; write OPTION"):
            plugins.names("constraints")
    finally:
        plugins._files.cache_clear()


def test_a_member_that_has_the_name_of_a_module_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "constraints").mkdir()
    (tmp_path / "constraints" / "all.py").write_text('OPTION = "of"\nVARIANTS = {"a": Variant(name="one")}\n')
    (tmp_path / "constraints" / "one.py").write_text("VIOLATION = {}\n")
    monkeypatch.setattr(plugins, "homes", lambda: ((tmp_path, "partialfair"),))
    plugins._files.cache_clear()
    try:
        with pytest.raises(PluginError, match="constraints/all.py and constraints/one.py offer 'one' twice"):
            plugins.names("constraints")
    finally:
        plugins._files.cache_clear()


def test_unknown_folder_is_refused():
    with pytest.raises(PluginError, match="did you mean 'datasets'"):
        plugins.names("dataset")


def test_a_new_file_is_a_new_plugin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    folder = tmp_path / "datasets"
    folder.mkdir()
    (folder / "mine.py").write_text("SPEC = 1\n\ndef load(raw_dir, rows=3, *, shift=0):\n    pass\n")
    (folder / "helper.py").write_text("# SPEC = 1\nOTHER = 'SPEC'\n")
    (folder / "_private.py").write_text("SPEC = 1\n")
    monkeypatch.setattr(plugins, "homes", lambda: ((tmp_path, "partialfair"),))
    plugins._files.cache_clear()
    try:
        assert plugins.names("datasets") == ("mine",)
        assert plugins.parameters("datasets", "mine", "load") == ("raw_dir", "rows", "shift")
        assert plugins.parameters("datasets", "mine", "absent") is None
        (folder / "mine.py").write_text("SPEC = 1\ndef load(:\n")
        with pytest.raises(PluginError, match=r"mine\.py, line 2"):
            plugins.parameters("datasets", "mine", "load")
    finally:
        plugins._files.cache_clear()
