"""The check of a round: words decide where they can, else E1 does, and a second opinion where one is wanted (Sec. 5.5.3).

A judge that cannot be read is asked again once, then the next judge is tried once; if neither can be read
the game is a judge failure, never a no.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from lotbench.benchmarks.lotbench import encore, judge, whole, words
from lotbench.benchmarks.lotbench.chain import Chains, causal_chain
from lotbench.benchmarks.lotbench.settings import GameEpisode
from lotbench.errors import EpisodeFailed, Unread
from lotbench.harness.episode import Reading
from lotbench.harness.state import EpisodeState, State, Update
from lotbench.types import Verdict

if TYPE_CHECKING:
    from langgraph.runtime import Runtime


@dataclass(frozen=True, slots=True)
class Ruling:
    """What became of a guess: whether it counts, what decided that, and which response it met."""

    accepted: bool
    how: str
    target: int = 0


async def check(state: EpisodeState, runtime: Runtime[GameEpisode]) -> Update:
    """Decide whether the guess is a different approach with an equally satisfactory outcome (Alg. 1 line 4)."""
    episode = runtime.context
    if ruled := decided_without_judge(state, episode):
        place = judge.target_fields(episode, ruled.target) if ruled.accepted else {}
        episode.remark("check", {"accepted": ruled.accepted, "how": ruled.how, **place})
        return settled(state, episode, ruled)
    chains: Chains = dict(state["shared"])
    ruled = Ruling(False, "judge")
    for target in range(judge.target_count(episode)):
        # A check of judges on labelled rows puts a `known` match to an encore's second question alone.
        if "known" in state["turn"] or await is_daeso(state, episode, target, chains):
            # In an encore an answer counts only if it is another idea than those that were found before.
            counts = not encore.needs_idea_check(state, episode) or await is_another_idea(state, episode)
            ruled = Ruling(counts, "judge", target)
            break
    return {**settled(state, episode, ruled), "shared": chains}


def decided_without_judge(state: State, episode: GameEpisode) -> Ruling | None:
    """Return a verdict that needs no judge: nothing to judge, a guess judged before, what is looked for itself."""
    turn = state["turn"]
    if turn["status"] != "ok":
        return Ruling(False, "none")
    if episode.settings.judged == "every":
        return None
    guess = words.same(turn["guess"])
    if any(past.get("guess") and words.same(past["guess"]) == guess for past in state["history"]):
        return Ruling(False, "repeat")
    right = [target.response for target in whole.targets(episode.sample)]
    for target, text in enumerate(right if episode.settings.whole else [episode.sample.key_text]):
        if guess == words.same(text):
            # After another answer was found, its key text is no different idea.
            return Ruling(guess not in map(words.same, encore.known_answers(state, episode)), "exact", target)
    return None


async def is_daeso(state: State, episode: GameEpisode, target: int, chains: Chains) -> bool:
    """Return what E1 says of the guess, confirmed by a second opinion if the settings want one."""
    every, confirm = range(episode.models["judge"]), episode.settings.confirm

    async def ask(step: str, index: int, once: bool) -> Reading[Verdict]:
        try:
            chain = await causal_chain(episode, index, target, chains)
        except Unread as error:
            return Reading(None, error.kind, error.reason)
        guess = state["turn"]["guess"]
        return await judge.opinion(episode, step, guess, index=index, chain=chain, target=target, once=once)

    first, verdict = await first_readable(every, partial(ask, "check"))
    if verdict.accepted and confirm != "never":
        others = [first] if confirm == "same_judge" else [index for index in every if index != first]
        _, verdict = await first_readable(others, partial(ask, "confirm"))
    return verdict.accepted


async def is_another_idea(state: State, episode: GameEpisode) -> bool:
    """Return what a judge says of an accepted guess beside those that counted before."""
    _, verdict = await first_readable(range(episode.models["judge"]), partial(encore.opinion, state, episode))
    return verdict.accepted


async def first_readable(
    indexes: Sequence[int], ask: Callable[[int, bool], Awaitable[Reading[Verdict]]]
) -> tuple[int, Verdict]:
    """Return the first of two judges that can be read, and its verdict; the second is asked only once.

    `ask` puts the question to the judge in an index, only once or again if it cannot be read.

    Raises:
        EpisodeFailed: Neither can be read.
    """
    for index in indexes[:2]:
        reading = await ask(index, index != indexes[0])
        if reading.value is not None:
            return index, reading.value
    raise EpisodeFailed("judge", f"judge {index + 1}: {reading.reason}")


def settled(state: State, episode: GameEpisode, ruled: Ruling) -> Update:
    """Return the round with its verdict: a guess that counts ends the game (Alg. 1 line 5), and so does the last round.

    An encore goes on after a guess that counts.
    """
    turn: dict[str, Any] = {**state["turn"], "verdict": ruled.accepted}
    if ruled.accepted and ruled.target:
        turn["target"] = ruled.target
    leaps, settings = encore.leaps(state), episode.settings
    if settings.encore and ruled.accepted:
        leap = {"number": len(leaps) + 1, "text": turn["guess"], "failed": encore.failed(state)}
        episode.remark("leap", {**leap, **judge.target_fields(episode, ruled.target)})
    update: Update = {"turn": turn}
    if episode.round >= settings.max_rounds or (ruled.accepted and not settings.encore):
        update["outcome"] = "solved" if ruled.accepted or (settings.encore and leaps) else "unsolved"
    return update
