"""Encore: the game goes on after its solve, and each further answer must be a different idea.

An answer that counts is a leap; the first leap is the solve. A later answer counts if it is a DAESO of a target, and
another idea than all earlier leaps and than the texts of the targets that they matched. A judge decides whether it is
another idea.
"""

from collections.abc import Mapping
from typing import Any

from lotbench.benchmarks.lotbench import whole, words
from lotbench.benchmarks.lotbench.forms import Different
from lotbench.benchmarks.lotbench.judge import quotable, verdict_value
from lotbench.benchmarks.lotbench.settings import GameEpisode
from lotbench.harness.episode import AskResult
from lotbench.harness.state import State
from lotbench.prompting.prompt import Value
from lotbench.prompting.reply import verdict
from lotbench.types import Verdict


def leaps(state: State) -> list[Mapping[str, Any]]:
    """Return the finished rounds whose answer counted, in order."""
    return [past for past in state["history"] if past.get("verdict")]


def failed(state: State) -> int:
    """Return the number of failed attempts before the current round."""
    return len(state["history"]) - len(leaps(state))


def known_answers(state: State, episode: GameEpisode) -> list[str]:
    """Return the texts that a further answer must differ from, without duplicates.

    These are the answers that counted, the texts of the targets that they matched and, in a judge check, the row's
    `known`.
    """
    answers: list[str] = [*state["turn"].get("known", ())]
    for past in leaps(state):
        response = whole.targets(episode.sample)[past.get("target", 0)].response
        answers += [response if episode.settings.whole else episode.sample.key_text, past["guess"]]
    firsts: dict[str, str] = {}
    for text in answers:
        firsts.setdefault(words.same(text), text)
    return list(firsts.values())


def needs_idea_check(state: State, episode: GameEpisode) -> bool:
    """Return whether a judge must compare an accepted answer with known answers.

    That is so in an encore after the first leap, and in a judge check on the difference of ideas.
    """
    return "known" in state["turn"] or (episode.settings.encore and bool(known_answers(state, episode)))


async def opinion(state: State, episode: GameEpisode, index: int, once: bool) -> AskResult[Verdict]:
    """Ask a judge whether the round's answer is another idea than the known answers; with `once`, ask only once."""
    sample = episode.sample
    opens, closes, between = ("“", "”", "；") if sample.language == "zh" else ('"', '"', "; ")
    values: dict[str, Value] = {
        "caption": sample.caption,
        "known": between.join(f"{opens}{quotable(text)}{closes}" for text in known_answers(state, episode)),
        "guess": quotable(state["turn"]["guess"]),
    }
    if not episode.settings.whole:
        values["response"] = sample.frame
    return await episode.ask(
        "judge",
        "different",
        episode.prompt(whole.prompt("different", episode.settings)),
        Different,
        values,
        read=lambda answer: verdict(answer, Different, lambda form: form.different_approach),
        value=lambda decision: verdict_value(decision, index, {}),
        missing=lambda error: {"status": error.kind, "judge": index},
        once=once,
        round=episode.round,
        index=index,
        draw=index,
    )
