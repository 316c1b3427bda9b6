"""Run the benchmarks and write reports/benchmarks.json: python tests/benchmarks/run.py [NAME ...]."""

import importlib
import json
import os
import platform
import sys
from dataclasses import asdict
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "src")]
for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")  # both sides of a ratio get one thread


def machine() -> str:
    """Processor, number of CPUs and Python version."""
    model = platform.machine()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        names = [line.split(":", 1)[1].strip() for line in cpuinfo.read_text().splitlines() if "model name" in line]
        model = names[0] if names else model
    return f"{model}, {os.cpu_count()} CPUs, Python {platform.python_version()}"


def main(names: list[str]) -> int:
    """Run the named benchmarks (default all); return 1 if a target is missed."""
    from rich.console import Console
    from rich.table import Table

    found = sorted(path.stem for path in Path(__file__).parent.glob("bench_*.py"))
    chosen = [f"bench_{name.removeprefix('bench_')}" for name in names] or found
    if unknown := set(chosen) - set(found):
        print(f"no benchmark {', '.join(sorted(unknown))}; choose from {', '.join(found)}", file=sys.stderr)
        return 2
    results = []
    for name in chosen:
        print(f"running {name} ...", file=sys.stderr, flush=True)
        results += importlib.import_module(f"tests.benchmarks.{name}").run()
    target = ROOT / "reports" / "benchmarks.json"
    rows = {}
    if names and target.exists():
        rows = {row["id"]: row for row in json.loads(target.read_text())}
    rows |= {result.id: {**asdict(result), "machine": machine()} for result in results}
    target.parent.mkdir(exist_ok=True)
    target.write_text(json.dumps(list(rows.values()), indent=1) + "\n")
    table = Table("benchmark", "value", "target", "holds", "how")
    for result in results:
        holds = {True: "yes", False: "NO", None: ""}[result.holds]
        table.add_row(result.id, f"{result.value:.3g} {result.unit}", result.target or "", holds, result.how)
    Console(width=140).print(table)
    print(f"written to {target.relative_to(ROOT)} ({machine()})")
    return int(any(result.holds is False for result in results))


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
