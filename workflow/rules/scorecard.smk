# Published numbers beside reproduced ones, and the page with all exhibits; those of one paper in a folder of its own.


rule scorecard:
    input:
        AGREEMENT.dated("scorecard", lambda wildcards: GRID.summary_inputs()),
    output:
        report(
            f"{CONFIG.reports}/scorecard.csv",
            caption="../report/scorecard.rst",
            category="Overview",
            labels={"exhibit": "scorecard"},
        ),
        report(
            f"{CONFIG.reports}/index.html",
            caption="../report/page.rst",
            category="Overview",
            labels={"exhibit": "report page"},
        ),
        f"{CONFIG.reports}/verdicts.json",
        f"{CONFIG.reports}/metrics.json",
    log:
        "logs/scorecard.log",
    benchmark:
        "logs/benchmarks/scorecard.tsv"
    resources:
        mem_mb=lambda wildcards, attempt: attempt * 2000,
        runtime=lambda wildcards, attempt: attempt * 30,
    params:
        folder=folder_of,
        exhibits=GRID.scorecard.settings,
        code=GRID.scorecard.code,
    shell:
        "python -m partialfair scorecard --out {params.folder} > {log} 2>&1"


# The same for one experiment by itself, as the demo has it.
rule experiment_scorecard:
    input:
        lambda wildcards: GRID.evaluated([wildcards.experiment]),
        lambda wildcards: GRID.papers([wildcards.experiment]),
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
        "reports/{experiment}/verdicts.json",
        "reports/{experiment}/metrics.json",
    log:
        "logs/scorecard/{experiment}.log",
    benchmark:
        "logs/benchmarks/scorecard/{experiment}.tsv"
    wildcard_constraints:
        experiment="|".join(CONFIG.experiments),
    resources:
        mem_mb=lambda wildcards, attempt: attempt * 2000,
        runtime=lambda wildcards, attempt: attempt * 30,
    params:
        folder=folder_of,
        exhibits=GRID.scorecard.settings,
        code=GRID.scorecard.code,
    shell:
        "python -m partialfair scorecard --experiment {wildcards.experiment} --out {params.folder} > {log} 2>&1"
