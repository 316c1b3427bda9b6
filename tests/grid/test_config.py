import copy
import json
import math
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from partialfair.errors import ConfigError
from reproduction.grid.checks import RESERVED, check_settings
from reproduction.grid.config import Config, Job, evaluation_settings, job_settings, kappa_text, load_config
from tests.workflow.project import ROOT, TINY


def write(folder: Path, content: dict[str, Any]) -> Path:
    path = folder / "params.yaml"
    path.write_text(yaml.safe_dump(content, sort_keys=False), encoding="utf-8")
    return path


def changed(path: str, value: Any) -> dict[str, Any]:
    """TINY with one entry set; ``None`` removes it."""
    content = copy.deepcopy(TINY)
    *parents, last = path.split("/")
    block: Any = content
    for part in parents:
        block = block.setdefault(part, {})
    if value is None:
        del block[last]
    else:
        block[last] = value
    return content


def test_the_names_of_all_rules_are_reserved():
    files = [ROOT / "Snakefile", *(ROOT / "workflow" / "rules").glob("*.smk")]
    rules = [name for file in files for name in re.findall(r"^rule (\w+):", file.read_text(), re.MULTILINE)]
    assert len(rules) > 15 and sorted(rules) == sorted(RESERVED)


def test_the_shipped_grid_is_valid():
    config = load_config(ROOT / "params.yaml")
    check_settings(config)
    assert "demo" in config.experiments
    assert len(set(config.jobs())) == len(config.jobs()) > 100


