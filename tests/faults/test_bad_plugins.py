"""Bad plug-ins: each is named, with what is wrong with it."""

import shutil
import sys

import pytest
import yaml

from tests.faults.lab import JOB, ROOT, Lab, params
from tests.faults.spoil import ALM, PREPARE, files, grid

BAD_ALGORITHM = """
import numpy as np
from partialfair.algorithms.contract import Algorithm, Fit, Settings, linear_score

class Bad(Algorithm[Settings]):
    settings = Settings

    def fit(self, task, settings):
        {body}

def answer(task, weights):
    return Fit(linear_score(task, weights))

ALGORITHM = Bad()
"""
PLUGINS = {
    # name: file of algorithms/, or of datasets/ where the name says so; fragments
    "raises": (BAD_ALGORITHM.format(body='raise ValueError("no such luck")'), ["raises.py, line 9", "no such luck"]),
    "nothing": (BAD_ALGORITHM.format(body="return None"), ["fit returned NoneType", "correct the plug-in"]),
    "shape": (BAD_ALGORITHM.format(body="return answer(task, np.zeros((2, 2)))"), ["(2, 2), not (2, 5)", "correct"]),
    "nan": (BAD_ALGORITHM.format(body="return answer(task, np.full((2, 5), np.nan))"), ["not finite", "correct"]),
    "syntax": ("ALGORITHM = (\n", ["algorithms/syntax.py, line 1", "correct it"]),
    "lacking": (
        "class Lacking:\n    settings = dict\n\nALGORITHM = Lacking()\n",
        ["ALGORITHM.fit", "add it"],
    ),
    "needing": ("import no_such_package\nALGORITHM = 1\n", ["needs the package 'no_such_package'", "install it"]),
    "importing": ("x = 1 / 0\nALGORITHM = 1\n", ["algorithms/importing.py, line 1", "ZeroDivisionError", "correct it"]),
}
DATASET = """
from reproduction.datasets.spec import DatasetSpec
SPEC = DatasetSpec(name="{name}", title="t", groups="g", label="l", interval=((0.0, 1.0),))
def load(raw_dir):
    {body}
"""
DATASETS = {
    "stumbles": (DATASET.format(name="stumbles", body='return {}["age"]'), ["stumbles.py, line 5", "KeyError: 'age'"]),
    "numbers": (DATASET.format(name="numbers", body="return 5"), ["datasets/numbers.py", "int, not a Dataset"]),
}


@pytest.fixture(scope="module")
def broken(finished: Lab, tmp_path_factory: pytest.TempPathFactory) -> Lab:
    """A finished run beside a copy of the source that has bad plug-ins."""
    folder = tmp_path_factory.mktemp("broken")
    shutil.copytree(finished.folder, folder / "lab")
    shutil.copytree(ROOT / "src", folder / "src", ignore=shutil.ignore_patterns("__pycache__"))
    for name, (source, _) in PLUGINS.items():
        (folder / "src/partialfair/algorithms" / f"{name}.py").write_text(source)
    for name, (source, _) in DATASETS.items():
        (folder / "src/reproduction/datasets" / f"{name}.py").write_text(source)
    return Lab(folder / "lab")


@pytest.mark.slow
@pytest.mark.parametrize("name", [*PLUGINS, *DATASETS])
def test_a_bad_plugin_is_named(name: str, broken: Lab) -> None:
    grid(ALM.replace("/alm", f"/{name}"), [0.2])(broken.folder) if name in PLUGINS else None
    try:
        job = ("train", *(name if part == "alm" else part for part in JOB)) if name in PLUGINS else (*PREPARE[:2], name)
        before = files(broken.folder)
        done = broken.run(
            sys.executable,
            "-m",
            "partialfair",
            *job,
            PYTHONPATH=str(broken.folder.parent / "src"),
            PYTHONDONTWRITEBYTECODE="1",
        )
        assert files(broken.folder) == before
    finally:
        (broken.folder / "params.yaml").write_bytes(make_params())
    assert done.returncode == 2, done.stdout
    assert "Traceback" not in done.stdout
    for fragment in (PLUGINS | DATASETS)[name][1]:
        assert fragment in done.stdout, done.stdout


def make_params() -> bytes:
    return yaml.safe_dump(params(), sort_keys=False).encode()
