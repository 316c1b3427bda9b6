include: "probe.smk"


rule all:
    input:
        "all.txt",
        "piped.txt",
        expand("out/{block}{number}.txt", block=list("abc"), number=range(3)),


rule make:
    input:
        "in/{block}.txt",
    output:
        "out/{block}{number}.txt",
    log:
        "logs/{block}{number}.log",
    benchmark:
        "benchmarks/{block}{number}.tsv"
    resources:
        mem_mb=100,
    shell:
        "OWN=1 python -m toy {output} {wildcards.block}{wildcards.number} > {log} 2>&1"


rule collect:
    input:
        expand("out/{block}{number}.txt", block=list("abc"), number=range(3)),
    output:
        "all.txt",
    log:
        "logs/collect.log",
    threads: 2
    shell:
        "python -m toy {output} all > {log} 2>&1"


rule piped:
    output:
        "piped.txt",
    shell:
        "python -m toy {output} piped | tee piped.log"
