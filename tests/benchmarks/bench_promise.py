"""Promises about new rows that are kept, of samples of a simulated population.

python -m tests.benchmarks.bench_promise
"""

from tests.benchmarks.common import Result, result
from tests.simulations.promise_kept import SETTINGS, row

FITS = 100
ERRORS = 2
"""Standard errors that a share may lie below its target by chance."""


def run() -> list[Result]:
    """Share of kept promises of maps; the long table is reports/promise_kept.csv."""
    setting = SETTINGS[0]
    found = row(setting, FITS)
    promised, broken = int(str(found["promised"])), int(str(found["broken"]))
    share = 1 - broken / max(promised, 1)
    how = (
        f"{FITS} samples of {setting.rows:,} rows, {setting.name}, confidence 0.95: promises whose kappa the "
        f"population keeps; {found['plain_broken']:.0%} of the fits without a promise break theirs; by "
        f"chance it may be less by {ERRORS} standard errors"
    )
    margin = ERRORS * (0.95 * 0.05 / max(promised, 1)) ** 0.5
    return [
        result("promise_kept_share", share, "of promises", f">= {0.95 - margin:.3f}", how, valid=promised > FITS / 2)
    ]


if __name__ == "__main__":
    print(run())