SIMULATED = "experiments/demo/runs/simulated"
OWN = {"module": "csv_table", "file": "x.csv", "label": "y", "groups": ["g"]}
REFUSED = [
    # entry, value, what the message must say: key path, value, remedy
    ("seed", [1], ["seed: unknown key", "'seeds'"]),
    ("experiments/demo/gird", 4, ["experiments.demo.gird: unknown key", "'grid'"]),
    (f"{SIMULATED}/intervals", [[0, 1]], ["runs.simulated.intervals: unknown key", "'interval'"]),
    ("bootstrap/replicate", 1, ["bootstrap.replicate: unknown key", "'replicates'"]),
    ("experiments/demo/title", None, ["experiments.demo.title: the key is missing"]),
    ("experiments/demo/grid", "ten", ["experiments.demo.grid is 'ten'", "write a whole number"]),
    ("experiments/demo/grid", 0, ["experiments.demo.grid is 0", "greater than or equal to 1"]),
    ("experiments/demo/kappa_scale", "absolut", ["experiments.demo.kappa_scale is 'absolut'", "'absolute'"]),
    ("threads", True, ["threads is True", "write a whole number"]),
    ("device", "gpu", ["device is 'gpu'", "'cuda'"]),
    ("bootstrap/level", 1.5, ["bootstrap.level is 1.5", "less than 1"]),
    ("seeds", [], ["seeds is []", "give at least 1"]),
    (
        "experiments/demo/more_seeds",
        {"banc": [9]},
        ["experiments.demo.more_seeds: ", "has no dataset 'banc'"],
    ),
    ("experiments/demo/between", "dmo", ["experiments.demo.between: unknown experiment 'dmo'", "'demo'"]),
    ("experiments/demo/seeds", [], ["experiments.demo.seeds is []", "give at least 1"]),
    ("seeds", [0, 1, 0], ["seeds is [0, 1, 0]", "0 stands twice"]),
    ("seeds", [-1], ["seeds.0 is -1"]),
    ("seeds", [0.5], ["seeds.0 is 0.5", "write a whole number"]),
    (f"{SIMULATED}/algorithms/alm", [0], ["algorithms.alm.0 is 0", "greater than 0"]),
    (f"{SIMULATED}/algorithms/alm", [-0.1], ["algorithms.alm.0 is -0.1", "greater than 0"]),
    (f"{SIMULATED}/algorithms/alm", [math.nan], ["algorithms.alm.0 is nan", "greater than 0"]),
    (f"{SIMULATED}/algorithms/alm", ["small"], ["algorithms.alm.0 is 'small'", "positive number"]),
    (f"{SIMULATED}/algorithms/alm", [True], ["algorithms.alm.0 is True", "positive number"]),
    (f"{SIMULATED}/algorithms/alm", [0.1, 0.1], ["algorithms.alm is [0.1, 0.1]", "twice"]),
    (f"{SIMULATED}/algorithms/alm", [0.1, "1e-1"], ["algorithms.alm is [0.1, '1e-1']", "0.1 stands twice"]),
    (f"{SIMULATED}/algorithms/alm", [0.1, "0.1"], ["0.1 stands twice"]),
    (f"{SIMULATED}/algorithms/alm", [1, 1.0], ["1.0 stands twice"]),
    (f"{SIMULATED}/algorithms/alm", [" 0.3 "], ["algorithms.alm.0 is ' 0.3 '", "positive number"]),
    (f"{SIMULATED}/algorithms/alm", ["1_0"], ["algorithms.alm.0 is '1_0'", "positive number"]),
    (f"{SIMULATED}/algorithms/alm", ["\uff11"], ["algorithms.alm.0", "positive number"]),
    ("datasets/simulated", {"rows": -1}, ["datasets.simulated.rows is -1", "from 1 to"]),
    ("datasets/simulated", {"rows": 10**12}, ["datasets.simulated.rows is 1000000000000", "from 1 to"]),
    ("threads", 10**6, ["threads is 1000000", "less than or equal to 1024"]),
    ("experiments/demo/grid", 10**9, ["experiments.demo.grid is 1000000000", "less than"]),
    ("bootstrap/replicates", 10**12, ["bootstrap.replicates is 1000000000000", "less than"]),
    ("include", ["params.yaml"], ["include: the file names itself"]),
    (f"{SIMULATED}/algorithms/alm", [], ["algorithms.alm is []"]),
    (f"{SIMULATED}/algorithms/alm", 0.1, ["algorithms.alm is 0.1", "list"]),
    (f"{SIMULATED}/algorithms", {}, ["runs.simulated.algorithms is {}"]),
    (f"{SIMULATED}/interval", [[0.1, 1.4]], ["runs.simulated.interval", "1.4", "alpha < beta <= 1"]),
    (f"{SIMULATED}/interval", [[-0.1, 0.4]], ["runs.simulated.interval", "-0.1", "0 <= alpha"]),
    (f"{SIMULATED}/interval", [[0.4, 0.1]], ["runs.simulated.interval", "[0.4, 0.1]", "alpha < beta"]),
    (f"{SIMULATED}/interval", [[0.4, 0.4]], ["runs.simulated.interval", "alpha < beta"]),
    (f"{SIMULATED}/interval", [[0.1, 0.4], [0.3, 0.6]], ["runs.simulated.interval", "overlap"]),
    (f"{SIMULATED}/interval", [], ["runs.simulated.interval", "empty"]),
    (f"{SIMULATED}/interval", 3, ["runs.simulated.interval is 3"]),
    ("experiments/demo/constraint", "partial_statistical_party", ["demo.constraint", "'partial_statistical_parity'"]),
    ("experiments/demo/constraint", {"name": "auc_gap", "between": "groups"}, ["demo.constraint is {", "inter_group"]),
    ("experiments/demo/constraint", {"name": "loss_gap", "between": "parity"}, ["'between'", "did you mean 'notion'?"]),
    (
        "experiments/demo/constraint",
        {"name": "auc_gp", "between": "group"},
        ["unknown constraint 'auc_gp'", "'auc_gap'"],
    ),
    ("experiments/demo/constraint", {"name": "loss_parity", "notion": "parity"}, ["'loss_parity' takes no option"]),
    ("experiments/demo/constraint", {"between": "group"}, ["demo.constraint is {'between': 'group'}", "a name"]),
    (
        "experiments/demo/constraint",
        "partial_rates",
        ["demo.constraint", "its option notion", "partial_demographic_parity, "],
    ),
    ("experiments/demo/runs/simulatd", TINY["experiments"]["demo"]["runs"]["simulated"], ["simulatd", "'simulated'"]),
    ("datasets/bnak", {}, ["datasets.bnak", "'bank'"]),
    ("datasets/simulated", {"row": 3}, ["datasets.simulated.row: unknown option", "'rows'"]),
    ("datasets/law_school", {"rows": 3}, ["datasets.law_school.rows: unknown option", "takes none"]),
    ("datasets/mine", {"file": "x.csv"}, ["datasets.mine: unknown dataset 'mine'", "module: csv_table"]),
    ("datasets/mine", {"module": "csv_tabel"}, ["datasets.mine.module", "'csv_table'"]),
    ("datasets/mine", {"module": "csv_table", "file": "x.csv"}, ["datasets.mine.label: the option is missing"]),
    ("datasets/mine", {**OWN, "groups": 5}, ["datasets.mine.groups is 5", "a column, or a list of columns"]),
    ("datasets/mine", {**OWN, "drop": {"a": 1}}, ["datasets.mine.drop is {'a': 1}", "a column, or a list of columns"]),
    ("datasets/bank", {"module": "csv_table"}, ["datasets.bank.module", "choose another name"]),
    ("datasets/bank", {"split": {"train": 1}}, ["datasets.bank.split is {'train': 1}", "validation"]),
    ("datasets/My data", {"module": "simulated"}, ["datasets.My data", "lower case"]),
    (f"{SIMULATED}2", TINY["experiments"]["demo"]["runs"]["simulated"], ["simulated2", "'simulated'"]),
    ("experiments/demo/runs/csv_table", TINY["experiments"]["demo"]["runs"]["simulated"], ["datasets.csv_table.file"]),
    ("algorithms/icda", {}, ["algorithms.icda", "'idca'"]),
    ("experiments/demo/algorithms", {"al": {}}, ["experiments.demo.algorithms.al", "'alm'"]),
    (f"{SIMULATED}/algorithms/ida", [0.1], ["runs.simulated.algorithms.ida", "'idca'"]),
    ("experiments/Demo 2", TINY["experiments"]["demo"], ["Demo 2", "lower case"]),
    ("experiments/paper", TINY["experiments"]["demo"], ["experiments.paper", "a rule of the workflow"]),
    ("experiments/demo/runs", {}, ["experiments.demo.runs is {}"]),
    ("experiments", None, ["experiments: the key is missing"]),
    ("exhibits/demo", {"kind": "table"}, ["exhibits.demo", "choose another name"]),
    ("exhibits/exhibit_page", {"kind": "table"}, ["exhibits.exhibit_page", "a rule of the workflow"]),
    ("experiments/splits", TINY["experiments"]["demo"], ["experiments.splits", "a rule of the workflow"]),
    ("exhibits/table1", {"title": "x"}, ["exhibits.table1.kind: the key is missing"]),
    ("exhibits/table1", {"kind": "table", "experiments": ["dmo"]}, ["exhibits.table1.experiments", "'demo'"]),
]
REFUSED_BY_PLUGIN = [
    (f"{SIMULATED}/algorithms/alm", [1], ["algorithms.alm is 1: on the absolute scale", "below 1"]),
    (f"{SIMULATED}/algorithms/alm", [2], ["algorithms.alm is 2: on the absolute scale", "below 1"]),
    ("algorithms/idca", {"inner_stesp": [20]}, ["algorithms.idca.inner_stesp: unknown key", "'inner_steps'"]),
    ("algorithms/idca", {"inner_steps": "many"}, ["algorithms.idca.inner_steps is 'many'"]),
    ("algorithms/alm", {"tolerance": -1.0}, ["algorithms.alm.tolerance is -1.0"]),
    (
        "experiments/demo/algorithms",
        {"idca": {"tuning_round": 1}},
        ["experiments.demo.algorithms.idca.tuning_round: unknown key", "'tuning_rounds'"],
    ),
    (f"{SIMULATED}/algorithms/alm", ["inf"], ["runs.simulated.algorithms.alm is inf", "'unconstrained'"]),
    (f"{SIMULATED}/algorithms/unconstrained", [0.1], ["algorithms.unconstrained is 0.1", "[inf]"]),
]


