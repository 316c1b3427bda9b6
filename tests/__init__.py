"""The tests; they compute under the settings of the workflow's jobs, which have to be there before NumPy is.

Benchmarks do not: they measure what a user's program gets, which sets nothing.
"""

import os

from partialfair.kernels import processor

AS_USER = "PARTIALFAIR_BENCHMARK"
if not os.environ.get(AS_USER):
    processor.settle()
