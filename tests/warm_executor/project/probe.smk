# Tells what the plugin finds in Snakemake's private parts, and what has become of them.
import json
from pathlib import Path

import snakemake_executor_plugin_warm.private as executor_side

def probe():
    scheduler = workflow.scheduler
    jobs = {str(job.output): job for job in workflow.dag.jobs if job.output}
    Path("probe.json").write_text(
        json.dumps(
            {
                "limiter": scheduler.job_rate_limiter is not None,
                "local_rule": {name: executor_side.is_local_rule(job, workflow) for name, job in jobs.items()},
                "as_is": {name: bool(executor_side.runs_as_is(job, workflow)) for name, job in jobs.items()},
            },
            default=str,
        )
    )


onsuccess:
    probe()


onerror:
    probe()
