"""The result of a person's game, for a page and as a text to share; the text does not reveal the answer."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

from lotbench.benchmarks.lotbench.games import Round, read_rounds
from lotbench.site.game_rounds import until_given_up
from lotbench.site.host import OWN_WORD, SEEN
from lotbench.types import Trace

Dot: TypeAlias = Literal["miss", "found", "none"]
SIGNS = {"miss": "⚪", "found": "🟢", "none": "▫️"}
CLUE = "💡"


@dataclass(frozen=True, slots=True)
class Result:
    """The result of a finished game.

    Attributes:
        dots: A pair for each round in which the player took part: `found`, `miss` or `none` (no readable verdict on a guess),
            and whether clues followed.
        most: The maximum number of rounds.
        solved: The round in which the game was solved; None if it was not.
        given_up: Whether the player gave up.
        failed: Whether the game broke off.
        own: Whether the player decided that the accepted guess counts.
        looked: Whether the player saw the answer and decided that their guess does not count.
        guess: The last guess; "" without one.
    """

    dots: tuple[tuple[Dot, bool], ...]
    most: int
    solved: int | None
    given_up: bool
    failed: bool
    own: bool = False
    looked: bool = False
    guess: str = ""

    @property
    def words(self) -> str:
        """The result in words."""
        if self.solved is not None:
            own = ", by your own word" if self.own else ""
            return f"Solved in round {self.solved} of {self.most}{own}"
        if self.failed:
            return "The game broke off"
        if self.looked:
            return "Not solved: you looked at the answer"
        if self.given_up:
            return f"Given up after round {len(self.dots)}" if self.dots else "Given up at once"
        return f"Not solved in {self.most} round{'s' if self.most > 1 else ''}"

    def text(self, title: str) -> str:
        """Return the text to share, below a title: the result in words and signs, without the answer."""
        signs = "".join(SIGNS[dot] + (CLUE if clue else "") for dot, clue in self.dots)
        if self.own:
            signs = signs.replace(SIGNS["found"], "🟡")
        return f"{title}\n{self.words}\n{signs}{' 🏳️' if self.given_up else ''}"


def result(trace: Trace, most: int) -> Result:
    """Return the result of a game of `most` rounds; the rounds after the player gave up are left out."""
    rounds = [each for each in read_rounds(trace.steps) if each.status]
    played = until_given_up(rounds)
    given_up = played < len(rounds)
    dots = tuple((_dot(each), bool(each.clues or each.frame)) for each in rounds[:played])
    found = [each.number for each in rounds if _dot(each) == "found"]
    solved = found[0] if found and trace.outcome == "solved" else None
    opinions = [opinion for at in rounds for opinion in at.opinions]
    why = {(text, opinion.accepted) for opinion in opinions for text in opinion.texts.values()}
    failed = trace.outcome.endswith("_failed")
    own, looked = (OWN_WORD, True) in why, (SEEN, False) in why
    guess = next((each.guess for each in rounds[:played][::-1] if each.guess), "")
    return Result(dots, most, solved, given_up, failed, own, looked, guess)


def _dot(played: Round) -> Dot:
    read = [opinion.accepted for opinion in played.opinions if opinion.accepted is not None]
    if played.guess is None or not read:
        return "none"
    return "found" if read[-1] else "miss"
