"""The tests; they compute under the settings of the workflow's jobs, which have to be there before NumPy is."""

from partialfair.tables import processor

processor.settle()
