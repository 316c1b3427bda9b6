# Figures and tables, and what gathers them. Their inputs are the tidy tables, though some exhibits also read run folders
# (model.npz, history.parquet, fit.json, scores.parquet). A run that is trained again writes another fit.json, with its
# times, of which the tables hold a row: they change, and the exhibit is drawn anew.
from reproduction.jobs.second_look import second_look_lines


include: "scorecard.smk"


onsuccess:
    if workflow.is_main_process:
        for line in second_look_lines(CONFIG):
            print(line, file=sys.stderr)


rule exhibit:
    input:
        AGREEMENT.dated("exhibit", lambda wildcards: GRID.exhibit_inputs(wildcards.exhibit)),
    output:
        paths.EXHIBIT,
        f"reports/{{exhibit}}/{paths.MADE_FROM}",
    log:
        "logs/exhibit/{exhibit}.log",
    benchmark:
        "logs/benchmarks/exhibit/{exhibit}.tsv"
    resources:
        mem_mb=lambda wildcards, attempt: attempt * 2000,
        runtime=lambda wildcards, attempt: attempt * 30,
    params:
        settings=GRID.exhibit.settings,
        code=GRID.exhibit.code,
        folder=folder_of,
    shell:
        "python -m partialfair report {wildcards.exhibit} --out {params.folder} > {log} 2>&1"


# Snakemake's own report packs files as they are, so a figure comes on a page of its own. Nothing else needs these pages.
rule exhibit_page:
    input:
        paths.EXHIBIT,
    output:
        report(
            paths.PAGE,
            caption="../report/exhibit.rst",
            category=lambda wildcards: GRID.section(wildcards.exhibit),
            labels=lambda wildcards: {"exhibit": GRID.title(wildcards.exhibit)},
        ),
    log:
        "logs/exhibit_page/{exhibit}.log",
    benchmark:
        "logs/benchmarks/exhibit_page/{exhibit}.tsv"
    resources:
        mem_mb=lambda wildcards, attempt: attempt * 2000,
        runtime=lambda wildcards, attempt: attempt * 30,
    params:
        caption=lambda wildcards: GRID.caption(wildcards.exhibit),
        code=GRID.exhibit.code,
    shell:
        "python -m partialfair report {wildcards.exhibit} --page {output} > {log} 2>&1"


# Times of this machine: always measured anew, and part of no other target.
rule benchmark:
    output:
        "reports/benchmarks.json",
    log:
        "logs/benchmark.log",
    resources:
        mem_mb=lambda wildcards, attempt: attempt * 4000,
        runtime=lambda wildcards, attempt: attempt * 60,
    shell:
        "python tests/benchmarks/run.py > {log} 2>&1"


rule report:
    input:
        GRID.reports(),


# What `make report` packs.
rule pages:
    input:
        GRID.reports(),
        GRID.pages(),


rule demo_pages:
    input:
        lambda wildcards: GRID.reports("demo"),
        lambda wildcards: GRID.pages("demo"),


for _experiment in CONFIG.experiments:
    if _experiment != "demo":

        rule:
            name:
                _experiment
            input:
                GRID.reports(_experiment),


for _exhibit in CONFIG.params.exhibits:

    rule:
        name:
            _exhibit
        input:
            paths.EXHIBIT.format(exhibit=_exhibit),
