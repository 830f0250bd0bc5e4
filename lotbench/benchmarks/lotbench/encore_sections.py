"""What the report of an encore says of the answers that counted, the leaps."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from lotbench.benchmarks.lotbench.games import Game
from lotbench.benchmarks.lotbench.settings import Settings
from lotbench.report.sections import Section, Table


def leaps(games: Sequence[Game], settings: Settings) -> tuple[Section, ...]:
    """How many answers of a game counted, and what became of those that did not, in an encore."""
    if not settings.encore:
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
        f"(alpha {settings.alpha:g}, beta {settings.beta:g}); five leaps without a failed attempt among them are worth 5 beta.",
        "After the solve: leap; alike, a match that was no other idea than one before; overturned by a second judge; "
        "refused, no match; none, said before, the key text, or no answer at all.",
    )
    tables = (
        Table(("leaps", "games", "share"), shares, "Games by leaps"),
        Table(("after the solve", "attempts", "share"), rows, "Attempts after the solve"),
    )
    return (Section("Leaps", notes, tables, brief=True),)
