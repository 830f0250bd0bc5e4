"""Finished games of which every answer is known beforehand: a player who says what the samples list, and a judge by rule."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from lotbench import evaluate
from lotbench.benchmarks.lotbench.sample import Item
from lotbench.run.results import Run
from lotbench.types import Reply, Request
from tests.fakes import reply_from
from tests.judging import PlantedJudge
from tests.rules import Rule, hear

NONSENSE = "I would say many things.\nHere are two of them."


@dataclass
class Named:
    """A rule as a model under a name of its own."""

    rule: Rule
    name: str
    takes_requests = True

    def __post_init__(self) -> None:
        self.__name__ = self.name

    async def __call__(self, request: Request) -> Reply:
        return reply_from(self.rule(request), request, self.name)


@dataclass
class Lister:
    """Says what its samples list, accepted and rejected, in another order each game; `spoilt` is a round of nonsense."""

    items: Sequence[Item]
    spoilt: int = 0
    seed: int = 0

    def order(self, sample: str, repeat: int) -> list[str]:
        """What is said in a game, in turn."""
        item = next(one for one in self.items if one.id == sample)
        said = [*item.accept, *(one.text for one in item.reject)]
        Random(f"{self.seed}/{sample}/{repeat}").shuffle(said)
        return said

    def __call__(self, request: Request) -> str | Mapping[str, Any]:
        form, key = hear(request).form, request.key
        if "filling" in form:
            said = self.order(key.sample, key.repeat)
            return NONSENSE if key.round == self.spoilt else {"filling": said[(key.round - 1) % len(said)]}
        if "response" in form:
            return {
                "response": f"Wanted: a {self.order(key.sample, key.repeat)[key.round - 1]}, round {key.round}."
            }
        return {"question": f"Is it false {key.round}?"} if "question" in form else {"word": "ready"}


async def listed(
    items: Sequence[Item], data: Path | str, out: Path, judge: Rule | None = None, **more: Any
) -> Run:
    """A run in which the lists of samples were played and judged."""
    roles = {
        "judge": Named(judge or PlantedJudge([*items]), "judge-0"),
        "oracle": Named(PlantedJudge([*items]), "o"),
    }
    settings = {"arm": "caption", "max_rounds": 4, "clue_interval": 2, "confirm": "never"} | more.pop(
        "settings", {}
    )
    model = more.pop("model", None) or Named(Lister(items, more.pop("spoilt", 0)), "lister")
    given = {"repeats": 3, "samples": [one.id for one in items]} | more
    return await evaluate(
        "lotbench", model=model, roles=roles, data=str(data), out=out, settings=settings, **given
    )
