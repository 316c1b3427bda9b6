"""Descriptions of datasets are valid Croissant, with the checksums and the licence that the modules declare."""

import json
from pathlib import Path

import mlcroissant
import pytest

from partialfair import plugins
from partialfair.errors import ConfigError
from reproduction.datasets.named import named_dataset
from reproduction.jobs.croissant import describe

WITH_FILES = [name for name in plugins.names("datasets") if plugins.load("datasets", name).SPEC.files]


@pytest.mark.parametrize("name", WITH_FILES)
def test_a_description_is_valid_and_says_what_the_module_declares(name: str, tmp_path: Path):
    target = tmp_path / "dataset.json"
    target.write_text(json.dumps(describe(named_dataset(name, {}))), encoding="utf-8")
    read = mlcroissant.Dataset(jsonld=target).metadata
    assert not read.ctx.issues.errors
    spec = named_dataset(name, {}).spec
    assert {(file.name, file.sha256) for file in read.distribution} == {(file.name, file.sha256) for file in spec.files}
    assert spec.groups in read.description and spec.label in read.description
    if "CC BY 4.0" in spec.licence:
        assert read.license == ["https://creativecommons.org/licenses/by/4.0/"]


def test_a_generated_dataset_has_nothing_to_describe():
    with pytest.raises(ConfigError, match="'simulated' declares no raw files"):
        describe(named_dataset("simulated", {}))
