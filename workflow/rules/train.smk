# One job per (dataset, algorithm, kappa, seed).


rule train:
    input:
        table=AGREEMENT.dated("train", lambda wildcards: paths.table(wildcards.dataset)),
        split=AGREEMENT.dated("train", lambda wildcards: paths.split(wildcards.dataset, wildcards.seed)),
    output:
        model=f"{paths.RUN}/{paths.MODEL}",
        fit=f"{paths.RUN}/{paths.FIT}",
        history=f"{paths.RUN}/{paths.HISTORY}",
    log:
        f"logs/train/{paths.RUN_KEY}.log",
    benchmark:
        f"logs/benchmarks/train/{paths.RUN_KEY}.tsv"
    threads: CONFIG.params.threads
    resources:
        mem_mb=with_parameters(lambda wildcards, attempt: attempt * GRID.memory(wildcards.dataset, *TRAINING_MEMORY)),
        runtime=with_parameters(lambda wildcards, attempt: attempt * 120),
        gpu=0 if CONFIG.params.device == "cpu" else with_parameters(lambda wildcards: GRID.gpus(wildcards.algorithm)),
    params:
        # A change of either reruns the job: what params.yaml says of it, and the source it can execute.
        settings=GRID.run.settings,
        code=GRID.run.code,
        folder=folder_of,
    shell:
        # Snakemake limits OpenMP and BLAS to {threads} by itself; numba has a variable of its own.
        "NUMBA_NUM_THREADS={threads} python -m partialfair train"
        " --experiment {wildcards.experiment} --dataset {wildcards.dataset} --algorithm {wildcards.algorithm}"
        " --kappa {wildcards.kappa} --seed {wildcards.seed}"
        " --table {input.table} --split {input.split} --out {params.folder} > {log} 2>&1"


rule runs:
    input:
        expand(paths.MANIFEST, what="models"),
