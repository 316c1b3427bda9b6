from pathlib import Path

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
