"""The check of a guess: by words if they decide, else by the judge (E1), with a second opinion if set (Sec. 5.5.3).

A judge whose reply cannot be read is asked once more; then the next judge is asked once. If neither can be read, the
game ends as a judge failure; an unreadable reply never counts as a no.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from lotbench.benchmarks.lotbench import encore, judge, whole, words
from lotbench.benchmarks.lotbench.chain import Chains, causal_chain
from lotbench.benchmarks.lotbench.forms import Causal
from lotbench.benchmarks.lotbench.settings import GameEpisode
from lotbench.errors import EpisodeFailed, Unread
from lotbench.harness.episode import AskResult
from lotbench.harness.state import EpisodeState, Runtime, State, Update
from lotbench.types import Verdict


@dataclass(frozen=True, slots=True)
class Ruling:
    """The result of a check.

    Attributes:
        accepted: Whether the guess counts.
        how: `judge`, or the rule that decided; see `decided_without_judge`.
        target: The index of the target response that the guess matched; 0 if it matched none.
    """

    accepted: bool
    how: str
    target: int = 0


async def check(state: EpisodeState, runtime: Runtime[GameEpisode]) -> Update:
    """Decide whether the guess is a different approach with an equally satisfactory outcome (DAESO; Alg. 1 line 4)."""
    episode = runtime.context
    if ruled := decided_without_judge(state, episode):
        place = judge.target_fields(episode, ruled.target) if ruled.accepted else {}
        episode.remark("check", {"accepted": ruled.accepted, "how": ruled.how, **place})
        return settled(state, episode, ruled)
    chains: Chains = dict(state["shared"])
    ruled = Ruling(False, "judge")
    for target in range(judge.target_count(episode)):
        # A row of `different.jsonl` in a judge check has `known` answers; only their comparison is asked for.
        if "known" in state["turn"] or await is_daeso(state, episode, target, chains):
            # In an encore an answer counts only if it is another idea than the earlier answers.
            counts = not encore.needs_idea_check(state, episode) or await is_another_idea(state, episode)
            ruled = Ruling(counts, "judge", target)
            break
    return {**settled(state, episode, ruled), "shared": chains}


def decided_without_judge(state: State, episode: GameEpisode) -> Ruling | None:
    """Return the ruling on a guess that needs no judge; None if a judge must decide.

    The rules `none` (there is no guess) and `repeat` (the game had the guess before) do not accept. The rule `exact`
    (the guess is the text of a target) accepts, unless an earlier answer of an encore matched that target. With
    `judged=every` only `none` is decided here.
    """
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
            # Once an answer has matched a target, the target's own text is no other idea.
            return Ruling(guess not in map(words.same, encore.known_answers(state, episode)), "exact", target)
    return None


async def is_daeso(state: State, episode: GameEpisode, target: int, chains: Chains) -> bool:
    """Ask the judge (E1) whether the guess is a DAESO of the response with the index `target` in `whole.targets`.

    A yes needs a second opinion if the setting `confirm` says so. Newly written causal chains are added to `chains`.

    Raises:
        EpisodeFailed: No judge gave a readable verdict.
    """
    every = range(episode.models["judge"])

    async def ask(step: str, index: int, once: bool) -> AskResult[Verdict]:
        try:
            chain = await causal_chain(episode, index, target, chains)
        except Unread as error:
            return AskResult(None, error.kind, error.reason)
        guess = state["turn"]["guess"]
        return await judge.opinion(episode, step, guess, index=index, chain=chain, target=target, once=once)

    first, verdict = await first_readable(every, partial(ask, "check"))
    if verdict.accepted and episode.settings.confirm != "never":
        others = [index for index in every if index != first]
        _, verdict = await first_readable(others, partial(ask, "confirm"))
    return verdict.accepted


async def is_another_idea(state: State, episode: GameEpisode) -> bool:
    """Ask a judge whether an accepted guess is another idea than the earlier answers that counted (in an encore)."""
    _, verdict = await first_readable(range(episode.models["judge"]), partial(encore.opinion, state, episode))
    return verdict.accepted


async def first_readable(
    indexes: Sequence[int], ask: Callable[[int, bool], Awaitable[AskResult[Verdict]]]
) -> tuple[int, Verdict]:
    """Ask a judge and, if its reply cannot be read, a second one; return the index and verdict of the readable one.

    Only the first two of the judges `indexes` are asked. `ask` asks the judge with an index; if its second argument is
    true, an unreadable reply is not asked for again.

    Raises:
        EpisodeFailed: No judge gave a readable verdict.
    """
    for index in indexes[:2]:
        reading = await ask(index, index != indexes[0])
        if reading.value is not None:
            return index, reading.value
    fields = f"; by default a judge returns {', '.join(Causal.model_fields)}: see docs/recipes.md"
    missing = fields if reading.reason.endswith("Field required") else ""
    raise EpisodeFailed("judge", f"judge {index + 1}: {reading.reason}{missing}")


def settled(state: State, episode: GameEpisode, ruled: Ruling) -> Update:
    """Return the state update for a ruling; a guess that counts ends the game (Alg. 1 line 5).

    So does the last round, after which a question would be useless (lines 7 to 9). An encore records a guess that counts as
    a leap and goes on.
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
