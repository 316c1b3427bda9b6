#!/usr/bin/env bash
# The tests of Snakemake's plugins with several of its releases, each in an environment of its own below .cache/plugins.
#   tests/warm_executor/releases.sh [VERSION...]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
root=$PWD
[ "$#" -gt 0 ] || set -- 9.14.8 9.20.0 9.27.1 # the oldest that pyproject.toml of the plugins admits, one between, the newest
for version in "$@"; do
    folder="$root/.cache/plugins/$version"
    rm -rf "$folder/work"
    mkdir -p "$folder/work/tests"
    [ -x "$folder/env/bin/python" ] || "$root/.venv/bin/python" -m uv venv --quiet --python "$root/.venv/bin/python" "$folder/env"
    # numpy is for a test of random numbers. The plugins come from their folders, with what they depend on from an index.
    "$root/.venv/bin/python" -m uv pip install --quiet --python "$folder/env/bin/python" \
        "snakemake==$version" "pytest>=9.2,<10" "numpy>=2.4,<3" src/snakemake_*_plugin_*
    cp -r tests/warm_executor "$folder/work/tests" # without the project's own __init__.py, which needs all that it imports
    ln -s "$root/src" "$folder/work/src"
    echo "Snakemake $("$folder/env/bin/python" -m snakemake --version):"
    (cd "$folder/work" && PYTHONPATH="$folder/work" "$folder/env/bin/python" -m pytest -q -c /dev/null -p no:cacheprovider --rootdir=. tests/warm_executor)
done
