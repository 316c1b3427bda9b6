"""Errors a person can act on: each message names the file or key, the value, and the remedy."""


class PartialFairError(Exception):
    """Base of every error this package raises on purpose.

    The command line prints the message of such an error as one sentence and exits with status 2;
    any other exception is a defect and keeps its traceback.
    """


class ConfigError(PartialFairError):
    """A value in ``params.yaml`` (or a setting passed in its place) cannot be used."""


class DataError(PartialFairError):
    """A raw file, table, split or score file is missing, damaged or inconsistent."""


class PluginError(PartialFairError):
    """A dataset, algorithm, solver, constraint or metric is unknown or breaks its contract."""


class NotEstimableError(PartialFairError):
    """A quantity is undefined on the given rows (for instance a group too small for an interval)."""


class InfeasibleError(PartialFairError):
    """It is known that no model satisfies the constraints; a solver that merely finds none has failed."""


class StorageError(PartialFairError):
    """A file cannot be written: the disk is full, or the folder is read-only."""


class ResourceError(PartialFairError):
    """A job needs more memory than it was given, or files it relies on outside the project are damaged."""
