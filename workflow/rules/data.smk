# Raw files -> one table per dataset -> one split per (dataset, seed).


# Computing nodes of a cluster often have no internet.
localrules:
    fetch,


rule fetch:
    # Only what is not there: a raw file that is there is nobody's output, so that no option of Snakemake deletes it.
    # "update" keeps what comes meanwhile.
    output:
        update("data/raw/{raw}"),
    log:
        "logs/fetch/{raw}.log",
    benchmark:
        "logs/benchmarks/fetch/{raw}.tsv"
    wildcard_constraints:
        raw=GRID.absent_raw(),
    resources:
        mem_mb=lambda wildcards, attempt: attempt * 1000,
        runtime=lambda wildcards, attempt: attempt * 60,
    params:
        dataset=lambda wildcards: GRID.dataset_of(f"data/raw/{wildcards.raw}"),
    shell:
        "python -m partialfair data fetch {params.dataset} > {log} 2>&1"


rule prepare:
    input:
        lambda wildcards: GRID.raw_files(wildcards.dataset),
    output:
        paths.TABLE,
    log:
        "logs/prepare/{dataset}.log",
    benchmark:
        "logs/benchmarks/prepare/{dataset}.tsv"
    # Before any training: runs that differ in the seed alone are trained together if their splits are there.
    priority: 1
    resources:
        mem_mb=lambda wildcards, input, attempt: attempt * max(1500, 400 * int(input.size_mb)),
        runtime=lambda wildcards, attempt: attempt * 30,
    params:
        options=GRID.table.settings,
        code=GRID.table.code,
    shell:
        "python -m partialfair data prepare {wildcards.dataset} --out {output} > {log} 2>&1"


rule split:
    input:
        paths.TABLE,
    output:
        paths.SPLIT,
    log:
        "logs/split/{dataset}/seed={seed}.log",
    benchmark:
        "logs/benchmarks/split/{dataset}/seed={seed}.tsv"
    priority: 1
    resources:
        mem_mb=lambda wildcards, attempt: attempt * GRID.memory(wildcards.dataset, 1000, 4),
        runtime=lambda wildcards, attempt: attempt * 10,
    params:
        options=GRID.split.settings,
        code=GRID.split.code,
    shell:
        "python -m partialfair data split {wildcards.dataset} --seed {wildcards.seed} --table {input} --out {output}"
        " > {log} 2>&1"


# Checksums of all tables, and of all models: what the audit's stages pass to one another.
rule manifest:
    input:
        lambda wildcards: GRID.tables() if wildcards.what == "tables" else GRID.runs(paths.MODEL),
    output:
        paths.MANIFEST,
    log:
        "logs/manifest/{what}.log",
    benchmark:
        "logs/benchmarks/manifest/{what}.tsv"
    wildcard_constraints:
        what="tables|models",
    resources:
        mem_mb=lambda wildcards, attempt: attempt * 1000,
        runtime=lambda wildcards, attempt: attempt * 10,
    params:
        code=GRID.manifest.code,
    shell:
        "python -m partialfair manifest {wildcards.what} --out {output} > {log} 2>&1"


# `make data`: the raw files of some datasets, or of all that the grid uses.
rule raw:
    input:
        GRID.raw(str(config.get("datasets") or "").split()),


rule data:
    input:
        expand(paths.MANIFEST, what="tables"),


rule splits:
    input:
        GRID.splits(),
