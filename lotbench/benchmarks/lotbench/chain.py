"""E1's first step: the causal chains of response and scene, built once per sample and judge (Sec. 5.5.3).

A chain does not depend on the guess, so it is asked for once and used in every game and for every model. It is
accepted if it contains the author's creative point, and if with it the judge accepts the key text and refuses the
sample's near misses. Otherwise it is rebuilt up to three times; the report names samples without an accepted chain.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from random import Random
from typing import Any, TypeAlias

from lotbench.benchmarks.lotbench import judge, whole, words
from lotbench.benchmarks.lotbench.judge_forms import Chain
from lotbench.benchmarks.lotbench.sample import Item
from lotbench.benchmarks.lotbench.settings import GameEpisode, Settings
from lotbench.errors import Unread
from lotbench.harness.episode import AskResult
from lotbench.prompting.prompt import Value
from lotbench.prompting.reply import read_form
from lotbench.types import Question

REBUILDS = 3
CONTROLS = 3
REBUILD_TEMPERATURE = 0.7
"""The temperature of a rebuild; at 0 the refused chain would come again."""
REDRAWN = 1000
"""The distance between the draws of two chains of a sample; a chain with all its rebuilds takes fewer."""
Chains: TypeAlias = dict[str, Any]
"""The chains of a game so far, by `name`."""


def name(index: int, target: int = 0) -> str:
    """Return the key of a judge's chain in the state's `shared` part."""
    return f"chain {index}" + (f" of {target}" if target else "")


async def causal_chain(episode: GameEpisode, index: int, target: int, chains: Chains) -> str | None:
    """Return the chain for a judge, built on first use; None in modes without a chain.

    Raises:
        Unread: The judge wrote no readable chain.
    """
    if episode.settings.judge_mode != "causal" or episode.settings.chain != "stored":
        return None
    if name(index, target) not in chains:
        chains[name(index, target)] = await _built(episode, index, target)
    return str(chains[name(index, target)]["text"])


async def _built(episode: GameEpisode, index: int, target: int) -> dict[str, Any]:
    """Return the first accepted chain, or else the last readable one, with whether it is accepted.

    Raises:
        Unread: No chain can be read.
    """
    text, usable = None, False
    for build in range(REBUILDS + 1):
        written = await _written(episode, index, target, build)
        if written.value is not None:
            text, usable = written.value, await _usable(episode, written.value, index, target, build)
        if usable:
            break
    if text is None:
        raise Unread(written.status, f"no causal chain that can be read: {written.reason}")
    about = {"accepted": usable, "builds": build + 1}
    episode.remark("chain_accepted", {"judge": index, **about, **_target_field(target)})
    return {"text": text, **about}


async def _written(episode: GameEpisode, index: int, target: int, build: int) -> AskResult[str]:
    """Ask the judge for the chain of a target response (Eq. 2-4)."""
    sample, goal = episode.sample, whole.targets(episode.sample)[target]
    marked: dict[str, Value] = {"key_text": sample.key_text}
    if episode.settings.whole:
        marked = {"key": episode.line("key", text=goal.key_text) if goal.key_text else None}
    return await episode.ask(
        "judge",
        "chain",
        episode.prompt(whole.prompt("chain", episode.settings)),
        Chain,
        {
            "caption": sample.caption,
            "response": goal.response,
            "explanation": goal.explanation,
            **_fixed(episode, target),
            **marked,
        },
        read=lambda answer: read_form(answer.reply, Chain).text(),
        value=lambda text: {"chain": text, "status": "ok", "judge": index, **_target_field(target)},
        missing=lambda error: {"chain": None, "status": error.kind, "judge": index},
        index=index,
        draw=build,
        shared=True,
        temperature=REBUILD_TEMPERATURE if build else None,
    )


async def _usable(episode: GameEpisode, chain: str, index: int, target: int, build: int) -> bool:
    """Return whether a chain is accepted.

    It must contain the author's point, and with it the judge must accept the target and refuse every control.
    """
    goal = whole.targets(episode.sample)[target]
    if _fixed(episode, target) and not judge.contains(chain, goal.point):
        return False
    right = goal.response if episode.settings.whole else episode.sample.key_text
    for trial, guess in enumerate([right, *controls(episode)]):
        number = build * (CONTROLS + 1) + trial
        verdict = await judge.trial(
            episode, guess, index=index, chain=chain, target=target, number=number, expected=trial == 0
        )
        if verdict is not (trial == 0):
            return False
    return True


def _fixed(episode: GameEpisode, target: int) -> dict[str, Value]:
    return judge.fixed(episode, whole.prompt("chain", episode.settings), target, "fixed")


def controls(episode: GameEpisode) -> list[str]:
    """Return the guesses that must fail: the sample's near misses or, without any, key texts of other samples.

    Where no frame is shown they are responses of other samples. They are drawn with the sample's id as seed, and never
    taken from the sample's own lists of guesses, on which judges are measured.
    """
    sample, rng = episode.sample, Random(f"{episode.sample.id}:chain")
    others = [other for other in episode.data if other.language == sample.language]
    if episode.settings.whole:
        looked_for = {goal.response for goal in whole.targets(sample)}
        strange = {other.response for other in others} - looked_for
    elif sample.near:
        return list(sample.near[:CONTROLS])
    else:
        listed = (sample.key_text, *sample.accept, *(rejected.text for rejected in sample.reject))
        near = set(map(words.same, listed))
        strange = {other.key_text for other in others if words.same(other.key_text) not in near}
    return rng.sample(sorted(strange), min(CONTROLS, len(strange)))


def redraw(question: Question, number: int) -> Question:
    """Return the question of a new chain: another draw, at the temperature of a rebuild."""
    if not question.shared:
        return question
    temperature = REBUILD_TEMPERATURE if question.step == "chain" else question.temperature
    return replace(question, draw=question.draw + number * REDRAWN, temperature=temperature)


def beyond(sample: Item, settings: Settings, episodes: int, models: Mapping[str, int]) -> dict[str, int]:
    """Return the largest number of calls on a sample beyond `settings.calls`, by role.

    These are the calls for chains, and for checks against further responses.
    """
    count = len(whole.targets(sample)) if settings.whole else 1
    stored = settings.judge_mode == "causal" and settings.chain == "stored"
    chains = (REBUILDS + 1) * (2 + CONTROLS) * models.get("judge", 0) if stored else 0
    checks = episodes * settings.max_rounds * (1 if settings.confirm == "never" else 2)
    return {"judge": count * chains + (count - 1) * checks}


def _target_field(target: int) -> dict[str, int]:
    """Return the target's index as a field; empty for the sample's own response."""
    return {"target": target} if target else {}
