"""Skeletons of plug-ins: their tests pass, the workflow takes them, and nothing is overwritten."""

import csv
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from partialfair.commands.cli import app
from partialfair.errors import ConfigError
from reproduction.commands.scaffold import KINDS, SHARED, create
from tests.workflow.project import ROOT, TINY, make_project, share_kernels

PLUGINS = ("dataset", "algorithm", "metric", "constraint", "exhibit")


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("scaffold")
    shutil.copytree(ROOT / "src", folder / "src", ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "tests" / "algorithms").mkdir(parents=True)
    for name in ("__init__.py", "algorithms/test_algorithm_contract.py"):
        shutil.copy(ROOT / "tests" / name, folder / "tests" / name)
    for name in ("pyproject.toml", "params.yaml"):
        shutil.copy(ROOT / name, folder / name)
    shutil.copytree(ROOT / "papers", folder / "papers")
    share_kernels(folder)
    return folder


def run(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    search = {"PYTHONPATH": f"{folder / 'src'}{os.pathsep}{folder}", "NUMBA_CACHE_DIR": f"{folder / '.cache/numba'}"}
    environment = {**os.environ, **search}
    command = [sys.executable, "-m", *words]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def test_every_skeleton_passes_its_test_and_has_the_style(checkout: Path) -> None:
    for kind in PLUGINS:
        result = CliRunner().invoke(app, ["new", kind, f"my_{kind}", "--project", str(checkout)])
        assert result.exit_code == 0 and f"test_my_{kind}.py" in result.output, result.output
    files = [
        tuple(path.format(name=f"my_{kind}", paper=SHARED) for path in KINDS[kind].files.values()) for kind in PLUGINS
    ]
    created, tests = zip(*(paths[:2] for paths in files), strict=True)
    for kind in ("dataset", "algorithm"):
        page = checkout / "docs" / f"{kind}s" / f"my_{kind}.md"
        assert page.read_text(encoding="utf-8").startswith(f"# my_{kind}\n")
    done = run(checkout, "pytest", "-q", "-p", "no:cacheprovider", *tests)
    assert done.returncode == 0, done.stdout[-3000:]
    assert "20 passed" in done.stdout
    done = run(checkout, "mypy", "--no-incremental", *created)
    assert done.returncode == 0, done.stdout
    for words in (["ruff", "check", "--no-cache"], ["ruff", "format", "--check", "--no-cache"]):
        done = run(checkout, *words, *created, *tests)
        assert done.returncode == 0, done.stdout
    shipped = (checkout / "params.yaml").read_text()
    params = shipped.replace("  simulated: {rows: 20000}", "  simulated: {rows: 20000}\n  my_dataset: {}", 1)
    params = params.replace("          alm: [0.2, 0.1, 0.02]", "          my_algorithm: [0.2, 0.1, 0.02]", 1)
    assert params.count("my_dataset") == params.count("my_algorithm") == 1
    (checkout / "params.yaml").write_text(params)
    try:
        done = run(checkout, "partialfair", "check")
    finally:
        (checkout / "params.yaml").write_text(shipped)
    assert done.returncode == 0, done.stderr


FITTED = """
import numpy as np
from partialfair.estimators import PartialFairClassifier
rng = np.random.default_rng(0)
group = rng.integers(0, 2, 600)
X = np.c_[rng.normal(size=(600, 2)), group]
y = np.where(X[:, 0] + group + rng.normal(size=600) > 0.5, 1, -1)
options = {"interval": (0.1, 0.6), "kappa": 0.1, "solver": "alm"}
scores = []
for name in ("of_mine", "partial_demographic_parity"):
    model = PartialFairClassifier(constraint=name, **options).fit(X, y, sensitive_features=group)
    scores.append(model.decision_function(X, sensitive_features=group))
print("same scores:", np.array_equal(*scores))
"""


def test_an_estimator_takes_a_constraint_of_ones_own(checkout: Path) -> None:
    made = [checkout / path for path in create("constraint", "of_mine", checkout).files]
    script = checkout / "fitted.py"
    script.write_text(FITTED, encoding="utf-8")
    try:
        done = subprocess.run(
            [sys.executable, str(script)], cwd=checkout, capture_output=True, text=True, check=False,
            env={**os.environ, "PYTHONPATH": str(checkout / "src"), "NUMBA_CACHE_DIR": str(checkout / ".cache/numba")},
        )  # fmt: skip
    finally:
        for path in [*made, script]:
            path.unlink()
    assert done.stdout.strip() == "same scores: True", done.stderr[-2000:]


def test_skeletons_with_long_names_have_the_style(checkout: Path) -> None:
    made = [
        checkout / path
        for kind in PLUGINS
        for path in create(kind, f"{kind}_of_a_name_with_30_letter"[:30], checkout).files
    ]
    modules = [str(path) for path in made if path.suffix == ".py"]
    try:
        for words in (["ruff", "check", "--no-cache"], ["ruff", "format", "--check", "--no-cache"]):
            done = run(checkout, *words, *modules)
            assert done.returncode == 0, done.stdout
    finally:
        for path in made:
            path.unlink()


def test_contributing_shows_the_skeleton(checkout: Path) -> None:
    module = checkout / create("algorithm", "my_method", checkout).files[0]
    skeleton = module.read_text(encoding="utf-8")
    module.unlink()
    shown = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").partition("```python\n")[2].partition("```")[0]
    assert shown == skeleton


def test_rows_in_another_order_than_their_groups_are_noticed(checkout: Path) -> None:
    """A model that depends on which rows come first, as one with mixed-up groups does, passes every other test."""
    made = [checkout / path for path in create("algorithm", "misaligned", checkout).files]
    module = made[0]
    text = module.read_text(encoding="utf-8")
    shift = "task.train.group[: len(task.train.y) // 2].mean()"
    module.write_text(text.replace("factor * params)", f"(factor + {shift}) * params)"), encoding="utf-8")
    try:
        done = run(checkout, "pytest", "-q", "-p", "no:cacheprovider", f"papers/{SHARED}/tests/test_misaligned.py")
    finally:
        for path in made:
            path.unlink()
    assert "1 failed, 2 passed" in done.stdout and "test_the_order_of_rows_does_not_matter" in done.stdout


@pytest.mark.long(suite="entries")
@pytest.mark.slow
def test_an_algorithm_in_one_file_passes_everything_with_nothing_else_touched(checkout: Path) -> None:
    """As CONTRIBUTING shows it, in a room of its own: contract, types, style, grid, training, evaluation, card."""
    room = checkout / "src/partialfair/algorithms/outside"
    room.mkdir()
    (room / "__init__.py").write_text('"""A room of its own."""\n')
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").partition("```python\n")[2].partition("```")[0]
    module = room / "from_outside.py"
    module.write_text(text, encoding="utf-8")
    params = (ROOT / "params.yaml").read_text(encoding="utf-8")
    assert params.count("          alm: [0.2, 0.1, 0.02]") == 1
    (checkout / "params.yaml").write_text(
        params.replace("          alm: [0.2, 0.1, 0.02]", "          from_outside: [0.2, 0.1, 0.02]")
    )
    job = ["--experiment", "demo", "--dataset", "simulated", "--algorithm", "from_outside", "--kappa", "0.2"]
    job += ["--seed", "0"]
    contract = "tests/algorithms/test_algorithm_contract.py"
    try:
        for words in (
            ["pytest", "-q", "-p", "no:cacheprovider", contract, "-k", "from_outside"],
            ["mypy", "--strict", "--no-incremental", str(module)],
            ["ruff", "check", "--no-cache", str(module)],
            ["ruff", "format", "--check", "--no-cache", str(module)],
            ["partialfair", "check"],
            ["partialfair", "data", "prepare", "simulated"],
            ["partialfair", "data", "split", "simulated", "--seed", "0"],
            ["partialfair", "train", *job],
            ["partialfair", "evaluate", *job],
        ):
            done = run(checkout, *words)
            assert done.returncode == 0, f"{words}: {done.stdout[-2000:]}{done.stderr[-2000:]}"
    finally:
        shutil.rmtree(room)
        (checkout / "params.yaml").write_text(params)
    folder = checkout / "data/runs/demo/simulated/from_outside/kappa=0.2/seed=0"
    fit = json.loads((folder / "fit.json").read_text())
    assert fit["status"] in ("ok", "tolerance missed") and fit["certificate"]["kind"] is None
    assert fit["certificate"]["objective"] > 0 and fit["selected"]["factor"] in (0.5, 0.9, 1.0)
    assert (folder / "metrics.json").is_file()


def test_the_test_of_a_skeleton_can_fail(checkout: Path) -> None:
    create("metric", "broken", checkout)
    module = checkout / "src/partialfair/metrics/on_request/broken.py"
    module.write_text(module.read_text().replace("max(means) - min(means)", "max(means)"))
    test = "tests/metrics/on_request/test_broken.py"
    assert run(checkout, "pytest", "-q", "-p", "no:cacheprovider", test).returncode == 1
    module.unlink()
    (checkout / test).unlink()


HASHES = """
import json
from reproduction.grid import fingerprint, paths
from reproduction.grid.config import load_config
config = load_config("params.yaml")
found = {}
for name in config.experiments:
    for job in config.jobs(name):
        found[f"{name} {job.dataset} {job.algorithm}"] = [
            fingerprint.run(config, job).code, fingerprint.evaluation(config, job).code
        ]
for dataset in config.datasets:
    found[dataset] = [fingerprint.table(config, dataset).code, fingerprint.split(config, dataset).code]
for name in config.params.exhibits:
    found[f"exhibit {name}"] = [fingerprint.exhibit(config, name).code]
print(json.dumps(found))
"""


def test_something_new_outdates_nothing_that_does_not_use_it(checkout: Path) -> None:
    """One unused metric beside the common ones once outdated every evaluation."""
    script = checkout / "hashes.py"
    script.write_text(HASHES, encoding="utf-8")
    before = run(checkout, "hashes")
    made = [checkout / path for kind in PLUGINS for path in create(kind, f"unused_{kind}", checkout).files]
    try:
        after = run(checkout, "hashes")
    finally:
        for path in [*made, script]:
            path.unlink()
    assert before.returncode == after.returncode == 0, before.stderr + after.stderr
    assert json.loads(before.stdout) == json.loads(after.stdout)


def test_a_metric_beside_the_common_ones_is_refused(checkout: Path) -> None:
    module = checkout / create("metric", "mine", checkout).files[0]
    other = module.parents[1] / "mine.py"
    module.rename(other)
    try:
        done = run(checkout, "partialfair", "check")
    finally:
        other.unlink()
        (checkout / "tests/metrics/on_request/test_mine.py").unlink()
    assert done.returncode == 2 and "metrics/mine.py" in done.stderr and "metrics/on_request" in done.stderr


@pytest.mark.long(suite="entries")
def test_the_example_of_an_exhibit_has_the_style_and_the_types(checkout: Path) -> None:
    """It stands in docs/exhibit-kinds.md, and is refused by neither `make lint` nor the grid."""
    text = (ROOT / "docs/exhibit-kinds.md").read_text(encoding="utf-8").partition("```python\n")[2].partition("```")[0]
    module = checkout / "papers/cross_paper/exhibits/seed_spread.py"
    module.write_text(text, encoding="utf-8")
    try:
        for words in (["ruff", "check", "--no-cache"], ["mypy", "--no-incremental"]):
            done = run(checkout, *words, str(module))
            assert done.returncode == 0, done.stdout
    finally:
        module.unlink()


FILLED = {
    "metric": (
        "    return float((max(means) - min(means)) / np.ptp(scores))",
        "    return float(max(means) - min(means))",
    ),
    "constraint": ("        kappa,\n", "        2 * kappa,\n"),
    "algorithm": ("(0.5, 0.9, 1.0)", "(0.2, 0.4)"),
}
EXPECTED = {
    "metric": (
        "INTERVAL, 1 / 3),\n    ([0.0, 1.0, 0.0, 1.0], [0, 0, 1, 1], INTERVAL, 0.0),\n"
        "    ([1.0, 2.0, 3.0, 4.0, 3.0, 4.0, 5.0, 6.0], [0, 0, 0, 0, 1, 1, 1, 1], (0.0, 0.5), 0.4),",
        "INTERVAL, 1.0),\n    ([0.0, 1.0, 0.0, 1.0], [0, 0, 1, 1], INTERVAL, 0.0),\n"
        "    ([1.0, 2.0, 3.0, 4.0, 3.0, 4.0, 5.0, 6.0], [0, 0, 0, 0, 1, 1, 1, 1], (0.0, 0.5), 2.0),",
    ),
    "constraint": (
        "[first - second - kappa, second - first - kappa]",
        "[first - second - 2 * kappa, second - first - 2 * kappa]",
    ),
}


@pytest.mark.long(suite="entries")
@pytest.mark.parametrize("kind", FILLED)
def test_a_skeleton_that_is_filled_in_as_its_docs_say_passes_its_test(checkout: Path, kind: str) -> None:
    """With another formula, and where the docs say so, another value by hand; nothing else of the test changes."""
    module, test, *more = (checkout / path for path in create(kind, f"filled_{kind}", checkout).files)
    try:
        for path, (old, new) in zip((module, test), (FILLED[kind], EXPECTED.get(kind, ("", ""))), strict=True):
            text = path.read_text(encoding="utf-8")
            assert old in text
            path.write_text(text.replace(old, new, 1), encoding="utf-8")
        done = run(checkout, "pytest", "-q", "-p", "no:cacheprovider", str(test.relative_to(checkout)))
        assert done.returncode == 0, done.stdout[-3000:]
    finally:
        for path in (module, test, *more):
            path.unlink()


def test_mistakes_are_refused_and_nothing_is_overwritten(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="has no src/partialfair and papers"):
        create("metric", "mine", tmp_path)
    (tmp_path / "src" / "partialfair").mkdir(parents=True)
    (tmp_path / "papers").mkdir()
    for name in ("Mine", "my-metric", "2nd", "", "a/b"):
        with pytest.raises(ConfigError, match="lower case letters"):
            create("metric", name, tmp_path)
    with pytest.raises(ConfigError, match="name 'class': it is a word of Python itself"):
        create("algorithm", "class", tmp_path)
    for name in ("accuracy", "auc_gap_group"):
        with pytest.raises(ConfigError, match=f"metric '{name}' exists already; choose another name"):
            create("metric", name, tmp_path)
    (tmp_path / "src/partialfair/algorithms/linear").mkdir(parents=True)
    (tmp_path / "src/partialfair/algorithms/linear/alm.py").touch()
    with pytest.raises(ConfigError, match="algorithms/linear/alm.py exists already; choose another name than 'alm'"):
        create("algorithm", "alm", tmp_path)
    (tmp_path / "papers/cross_paper/algorithms/linear").mkdir(parents=True)
    with pytest.raises(ConfigError, match="papers/cross_paper/algorithms/linear is a folder of the package; choose"):
        create("algorithm", "linear", tmp_path)
    with pytest.raises(ConfigError, match="there is no paper 'cros_paper'; did you mean 'cross_paper'"):
        create("algorithm", "mine", tmp_path, "cros_paper")
    entry = {"module": "simulated"}
    (tmp_path / "params.yaml").write_text(json.dumps({"seeds": [0], "datasets": {"mine": entry}, "experiments": {}}))
    with pytest.raises(ConfigError, match="'mine' is an entry of datasets in params.yaml; choose another name"):
        create("dataset", "mine", tmp_path)
    assert not list(tmp_path.rglob("*alm.md")) and not list(tmp_path.rglob("*accuracy*"))
    with pytest.raises(ConfigError, match="did you mean 'metric'"):
        create("metrics", "mine", tmp_path)
    made = create("metric", "mine", tmp_path)
    (tmp_path / made.files[0]).write_text("mine")
    with pytest.raises(ConfigError, match=r"metrics/on_request/mine.py exists already"):
        create("metric", "mine", tmp_path)
    assert (tmp_path / made.files[0]).read_text() == "mine"
    shutil.copy(ROOT / "params.yaml", tmp_path)
    shutil.copytree(ROOT / "papers", tmp_path / "papers", dirs_exist_ok=True)
    for name in ("demo", "figure1", "all"):
        with pytest.raises(ConfigError, match=f"'{name}' is an experiment, an exhibit or a rule"):
            create("paper", name, tmp_path)
        assert not (tmp_path / "papers" / name).exists()


@pytest.mark.long(suite="entries")
@pytest.mark.slow
def test_the_table_of_a_new_dataset_follows_its_file(tmp_path: Path) -> None:
    project = make_project(tmp_path / "project")
    (project.folder / "tests").mkdir()
    create("dataset", "mine", project.folder)
    run = {"interval": [[0.0, 0.3]], "algorithms": {"alm": [0.2]}}
    demo = {**TINY["experiments"]["demo"], "runs": {"mine": run}}
    project.write_params({**TINY, "datasets": {"mine": {}}, "experiments": {"demo": demo}, "exhibits": {}})
    table, raw = "data/processed/mine/table.npz", project.folder / "data/raw/mine/mine.csv"
    raw.parent.mkdir(parents=True)
    rows = [f"{20 + row % 40},{30 + row % 11},{('female', 'male')[row % 2]},{row // 2 % 2}" for row in range(200)]
    raw.write_text("\n".join(["age,hours,sex,label", *rows]) + "\n")
    project.snakemake(table)
    assert not project.planned(table)
    raw.write_text("\n".join(["age,hours,sex,label", *rows, "30,30,male,1"]) + "\n")
    assert project.planned(table) == {"prepare": 1}
    raw.unlink()
    done = project.snakemake(table, check=False)
    assert done.returncode and "put the file there" in done.stdout + done.stderr


@pytest.mark.long(suite="entries")
@pytest.mark.slow
def test_a_new_paper_runs_and_has_its_number_and_its_claim_decided(tmp_path: Path) -> None:
    project = make_project(tmp_path / "project")
    shutil.rmtree(project.folder / "papers")
    command = ("env", "PYTHONPATH=src", sys.executable, "-m", "partialfair")
    shown = project.run(*command, "new", "paper", "mine").stdout
    assert "papers/mine/grid.yaml" in shown and "params=papers/mine/grid.yaml" in shown
    again = project.run(*command, "new", "paper", "mine", check=False)
    assert again.returncode == 2 and "papers/mine/paper.yaml exists already" in again.stderr
    own = {key: value for key, value in TINY.items() if key not in ("algorithms", "bootstrap")}
    project.write_params({**own, "include": ["papers/*/grid.yaml"]})
    assert "mine_interval: 9 runs" in project.run(*command, "check").stdout
    other = project.folder / "reports" / "scorecard.csv"
    other.parent.mkdir()
    other.write_text("that of the whole")
    project.snakemake("paper", "--config", "params=papers/mine/grid.yaml")
    assert other.read_text() == "that of the whole" and not (other.parent / "demo").exists()
    with (project.folder / "reports/mine/scorecard.csv").open(newline="") as stream:
        lines = list(csv.DictReader(stream))
    numbers = [line for line in lines if not line["claim"]]
    assert len(numbers) == 3 and all(line["paper"] == "mine" and line["verdict"] != "not run" for line in lines)
    assert all(abs(float(line["published"]) - float(line["reproduced"])) < 0.01 for line in numbers)
    (claim,) = (line for line in lines if line["claim"])
    assert claim["claim"] == "interval_costs_less" and 0 < float(claim["p_value"]) < 1
    page = (project.folder / "reports/mine/index.html").read_text(encoding="utf-8")
    assert "Table 1" in page and "At one tolerance, models constrained" in page
    assert "Central claim: " in page
    assert not project.planned("paper", "--config", "params=papers/mine/grid.yaml")
    audited = project.make("-o", "data", "audit", "PAPER=mine", "RETRAIN=1")
    assert audited.returncode == 0 and "\nwhole: " in audited.stdout, audited.stdout[-3000:] + audited.stderr[-3000:]
    assert not (project.folder / "dvc.lock").exists()  # which is of the whole grid
    whole = project.planned("all")  # the same runs, and those of the demo
    assert whole["train"] == 6 and whole["exhibit"] == 1
