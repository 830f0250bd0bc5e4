"""The candidate's half: ask for ideas, and read what comes back as an idea or as what else it is (v2, Methods).

A reply is excluded for what it is and counted as that: refused, truncated, too long, empty; `refusals.py` tells a
refusal from an idea that only sounds like one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from lotbench.benchmarks.liveideabench.masking import masked
from lotbench.benchmarks.liveideabench.refusals import refused
from lotbench.benchmarks.liveideabench.settings import Settings, Walk
from lotbench.errors import Unread
from lotbench.harness.benchmark import record
from lotbench.harness.state import Update
from lotbench.prompting.prompt import Value
from lotbench.prompting.reply import visible
from lotbench.types import JSON, Answer, Question, Reply

STATUSES = ("ok", "refused", "truncated", "too_long", "unparsed")
_CJK = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]")
SAID_CHARACTERS = 2000
"""How much of a reply that is no idea stands in the trace."""


def respond_ask(walk: Walk) -> Sequence[Question]:
    """Every idea at once; then once more, as an academic task, what was refused (v2, Supplementary Note 5)."""
    settings, steps = walk.settings, walk.state["steps"]
    if not steps:
        return tuple(
            _question(walk, "respond", f"idea_{settings.version}", n + 1) for n in range(settings.ideas)
        )
    if not settings.rules.fallback or any(step["step"] == "fallback" for step in steps):
        return ()
    declined = [step["round"] for step in steps if step["value"]["status"] == "refused"]
    return tuple(_question(walk, "fallback", "fallback", number) for number in declined)


def respond_read(walk: Walk, answers: Sequence[Answer]) -> Update:
    """What each reply is, a step each."""
    return {"steps": [record(answer, read_idea(answer.reply, walk.settings)) for answer in answers]}


def read_idea(reply: Reply, settings: Settings) -> Mapping[str, JSON]:
    """A reply as an idea: its status, the idea with its length, and what judges are shown of it.

    `words` and `characters` are those outside and of CJK text; `reasoning` is the characters of reasoning.
    """
    hidden = len(reply.reasoning or "")
    try:
        text, whole = _idea(reply, settings)
        words, characters = length(text)
        if not whole and words / settings.max_words + characters / settings.max_characters > 1:
            raise Unread("too_long", f"{words} words and {characters} characters")
    except Unread as error:
        said = reply.refusal or reply.text
        return {"status": error.kind, "reason": error.reason, "said": said.strip()[:SAID_CHARACTERS]}
    shown, names = masked(text) if settings.mask_names else (text, ())
    reasoning = hidden + max(0, len(reply.text.strip()) - len(text))
    return {
        "status": "ok",
        "idea": text,
        "shown": shown,
        "words": words,
        "characters": characters,
        "reasoning": reasoning,
        "names": list(names),
        "unmarked": whole,
    }


def _idea(reply: Reply, settings: Settings) -> tuple[str, bool]:
    """The idea in a reply, and whether it is the whole of a reply that should have had a marker.

    Raises:
        Unread: It has none.
    """
    if reply.refusal or reply.finish == "content_filter":
        raise Unread("refused", "the answer was withheld")
    text, whole = visible(reply), False
    if refused(text, lambda part: sum(length(part))):
        raise Unread("refused", "the answer declines the task")
    if settings.final_marker:
        _, found, after = text.rpartition(settings.final_marker)
        whole = not found and settings.no_final == "judge_all"
        if not found and not whole:
            raise Unread("truncated", f"no {settings.final_marker} in it")
        text = after if found else text
    if reply.finish == "length" and not whole:
        raise Unread("truncated", "the answer was cut off before its end")
    if not re.search(r"\w", text):
        raise Unread("unparsed", "the answer is empty")
    return text.strip(), whole


def length(text: str) -> tuple[int, int]:
    """The words outside CJK text, and the CJK characters."""
    return len(re.findall(r"\S*\w\S*", _CJK.sub(" ", text))), len(_CJK.findall(text))


def _question(walk: Walk, step: str, prompt: str, number: int) -> Question:
    marker = walk.settings.final_marker
    values: dict[str, Value] = {
        "keyword": walk.sample.keyword,
        "target_words": str(walk.settings.target_words),
        "marker": walk.prompt("lines").line("marker", text=marker) if marker else None,
    }
    return Question("candidate", step, walk.prompt(prompt).messages(**values), round=number)
