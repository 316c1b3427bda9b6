# One job per (dataset, algorithm, kappa, seed).


rule train:
    input:
        table="data/processed/{dataset}/table.npz",
        split="data/processed/{dataset}/splits/seed={seed}.npz",
    output:
        model="data/runs/{experiment}/{dataset}/{algorithm}/kappa={kappa}/seed={seed}/model.npz",
        fit="data/runs/{experiment}/{dataset}/{algorithm}/kappa={kappa}/seed={seed}/fit.json",
        history="data/runs/{experiment}/{dataset}/{algorithm}/kappa={kappa}/seed={seed}/history.parquet",
    log:
        "logs/train/{experiment}/{dataset}/{algorithm}/kappa={kappa}/seed={seed}.log",
    benchmark:
        "logs/benchmarks/train/{experiment}/{dataset}/{algorithm}/kappa={kappa}/seed={seed}.tsv"
    threads: CONFIG.params.threads
    resources:
        mem_mb=asked(lambda wildcards, attempt: attempt * GRID.memory(wildcards.dataset, *TRAINING_MEMORY)),
        runtime=asked(lambda wildcards, attempt: attempt * 120),
        gpu=asked(lambda wildcards: GRID.gpus(wildcards.algorithm)),
    params:
        # A change of either reruns the job: what params.yaml says of it, and the source it can execute.
        settings=GRID.settings,
        code=GRID.code,
    shell:
        # Snakemake limits OpenMP and BLAS to {threads} by itself; numba has a variable of its own.
        "NUMBA_NUM_THREADS={threads} python -m partialfair train"
        " --experiment {wildcards.experiment} --dataset {wildcards.dataset} --algorithm {wildcards.algorithm}"
        " --kappa {wildcards.kappa} --seed {wildcards.seed} > {log} 2>&1"


rule runs:
    input:
        "data/manifest/models.json",
