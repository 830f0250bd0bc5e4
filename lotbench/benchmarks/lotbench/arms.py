"""What a report says of the variant of its games: whether it can still show differences between models, and its leaps."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from lotbench.benchmarks.lotbench.games import Game
from lotbench.benchmarks.lotbench.rules import Rules
from lotbench.report.sections import Section, Table

CEILING = 0.9
"""Share of games solved at the first attempt from which scores say little of the difference of two models."""
FLOOR = 0.05
"""Share of games solved at all up to which they say as little."""
FEWEST = 10
"""Games below which neither is said."""
_HARDER: Mapping[str, str] = {"shown": "frame=earned", "earned": "frame=hidden"}
_EASIER: Mapping[str, str] = {"hidden": "frame=earned", "earned": "frame=shown"}


def limits(games: Sequence[Game], settings: Any) -> tuple[Section, ...]:
    """A sentence where nearly all games were solved at once, or nearly none, and the arm that has room."""
    over = [one for one in games if not one.censored]
    if len(over) < FEWEST:
        return ()
    frame, encore = getattr(settings, "frame", "shown"), getattr(settings, "encore", False)
    first, solved = sum(one.solved == 1 for one in over), sum(one.solved is not None for one in over)
    if first >= CEILING * len(over):
        harder = _HARDER.get(frame) or ("" if encore else "encore=true")
        told = f"{first} of {len(over)} solved at the first attempt: this variant cannot show a difference between such models"
        rest = f"; play --set {harder}" if harder else "; leap_score can, where it is below its most"
        return (Section("Ceiling", (told + rest + ".",)),)
    if solved <= FLOOR * len(over):
        easier = _EASIER.get(frame)
        told = f"{solved} of {len(over)} solved at all: this variant cannot show a difference between such models"
        rest = f"; play --set {easier}" if easier else "; play easier samples (--data lotbench_easy)"
        return (Section("Floor", (told + rest + ".",)),)
    return ()


def leaps(games: Sequence[Game], rules: Rules) -> tuple[Section, ...]:
    """How many answers of a game counted, and what became of those that did not, in an encore."""
    if not rules.encore:
        return ()
    over = [one for one in games if not one.broke_off]
    counts = Counter(len(one.leaps) for one in over)
    shares = tuple((k, counts[k], counts[k] / len(over)) for k in sorted(counts))
    after = [at for one in games for at in one.rounds if one.solved is not None and at.number > one.solved]
    seen = Counter(at.decision if not at.leap else "leap" for at in after if at.opinions)
    names = ("leap", "alike", "overturned", "refused", "none")
    rows = tuple((name, seen[name], seen[name] / len(after) if after else None) for name in names)
    notes = (
        "A leap is an answer that counted: the first is the solve. Games that broke off are not in the first table; they "
        "are in leaps and leap_score, for the rounds in which they were watched.",
        "leap_score: the sum over leaps of beta exp(-alpha t), t the failed attempts before the leap "
        f"(alpha {rules.alpha:g}, beta {rules.beta:g}); five leaps without a failed attempt among them are worth 5 beta.",
        "After the solve: leap; alike, a match that was no other idea than one before; overturned by a second judge; "
        "refused, no match; none, said before, the key text, or no answer at all.",
    )
    tables = (
        Table(("leaps", "games", "share"), shares, "Games by leaps"),
        Table(("after the solve", "attempts", "share"), rows, "Attempts after the solve"),
    )
    return (Section("Leaps", notes, tables),)
