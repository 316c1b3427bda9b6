#!/usr/bin/env bash
# submit.sh THREADS MEM_MB MINUTES SCRIPT: run a job script in a detached shell and print the job's name.
# EDIT for your batch system, for instance PBS:
#   exec qsub -l select=1:ncpus="$1":mem="$2"mb -l walltime=00:"$3":00 "$4"
set -euo pipefail
jobs=.snakemake/detached-jobs
mkdir -p "$jobs"
name=$(date +%s)-$$
# The result is a file: the name of a process may be given to another one later.
setsid bash -c 'bash "$1"; echo "$?" > "$2.partial" && mv "$2.partial" "$2.status"' \
    detached "$4" "$jobs/$name" > "$jobs/$name.log" 2>&1 < /dev/null &
echo "$!" > "$jobs/$name.pid"
echo "$name"
