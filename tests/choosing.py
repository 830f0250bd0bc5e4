"""Candidates for standard evaluation: they find the problem behind a request and answer it by a policy."""

import re
from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import Any

from lotbench.benchmarks.standard.answers import PLACES
from lotbench.benchmarks.standard.oogiri import Row
from lotbench.benchmarks.standard.oogiri.problems import Problem
from lotbench.types import Request
from tests.fakes import RuleModel

LISTED = re.compile(r"^([A-E])\. (.*)$", re.MULTILINE)
Policy = Callable[[Problem, Sequence[int], Request], Sequence[int]]
"""From a problem and the options by index in the order shown to the places to name, best first."""


def perfect(one: Problem, shown: Sequence[int], request: Request) -> Sequence[int]:
    return sorted(range(len(shown)), key=lambda place: shown[place])


def by_lot(one: Problem, shown: Sequence[int], request: Request) -> Sequence[int]:
    return Random(f"lot:{request.key.sample}:{request.key.draw}").sample(range(len(shown)), len(shown))


def always_first(one: Problem, shown: Sequence[int], request: Request) -> Sequence[int]:
    return range(len(shown))


def chooser(policy: Policy, problems: Sequence[Problem], **about: Any) -> RuleModel:
    by_id = {one.id: one for one in problems}

    def rule(request: Request) -> Mapping[str, Any]:
        assert request.schema is not None
        one, form = by_id[request.key.sample], request.schema["properties"]
        fields = [name for name in form if name in ("answer", *PLACES)]  # type: ignore[union-attr]
        places = policy(one, shown(one, request), request)
        made = {name: "ABCDE"[place] for name, place in zip(fields, places, strict=False)}
        return {"reasoning": "step by step", "notes": "none", **made}

    return RuleModel(rule, **about)


def shown(one: Problem, request: Request) -> list[int]:
    """The options by index, in the order in which a request lists them; a model's text is what is not known."""
    last = request.messages[-1].parts[-1]
    assert isinstance(last, str)
    texts = [text for _, text in LISTED.findall(last)]
    known = [" ".join((option.text or "?").split()) for option in one.options]
    return [known.index(text) if text in known else known.index("?") for text in texts]


def liked(group: str, *stars: int | None, **fields: Any) -> list[Row]:
    """Responses to one prompt, with these likes."""
    about = {"type": "T2T", "language": "en", "question": f"What is {group}?", "group": group} | fields
    return [
        Row(**{**about, "id": f"{group}-{n}", "text": f"response {n} to {group}", "star": star})
        for n, star in enumerate(stars)
    ]


FOUR = [row for name in ("ant", "bee", "cat", "dog") for row in liked(name, 100, 40, 16, 6, 2, 0)]
"""Four questions with six responses each, whose likes are all apart."""
