"""Jobs that wait to be selected, in blocks, kept from round to round."""

from collections.abc import Hashable, Iterator, Set
from dataclasses import dataclass
from typing import Any

Job = Any
Needs = tuple[int, ...]


@dataclass(frozen=True)
class Block:
    """What the jobs of a block share.

    Attributes:
        key: tells blocks apart.
        priority: of each job; the highest is selected first.
        needs: what each job takes of the limited resources, in their order; the block as a whole takes no more.
    """

    key: Hashable
    priority: int
    needs: Needs


class Waiting:
    """Blocks of jobs, in the order in which they are to be considered.

    The cost of a change is that of the jobs that come or go, and that of a look through them is that of the ranks, of
    which there are few: thousands of jobs wait with the same priority and needs.
    """

    def __init__(self) -> None:
        self._block_of: dict[Job, Block] = {}
        self._jobs: dict[Block, dict[Job, None]] = {}
        self._ranks: dict[tuple[int, int, Needs], dict[Block, None]] = {}

    def __len__(self) -> int:
        """Return the number of blocks."""
        return len(self._jobs)

    def __contains__(self, job: Job) -> bool:
        """Whether a job waits."""
        return job in self._block_of

    def gone(self, jobs: Set[Job]) -> Set[Job]:
        """Return the jobs that wait here and are not among these."""
        return self._block_of.keys() - jobs

    def add(self, job: Job, block: Block) -> None:
        """Add a job at the end of its block."""
        self._leave_rank(block)
        self._block_of[job] = block
        self._jobs.setdefault(block, {})[job] = None
        self._enter_rank(block)

    def remove(self, job: Job) -> None:
        """Take a job out, and its block if it was the last one."""
        block = self._block_of.pop(job)
        self._leave_rank(block)
        del self._jobs[block][job]
        if self._jobs[block]:
            self._enter_rank(block)
        else:
            del self._jobs[block]

    def jobs(self, block: Block) -> list[Job]:
        """Return the jobs of a block, in the order in which they came."""
        return list(self._jobs[block])

    def ranks(self) -> Iterator[tuple[int, Needs, list[Block]]]:
        """Go through the blocks: length, needs, and all blocks of these; by priority, then the longest first.

        Of the same length, those that need more come first: they find no place later.
        """
        for rank in sorted(self._ranks, key=lambda rank: (-rank[0], -rank[1], [-need for need in rank[2]])):
            yield rank[1], rank[2], list(self._ranks[rank])

    def _enter_rank(self, block: Block) -> None:
        self._ranks.setdefault(self._rank(block), {})[block] = None

    def _leave_rank(self, block: Block) -> None:
        if block in self._jobs:
            rank = self._rank(block)
            del self._ranks[rank][block]
            if not self._ranks[rank]:
                del self._ranks[rank]

    def _rank(self, block: Block) -> tuple[int, int, Needs]:
        return block.priority, len(self._jobs[block]), block.needs
