"""How a person's game came out, to look at and to share: shared, it gives nothing of the answer away."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from lotbench.benchmarks.lotbench.games import Round, read_rounds
from lotbench.site.host import OWN_WORD
from lotbench.types import Trace

Dot: TypeAlias = Literal["miss", "found", "none"]
SIGNS = {"miss": "⚪", "found": "🟢", "none": "▫️"}
CLUE = "💡"


@dataclass(frozen=True, slots=True)
class Result:
    """A game that is over, as dots.

    Attributes:
        dots: Each round up to the last that its player took part in, and whether clues came after it.
        solved: The round that solved it; None where none did.
        given_up: Whether its player ended it.
        own: Whether it counted by its player's own word.
    """

    dots: tuple[tuple[Dot, bool], ...]
    most: int
    solved: int | None
    given_up: bool
    failed: bool
    own: bool = False

    @property
    def words(self) -> str:
        """How it came out, in words."""
        if self.solved is not None:
            own = ", by your own word" if self.own else ""
            return f"Solved in round {self.solved} of {self.most}{own}"
        if self.failed:
            return "The game broke off"
        if self.given_up:
            return f"Given up after round {len(self.dots)}" if self.dots else "Given up at once"
        return f"Not solved in {self.most} round{'s' if self.most > 1 else ''}"

    def text(self, title: str) -> str:
        """Return what can be sent to others; nothing of the answer stands in it."""
        signs = "".join(SIGNS[dot] + (CLUE if clue else "") for dot, clue in self.dots)
        end = " 🏳️" if self.given_up else ""
        return f"{title}\n{self.words}\n{signs}{end}"


def result(trace: Trace, most: int) -> Result:
    """Return how a game came out; the rounds after its player gave up are left out."""
    rounds = [each for each in read_rounds(trace.steps) if each.status]
    played = len(rounds)
    while played and rounds[played - 1].status == "refused":
        played -= 1
    given_up = played < len(rounds)
    dots = tuple((_dot(each), bool(each.clues or each.frame)) for each in rounds[:played])
    solved = next((each.number for each in rounds if _dot(each) == "found"), None)
    if trace.outcome != "solved":
        solved = None
    own = any(
        OWN_WORD in opinion.texts.values() for at in rounds for opinion in at.opinions if opinion.accepted
    )
    return Result(dots, most, solved, given_up, trace.outcome.endswith("_failed"), own)


def _dot(played: Round) -> Dot:
    read = [opinion.accepted for opinion in played.opinions if opinion.accepted is not None]
    if played.guess is None or not read:
        return "none"
    return "found" if read[-1] else "miss"
