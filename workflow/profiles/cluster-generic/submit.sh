#!/usr/bin/env bash
# submit.sh THREADS MEM_MB MINUTES GPUS SCRIPT: run a job script in a detached shell and print the job's name.
# EDIT for your batch system: put one of these lines, or one like it, in place of all that follows "gpus=".
# PBS:
#   exec qsub -l "select=1:ncpus=$1:mem=$2mb${gpus:+:ngpus=$gpus}" -l walltime=$(($3 / 60)):$(($3 % 60)):00 "$5"
# LSF:
#   bsub -n "$1" -M "$2" -W "$3" ${gpus:+-gpu "num=$gpus"} < "$5" | sed 's/^Job <\([0-9]*\)>.*/\1/'
# SGE, where the cluster calls its GPUs gpu:
#   exec qsub -terse -cwd -pe smp "$1" -l "h_vmem=$2M,h_rt=$(($3 * 60))${gpus:+,gpu=$gpus}" "$5"
set -euo pipefail
gpus=${4#0} # empty for a job that needs none
jobs=.snakemake/detached-jobs
mkdir -p "$jobs"
name=$(date +%s)-$$
# The result is a file: the name of a process may be given to another one later.
setsid bash -c 'bash "$1"; echo "$?" > "$2.partial" && mv "$2.partial" "$2.status"' \
    detached "$5" "$jobs/$name" > "$jobs/$name.log" 2>&1 < /dev/null &
echo "$!" > "$jobs/$name.pid"
echo "$name"