def refusal(path: Path, then: Callable[[Config], None] | None = None) -> str:
    with pytest.raises(ConfigError) as error:
        config = load_config(path)
        if then:
            then(config)
    message = str(error.value)
    assert message.startswith("params.yaml: ")
    assert "\n" not in message
    return message


@pytest.mark.parametrize(("entry", "value", "expected"), REFUSED)
def test_refusals_name_key_value_and_remedy(tmp_path: Path, entry: str, value: Any, expected: list[str]):
    message = refusal(write(tmp_path, changed(entry, value)))
    assert all(part in message for part in expected), message


@pytest.mark.parametrize(("entry", "value", "expected"), REFUSED_BY_PLUGIN)
def test_algorithms_refuse_their_own_settings(tmp_path: Path, entry: str, value: Any, expected: list[str]):
    path = write(tmp_path, changed(entry, value))
    load_config(path)  # left to the job
    message = refusal(path, then=check_settings)
    assert all(part in message for part in expected), message


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("seeds: [0]\nseeds: [1]\n", "key 'seeds' stands twice"),
        ("seeds: [0\n", "not valid YAML"),
        ("- a\n", "holds list"),
        ("", "holds NoneType"),
    ],
)
def test_files_that_are_no_mapping_are_refused(tmp_path: Path, text: str, expected: str):
    path = tmp_path / "params.yaml"
    path.write_text(text)
    assert expected in refusal(path)


