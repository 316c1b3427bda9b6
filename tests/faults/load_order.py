"""Load stored kernels in another order than that in which they are called."""

import importlib
import os
import pkgutil

import partialfair

VARIABLE = "LOAD_EVERYTHING_FIRST"
"""Environment variable: if it is set, every stored kernel is loaded first, in the order of the modules."""


def load_everything_if_told() -> None:
    """Load whatever the folder of kernels holds."""
    if not os.environ.get(VARIABLE):
        return
    loaded = 0
    for module in pkgutil.walk_packages(partialfair.__path__, "partialfair."):
        if ".kernels." not in module.name and ".models." not in module.name and ".tables." not in module.name:
            continue
        for kernel in vars(importlib.import_module(module.name)).values():
            if hasattr(kernel, "py_func") and kernel.__module__ == module.name:
                for signature, *_ in kernel._cache._cache_file._load_index():
                    kernel.compile(signature)
                    loaded += 1
    assert loaded >= 10, loaded
