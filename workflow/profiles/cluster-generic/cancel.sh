#!/usr/bin/env bash
# cancel.sh NAME...: end these jobs.
# EDIT for your batch system.
for name in "$@"; do
    # setsid made each a process group; all of it at once, so that nothing of it cleans up behind the next run.
    kill -KILL -- "-$(cat ".snakemake/detached-jobs/$name.pid")" 2> /dev/null
done
exit 0
