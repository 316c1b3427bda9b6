"""One thread for the linear algebra of a fit, whatever the program around it uses.

The products of a solver are small, and threads that share one wait for each other in loops: where another program
computes on the same cores, 300 rows take 27 s in place of 1.1 s. Products of several threads are also added up in an
order that depends on their number, and a fit would have other last digits on another machine.
"""

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


def on_one_thread(function: Callable[P, R]) -> Callable[P, R]:
    """Return the function with the BLAS libraries that are loaded limited to one thread while it runs."""

    @wraps(function)
    def limited(*args: P.args, **options: P.kwargs) -> R:
        from threadpoolctl import threadpool_limits

        with threadpool_limits(limits=1, user_api="blas"):
            return function(*args, **options)

    return limited
