"""The games or tasks of a run as the page of the run lists them; pure."""

from __future__ import annotations

from dataclasses import dataclass

from lotbench.benchmarks.lotbench.games import read_rounds
from lotbench.types import Trace


@dataclass(frozen=True, slots=True)
class WalkRow:
    """A walk as a line in its run: `rounds` is None where the benchmark has none.

    `picture` is the address of a small picture of its sample, where there is one.
    """

    sample: str
    repeat: int
    outcome: str
    score: float | None
    rounds: int | None
    last: str
    language: str
    tier: str
    picture: str | None = None

    def verdict(self, graded: bool) -> str:
        """How it ended; of a task that is right or wrong and not graded (`graded`), which of the two."""
        if self.outcome != "scored" or graded or self.score is None:
            return self.outcome
        return "right" if self.score else "wrong"

    @property
    def file(self) -> str:
        """The name of its page."""
        return page_file(self.sample, self.repeat)


def page_file(sample: str, repeat: int) -> str:
    """The name of the page of a walk."""
    return f"{sample}-{repeat}.html"


def walk_row(trace: Trace, language: str, tier: str) -> WalkRow:
    """A walk, as its run lists it, with what its sample says of itself."""
    rounds = read_rounds(trace.steps)
    fillings = [one.filling for one in rounds if one.filling]
    return WalkRow(
        sample=trace.sample,
        repeat=trace.repeat,
        outcome=trace.outcome,
        score=trace.score.value,
        rounds=rounds[-1].number if rounds else None,
        last=str(fillings[-1])[:80] if fillings else "",
        language=language,
        tier=tier,
    )
