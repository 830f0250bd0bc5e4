"""The judge's part: the arguments of a justification, their match with gold arguments, their grounds, and alignment.

There are two stages of concurrent questions: first arguments and evaluation steps, then checks and alignment. If the
judge fails, the idea keeps its novelty score and has no justification scores.
"""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

from lotbench.benchmarks.rinobench import alignment, claims
from lotbench.benchmarks.rinobench.claims import KINDS
from lotbench.benchmarks.rinobench.settings import IdeaEpisode
from lotbench.harness.state import EpisodeState, Runtime, Update

Work = Callable[[IdeaEpisode], Awaitable[Any]]


async def judge(state: EpisodeState, runtime: Runtime[IdeaEpisode]) -> Update:
    """Ask the judge to extract the arguments of the gold justification and of the candidate's, then to compare them.

    The comparison is the check of each claim (for Eq. 1-3) and `alignment_calls` alignment scores (Sec. 4.2.1). If there is
    no justification, or the settings do not judge it, nothing is asked.
    """
    episode, turn, settings = runtime.context, state["turn"], runtime.context.settings
    if not settings.justification or not turn["reasoning"]:
        return {}
    first: dict[str, Work] = {
        "gold": lambda at: claims.extract(
            at, at.sample.novelty_reasoning, settings.max_claims, gold=True, prefix="g"
        ),
        "claims": lambda at: claims.extract(at, turn["reasoning"], settings.max_claims),
        "steps": alignment.evaluation_steps,
    }
    # In a judge check the claims are there already, and alignment is off.
    names = [name for name in first if name not in turn and (name != "steps" or settings.alignment_calls)]
    values = await episode.each(_run, [first[name] for name in names])
    inputs = {**turn, **dict(zip(names, values, strict=True))}
    gold, arguments = inputs["gold"], inputs["claims"]
    checks: list[Work] = [
        partial(claims.check, kind=kind, gold=gold, claims=arguments) for kind in KINDS if arguments[kind]
    ]
    draws = range(settings.alignment_calls)
    scores: list[Work] = [partial(alignment.score, steps=inputs["steps"], draw=draw) for draw in draws]
    results = await episode.each(_run, [*checks, *scores])
    grounds = {name: flags for result in results[: len(checks)] for name, flags in result.items()}
    return {"turn": {**turn, "gold": gold, "claims": arguments, "checks": grounds}}


async def grade(state: EpisodeState, runtime: Runtime[IdeaEpisode]) -> Update:
    """End the episode as `scored`, or as `invalid` if the answer has no novelty score of 1 to 5."""
    return {"outcome": "scored" if state["turn"]["status"] == "ok" else "invalid"}


async def _run(episode: IdeaEpisode, work: Work) -> Any:
    return await work(episode)
