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


def test_unknown_folder_is_refused():
    with pytest.raises(PluginError, match="did you mean 'datasets'"):
        plugins.names("dataset")


def test_a_new_file_is_a_new_plugin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    folder = tmp_path / "datasets"
    folder.mkdir()
    (folder / "mine.py").write_text("SPEC = 1\n\ndef load(raw_dir, rows=3, *, shift=0):\n    pass\n")
    (folder / "helper.py").write_text("# SPEC = 1\nOTHER = 'SPEC'\n")
    (folder / "_private.py").write_text("SPEC = 1\n")
    monkeypatch.setattr(plugins, "ROOT", tmp_path)
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
