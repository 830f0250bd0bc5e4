"""The games of a simulated world as records of the project, and what people would label."""

from collections.abc import Iterator, Sequence
from typing import Any

from numpy.random import Generator

from lotbench.benchmarks.lotbench.games import Game, Opinion, Round
from lotbench.harness.judge_validation import Place
from lotbench.types import Trace
from tests.bench.truth import worlds
from tests.bench.truth.worlds import PLAYERS, ROUNDS, Errors, Player
from tests.games import check, respond, trace, unread

STRONG, WEAK, NEVER = PLAYERS.values()
VERDICTS = {accepted: (Opinion("check", 0, accepted, "judge", "ok", {}, {}),) for accepted in (True, False)}
__all__ = ["NEVER", "STRONG", "WEAK", "Errors", "Player", "played", "traces"]


def traces(games: Sequence[Game]) -> list[Trace]:
    """Games as the traces that tell of them."""
    return [trace(one.sample, one.repeat, one.outcome, [*_steps(one)]) for one in games]


def _steps(one: Game) -> Iterator[dict[str, Any]]:
    for at in one.rounds:
        yield respond(at.number)
        yield check(at.number, at.opinions[0].accepted is True) if at.opinions else unread(at.number)


def played(
    player: Player, fpr: Errors, fnr: Errors, rng: Generator, samples: int = 106, repeats: int = 3
) -> tuple[list[Game], dict[Place, bool]]:
    """Games, and whether each guess in them was right."""
    good, yes = worlds.rounds(player, fpr, fnr, rng, samples, repeats)
    games, right = [], {}
    for sample in range(samples):
        for repeat in range(repeats):
            verdicts, name = yes[sample, repeat], f"s{sample:03}"
            won = int(verdicts.argmax()) + 1 if verdicts.any() else None
            last = won or ROUNDS
            seen = [
                Round(at, f"word {at}", "ok", opinions=VERDICTS[bool(verdicts[at - 1])])
                for at in range(1, last + 1)
            ]
            games.append(Game(name, repeat + 1, "solved" if won else "unsolved", won, tuple(seen), (), name))
            right |= {(name, repeat + 1, at): bool(good[sample, repeat, at - 1]) for at in range(1, last + 1)}
    return games, right
