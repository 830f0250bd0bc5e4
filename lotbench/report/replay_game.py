"""A game told again from its trace, round by round: what was filled in, how it was judged, asked, answered."""

from __future__ import annotations

import textwrap
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from lotbench.errors import UsageError
from lotbench.types import JSON, Trace

WIDTH = 100


@dataclass(slots=True)
class Round:
    """One round of a game.

    Attributes:
        status: `ok`, or why there is no filling.
        verdict: `accepted`, `not it`, `not it (repeat)`, ... as the check came out.
        story: The judge's causal story: the intervened chain and the reason of each criterion.
    """

    number: int
    filling: str | None = None
    status: str = ""
    verdict: str = ""
    story: dict[str, JSON] = field(default_factory=dict)
    question: str | None = None
    answer: str | None = None
    clues: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Game:
    """A game as it is shown: the sample, the causal chains it was judged by, the rounds, the end."""

    sample: Mapping[str, Any]
    repeat: int
    outcome: str
    score: float | None
    why: str | None
    chains: tuple[str, ...]
    rounds: tuple[Round, ...]

    def table(self) -> dict[str, JSON]:
        """The game as JSON."""
        return {
            "sample": dict(self.sample),
            "repeat": self.repeat,
            "outcome": self.outcome,
            "score": self.score,
            "why": self.why,
            "chains": list(self.chains),
            "rounds": [asdict(one) for one in self.rounds],
        }


def game(
    traces: Sequence[Trace], samples: Mapping[str, Mapping[str, Any]], sample: str | None, repeat: int
) -> Game:
    """The game of a sample and repeat; of the first sample by default.

    Raises:
        UsageError: It was not played, or is not finished.
    """
    found = [t for t in traces if (sample is None or t.sample == sample) and t.repeat == repeat]
    if not found:
        raise UsageError(f"no finished game of sample {sample or '(any)'}, repeat {repeat}, in this run")
    trace = found[0]
    return Game(
        sample=samples[trace.sample],
        repeat=trace.repeat,
        outcome=trace.outcome,
        score=trace.score.value,
        why=trace.why,
        chains=tuple(_chains(trace)),
        rounds=tuple(rounds(trace)),
    )


def rounds(trace: Trace) -> list[Round]:
    """The rounds of a trace."""
    made: dict[int, Round] = {}
    for step in trace.steps:
        number = int(str(step["round"]))
        value: Any = step["value"]
        if number < 1 or step["step"] in ("chain_accepted", "decompose"):
            continue
        _tell(made.setdefault(number, Round(number)), str(step["step"]), value)
    return [made[number] for number in sorted(made)]


def to_text(one: Game) -> str:
    """The game for a terminal."""
    sample = one.sample
    lines = [f"{sample['id']}, repeat {one.repeat}: {sample.get('image', 'no picture')}"]
    lines += wrapped("scene", sample["caption"])
    lines += wrapped("response", sample["response"])
    lines += wrapped("key text", sample["key_text"])
    for chain in one.chains:
        lines += wrapped("chain", chain)
    for each in one.rounds:
        lines += ["", f"round {each.number}"]
        lines += wrapped("fills in", each.filling or f"nothing ({each.status})")
        for name, said in each.story.items():
            lines += wrapped(name.replace("_", " "), str(said), indent=4)
        lines += wrapped("verdict", each.verdict)
        if each.question:
            lines += wrapped("asks", each.question)
            lines += wrapped("is told", each.answer or "nothing (the oracle could not be read)")
        for clue in each.clues:
            lines += wrapped("clue", clue)
    worth = "no score" if one.score is None else f"score {one.score:.4f}"
    end = f"{one.outcome}, {worth}" + (f": {one.why}" if one.why else "")
    return "\n".join([*lines, "", end])


def _tell(one: Round, step: str, value: Mapping[str, Any]) -> None:
    if step == "respond":
        # Of several draws, the first that is a filling; of several askings, the last.
        if one.status != "ok":
            one.filling, one.status = value["filling"], value["status"]
    elif step in ("check", "confirm"):
        one.verdict = _verdict(step, value, one.verdict)
        told = ("intervened_chain", "difference", "point_reason", "function_reason", "explanation")
        prefix = "second opinion: " if step == "confirm" else ""
        one.story |= {prefix + name: value[name] for name in told if value.get(name)}
    elif step == "ask":
        one.question = value["question"]
    elif step == "answer":
        one.answer = value["answer"]
    elif step == "reveal":
        one.clues = list(value["clues"])


def _verdict(step: str, value: Mapping[str, Any], before: str) -> str:
    if "accepted" not in value:
        return f"{before}; judge {value['judge'] + 1} could not be read ({value['status']})".lstrip("; ")
    how = value["how"]
    said = "accepted" if value["accepted"] else "not it"
    if how in ("exact", "repeat"):
        return f"{said} ({'the key text itself' if how == 'exact' else 'judged before'})"
    if how == "none":
        return "not judged"
    if step == "confirm":
        return f"accepted, and {'confirmed' if value['accepted'] else 'not confirmed: not it'}"
    return f"{before}; {said}".lstrip("; ")


def _chains(trace: Trace) -> Iterable[str]:
    kept: dict[int, str] = {}
    for step in trace.steps:
        value: Any = step["value"]
        if step["step"] == "chain" and value.get("chain"):
            kept[value["judge"]] = value["chain"]
    return kept.values()


def _harmless(text: str) -> str:
    steers = ("Cc", "Cf")
    return "".join(c if c == "\n" or unicodedata.category(c) not in steers else "\ufffd" for c in text)


def wrapped(name: str, text: str, indent: int = 2) -> list[str]:
    """A labelled text for a terminal; what would steer the terminal is shown as a sign."""
    head = " " * indent + f"{name:10}  "
    lines: list[str] = []
    for part in _harmless(text).splitlines() or [""]:
        lead = head if not lines else " " * len(head)
        lines += textwrap.wrap(part, WIDTH, initial_indent=lead, subsequent_indent=" " * len(head)) or [
            lead.rstrip()
        ]
    return lines
