#!/usr/bin/env bash
# Bring a Slurm up on this machine, run tests/cluster on it, take it down again, whatever happens.
# KEEP=1 keeps its folder. Where that is impossible: one sentence and success, or failure if PARTIALFAIR_REQUIRE demands a cluster.
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cd "$here/../.."

"$here/slurm.sh" packages
status=$?
if [ "$status" = 3 ] && [[ " ${PARTIALFAIR_REQUIRE:-} " != *" cluster "* ]]; then
    echo "test-cluster: SKIPPED, nothing was tested on Slurm; the reason is above"
    exit 0
elif [ "$status" != 0 ]; then
    echo "test-cluster: FAILED, there is no Slurm to test on; the reason is above" >&2
    exit 1
fi

folder=$(mktemp -d "${TMPDIR:-/tmp}/partialfair-slurm.XXXXXX")
chmod 0711 "$folder" # munged runs as a user of its own
tests=
clean() {
    [ -z "$tests" ] || kill "$tests" 2> /dev/null
    "$here/slurm.sh" down "$folder"
    [ -n "${KEEP:-}" ] || rm -rf "$folder"
}
trap clean EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

"$here/slurm.sh" up "$folder" || exit 1
PARTIALFAIR_SLURM="$folder" pytest -p no:cacheprovider --basetemp="$folder/tests" tests/cluster "$@" &
tests=$! # in the background, so that a signal takes effect at once
wait "$tests"
status=$?
tests=
exit "$status"
