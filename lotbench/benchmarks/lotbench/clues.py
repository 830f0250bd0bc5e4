"""What clues have to do with solving: who solved before and after each of them (Alg. 1 line 9).

A score that is earned after the clues says less of a leap than one that is earned before them. Clues are counted as
the games saw them, so a data set with few clues, or a game that ended soon, is told as it was.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from lotbench.benchmarks.lotbench.games import Game, Round
from lotbench.benchmarks.lotbench.rules import Rules, worth
from lotbench.metrics.proportion import proportion, told
from lotbench.report.report import interval
from lotbench.report.sections import Plot, Section, Table
from lotbench.types import JSON, Metric

TITLE = "Solves before and after clues"


@dataclass(slots=True)
class Stage:
    """The rounds between two reveals, over all games.

    Attributes:
        clues: How many clues the games knew, least and most.
        rounds: The first and the last of these rounds.
        tries: Of each round whose verdict is known: its number, whether it solved the game, and the sample.
        worth: What the games that were solved here are worth together.
    """

    clues: tuple[int, int] = (0, 0)
    rounds: tuple[int, int] = (0, 0)
    tries: list[tuple[int, bool, str]] = field(default_factory=list)
    games: int = 0
    worth: float = 0.0

    def add(self, one: Game, rounds: Sequence[Round], known: int, rules: Rules) -> None:
        """Count the rounds that a game had here, knowing so many clues."""
        numbers = [each.number for each in rounds]
        first = not self.games
        self.clues = (known, known) if first else (min(self.clues[0], known), max(self.clues[1], known))
        ends = (min(numbers), max(numbers))
        self.rounds = ends if first else (min(self.rounds[0], ends[0]), max(self.rounds[1], ends[1]))
        self.tries += [(number, number == one.solved, one.sample) for number in numbers]
        self.games += 1
        if one.solved in numbers:
            self.worth += worth(one.solved - 1 + rules.round_origin, rules)

    @property
    def solved(self) -> int:
        """Games that were solved here."""
        return sum(hit for _, hit, _ in self.tries)

    @property
    def pace(self) -> Metric:
        """Solves by round that was played."""
        return proportion((hit, sample) for _, hit, sample in self.tries)

    def name(self) -> str:
        """Which clues were known, in words."""
        if not self.clues[1]:
            return "before any clue"
        return "with 1 clue" if self.clues == (1, 1) else f"with {_span(self.clues)} clues"


def stages(games: Iterable[Game], rules: Rules) -> list[Stage]:
    """The stages of a run: one before the first reveal, and one after each."""
    made: list[Stage] = []
    for one in games:
        parts: list[tuple[int, list[Round]]] = [(0, [])]
        for each in one.watched(rules.max_rounds):
            parts[-1][1].append(each)
            if each.clues:
                parts.append((parts[-1][0] + len(each.clues), []))
        for at, (known, rounds) in enumerate(parts):
            if not rounds:
                continue
            made += [Stage() for _ in range(at + 1 - len(made))]
            made[at].add(one, rounds, known, rules)
    return made


def clues(games: Sequence[Game], rules: Rules) -> Section:
    """The share of solves before and after each clue, and how fast games were solved there."""
    found = stages(games, rules)
    wins = [(at, sample) for at, one in enumerate(found) for _, hit, sample in one.tries if hit]
    shares = [proportion((place == at, sample) for place, sample in wins) for at in range(len(found))]
    earned = sum(one.worth for one in found)
    rows = tuple(
        (
            one.name(), _span(one.rounds), one.games, one.solved, share.value, interval(share),
            one.worth / earned if earned else None, one.pace.value, interval(one.pace),
        )
        for one, share in zip(found, shares, strict=True)
    )  # fmt: skip
    columns = (
        "stage", "rounds", "games", "solved", "share of solves", "95 %", "share of the score",
        "solves a round", "95 % of it",
    )  # fmt: skip
    told_of = [_numbers(one, share) for one, share in zip(found, shares, strict=True)]
    numbers: dict[str, JSON] = {"solved": len(wins), "stages": told_of}
    plots = (_plot(found),) if len(found) > 1 else ()
    return Section(
        TITLE, _notes(found, len(wins)), (Table(columns, rows),), plots, name="clues", numbers=numbers
    )


def _plot(found: Sequence[Stage]) -> Plot:
    """Solves among the games still played, round by round."""
    series = {}
    for one in found:
        numbers = sorted({number for number, *_ in one.tries})
        tries = {at: [hit for number, hit, _ in one.tries if number == at] for at in numbers}
        series[one.name()] = tuple((float(at), sum(hits) / len(hits)) for at, hits in tries.items())
    return Plot(
        "line",
        "round",
        "solves by game still played",
        series,
        "How fast games are solved, by the clues that are known",
    )


def _notes(found: Sequence[Stage], solved: int) -> tuple[str, ...]:
    notes = [
        "Share of solves: of all solved games, those that were solved in these rounds. Share of the score: of what the "
        "solved games are worth together. Solves a round: of the rounds that were played there, those that solved "
        "their game. Games that broke off count as far as they came; intervals are over samples.",
        "The games that are still played after a clue are the harder ones: a pace that does not fall says that the "
        "clue told something. What clues add is measured by a run with --set clues=false beside this one.",
    ]
    if solved and len(found) > 1:
        before, after = found[0].solved, solved - found[0].solved
        notes.insert(
            0, f"{before} of {solved} solved games needed no clue; {after} were solved after the first."
        )
    if len(found) < 2:
        notes.insert(0, "No game was played on after a clue: there is no after to compare with.")
    return tuple(notes)


def _span(ends: tuple[int, int]) -> str:
    first, last = ends
    return f"{first}" if first == last else f"{first} to {last}"


def _numbers(one: Stage, share: Metric) -> dict[str, JSON]:
    return {
        "clues": list(one.clues),
        "rounds": list(one.rounds),
        "games": one.games,
        "solved": one.solved,
        "share": told(share),
        "pace": told(one.pace),
    }
