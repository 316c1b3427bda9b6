# Scores and metrics of each trained model, then one tidy table per experiment.


rule evaluate:
    input:
        table="data/processed/{dataset}/table.npz",
        split="data/processed/{dataset}/splits/seed={seed}.npz",
        model="data/runs/{experiment}/{dataset}/{algorithm}/kappa={kappa}/seed={seed}/model.npz",
        fit="data/runs/{experiment}/{dataset}/{algorithm}/kappa={kappa}/seed={seed}/fit.json",
    output:
        scores="data/runs/{experiment}/{dataset}/{algorithm}/kappa={kappa}/seed={seed}/scores.parquet",
        metrics="data/runs/{experiment}/{dataset}/{algorithm}/kappa={kappa}/seed={seed}/metrics.json",
        card="data/runs/{experiment}/{dataset}/{algorithm}/kappa={kappa}/seed={seed}/model_card.md",
    log:
        "logs/evaluate/{experiment}/{dataset}/{algorithm}/kappa={kappa}/seed={seed}.log",
    benchmark:
        "logs/benchmarks/evaluate/{experiment}/{dataset}/{algorithm}/kappa={kappa}/seed={seed}.tsv"
    resources:
        mem_mb=asked(lambda wildcards, attempt: attempt * GRID.memory(wildcards.dataset, 1500, 10)),
        runtime=asked(lambda wildcards, attempt: attempt * 10),
    params:
        settings=GRID.evaluation,
        code=GRID.evaluation_code,
    shell:
        "NUMBA_NUM_THREADS={threads} python -m partialfair evaluate"
        " --experiment {wildcards.experiment} --dataset {wildcards.dataset} --algorithm {wildcards.algorithm}"
        " --kappa {wildcards.kappa} --seed {wildcards.seed} > {log} 2>&1"


rule collect:
    input:
        fit=lambda wildcards: GRID.runs("fit.json", wildcards.experiment),
        metrics=lambda wildcards: GRID.runs("metrics.json", wildcards.experiment),
    output:
        metrics="reports/{experiment}/metrics.parquet",
        runs="reports/{experiment}/runs.parquet",
    log:
        "logs/collect/{experiment}.log",
    benchmark:
        "logs/benchmarks/collect/{experiment}.tsv"
    resources:
        mem_mb=lambda wildcards, attempt: attempt * 2000,
        runtime=lambda wildcards, attempt: attempt * 30,
    params:
        code=lambda wildcards: closure_hash("partialfair.jobs.collect"),
    shell:
        "python -m partialfair collect {wildcards.experiment} > {log} 2>&1"


rule evaluation:
    input:
        expand("reports/{experiment}/{table}.parquet", experiment=list(CONFIG.experiments), table=["metrics", "runs"]),
