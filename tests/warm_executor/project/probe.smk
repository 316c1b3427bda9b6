# Tells what the plugins find in Snakemake's private parts, and what has become of them.
import json
from pathlib import Path

import snakemake_executor_plugin_warm.private as executor_side
import snakemake_scheduler_plugin_blocks.private as scheduler_side

SIZES = []


onstart:
    scheduler = type(workflow.scheduler)
    ask = scheduler.update_input_sizes

    async def counted(self, jobs):
        SIZES.append(len(jobs))
        return await ask(self, jobs)

    scheduler.update_input_sizes = counted


def probe():
    scheduler = workflow.scheduler
    jobs = {str(job.output): job for job in workflow.dag.jobs if job.output}
    names = ["_cores", "mem_mb"]
    Path("probe.json").write_text(
        json.dumps(
            {
                "limiter": scheduler.job_rate_limiter is not None,
                "sizes": len(SIZES),
                "left": scheduler.resources.get("mem_mb"),
                "same": [job.scheduler_resources is job.scheduler_resources for job in jobs.values()],
                "reserved": {name: job.scheduler_resources.get("mem_mb") for name, job in jobs.items()},
                "needs": {name: scheduler_side.own_needs(job, names) for name, job in jobs.items()},
                "places": {name: scheduler_side.place(job) for name, job in jobs.items()},
                "wildcards": {name: scheduler_side.rule_and_wildcards(job) for name, job in jobs.items()},
                "together": {name: scheduler_side.together_key(workflow.dag, job) for name, job in jobs.items()},
                "as_is": {name: bool(executor_side.runs_as_is(job, workflow)) for name, job in jobs.items()},
            },
            default=str,
        )
    )


onsuccess:
    probe()


onerror:
    probe()
