"""One fit on a Parquet file of ten million rows and a hundred columns: half numbers, half categories.

The file is generated once and kept in the folder for temporary files; memory and time are those of a process that only
reads it and fits. Rows are drawn in blocks with seeds of their own, so that a smaller file is the beginning of a larger
one. Every fit is a row of ``reports/ten_million_rows.csv``.
"""

import json
import math
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from tests.benchmarks.common import ROOT, Result, exponent, result
from tests.benchmarks.kept import Kept

SIZES = (100_000, 300_000, 1_000_000, 10_000_000)
NUMBERS, CATEGORIES, BLOCK = 50, 50, 100_000
FILE = ROOT / "reports" / "ten_million_rows.csv"
KEYS = ("rows",)
COLUMNS = (*KEYS, "columns", "features", "seconds", "wall_seconds", "gib", "file_gib", "gap", "kappa", "status")
KAPPA, INTERVAL = 0.02, (0.05, 0.3)
FIT = """
import json, resource, sys, time, warnings
warnings.simplefilter("ignore")
from partialfair.estimators import PartialFairClassifier
began, wall = time.process_time(), time.perf_counter()
settings = {"interval": [(LOW, HIGH)], "kappa": KAPPA, "kappa_scale": "absolute"}
model = PartialFairClassifier(**settings).fit_parquet(sys.argv[1], label="label", sensitive_features="group")
found = {"seconds": time.process_time() - began, "wall_seconds": time.perf_counter() - wall}
found |= {"gib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20, "features": model.n_features_in_}
print(json.dumps(found | {"gap": model.train_violation_, "status": model.status_}))
"""


def generate(path: Path, rows: int) -> None:
    """Write the file; a category of j has 2 to 20 levels, and the label depends on a fifth of the columns."""
    import pyarrow as pa
    from pyarrow import parquet

    levels = [2 + (7 * j) % 19 for j in range(CATEGORIES)]
    texts = [pa.array([f"v{k}" for k in range(count)]) for count in levels]
    effects = np.random.default_rng(1).normal(size=(CATEGORIES, 20))
    slopes = np.random.default_rng(2).normal(size=NUMBERS)
    writer = None
    for block in range(rows // BLOCK):
        random = np.random.default_rng([3, block])
        group = random.choice(3, BLOCK, p=(0.6, 0.3, 0.1))
        numbers = random.standard_normal((NUMBERS, BLOCK), np.float32)
        numbers[0] += 0.8 * group
        codes = [(count * random.random(BLOCK, np.float32) ** 2).astype(np.int8) for count in levels]
        logits = 0.5 * group - 1.0 + 0.3 * slopes[:10] @ numbers[:10]
        for j in range(10):
            logits += 0.3 * effects[j][codes[j]]
        label = random.random(BLOCK) < 1 / (1 + np.exp(-logits))
        columns = {f"x{j}": pa.array(values) for j, values in enumerate(numbers)}
        columns |= {f"c{j}": pa.DictionaryArray.from_arrays(pa.array(codes[j]), texts[j]) for j in range(CATEGORIES)}
        columns |= {"group": pa.array(np.array(["a", "b", "c"])[group]), "label": pa.array(label)}
        table = pa.table(columns)
        writer = writer or parquet.ParquetWriter(path, table.schema, compression="none", use_dictionary=True)
        writer.write_table(table)
    if writer is not None:
        writer.close()


def fitted(path: Path) -> dict[str, object]:
    """A fit in a process of its own."""
    script = FIT.replace("LOW, HIGH", f"{INTERVAL[0]}, {INTERVAL[1]}").replace('"kappa": KAPPA', f'"kappa": {KAPPA}')
    done = subprocess.run([sys.executable, "-c", script, str(path)], capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"the fit of {path} failed: {done.stderr[-500:]}")
    found: dict[str, object] = json.loads(done.stdout.splitlines()[-1])
    return found


def measure(kept: Kept, rows: int) -> None:
    """Generate, fit, and remove the file."""
    folder = Path(os.environ.get("PARTIALFAIR_BENCH_FOLDER", tempfile.gettempdir()))
    path = folder / f"partialfair_{rows}.parquet"
    if not path.is_file():
        generate(path.with_suffix(".part"), rows)
        path.with_suffix(".part").rename(path)
    found = fitted(path) | {"rows": rows, "columns": NUMBERS + CATEGORIES, "kappa": KAPPA}
    kept.add(found | {"file_gib": path.stat().st_size / 2**30})
    path.unlink()


def figures(kept: Kept) -> list[Result]:
    """Minutes and memory of the largest file, and growth with rows."""
    own = sorted(kept.rows, key=lambda row: int(row["rows"]))
    curve = [(float(row["rows"]), float(row["seconds"])) for row in own]
    slope = exponent(curve) if len(curve) > 1 else math.nan
    last = next((row for row in own if int(row["rows"]) == SIZES[-1]), None)
    words = "; ".join(
        f"{int(row['rows']):,} rows: {float(row['seconds']):.1f} s, {float(row['gib']):.2f} GiB, {row['status']}"
        for row in own
    )
    how = f"processor time of reading a Parquet file and fitting, one thread: {words}"
    minutes = float(last["seconds"]) / 60 if last else math.nan
    memory = float(last["gib"]) if last else math.nan
    return [
        result("ten_million_rows_minutes", minutes, "min", "<= 10", how),
        result("ten_million_rows_gib", memory, "GiB", "<= 12", how),
        result("fit_growth_exponent", slope, "", "<= 1.05", how),
    ]


def run() -> list[Result]:
    """The sizes that are not in the file."""
    kept = Kept(FILE, COLUMNS, KEYS)
    for (rows,) in kept.missing([(size,) for size in SIZES]):
        measure(kept, rows)
    return figures(kept)
