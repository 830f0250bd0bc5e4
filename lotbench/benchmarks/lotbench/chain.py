"""Step 1 of the judge (E1): the causal chains of scene and response, as one text (Sec. 5.5.3).

The chains do not depend on the guess. So each judge builds them once per target response, and they serve in all games
of all candidates. They are accepted if they contain the author's creative point, and if with them the judge accepts
the right answer and refuses the sample's near misses. Otherwise they are rebuilt up to three times; the report counts
chains that were never accepted.
"""

from collections.abc import Mapping
from dataclasses import replace
from random import Random
from typing import Any, TypeAlias

from lotbench.benchmarks.lotbench import judge, whole, words
from lotbench.benchmarks.lotbench.forms import Chain
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
"""The temperature of a rebuild; at temperature 0 the judge would write the refused chain again."""
REDRAWN = 1000
"""The distance between the draw numbers of two chains of `redraw`; a chain with all its rebuilds uses fewer numbers."""
Chains: TypeAlias = dict[str, Any]
"""The chains that a game has used so far, by the key of `name`; each has `text`, `accepted` and `builds`."""


def name(index: int, target: int = 0) -> str:
    """Return the key of a chain in the state's `shared`, from the indexes of its judge and its target response."""
    return f"chain {index}" + (f" of {target}" if target else "")


async def causal_chain(episode: GameEpisode, index: int, target: int, chains: Chains) -> str | None:
    """Return the text of a judge's chain for a target; a new chain is built and added to `chains`.

    Return None unless the settings are `judge_mode=causal` and `chain=stored`.

    Raises:
        Unread: The judge wrote no readable chain.
    """
    if episode.settings.judge_mode != "causal" or episode.settings.chain != "stored":
        return None
    if name(index, target) not in chains:
        chains[name(index, target)] = await _built(episode, index, target)
    return str(chains[name(index, target)]["text"])


async def _built(episode: GameEpisode, index: int, target: int) -> dict[str, Any]:
    """Build a chain until one is accepted; return that one or else the last readable one.

    The result has `text`, `accepted` and the number of `builds`.

    Raises:
        Unread: No build gave a readable chain.
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
    """Ask the judge for the chain of a target response (Eq. 2-4); `build` is 0 at first and above 0 for rebuilds."""
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

    It must contain the author's creative point, if there is one. With it the judge must accept the right answer (the
    key text, or the target response) and refuse every guess of `controls`; all of them are asked for side by side.
    """
    goal = whole.targets(episode.sample)[target]
    if _fixed(episode, target) and not judge.contains(chain, goal.point):
        return False

    async def is_right(branch: GameEpisode, numbered: tuple[int, str]) -> bool:
        trial, guess = numbered
        place = {"index": index, "target": target, "number": build * (CONTROLS + 1) + trial}
        return await judge.trial(branch, guess, chain=chain, expected=trial == 0, **place) is (trial == 0)

    right = goal.response if episode.settings.whole else episode.sample.key_text
    return all(await episode.each(is_right, enumerate([right, *controls(episode)])))


def _fixed(episode: GameEpisode, target: int) -> dict[str, Value]:
    return judge.fixed(episode, whole.prompt("chain", episode.settings), target, "fixed")


def controls(episode: GameEpisode) -> list[str]:
    """Return at most three guesses that a judge must refuse: near misses of the sample or, without any, other key texts.

    Other key texts, or other responses where no frame is shown, are those of samples in the same language. They are
    drawn with the sample's id as seed. The guesses never come from the sample's `accept` and `reject`, on which
    judges are measured.
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
    """Return a question about a chain with another draw number, so that it gets a new reply.

    In a judge check, this builds and tries further chains of a sample; `number` counts them. The request for a
    chain gets the temperature of a rebuild. A question on another matter (`shared` is false) is returned unchanged.
    """
    if not question.shared:
        return question
    temperature = REBUILD_TEMPERATURE if question.step == "chain" else question.temperature
    return replace(question, draw=question.draw + number * REDRAWN, temperature=temperature)


def beyond(sample: Item, settings: Settings, episodes: int, models: Mapping[str, int]) -> dict[str, int]:
    """Return the largest number of calls on a sample that `settings.calls` leaves out, by role.

    These are the judges' calls for chains (each may be asked for twice), and for checks against further target responses.

    Args:
        sample: The sample.
        settings: The settings of the game.
        episodes: The number of games on the sample.
        models: The number of models in each role.
    """
    count = len(whole.targets(sample)) if settings.whole else 1
    stored = settings.judge_mode == "causal" and settings.chain == "stored"
    chains = (REBUILDS + 1) * (3 + CONTROLS) * models.get("judge", 0) if stored else 0
    checks = episodes * settings.max_rounds * (1 if settings.confirm == "never" else 2)
    return {"judge": count * chains + (count - 1) * checks}


def _target_field(target: int) -> dict[str, int]:
    """Return the step field `target`, the target's index; empty for the sample's own response (index 0)."""
    return {"target": target} if target else {}
