"""The judge's half: what a justification argues, what of it is in the gold or grounded, and how well it aligns.

Two stages, each asked all at once: arguments and evaluation steps first, then what rests on them. A judge
failure costs the idea its justification scores and never its novelty score.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from lotbench.benchmarks.rinobench import alignment, claims
from lotbench.benchmarks.rinobench.claims import KINDS
from lotbench.benchmarks.rinobench.settings import IdeaEpisode
from lotbench.harness.state import EpisodeState, Update

if TYPE_CHECKING:
    from langgraph.runtime import Runtime

Work = Callable[[IdeaEpisode], Awaitable[Any]]


async def judge(state: EpisodeState, runtime: Runtime[IdeaEpisode]) -> Update:
    """Return arguments of gold and answer, then which of them hold (Eq. 1-3), and k alignment scores (Sec. 4.2.1)."""
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
    # A judge check gives the claims, and wants no alignment.
    names = [name for name in first if name not in turn and (name != "steps" or settings.alignment_calls)]
    values = await episode.each(_run, [first[name] for name in names])
    inputs = {**turn, **dict(zip(names, values, strict=True))}
    gold, arguments = inputs["gold"], inputs["claims"]
    kinds = [kind for kind in KINDS if arguments[kind]]
    together = [kinds] if settings.grounding == "joint" and kinds else [[kind] for kind in kinds]

    def checking(kinds: list[str]) -> Work:
        return lambda at: claims.check(at, kinds, gold, arguments)

    def aligning(draw: int) -> Work:
        return lambda at: alignment.score(at, inputs["steps"], draw)

    checks = [checking(kinds) for kinds in together]
    results = await episode.each(_run, [*checks, *map(aligning, range(settings.alignment_calls))])
    grounds = {name: flags for result in results[: len(checks)] for name, flags in result.items()}
    return {"turn": {**turn, "gold": gold, "claims": arguments, "checks": grounds}}


async def grade(state: EpisodeState, runtime: Runtime[IdeaEpisode]) -> Update:
    """Return the end of an episode that nothing broke off: scored, or invalid where there is no score of the rubric."""
    return {"outcome": "scored" if state["turn"]["status"] == "ok" else "invalid"}


async def _run(episode: IdeaEpisode, work: Work) -> Any:
    return await work(episode)
