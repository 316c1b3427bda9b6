import ast
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from partialfair import plugins
from partialfair.errors import PluginError
from reproduction.grid import closure

HASHES = """
import sys
from reproduction.grid.config import load_config
from reproduction.grid.fingerprint import dataset_hash, evaluation_hash, exhibit, scorecard, training_hash
grid = load_config(sys.argv[1])
constraint = "partial_statistical_parity"
print(dataset_hash("a9a"), dataset_hash("bank"), training_hash("idca", constraint), training_hash("alm", constraint),
      training_hash("alm", "partial_demographic_parity"), evaluation_hash(),
      *(exhibit(grid, name).code for name in ("figure2", "figure3")), scorecard(grid).code)
"""
# Forks for each folder that it reads. It has imported nothing of the package, only the libraries that this needs.
SERVER = f"""
import os, sys
import numba, numpy, pandas, pydantic, scipy.optimize, scipy.sparse, scipy.special, scipy.stats, yaml
pydantic.BaseModel
for line in sys.stdin:
    if not os.fork():
        assert not [name for name in sys.modules if name.startswith(("partialfair", "reproduction", "papers"))]
        sys.path.insert(0, line.strip())
        exec({HASHES!r})
        sys.stdout.flush()
        os._exit(0)
    if os.wait()[1]:
        print("failed", flush=True)
"""
GRID = """
seeds: [0]
experiments:
  small:
    title: Small
    paper: partial_fairness
    constraint: partial_statistical_parity
    runs: {simulated: {interval: [[0.1, 0.4]], algorithms: {idca: [0.1]}}}
exhibits:
  figure2: {kind: rank_curves, title: Curves, caption: Of it, experiments: [small]}
  figure3: {kind: densities, title: Densities, caption: Of it, experiments: [small]}
"""
DRAWN = {"rank_curves", "densities", "report"}
NAMES = ["a9a", "bank", "idca", "alm", "alm_pdp", "evaluation", "rank_curves", "densities", "report"]
Hashes = Callable[[Path], dict[str, str]]
ChangedBy = Callable[[Path], set[str]]


@pytest.fixture(scope="module")
def hashes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hashes]:
    """``hashes(source)``: as a process computes them that has loaded nothing but a copy of the source."""
    folder = tmp_path_factory.mktemp("elsewhere")  # no Snakemake has run there, so that nothing is remembered
    (folder / "params.yaml").write_text(GRID)
    with subprocess.Popen(
        [sys.executable, "-c", SERVER, "params.yaml"],
        env={"PYTHONDONTWRITEBYTECODE": "1"},
        cwd=folder,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as server:

        def ask(source: Path) -> dict[str, str]:
            assert server.stdin and server.stdout
            server.stdin.write(f"{source}\n")
            server.stdin.flush()
            return dict(zip(NAMES, server.stdout.readline().split(), strict=True))

        yield ask


@pytest.fixture
def source(tmp_path: Path) -> Path:
    # With byte code, which counts for what is not edited; without the files that others are about to rename to it.
    ignored = shutil.ignore_patterns("*.pyc.*")
    shutil.copytree(closure.SOURCE, tmp_path / "src", ignore=ignored)
    shutil.copytree(closure.HOUSES[closure.PAPERS] / "papers", tmp_path / "papers", ignore=ignored)
    return tmp_path / "src"


@pytest.fixture(scope="module")
def before(hashes: Hashes) -> dict[str, str]:
    return hashes(closure.SOURCE)


@pytest.fixture
def changed_by(hashes: Hashes, before: dict[str, str]) -> ChangedBy:
    return lambda source: {name for name, value in hashes(source).items() if value != before[name]}


def test_comments_docstrings_and_layout_do_not_count(source: Path, changed_by: ChangedBy):
    for path in (*source.rglob("*.py"), *(source.parent / "papers").rglob("*.py")):
        text = path.read_text()
        text = re.sub(r'^"""', '"""Other words. ', text, count=1)
        path.write_text(text.replace("\ndef ", "\n\n# a comment\n\n\ndef ") + "\n\n# the end\n")
    version = source / "partialfair" / "__init__.py"
    version.write_text(version.read_text().replace('__version__ = "', '__version__ = "9.'))
    assert changed_by(source) == set()


@pytest.mark.parametrize(
    ("module", "expected"),
    [
        ("papers/cross_paper/datasets/a9a.py", {"a9a"}),
        ("src/reproduction/datasets/one_hot.py", {"bank"}),
        ("src/reproduction/jobs/prepare.py", {"a9a", "bank"}),
        ("src/partialfair/kernels/row_sums.py", {"idca", "alm", "alm_pdp"}),
        ("src/partialfair/algorithms/linear/idca.py", {"idca"}),
        ("src/partialfair/kernels/switching_steps.py", {"idca"}),
        ("src/partialfair/algorithms/linear/alm.py", {"alm", "alm_pdp"}),
        ("src/partialfair/constraints/partial_rates.py", {"alm_pdp"}),
        ("src/partialfair/constraints/losses/logistic.py", {"idca", "alm", "alm_pdp"}),
        ("src/partialfair/constraints/losses/hinge.py", set()),
        # The status of a run is said by the metric that its constraint bounds.
        ("src/partialfair/metrics/partial.py", {"idca", "alm", "alm_pdp"}),
        ("src/partialfair/metrics/ranks.py", {"idca", "alm", "alm_pdp"}),
        ("src/partialfair/metrics/absolute.py", set()),
        ("src/reproduction/jobs/train.py", {"idca", "alm", "alm_pdp"}),
        ("src/reproduction/datasets/splits.py", {"a9a", "bank"}),
        ("src/reproduction/grid/config.py", set()),
        ("src/partialfair/commands/cli.py", set()),
    ],
)
def test_a_code_edit_changes_exactly_the_closures_that_hold_it(
    source: Path, changed_by: ChangedBy, module: str, expected: set[str]
):
    path = source.parent / module
    path.write_text(path.read_text() + "\nADDED = 1\n")
    assert changed_by(source) - {"evaluation", *DRAWN} == expected


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ('title="partial demographic parity"', 'title="parity"', {"alm_pdp"}),
        ('title="partial equality of odds"', 'title="odds"', set()),
        (
            "\n}\n\n\ndef build",
            '\n    "more": RateNotion(name="more", title="", violation={}, labels=(0,)),\n}\n\n\ndef build',
            set(),
        ),
    ],
)
def test_of_a_family_only_the_variant_of_a_run_counts(
    source: Path, changed_by: ChangedBy, old: str, new: str, expected: set[str]
):
    path = source / "partialfair" / "constraints" / "partial_rates.py"
    text = path.read_text()
    assert text.count(old) == 1
    path.write_text(text.replace(old, new))
    assert changed_by(source) == expected


