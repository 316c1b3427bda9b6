#!/usr/bin/env bash
# status.sh NAME: print running, success or failed.
# EDIT for your batch system.
set -euo pipefail
job=.snakemake/detached-jobs/$1
if [ ! -e "$job.status" ] && ! kill -0 -- "-$(cat "$job.pid")" 2> /dev/null; then
    sleep 1 # it may just be writing its result
fi
if [ -e "$job.status" ]; then
    if [ "$(cat "$job.status")" = 0 ]; then echo success; else echo failed; fi
elif kill -0 -- "-$(cat "$job.pid")" 2> /dev/null; then
    echo running
else
    echo failed
fi
