"""The candidate's part: ask for ideas, and read each reply as an idea or as the reason why it is none (v2, Methods).

A reply that is refused, truncated, too long or empty is excluded and counted under that status. A reply with one of
the refusal phrases of the papers' public code is marked, and judged all the same; see the setting `refusals`.
"""

import re
from collections.abc import Mapping
from functools import partial

from lotbench.benchmarks.liveideabench.settings import KeywordEpisode, Settings
from lotbench.errors import Unread
from lotbench.harness.episode import record
from lotbench.harness.state import EpisodeState, Runtime, Update
from lotbench.prompting.reply import visible
from lotbench.types import JSON, Question, Reply

STATUSES = ("ok", "refused", "truncated", "too_long", "unparsed")
_CJK = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]")
FIRST_PERSON = "I'm sorry|I am sorry|I apologize|I cannot|I can't|I am unable to|I'm unable to|I am not able to|I'm not able to"
PHRASES = f"{FIRST_PERSON}|As an AI|As a language model|As an assistant"
"""A regular expression of the phrases that mark a refusal (public code, utils/LLM.py, REJECTION_PHRASES)."""
_MARK = re.compile(rf"\b(?:{PHRASES})\b", re.IGNORECASE)
_FIRST_PERSON = re.compile(rf"\b(?:{FIRST_PERSON})\b", re.IGNORECASE)
REFUSAL_WORDS = 50
"""The largest number of words of a refusal under `refusals=drop`: half of the words that an idea should have."""
SAID_CHARACTERS = 2000
"""How many characters the trace keeps of a reply that is not an idea."""


async def respond(state: EpisodeState, runtime: Runtime[KeywordEpisode]) -> Update:
    """Ask for all ideas concurrently; in v2 ask again, as an academic task, for each that was refused (Supp. Note 5)."""
    episode = runtime.context
    settings, numbers = episode.settings, range(1, episode.settings.ideas + 1)
    statuses = await episode.each(partial(_idea_of, "respond", f"idea_{settings.version}"), numbers)
    if settings.rules.fallback:
        declined = [number for number, status in zip(numbers, statuses, strict=True) if status == "refused"]
        await episode.each(partial(_idea_of, "fallback", "fallback"), declined)
    return {}


async def _idea_of(step: str, prompt: str, episode: KeywordEpisode, number: int) -> JSON:
    """Ask for one idea with the prompt of this name, record the reply as a step of this name, and return its status."""
    settings, marker = episode.settings, episode.settings.final_marker
    messages = episode.prompt(prompt).messages(
        keyword=episode.sample.keyword,
        target_words=str(settings.target_words),
        marker=episode.line("marker", text=marker) if marker else None,
    )
    answer = await episode.reply(Question("candidate", step, messages, round=number))
    value = read_idea(answer.reply, settings, last=step == "fallback")
    episode.steps.append(record(answer, value))
    return value["status"]


def declines(text: str) -> bool:
    """Return whether a text contains a refusal phrase as whole words ("as an air filter" does not contain "as an AI")."""
    return _MARK.search(text.replace("\u2019", "'")) is not None


def refuses(text: str) -> bool:
    """Return whether a text is nothing but a refusal.

    Such a text is short, begins with a refusal phrase, and has a refusal phrase in the first person.
    """
    plain = re.sub(r"^\W+", "", text.replace("\u2019", "'"))
    if len(plain.split()) > REFUSAL_WORDS:
        return False
    return _MARK.match(plain) is not None and _FIRST_PERSON.search(plain) is not None


def read_idea(reply: Reply, settings: Settings, last: bool = False) -> Mapping[str, JSON]:
    """Return what the trace records of a reply: its status, and the idea or the reason why there is none.

    `words` counts words outside CJK text, `characters` CJK characters, `reasoning` the characters of reasoning. `unmarked`
    says whether the whole reply was taken without the marker, `declines` whether it has a refusal phrase.

    Args:
        reply: The candidate's reply.
        settings: The settings of the run.
        last: Whether this is the last request for the idea, so that a reply with a refusal phrase is judged.
    """
    hidden = len(reply.reasoning or "")
    try:
        text, whole = _idea(reply, settings)
        marked = bool(reply.refusal) or declines(text)
        asked_again = marked and settings.rules.fallback and not last
        if asked_again or (settings.refusals == "drop" and (reply.refusal or refuses(text))):
            raise Unread("refused", "the answer declines the task")
        words, characters = length(text)
        if not whole and words / settings.max_words + characters / settings.max_characters > 1:
            raise Unread("too_long", f"{words} words and {characters} characters")
    except Unread as error:
        original = reply.refusal or reply.text
        return {"status": error.kind, "reason": error.reason, "said": original.strip()[:SAID_CHARACTERS]}
    reasoning = hidden + max(0, len(reply.text.strip()) - len(text))
    return {
        "status": "ok",
        "idea": text,
        "words": words,
        "characters": characters,
        "reasoning": reasoning,
        "unmarked": whole,
        "declines": marked,
    }


def _idea(reply: Reply, settings: Settings) -> tuple[str, bool]:
    """Return the idea in a reply, and whether it is the whole reply because the setting `final_marker` is not in it.

    Raises:
        Unread: The reply has no idea.
    """
    if reply.finish == "content_filter":
        raise Unread("refused", "the answer was withheld")
    if reply.refusal:
        return reply.refusal.strip(), False
    text, whole = visible(reply), False
    if settings.final_marker:
        _, marker, after = text.rpartition(settings.final_marker)
        whole = not marker and settings.no_final == "judge_all"
        if not marker and not whole:
            raise Unread("truncated", f"no {settings.final_marker} in it")
        text = after if marker else text
    if reply.finish == "length" and not whole:
        raise Unread("truncated", "the answer was cut off before its end")
    if not re.search(r"\w", text):
        raise Unread("unparsed", "the answer is empty")
    return text.strip(), whole


def length(text: str) -> tuple[int, int]:
    """Return the number of words outside CJK text, and the number of CJK characters."""
    words = [word for word in _CJK.sub(" ", text).split() if re.search(r"\w", word)]
    return len(words), len(_CJK.findall(text))