def substitute(source: Path, pairs: dict[str, str]) -> int:
    """Replace texts in every module; the number of modules that had one."""
    count = 0
    for path in (*source.rglob("*.py"), *(source.parent / "papers").rglob("*.py")):
        old = new = path.read_text()
        for text, other in pairs.items():
            new = new.replace(text, other)
        path.write_text(new)
        count += new != old
    return count


def test_moving_and_renaming_a_module_changes_nothing(source: Path, changed_by: ChangedBy):
    package = source / "partialfair"
    (package / "data" / "checkpoint.py").rename(package / "models" / "saved_progress.py")
    (package / "seeding.py").rename(package / "data" / "random_streams.py")
    reached = {
        "from partialfair.data.checkpoint import": "from partialfair.models.saved_progress import",
        "from partialfair.seeding import": "from partialfair.data.random_streams import",
        "from partialfair import seeding\n": "from partialfair.data import random_streams\n",
        "seeding.generator(": "random_streams.generator(",
    }
    assert substitute(source, reached) > 10
    assert changed_by(source) == set()


def test_importing_the_same_name_from_another_module_changes_the_closures_that_hold_it(source: Path, hashes: Hashes):
    # Two modules that only differ in what they do: both are in the closure before and after.
    for name, value in (("one", 1), ("two", 2)):
        (source / "reproduction" / "jobs" / f"{name}.py").write_text(f"VALUE = {value}\n")
    train = source / "reproduction" / "jobs" / "train.py"
    text = train.read_text()
    train.write_text(
        f"{text}\nfrom reproduction.jobs.one import VALUE\nfrom reproduction.jobs.two import VALUE as OTHER\n"
    )
    first = hashes(source)
    train.write_text(
        f"{text}\nfrom reproduction.jobs.two import VALUE\nfrom reproduction.jobs.one import VALUE as OTHER\n"
    )
    swapped = hashes(source)
    assert {name for name in first if first[name] != swapped[name]} == {"idca", "alm", "alm_pdp"}


def test_a_word_in_the_model_card_outdates_no_evaluation(source: Path, changed_by: ChangedBy):
    assert (
        substitute(source / "reproduction" / "cards", {"A satisfied constraint is": "A constraint that is met is"}) == 1
    )
    assert not {"evaluation", "idca"} & changed_by(source)


def test_a_metric_edit_changes_the_evaluation_and_a_new_metric_does_not(source: Path, changed_by: ChangedBy):
    metrics = source / "partialfair" / "metrics"
    (metrics / "one_more.py").write_text("VALUE = 1\n")
    (metrics / "on_request" / "one_more.py").write_text("METRICS = {}\n")
    assert not changed_by(source)
    for path in sorted(metrics.glob("[a-z]*.py")):
        if path.stem in ("one_more", "rank_noise", "held_out_bound"):  # bounds of promises are no metrics
            continue
        text = path.read_text()
        path.write_text(text + "\nADDED = 1\n")
        assert "evaluation" in changed_by(source), path
        path.write_text(text)


