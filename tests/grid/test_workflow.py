"""What the rules ask of the grid."""

from partialfair import plugins
from partialfair.datasets.named import named_dataset
from partialfair.grid import paths
from partialfair.grid.config import load_config
from partialfair.grid.workflow import Grid
from tests.workflow.project import ROOT


def test_a_raw_file_is_fetched_for_a_dataset_that_reads_it():
    # The rule `fetch` brings the files that its dataset reads: one that only documents the file would bring none.
    config = load_config(ROOT / "params.yaml")
    grid = Grid(config)
    wanted = {name for dataset in config.datasets for name in grid.raw_files(dataset)}
    assert len(wanted) > 5
    for name in wanted:
        options = config.dataset_options(grid.dataset_of(name))
        spec = named_dataset(grid.dataset_of(name), options).spec
        assert name in {f"{spec.directory(paths.RAW).as_posix()}/{file.name}" for file in spec.files if file.needed}


def test_every_declared_raw_file_has_a_dataset():
    grid = Grid(load_config(ROOT / "params.yaml"))
    for dataset in plugins.names("datasets"):
        spec = plugins.load("datasets", dataset).SPEC
        for file in spec.files:
            assert grid.dataset_of(f"{spec.directory(paths.RAW).as_posix()}/{file.name}")
