"""The settings that make linear algebra the same on all processors: set where there is time, reported where not."""

import os
import subprocess
import sys

import numpy as np
import pytest
from packaging.version import Version

from partialfair.kernels import processor

NAMES = (*processor.SETTINGS, *processor.THREADS)
HERE = pytest.mark.skipif(
    not processor.settled_here() or Version(np.__version__) < Version("2.4"),
    reason="no x86-64 processor with AVX2, on Linux, or a NumPy that names its features otherwise",
)


def run(code: str, **variables: str) -> str:
    """What a new interpreter prints, without the variables that this one has but for those given."""
    environment = {name: value for name, value in os.environ.items() if name not in NAMES} | variables
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


REPORT = "from partialfair.kernels import processor\nprint(*processor.deviations(), sep='\\n')"


@HERE
def test_the_command_line_settles_before_numpy_is_imported():
    code = """
import sys
from partialfair.commands import cli
assert "numpy" not in sys.modules
sys.argv = ["partialfair", "--help"]
try:
    cli.main()
except SystemExit:
    pass
"""
    asked = f"print([os.environ[name] for name in {NAMES!r}])"
    found = run(f"{code}\nimport os, scipy.linalg\nprint('settled')\n{asked}\n{REPORT}").partition("settled\n")[2]
    assert found.strip() == str([*processor.SETTINGS.values(), *processor.THREADS.values()])  # and no deviation


@HERE
def test_values_that_a_user_has_set_stay_and_are_reported():
    code = "from partialfair.kernels import processor\nprocessor.settle()\nimport os, numpy, scipy.linalg\n"
    assert run(code + REPORT) == ""
    found = run(code + "print(os.environ['OPENBLAS_CORETYPE'])\n" + REPORT, OPENBLAS_CORETYPE="Sandybridge")
    assert found.splitlines()[0] == "Sandybridge"
    assert "computes as on Sandybridge" in found


@HERE
def test_importing_the_library_sets_nothing():
    code = f"import os, partialfair.estimators, partialfair.audit\nprint([n for n in {NAMES!r} if n in os.environ])"
    assert run(code) == "[]"


def test_a_record_names_the_processor_the_c_library_and_the_linear_algebra():
    found = processor.record()
    assert {"processor", "blas"} <= set(found) or not processor.settled_here()
    assert "openblas" in found.get("blas", "openblas")
