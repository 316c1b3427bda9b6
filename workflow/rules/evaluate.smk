# Scores and metrics of each trained model, then one tidy table per experiment.


rule evaluate:
    input:
        table=AGREEMENT.dated("evaluate", lambda wildcards: paths.table(wildcards.dataset)),
        split=AGREEMENT.dated("evaluate", lambda wildcards: paths.split(wildcards.dataset, wildcards.seed)),
        model=AGREEMENT.dated("evaluate", lambda wildcards: f"{paths.RUN}/{paths.MODEL}".format(**wildcards)),
        fit=AGREEMENT.dated("evaluate", lambda wildcards: f"{paths.RUN}/{paths.FIT}".format(**wildcards)),
    output:
        scores=f"{paths.RUN}/{paths.SCORES}",
        metrics=f"{paths.RUN}/{paths.METRICS}",
        card=f"{paths.RUN}/model_card.md",
    log:
        f"logs/evaluate/{paths.RUN_KEY}.log",
    benchmark:
        f"logs/benchmarks/evaluate/{paths.RUN_KEY}.tsv"
    # A network on the CPU gives the same scores on any number of threads.
    threads: 1 if CONFIG.params.threads == 1 else with_parameters(lambda wildcards: GRID.scoring_threads(wildcards.algorithm))
    resources:
        mem_mb=with_parameters(lambda wildcards, attempt: attempt * GRID.memory(wildcards.dataset, 1500, 10)),
        runtime=with_parameters(
            lambda wildcards, attempt: attempt * GRID.scoring_minutes(wildcards.dataset, wildcards.algorithm)
        ),
    params:
        settings=GRID.evaluation.settings,
        code=GRID.evaluation.code,
        folder=folder_of,
    shell:
        "NUMBA_NUM_THREADS={threads} python -m partialfair evaluate"
        " --experiment {wildcards.experiment} --dataset {wildcards.dataset} --algorithm {wildcards.algorithm}"
        " --kappa {wildcards.kappa} --seed {wildcards.seed}"
        " --table {input.table} --split {input.split} --model {input.model} --fit {input.fit} --out {params.folder}"
        " > {log} 2>&1"


rule collect:
    input:
        fit=AGREEMENT.dated("collect", lambda wildcards: GRID.runs(paths.FIT, wildcards.experiment)),
        metrics=AGREEMENT.dated("collect", lambda wildcards: GRID.runs(paths.METRICS, wildcards.experiment)),
    output:
        expand(paths.COLLECTED, table=paths.COLLECTED_TABLES, allow_missing=True),
        f"reports/{{experiment}}/{paths.MADE_FROM}",
    log:
        "logs/collect/{experiment}.log",
    benchmark:
        "logs/benchmarks/collect/{experiment}.tsv"
    resources:
        mem_mb=lambda wildcards, attempt: attempt * 2000,
        runtime=lambda wildcards, attempt: attempt * 30,
    params:
        code=GRID.collected.code,
        folder=folder_of,
    shell:
        # The runs are many, more than a command line holds, so that the job finds them by the experiment's name.
        "python -m partialfair collect {wildcards.experiment} --out {params.folder} > {log} 2>&1"


rule evaluation:
    input:
        GRID.evaluated(),
