"""`partialfair run` and `resume`: targets, the command that continues, and one run per folder."""

import io
import json
import platform
import signal
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import pandas as pd
import pytest
from typer.testing import CliRunner

from partialfair.commands.cli import app
from partialfair.data.files import write_json
from partialfair.errors import ConfigError, PartialFairError
from reproduction.commands import outdated, preflight, runner
from reproduction.commands.runner import require_targets
from reproduction.grid import fingerprint
from reproduction.grid.agreement import snakemake_record
from reproduction.grid.config import load_config
from reproduction.jobs.resume import RECORD
from tests.processes import running
from tests.workflow.project import ROOT

LOG = """
rule train:
    wildcards: experiment=demo, dataset=simulated, algorithm=idca, kappa=0.1, seed=0
3 of 12 steps (25%) done
Error in rule evaluate:
"""


def test_targets_are_names_of_the_grid_or_files():
    require_targets(["figure1", "demo", "psp", "reports/figure1/figure1.csv"], ROOT / "params.yaml")
    with pytest.raises(ConfigError, match=r"there is no target 'figur1'; the nearest are figure1"):
        require_targets(["figur1"], ROOT / "params.yaml")
    require_targets(["raw"], ROOT / "params.yaml", ["a9a", "simulated"])
    with pytest.raises(ConfigError, match="unknown dataset 'bnk'; did you mean 'bank'"):
        require_targets(["raw"], ROOT / "params.yaml", ["a9a", "bnk"])
    with pytest.raises(ConfigError) as caught:
        require_targets(["figur1", "tabel3"], ROOT / "params.yaml", ["bnk"])
    assert len(str(caught.value).splitlines()) == 3


@pytest.mark.parametrize(
    ("targets", "first"),
    [
        (["demo"], True),
        ([], True),
        (["all"], True),
        (["paper"], True),
        (["runs"], True),
        (["raw"], False),
        (["data/processed/simulated/table.npz"], False),
    ],
)
def test_tables_of_other_code_are_made_first_where_runs_are_asked_for(monkeypatch, tmp_path, targets, first):
    config = load_config(ROOT / "params.yaml").restricted("demo")
    monkeypatch.chdir(tmp_path)
    table = "data/processed/simulated/table.npz"
    Path(table).parent.mkdir(parents=True)
    Path(table).touch()
    assert outdated.tables(config, targets) == [table] * first, "how it was made is not known"
    record = snakemake_record(table)
    record.parent.mkdir(parents=True)
    made = list(map(repr, fingerprint.table(config, "simulated").texts()))
    for params, stale in ((made, False), ([made[0], repr("another")], True)):
        record.write_text(json.dumps({"params": params}))
        assert outdated.tables(config, targets) == [table] * (stale and first)


def test_an_unknown_target_ends_with_status_2_before_anything_starts(monkeypatch):
    monkeypatch.chdir(ROOT)
    found = CliRunner().invoke(app, ["run", "nosuch"])
    assert isinstance(found.exception, ConfigError) and "nosuch" in str(found.exception)


