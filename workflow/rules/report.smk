# Figures, tables and the scorecard, from the tidy tables only.


rule exhibit:
    input:
        lambda wildcards: GRID.exhibit_inputs(wildcards.exhibit),
    output:
        "reports/{exhibit}/{exhibit}.csv",
    log:
        "logs/exhibit/{exhibit}.log",
    benchmark:
        "logs/benchmarks/exhibit/{exhibit}.tsv"
    resources:
        mem_mb=lambda wildcards, attempt: attempt * 2000,
        runtime=lambda wildcards, attempt: attempt * 30,
    params:
        settings=lambda wildcards: GRID.exhibit(wildcards.exhibit),
        code=report_hash(),
    shell:
        "python -m partialfair report {wildcards.exhibit} > {log} 2>&1"


# Snakemake's own report packs files as they are, so a figure comes on a page of its own. Nothing else needs these pages.
rule exhibit_page:
    input:
        "reports/{exhibit}/{exhibit}.csv",
    output:
        report(
            ".cache/report/{exhibit}.html",
            caption="../report/exhibit.rst",
            category=lambda wildcards: GRID.section(wildcards.exhibit),
            labels=lambda wildcards: {"exhibit": GRID.title(wildcards.exhibit)},
        ),
    log:
        "logs/exhibit_page/{exhibit}.log",
    resources:
        mem_mb=lambda wildcards, attempt: attempt * 2000,
        runtime=lambda wildcards, attempt: attempt * 30,
    params:
        caption=lambda wildcards: GRID.caption(wildcards.exhibit),
        code=report_hash(),
    shell:
        "python -m partialfair report {wildcards.exhibit} --page {output} > {log} 2>&1"


rule scorecard:
    input:
        GRID.evaluated(),
        GRID.tables(),
        GRID.drawn(),
    output:
        report(
            "reports/scorecard.csv",
            caption="../report/scorecard.rst",
            category="Overview",
            labels={"exhibit": "scorecard"},
        ),
        report(
            "reports/index.html",
            caption="../report/page.rst",
            category="Overview",
            labels={"exhibit": "report page"},
        ),
        "reports/metrics.json",
    log:
        "logs/scorecard.log",
    benchmark:
        "logs/benchmarks/scorecard.tsv"
    resources:
        mem_mb=lambda wildcards, attempt: attempt * 2000,
        runtime=lambda wildcards, attempt: attempt * 30,
    params:
        exhibits=GRID.exhibits(),
        code=report_hash(),
    shell:
        "python -m partialfair scorecard > {log} 2>&1"


# The same for one experiment by itself, as the demo has it.
rule experiment_scorecard:
    input:
        lambda wildcards: GRID.evaluated([wildcards.experiment]),
        lambda wildcards: GRID.tables([wildcards.experiment]),
        lambda wildcards: GRID.drawn(wildcards.experiment),
    output:
        report(
            "reports/{experiment}/scorecard.csv",
            caption="../report/scorecard.rst",
            category="Overview",
            labels={"exhibit": "scorecard, {experiment}"},
        ),
        report(
            "reports/{experiment}/index.html",
            caption="../report/page.rst",
            category="Overview",
            labels={"exhibit": "report page, {experiment}"},
        ),
        "reports/{experiment}/metrics.json",
    log:
        "logs/scorecard/{experiment}.log",
    benchmark:
        "logs/benchmarks/scorecard/{experiment}.tsv"
    resources:
        mem_mb=lambda wildcards, attempt: attempt * 2000,
        runtime=lambda wildcards, attempt: attempt * 30,
    params:
        exhibits=lambda wildcards: GRID.exhibits(wildcards.experiment),
        code=report_hash(),
    shell:
        "python -m partialfair scorecard --experiment {wildcards.experiment} > {log} 2>&1"


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
            f"reports/{_exhibit}/{_exhibit}.csv",
