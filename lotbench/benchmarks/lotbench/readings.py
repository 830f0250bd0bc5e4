"""The section of the report with games for people to read, one of each kind.

A rule chooses them, so a run always shows the same games: of each kind the most extreme one, and the first of equals.
"""

from collections.abc import Callable, Sequence

from lotbench.benchmarks.lotbench.games import Game
from lotbench.benchmarks.lotbench.replay import verdict
from lotbench.harness.evidence import Evidence
from lotbench.report.markdown import counted
from lotbench.report.sections import Excerpt, Section

SHOWN = 3
"""The number of rounds of a game that a brief report shows at first."""


def worth_reading(games: Sequence[Game], evidence: Evidence) -> Section:
    """Return the section with up to five games.

    They are a solve that questions answered Yes led to, the slowest and the fastest solve, the game with the most verdicts
    that a second opinion overturned, and the unsolved game with the most different guesses.
    """
    # A game without a rank, or with rank 0, is not of the kind.
    kinds: tuple[tuple[str, Callable[[Game], int | None]], ...] = (
        ("Solved step by step", _led),
        ("Solved last", lambda game: game.solved),
        ("Solved at once, or soonest", lambda game: game.solved and -game.solved),
        ("A yes that was not confirmed", _overturned),
        ("Unsolved, with the most different guesses", lambda game: not game.solved and len(_tried(game))),
    )
    chosen: dict[tuple[str, int], Excerpt] = {}
    for title, rank in kinds:
        ranked = [(value, game) for game in games if (value := rank(game))]
        if not ranked:
            continue
        _, best = max(ranked, key=lambda pair: pair[0])
        if (best.sample, best.repeat) not in chosen:
            chosen[best.sample, best.repeat] = _make_reading(title, best, evidence)
    return Section("Worth reading", readings=tuple(chosen.values()))


def _make_reading(title: str, game: Game, evidence: Evidence) -> Excerpt:
    texts = []
    if (item := evidence.samples.get(game.sample)) is not None:
        texts = [("scene", item.caption), ("response", item.response), ("hidden words", item.key_text)]
        guesses = [round_.guess for round_ in game.rounds if round_.guess]
        texts += [("with the last guess", item.rebuilt(guess)) for guess in guesses[-1:]]
    texts.append(("end", f"{game.outcome} after {counted(len(game.rounds), 'round')}"))
    shown = len(texts) + SHOWN
    for round_ in game.rounds:
        if round_.status:
            end = round_.status if round_.status != "ok" else verdict(round_)
            lines = [f"{round_.guess or 'nothing'} ({end})"]
            lines += [f"{round_.question} – {round_.answer or 'no answer'}"] if round_.question else []
            texts.append((f"round {round_.number}", "\n".join(lines)))
    return Excerpt(title, tuple(texts), game.sample, game.repeat, shown)


def _led(game: Game) -> int:
    """Return the number of questions answered Yes in a game solved in 3 to 7 rounds, short enough to read; else 0."""
    return game.solved in range(3, 8) and sum(round_.answer == "Yes" for round_ in game.rounds)


def _overturned(game: Game) -> int:
    """Return the number of rounds of a game whose yes a second opinion overturned."""
    return sum(round_.decision == "overturned" for round_ in game.rounds)


def _tried(game: Game) -> set[str]:
    """Return the distinct guesses of a game, compared without case."""
    return {str(round_.guess).casefold() for round_ in game.rounds if round_.status == "ok"}
