"""Judges by rule, for runs without a model that judges: one that goes by lists, and one that is easily fooled."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from clot_training.data.keywords import content_words
from lotbench.benchmarks.lotbench.words import same
from lotbench.errors import CallFailed
from lotbench.types import Reply, Request

_CANDIDATE = re.compile(r"^(?:CANDIDATE: \"|候选词：“)(.*?)[\"”]$", re.MULTILINE)
"""Where a verdict's prompt has the filling, in both languages."""


class RuleJudge:
    """A judge that says yes or no to both criteria by a rule; whatever else a form asks for is filled in."""

    takes_requests = True
    name: ClassVar[str]

    def __init__(self, samples: Mapping[str, Any]) -> None:
        self.__name__ = self.name
        self.samples = samples

    def accepts(self, sample: Any, filling: str) -> bool:
        """The verdict on a filling of a sample."""
        raise NotImplementedError

    async def __call__(self, request: Request) -> Reply:
        """Fill the form that is asked for.

        Raises:
            CallFailed: There is no filling in the request, as in that for a causal chain.
        """
        found = _CANDIDATE.search(str(request.messages[-1].parts[-1]))
        if found is None:
            raise CallFailed(f"{self.name}: a rule gives verdicts only: settings.judge_mode = zero_shot")
        yes = self.accepts(self.samples[request.key.sample], found[1])
        fields: Any = (request.schema or {}).get("properties", {})
        form = {name: yes if field.get("type") == "boolean" else "by rule" for name, field in fields.items()}
        return Reply(json.dumps(form), self.name)


class AcceptList(RuleJudge):
    """Accepts the sample's key text and what its list of other right answers has, word for word."""

    name = "accept-list"

    def accepts(self, sample: Any, filling: str) -> bool:
        """Whether it is one of them; case, articles and punctuation apart."""
        return right(sample, filling)


class Echo(RuleJudge):
    """A weak judge, made to be fooled: accepts whatever repeats a noun of the caption, and the key text."""

    name = "echo"

    def __init__(self, samples: Mapping[str, Any]) -> None:
        super().__init__(samples)
        self._nouns = {one.id: nouns(one) for one in samples.values()}

    def accepts(self, sample: Any, filling: str) -> bool:
        """Whether a noun of the caption stands in it."""
        said = filling.casefold()
        found = self._nouns[sample.id]
        if sample.language == "en":
            return not found.isdisjoint(re.findall(r"\w+", said))
        return any(noun in said for noun in found)


def right(sample: Any, filling: str) -> bool:
    """Whether the sample's own lists call a filling right."""
    return same(filling) in {same(text) for text in (sample.key_text, *sample.accept)}


def nouns(sample: Any) -> frozenset[str]:
    """The nouns of a sample's caption, in lower case."""
    (found,) = content_words([sample.caption], sample.language, nouns=True)
    return frozenset(word.casefold() for word in found)


JUDGES: Mapping[str, type[RuleJudge]] = {one.name: one for one in (AcceptList, Echo)}
"""The judges by rule, by the name that `play.judges` has for them."""


def seats(names: Sequence[str], samples: Mapping[str, Any]) -> list[Any]:
    """The players of the judges' seats: judges by rule as objects, models by their names."""
    return [JUDGES[name](samples) if name in JUDGES else name for name in names]


async def unasked(messages: list[dict[str, Any]]) -> str:
    """The oracle of games in which nobody asks."""
    return "Nobody asks here."
