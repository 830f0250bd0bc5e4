"""Small episodes of LiveIdeaBench: what its tests share."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from lotbench.benchmarks.liveideabench.sample import Item
from lotbench.benchmarks.liveideabench.task import benchmark
from lotbench.types import Request
from tests.episodes import Played, run_episodes
from tests.fakes import RuleModel


def items(*keywords: str, categories: Sequence[str] = ("Physics",)) -> list[Item]:
    """Keywords k-1, k-2, ..., their categories in turn."""
    return [
        Item(id=f"k-{n + 1}", language="en", keyword=word, category=categories[n % len(categories)])
        for n, word in enumerate(keywords)
    ]


def ideas(*replies: Any) -> RuleModel:
    """A candidate whose n-th idea on any keyword is the n-th reply, with `KEYWORD` replaced by the sample's id."""

    def rule(request: Request) -> Any:
        said = replies[request.key.round - 1]
        return said.replace("KEYWORD", request.key.sample) if isinstance(said, str) else said

    return RuleModel(rule, model_id="candidate")


def judge(name: str = "judge-0", grade: Any = "A", **scores: Any) -> RuleModel:
    """A judge that always says the same; a value may be a function of the request."""
    given = {"originality": 6, "feasibility": 5, "clarity": 7} | scores

    def said(value: Any, request: Request) -> Any:
        return value(request) if callable(value) else value

    def rule(request: Request) -> Mapping[str, Any]:
        if request.key.step == "compare":
            return {"grade": said(grade, request)}
        return {"analysis": "so so"} | {name: said(value, request) for name, value in given.items()}

    return RuleModel(rule, model_id=name)


def panel(size: int, of: Callable[[int], Mapping[str, Any]] = lambda place: {}) -> list[RuleModel]:
    """Judges judge-0, judge-1, ... with what each of them says."""
    return [judge(f"judge-{place}", **of(place)) for place in range(size)]


async def play(given: Sequence[Item], candidate: RuleModel, judges: Sequence[Any], /, **how: Any) -> Played:
    """Play all keywords."""
    return await run_episodes(benchmark, given, {"candidate": candidate, "judge": list(judges)}, **how)