def test_a_guard_of_what_people_pass_counts_for_nothing(source: Path, changed_by: ChangedBy):
    """Nor does the intake behind it; another decorator does."""
    for name in ("guards", "intake", "column_entries", "lookalikes", "missing_words", "number_entries"):
        module = source / "partialfair" / "data" / f"{name}.py"
        module.write_text(module.read_text() + "VALUE = 1\n")
    metric = source / "partialfair" / "metrics" / "partial.py"
    text = metric.read_text()
    assert "@guards.of_rows\ndef sp(" in text
    metric.write_text(text.replace("@guards.of_rows\ndef sp(", "def sp("))
    assert changed_by(source) == set()
    metric.write_text(text.replace("@guards.of_rows\ndef sp(", "@np.vectorize\ndef sp("))
    assert "evaluation" in changed_by(source)


def test_a_kind_of_exhibit_outdates_what_it_draws(source: Path, changed_by: ChangedBy):
    path = source / "reproduction" / "exhibits" / "kinds" / "densities.py"
    path.write_text(path.read_text() + "\nADDED = 1\n")
    assert changed_by(source) == {"densities", "report"}
    template = source / "reproduction" / "exhibits" / "templates" / "page.html.j2"
    template.write_text(template.read_text() + "<p>")
    assert changed_by(source) == DRAWN


def test_the_look_of_an_algorithm_redraws_and_its_solver_does_not(source: Path, changed_by: ChangedBy):
    plugin = source / "partialfair" / "algorithms" / "linear" / "idca.py"
    text = plugin.read_text()
    plugin.write_text(text + "\nADDED = 1\n")
    assert not DRAWN & changed_by(source)
    plugin.write_text(text.replace("#0072B2", "#0072B3"))
    assert changed_by(source) == DRAWN  # no run, though the look stands in the module that trains


def test_data_files_beside_a_module_count(source: Path, changed_by: ChangedBy):
    columns = source.parent / "papers" / "cross_paper" / "datasets" / "resources" / "a9a_columns.txt"
    columns.write_text("another" + columns.read_text())
    assert changed_by(source) == {"a9a"}


def test_closure_follows_lazy_relative_and_package_imports(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    package = tmp_path / closure.LIBRARY
    (package / "inner").mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "inner" / "__init__.py").write_text("from . import sibling\n")
    (package / "inner" / "sibling.py").write_text("from ..top import value\n")
    (package / "top.py").write_text("value = 1\n")
    (package / "typed.py").write_text("value = 2\n")
    (package / "unused.py").write_text("value = 3\n")
    (package / "start.py").write_text(
        "from typing import TYPE_CHECKING\nimport os\n"
        f"if TYPE_CHECKING:\n    import {closure.LIBRARY}.typed\n"
        f"def f():\n    import {closure.LIBRARY}.inner as inner\n"
    )
    monkeypatch.setitem(closure.HOUSES, closure.LIBRARY, tmp_path)
    for cached in (closure._read, closure._text_hash, closure._parsed, closure._file, closure.closure_hash):
        cached.cache_clear()
    try:
        found = {name.removeprefix(f"{closure.LIBRARY}.") for name in closure.closure(f"{closure.LIBRARY}.start")}
        assert found == {closure.LIBRARY, "start", "inner", "inner.sibling", "top"}
        with pytest.raises(PluginError, match="no module"):
            closure.closure(f"{closure.LIBRARY}.absent")
    finally:
        for cached in (closure._read, closure._text_hash, closure._parsed, closure._file, closure.closure_hash):
            cached.cache_clear()


def test_the_text_of_a_tree_is_that_of_every_python_version():
    # Written out, since one interpreter cannot show what another makes of the same source: 3.12 added
    # type_params to functions, 3.13 leaves out what is empty.
    assert closure._Text("").of(ast.parse("def f(x): return x")) == (
        "Module(body=[FunctionDef(name='f',args=arguments(args=[arg(arg='x')]),body=[Return(value=Name(id='x'))])])"
    )


@pytest.mark.parametrize("module", ["kernels.switching_steps", "algorithms.linear.idca_solver"])
def test_the_solver_of_idca_is_part_of_no_other_algorithm(module: str):
    constraint = plugins.module_of("constraints", "partial_statistical_parity")
    holding = [
        name
        for name in plugins.names("algorithms")
        if f"partialfair.{module}"
        in closure.closure("reproduction.jobs.train", plugins.module_of("algorithms", name), constraint)
    ]
    assert holding == ["idca"]


def test_no_training_closure_holds_reporting_or_the_workflow():
    reached = closure.closure(
        "reproduction.jobs.train", "partialfair.algorithms.linear.idca", "partialfair.algorithms.linear.alm"
    )
    assert not [name for name in reached if ".reporting" in name or name in closure.PLUMBING]
    assert "partialfair.kernels.row_sums" in reached