def test_absent_file_is_refused(tmp_path: Path):
    with pytest.raises(ConfigError, match=r"absent\.yaml: cannot be read"):
        load_config(tmp_path / "absent.yaml")


def test_jobs_are_the_product_of_the_grid(tmp_path: Path):
    config = load_config(write(tmp_path, TINY))
    jobs = config.jobs("demo")
    assert len(jobs) == 3 * 2
    assert jobs[0] == Job("demo", "simulated", "unconstrained", "inf", math.inf, 0)
    assert jobs[0].path.as_posix() == "data/runs/demo/simulated/unconstrained/kappa=inf/seed=0"
    assert config.jobs() == jobs


@pytest.mark.parametrize(
    ("kappa", "text"), [(0.01, "0.01"), (1, "1"), (1.0, "1"), (0.005, "0.005"), (1e-5, "1e-05"), (math.inf, "inf")]
)
def test_kappa_text_reads_back(kappa: float, text: str):
    assert kappa_text(kappa) == text
    assert float(kappa_text(kappa)) == kappa


def test_experiments_override_seeds_settings_and_grid(tmp_path: Path):
    content = changed("experiments/demo/seeds", [7])
    content["experiments"]["demo"]["algorithms"] = {"idca": {"rounds": [3]}}
    content["experiments"]["demo"]["runs"]["simulated"]["grid"] = 9
    config = load_config(write(tmp_path, content))
    assert {job.seed for job in config.jobs()} == {7}
    job = config.job("demo", "simulated", "idca", "0.20", 7)
    settings = job_settings(config, job)
    assert settings["settings"] == {**TINY["algorithms"]["idca"], "rounds": [3]}
    assert settings["grid"] == 9
    assert settings["interval"] == [[0.1, 0.4]]
    assert settings["dataset_options"] == {"rows": 600}


def test_settings_of_a_job_are_strict_json(tmp_path: Path):
    config = load_config(write(tmp_path, TINY))
    for job in config.jobs():
        settings = job_settings(config, job)
        assert json.loads(json.dumps(settings, allow_nan=False)) == settings
        assert settings["kappa"] == (None if math.isinf(job.kappa) else job.kappa)
    assert evaluation_settings(config, "demo", "simulated")["bootstrap"] == {"replicates": 20, "level": 0.9}


@pytest.mark.parametrize(
    ("job", "expected"),
    [
        (("dmo", "simulated", "idca", "0.2", 0), "unknown experiment 'dmo'; did you mean 'demo'?"),
        (("demo", "simulate", "idca", "0.2", 0), "no dataset 'simulate'; did you mean 'simulated'?"),
        (("demo", "law_school", "idca", "0.2", 0), "no dataset 'law_school'; choose from simulated"),
        (("demo", "simulated", "icda", "0.2", 0), "no algorithm 'icda'; did you mean 'idca'?"),
        (("demo", "simulated", "alm", "0.3", 0), "no kappa 0.3; choose from 0.2"),
        (("demo", "simulated", "alm", "x", 0), "no kappa x"),
        (("demo", "simulated", "alm", "0.2", 5), "no seed 5; choose from 0, 1"),
    ],
)
def test_a_job_outside_the_grid_is_refused(tmp_path: Path, job: tuple[Any, ...], expected: str):
    config = load_config(write(tmp_path, TINY))
    with pytest.raises(ConfigError) as error:
        config.job(*job)
    assert expected in str(error.value)


def test_loading_imports_no_heavy_package():
    heavy = "{'torch', 'pandas', 'sklearn', 'matplotlib', 'numba', 'pyarrow'}"
    load = "import sys; from reproduction.grid.config import load_config; load_config('params.yaml')"
    code = f"{load}; print({heavy} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


def test_a_list_as_a_key_is_one_sentence(tmp_path: Path):
    (tmp_path / "params.yaml").write_text("seeds: [0]\n? [a, b]\n: 1\n")
    with pytest.raises(ConfigError, match=r"line 2: key \['a', 'b'\] is a list or mapping; give a name"):
        load_config(tmp_path / "params.yaml")
