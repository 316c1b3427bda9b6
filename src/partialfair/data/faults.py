"""Faults of several columns, told as one error."""

from collections.abc import Iterator
from contextlib import contextmanager

from partialfair.errors import DataError


class Faults(list[str]):
    """Faults of several columns, which are told together."""

    @contextmanager
    def noted(self) -> Iterator[None]:
        """Note the fault that the block raises."""
        try:
            yield
        except DataError as error:
            self.append(str(error))

    def settle(self) -> None:
        """Raise what was noted as one error, in which a remedy of several faults stands once.

        Raises:
            DataError: anything was noted.
        """
        if not self:
            return
        of_remedy: dict[str, list[str]] = {}
        for fault in self:
            statement, _, remedy = fault.partition("; ")
            of_remedy.setdefault(remedy, []).append(statement)
        told = "; ".join("; ".join([*faults, remedy]) for remedy, faults in of_remedy.items())
        raise DataError(told if len(self) == 1 else f"{len(self)} faults: {told}")
