# Targets: all (default), demo, paper, benchmark, each experiment and exhibit; data, splits, runs, evaluation, report.
import sys
from pathlib import Path
from snakemake.utils import min_version

min_version("9.18")

sys.path.insert(0, str(Path(workflow.basedir, "src").resolve()))  # this source runs, whatever else is installed

from reproduction.commands.checking import check_grid_once
from reproduction.commands.preflight import Command, check_command, make_by_content
from reproduction.grid import answer_cache, paths
from reproduction.grid.agreement import Agreement
from reproduction.grid.config import load_config
from partialfair.errors import PartialFairError
from reproduction.grid.folder import require_room, settle_times, share_with_group
from reproduction.jobs.resume import record_run
from reproduction.grid.workflow import TRAINING_MEMORY, Grid, with_parameters, folder_of, set_environment

COMMAND = Command.read(sys.argv, workflow.main_snakefile) if workflow.is_main_process else Command()
try:
    # Another grid: snakemake --config params=papers/plada/grid.yaml, or the variable. Every job reads the same one.
    check_command(COMMAND, config)
    PARAMS = set_environment(workflow.basedir, config.get("params"))
    require_room()
    share_with_group()
    CONFIG = load_config(PARAMS)
    if workflow.is_main_process:  # not once more in the process of every job
        answer_cache.keep()
        check_grid_once(CONFIG)
    GRID = Grid(CONFIG)
    AGREEMENT = Agreement(GRID)
    make_by_content(COMMAND, AGREEMENT)
except PartialFairError as error:
    raise WorkflowError(str(error)) from None


report: "workflow/report/workflow.rst"


onstart:
    record_run(sys.argv[1:])
    settle_times()


wildcard_constraints:
    **dict.fromkeys(("experiment", "dataset", "algorithm", "exhibit"), r"[a-z][a-z0-9_]*"),
    kappa=r"[0-9.e+-]+|inf",
    seed=r"\d+",


localrules:
    all,
    demo,
    paper,


rule all:
    default_target: True
    input:
        GRID.reports(),
        GRID.manifests(),


rule demo:
    input:
        lambda wildcards: GRID.reports("demo"),  # asked late: a grid of one's own need not have a demo


rule paper:
    input:
        rules.all.input,


include: "workflow/rules/machine.smk"
include: "workflow/rules/data.smk"
include: "workflow/rules/train.smk"
include: "workflow/rules/evaluate.smk"
include: "workflow/rules/report.smk"
