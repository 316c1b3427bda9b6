# What jobs that run at once share.
from reproduction.grid.machine import machine_limits

# Jobs on one machine share its memory and GPU, also if --resources speaks of other things. On a cluster each
# job has its own, and the jobs of a group that are "serial" run one after another within it.
if workflow.is_main_process and COMMAND.local:
    _limits = machine_limits(CONFIG.params.device)
    if COMMAND.cores is not None:  # without --cores, -j N means as many, and a control group may allow less than all
        workflow.register_resource("_cores", COMMAND.cores)
        workflow.register_resource("_nodes", None)
else:
    _limits = {"serial": 1}
for _name, _limit in _limits.items():
    if _name not in workflow.global_resources:
        workflow.register_resource(_name, _limit)


resource_scopes:
    serial="local",


# Software comes from requirements.lock or environment.yml, not from a container. The linter wants one named; this image has
# Python alone, so who runs with --sdm apptainer names one of their own in which the packages are installed.
container: "docker://python:3.11-slim"
