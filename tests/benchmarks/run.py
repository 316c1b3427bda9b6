"""Run the benchmarks: python tests/benchmarks/run.py [NAME ...].

Writes reports/benchmarks.json, .csv and .png, and the table of docs/benchmarks.md. With names, the others' results
stay.
"""

import importlib
import math
import os
import platform
import sys
import time
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = "docs/benchmarks.md"
sys.path[:0] = [str(ROOT), str(ROOT / "src")]
for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")  # both sides of a ratio get one thread
# The settings under which the workflow gives the same bits slow others down: PyTorch's products to a fifth.
os.environ["PARTIALFAIR_BENCHMARK"] = "1"


def machine() -> str:
    """Processor, number of CPUs and Python version."""
    model = platform.machine()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        names = [line.split(":", 1)[1].strip() for line in cpuinfo.read_text().splitlines() if "model name" in line]
        model = names[0] if names else model
    return f"{model}, {os.cpu_count()} CPUs, Python {platform.python_version()}"


def main(names: list[str]) -> int:
    """Run the named benchmarks (default all); return 2 for a name that is none.

    A missed target is a finding, which is printed and stored, and no failure of the measurement.
    """
    from rich.console import Console
    from rich.table import Table

    from tests.benchmarks import plot, store

    found = sorted(path.stem for path in Path(__file__).parent.glob("bench_*.py"))
    chosen = [f"bench_{name.removeprefix('bench_')}" for name in names] or found
    if unknown := set(chosen) - set(found):
        print(f"no benchmark {', '.join(sorted(unknown))}; choose from {', '.join(found)}", file=sys.stderr)
        return 2
    results = []
    for name in chosen:
        print(f"running {name} ...", file=sys.stderr, flush=True)
        began = time.perf_counter()
        results += importlib.import_module(f"tests.benchmarks.{name}").run()
        print(f"  {time.perf_counter() - began:.0f} s", file=sys.stderr, flush=True)
    target = ROOT / "reports" / "benchmarks.json"
    target.parent.mkdir(exist_ok=True)
    content = (store.read(target) if names else {}) | store.rows(results, machine())
    store.write(target, content)
    store.write_csv(target.with_suffix(".csv"), content, results)
    plot.draw(target, target.with_suffix(".png"))
    store.write_table(ROOT / PAGE, content)
    table = Table("benchmark", "value", "target", "holds", "how")
    for result in results:
        holds = {True: "yes", False: "NO", None: ""}[result.holds]
        value = "not measured" if math.isnan(result.value) else f"{result.value:.3g} {result.unit}"
        table.add_row(result.id, value, result.target or "", holds, result.how)
    Console(width=140).print(table)
    print(f"written to {target.relative_to(ROOT)}, its .csv and .png, and {PAGE} ({machine()})")
    missed = [result.id for result in results if result.holds is False]
    if missed:
        print(f"targets missed: {', '.join(missed)}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
