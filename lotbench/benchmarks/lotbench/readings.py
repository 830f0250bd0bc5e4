"""Games worth reading, one of each kind: what a score is made of shows in a few games better than in many.

The choice is a rule and not a taste, so a run always shows the same games: the first of those that go
farthest in its kind.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from lotbench.benchmarks.lotbench.games import Game, latest, verdicts
from lotbench.harness.evidence import Evidence
from lotbench.report.sections import Reading, Section


def worth_reading(games: Sequence[Game], evidence: Evidence) -> Section:
    """The quickest and the slowest solution, a yes that a second judge overturned, and the widest search."""
    kinds: tuple[tuple[str, Callable[[Game], int | None]], ...] = (
        ("Solved at once, or soonest", lambda one: None if one.solved is None else -one.solved),
        ("Solved last", lambda one: one.solved),
        ("A yes that was not confirmed", _overturned),
        (
            "Unsolved, with the most different fillings",
            lambda one: None if one.solved else len(_tried(one)) or None,
        ),
    )
    chosen: dict[tuple[str, int], Reading] = {}
    for title, rank in kinds:
        ranked = [(found, one) for one in games if (found := rank(one)) is not None]
        if not ranked:
            continue
        _, best = max(ranked, key=lambda pair: pair[0])
        if (best.sample, best.repeat) not in chosen:
            chosen[best.sample, best.repeat] = _reading(title, best, evidence)
    notes = ("`lotbench replay RUN --sample ID --repeat K` tells a whole game.",) if chosen else ()
    return Section("Worth reading", notes, readings=tuple(chosen.values()))


def _reading(title: str, one: Game, evidence: Evidence) -> Reading:
    item = evidence.samples.get(one.sample)
    texts = (
        []
        if item is None
        else [("scene", item.caption), ("response", item.response), ("key text", item.key_text)]
    )
    asked, told = latest(one.steps, "ask"), latest(one.steps, "answer")
    for at, value in latest(one.steps, "respond").items():
        lines = [f"{value['filling'] or 'nothing'} ({_verdict(one, at, value['status'])})"]
        if question := asked.get(at, {}).get("question"):
            lines.append(f"{question} – {told.get(at, {}).get('answer') or 'no answer'}")
        texts.append((f"round {at}", "\n".join(lines)))
    return Reading(title, (*texts, ("end", one.outcome)), one.sample, one.repeat)


def _verdict(one: Game, at: int, status: str) -> str:
    """What became of a round's filling."""
    check, confirm = (verdicts(one.steps, step).get(at) for step in ("check", "confirm"))
    if status != "ok":
        return status
    if check is None:
        return "no verdict"
    if not check["accepted"]:
        return "not it"
    return "accepted" if confirm is None or confirm["accepted"] else "accepted, not confirmed"


def _overturned(one: Game) -> int | None:
    """How many first positives a second judge overturned; None for none."""
    return sum(not value["accepted"] for value in verdicts(one.steps, "confirm").values()) or None


def _tried(one: Game) -> set[str]:
    """The different fillings of a game."""
    responds = latest(one.steps, "respond").values()
    return {str(value["filling"]).casefold() for value in responds if value["status"] == "ok"}