def test_runs_of_methods_that_do_not_apply_are_told_at_the_end(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    config = load_config(ROOT / "params.yaml")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(runner, "require_targets", lambda *_: config)
    Path("Snakefile").touch()
    statuses = {"psp": ["ok", "not_applicable", "not_applicable"], "pdp": ["ok", "infeasible"]}
    for name, found in statuses.items():
        Path("reports", name).mkdir(parents=True)
        pd.DataFrame({"status": found}).to_parquet(f"reports/{name}/runs.parquet")
    said = ["psp: in 2 of 3 runs the method does not apply; `reason` in reports/psp/runs.parquet says why"]
    assert "psp" in config.params.exhibits["figure2"].experiments
    for targets, status, expected in (
        (["psp", "pdp", "demo"], 0, said),
        (["figure2"], 0, said),
        ([], 0, said),
        (["pdp"], 0, []),
        (["data/processed/a9a/table.npz"], 0, []),
        (["psp"], 1, []),
    ):
        monkeypatch.setattr(runner, "follow", lambda *_, status=status, **__: status)
        assert runner.run_workflow(targets, Path("params.yaml")) == status
        assert capsys.readouterr().out.splitlines() == expected, targets


def test_a_run_that_opens_a_second_look_goes_on_with_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    """The jobs are asked for again after a run that ended well; where they are others, Snakemake runs once more."""
    runs: list[int] = []
    grids = [["first"], ["first", "second"], ["first", "second"], ["first", "second"]]

    class Grid:
        def __init__(self, jobs: list[str]) -> None:
            self.own = jobs

        def jobs(self) -> list[str]:
            return self.own

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(runner, "follow", lambda *_, **__: runs.append(1) or 0)
    monkeypatch.setattr(runner, "require_targets", lambda *_: Grid(grids.pop(0)))
    monkeypatch.setattr(runner, "_explained", lambda *_: (False, []))
    monkeypatch.setattr(runner.outdated, "tables", lambda *_: [])
    monkeypatch.setattr(runner, "idle", lambda *_: [])
    Path("Snakefile").touch()
    assert runner.run_workflow(["psp"], Path("params.yaml"), "2") == 0 and len(runs) == 2
    assert runner.run_workflow(["psp"], Path("params.yaml"), "2") == 0 and len(runs) == 3


def test_the_command_that_continues_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    named: list[str] = []

    def stopped(*_: object, again: Callable[[], str], **__: object) -> int:
        named.append(again())
        return 143

    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv(runner.AGAIN, raising=False)
    monkeypatch.setattr(runner, "follow", stopped)
    monkeypatch.setattr(runner, "require_targets", lambda *_: SimpleNamespace(jobs=list))
    monkeypatch.setattr(runner, "_explained", lambda *_: (False, []))
    monkeypatch.setattr(runner.outdated, "tables", lambda *_: [])
    monkeypatch.setattr(runner, "recorded", lambda *_: None)
    Path("Snakefile").touch()
    assert runner.run_workflow(["psp", "pdp"], Path("params.yaml"), "2") == 143
    runner.run_workflow([], Path("papers/plada/grid.yaml"))
    runner.run_workflow(["raw"], Path("params.yaml"), datasets="a9a bank")
    monkeypatch.setenv(runner.AGAIN, "make demo")
    runner.run_workflow(["demo"], Path("params.yaml"))
    Path(".snakemake/locks").mkdir(parents=True)
    Path(".snakemake/locks/0.input.lock").touch()
    runner.run_workflow(["demo"], Path("params.yaml"))
    assert named == [
        "partialfair run psp pdp --cores 2",
        "partialfair run --cores all --config papers/plada/grid.yaml",
        "partialfair run raw --cores all --datasets 'a9a bank'",
        "make demo",
        f"cd {tmp_path} && partialfair resume",
    ]


def test_a_verbose_run_is_alone_and_shows_all_that_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capfd):
    """It went past all that guards a run: an interrupt left locks, and SIGTERM a Snakemake that nobody knew of."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(runner, "require_targets", lambda *_: SimpleNamespace(jobs=list))
    monkeypatch.setattr(runner, "_explained", lambda *_: (False, []))
    monkeypatch.setattr(runner.outdated, "tables", lambda *_: ["one.npz"])
    monkeypatch.setattr(runner, "recorded", lambda *_: None)
    monkeypatch.setattr(runner, "idle", lambda *_: ())
    Path("Snakefile").touch()
    Path("snakemake.py").write_text(
        "import os, sys; from reproduction.jobs.resume import THEN\n"
        "print('ran', sys.argv[sys.argv.index('--') :], THEN in os.environ); sys.exit(0)"
    )
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}:{ROOT / 'src'}")
    shown = io.StringIO()
    monkeypatch.setattr(runner, "follow", partial(runner.follow, stream=shown))
    assert runner.run_workflow(["demo"], Path("params.yaml"), verbose=True) == 0
    assert shown.getvalue() == "ran ['--', 'one.npz'] True\nran ['--', 'demo'] False\n"
    capfd.readouterr()
    with runner.alone(), pytest.raises(PartialFairError, match="another run has just begun"):
        runner.run_workflow(["demo"], Path("params.yaml"), verbose=True)
    assert runner.run_workflow(["demo"], Path("params.yaml"), dry_run=True, verbose=True) == 0
    said = capfd.readouterr().out
    assert said.startswith("one.npz would be made first; what reads") and said.endswith("ran ['--', 'demo'] False\n")


@pytest.mark.parametrize(
    ("events", "status", "lines"),
    [
        ([{"event": "run_info", "time": 1.0, "stats": {"train": 63, "evaluate": 63, "total": 126}}], 0, 3),
        ([{"event": None, "text": "Nothing to be done (all is up to date).", "warning": False}], 0, 2),
        ([{"event": "error", "exception": "E", "text": "MissingInputException in rule fetch"}], 1, 0),
    ],
    ids=["work", "nothing", "fault"],
)
def test_a_dry_run_says_steps_cost_and_where_to_read_on(
    events: list[dict[str, object]], status: int, lines: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys
):
    monkeypatch.chdir(ROOT)
    config, log, under_way = load_config("params.yaml"), tmp_path / "plan.log", tmp_path / "run.log"
    monkeypatch.setattr(runner, "PLAN", log)
    monkeypatch.setattr(runner, "LOG", under_way)
    for path in (under_way, under_way.with_suffix(".jsonl")):  # of a run that goes on: its progress is read from them
        path.write_text("under way\n")
    written = "".join(json.dumps(event) + "\n" for event in events)
    script = (
        f"open({str(log.with_suffix('.jsonl'))!r}, 'w').write({written!r}); print('rule train: ...'); exit({status})"
    )
    assert runner._plan([sys.executable, "-c", script], config, ["demo"], "2") == status
    said, faults = capsys.readouterr()
    assert len(said.splitlines()) == lines and log.read_text() == "rule train: ...\n"
    if lines == 3:
        assert said.startswith("train 63, evaluate 63\nabout ") and "minutes on 2 cores" in said
    assert lines or "MissingInputException in rule fetch\nfailed with status 1" in faults
    assert {path.read_text() for path in tmp_path.glob("run.*")} == {"under way\n"}


def test_the_cost_is_that_of_results_that_do_not_agree(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    """It counted the runs of whatever was asked for, also where only one of two experiments was outdated."""
    monkeypatch.chdir(ROOT)
    config = load_config("params.yaml")
    monkeypatch.chdir(tmp_path)  # no run is here
    agreement = SimpleNamespace(
        config=config,
        experiments=lambda names: [name for name in names if name in config.experiments],
        without_record=lambda targets: [],
    )
    stale = {"reports/demo/runs.parquet": "the code that collects has changed"}
    reason, cost = preflight.explained(agreement, ["demo", "psp"], stale)
    assert reason == "reports/demo/runs.parquet: the code that collects has changed"
    assert cost.startswith(f"to make it, {len(config.jobs('demo'))} runs that are not here are trained")


@pytest.mark.parametrize("stale", [True, False])
def test_a_gate_says_first_in_what_results_do_not_agree(stale: bool, monkeypatch, tmp_path: Path, capsys):
    monkeypatch.chdir(tmp_path)
    lines = ["reports/demo/runs.parquet: the code that collects has changed"] * stale
    monkeypatch.setattr(runner, "require_targets", lambda *_: SimpleNamespace(jobs=list))
    monkeypatch.setattr(runner, "_explained", lambda *_: (stale, lines))
    monkeypatch.setattr(runner.outdated, "tables", lambda *_: [])
    monkeypatch.setattr(runner, "_plan", lambda *_: print("train 21") or 0)
    Path("Snakefile").touch()
    runner.PLAN.parent.mkdir()
    runner.PLAN.write_text("    reason: Missing output files: b\n    reason: Missing output files: a\n" * 2)
    assert runner.run_workflow(["demo"], Path("params.yaml"), dry_run=True, gate=True) == 1
    reasons = [] if stale else ["outdated: Missing output files: a", "outdated: Missing output files: b"]
    assert capsys.readouterr().out.splitlines() == [*lines, "train 21", *reasons]


def test_the_evaluation_of_an_untrained_run_names_the_command_that_trains_it(monkeypatch, tmp_path: Path):
    run = "--experiment demo --dataset simulated --algorithm alm --kappa 0.1 --seed 0"
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr("reproduction.grid.paths.FIT", "no_such_fit.json")  # as if no run were here
    done = CliRunner().invoke(app, ["evaluate", *run.split()])
    assert f"not trained yet; `partialfair train {run}` trains it" in str(done.exception)


def test_a_record_that_cannot_be_read_is_no_hindrance(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.chdir(tmp_path)
    RECORD.parent.mkdir()
    RECORD.touch()
    with runner.alone():
        pass


def test_a_resumed_run_shows_its_progress(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capfd):
    """Once its output stood on the terminal in full: thousands of lines, and none of them said how much is left."""
    monkeypatch.chdir(tmp_path)
    asked: list[tuple[str, list[str]]] = []
    monkeypatch.setattr(runner, "recorded", lambda grid, targets: asked.append((grid, list(targets))))
    monkeypatch.setattr("reproduction.grid.config.load_config", str)
    events = [
        {"event": "run_info", "time": 1.0, "stats": {"train": 2, "total": 2}},
        {"event": "job_info", "time": 1.0, "jobid": 1, "rule_name": "train", "wildcards": {"seed": "0"}},
        {"event": "progress", "time": 2.0, "done": 1, "total": 2},
    ]
    lines = "".join(json.dumps(event) + "\n" for event in events)
    script = f"print({LOG!r}); open({str(runner.LOG.with_suffix('.jsonl'))!r}, 'w').write({lines!r})"
    status = runner.repeat([sys.executable, "-c", script, "--config", "params=other.yaml", "--", "demo", "psp"])
    assert status == 0 and asked == [("other.yaml", ["demo", "psp"])]
    assert "rule train" not in "".join(capfd.readouterr())
    assert runner.LOG.read_text().strip() == LOG.strip()
    runner.repeat([sys.executable, "-c", script, "demo"])
    assert len(asked) == 1
    kept: list[list[str]] = []
    monkeypatch.setattr(runner, "become", lambda command: kept.append(list(command)) or sys.exit(0))
    with pytest.raises(SystemExit):
        runner.repeat([sys.executable, "-c", script, "--dry-run", "--", "demo"])
    assert len(kept) == 1


def test_a_run_beside_another_is_refused_and_leaves_its_log(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(runner, "require_targets", lambda *_: SimpleNamespace(jobs=list))
    monkeypatch.setattr(runner, "_explained", lambda *_: (False, []))
    monkeypatch.setattr(runner.outdated, "tables", lambda *_: [])
    monkeypatch.setattr(runner, "recorded", lambda *_: None)
    Path("Snakefile").touch()
    runner.LOG.parent.mkdir()
    runner.LOG.write_text("3 of 12 steps (25%) done\n")
    with running("snakemake") as alive:
        record = {"host": platform.node(), "pid": alive, "arguments": []}
        write_json(RECORD, record)
        with pytest.raises(PartialFairError, match=f"still runs here as process {alive}; wait for it"):
            runner.run_workflow(["demo"], Path("params.yaml"))
        assert runner.LOG.read_text() == "3 of 12 steps (25%) done\n"
    monkeypatch.setattr(runner, "follow", lambda *_, **__: 0)
    monkeypatch.setattr(runner, "idle", lambda *_: ())
    assert runner.run_workflow(["demo"], Path("params.yaml")) == 0
    write_json(RECORD, record | {"host": "elsewhere"})
    assert runner.run_workflow(["demo"], Path("params.yaml")) == 0


def test_of_two_runs_that_begin_at_once_one_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    """The second one emptied the log of the first, and failed without a reason."""
    monkeypatch.chdir(tmp_path)
    with runner.alone():
        runner.LOG.write_text("3 of 12 steps (25%) done\n")
        with pytest.raises(PartialFairError, match="another run has just begun in this folder"), runner.alone():
            pytest.fail("there are two")
        assert runner.LOG.read_text() == "3 of 12 steps (25%) done\n"
    with runner.alone():
        pass


@pytest.mark.skipif(not hasattr(signal, "SIGPIPE"), reason="no SIGPIPE on this system")
def test_a_reader_that_has_enough_does_not_fail_a_gate():
    """Status 1 is that of a gate; a reader of the first line alone ends the command by a signal, as any other one."""
    command = f"{sys.executable} -m partialfair list metrics --json | (exec 0<&-); echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, cwd=ROOT, check=True)
    assert done.stdout.strip() == str(128 + signal.SIGPIPE) and not done.stderr
