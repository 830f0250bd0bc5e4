"""HIC-Bench: how many answers to open scientific tasks are fruitful inventions, and how many faulty ones.

This file is the benchmark's table of contents. `candidate.py` has the candidate's half, `judge.py` the
judges', `memory.py` what a dynamic prompt remembers; `ratings.py` turns traces into classes, `score.py` into
numbers.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any

from lotbench.benchmarks.hicbench import candidate, judge
from lotbench.benchmarks.hicbench.comparing import across
from lotbench.benchmarks.hicbench.official import published
from lotbench.benchmarks.hicbench.reviewing import Label, rows
from lotbench.benchmarks.hicbench.sample import Item
from lotbench.benchmarks.hicbench.score import answers, ends, grade, headline, metrics
from lotbench.benchmarks.hicbench.sections import sections
from lotbench.benchmarks.hicbench.settings import SCORE_ONLY, Settings, also_walked, resolve
from lotbench.benchmarks.hicbench.validation import CHECKED
from lotbench.config.model_names import kin
from lotbench.errors import UsageError
from lotbench.harness.benchmark import (
    Benchmark,
    Comparison,
    Data,
    Judges,
    Names,
    People,
    Role,
    Walks,
)
from lotbench.harness.episode import Node, scored
from lotbench.types import Sample, Sampling

NODES: Mapping[str, Node] = {"respond": candidate.respond, "judge": judge.judge, "grade": scored}

ROLES = {
    "candidate": Role("answers the tasks", Sampling(temperature=1.0)),
    "judge": Role(
        "gives the marks and decides on hallucination",
        Sampling(temperature=0.0),
        impartial=True,
        checked=True,
    ),
    "dhp_judge": Role("chooses the examples of dhp", Sampling(temperature=0.0), required=False),
}


def seat(settings: Settings, names: Names, seed: int) -> Names:
    """The panel without the candidate and its siblings, and the judge of the examples where one is needed.

    Raises:
        UsageError: Nobody is left to judge, or the judge of the examples is missing or scores too.
    """
    judges, candidate = names["judge"], names["candidate"][0]
    if settings.exclude_self:
        judges = tuple(one for one in judges if not kin(one, candidate))
    if not judges:
        raise UsageError("judge: the candidate may not judge itself: name another --judge")
    if settings.dhp and settings.dhp_judge == "separate":
        own = names.get("dhp_judge", ())
        if len(own) != 1:
            raise UsageError("dhp needs one judge of its own: --role dhp_judge=NAME (or dhp_judge=panel)")
        if own[0] in judges and own[0].kind != "human":
            raise UsageError(f"dhp_judge: {own[0].text} scores the answers too; name another (or =panel)")
    return {**names, "judge": judges}


def calls(settings: Settings) -> Mapping[str, int]:
    """The most calls that one walk makes, by role, askings-again left out."""
    separate = settings.dhp and settings.dhp_judge == "separate"
    return {
        "candidate": settings.answers,
        "judge": settings.answers * (settings.judges or 1),
        **({"dhp_judge": settings.answers} if separate else {}),
    }


def lane(sample: Sample, repeat: int, settings: Settings) -> str:
    """With dhp all tasks of a repeat; else each walk alone."""
    return f"order-{repeat}" if settings.dhp else f"{sample.id}/{repeat}"


def order(lane: str, walks: Sequence[Any], settings: Settings, seed: int) -> Sequence[Any]:
    """The tasks of a lane in the order that is its own."""
    if not settings.dhp or settings.order == "data":
        return walks
    return random.Random(f"{seed}:{lane}:order").sample(walks, len(walks))


def unrankable(settings: Settings) -> list[str]:
    """What the benchmark asks for and these settings do not have: two judges."""
    return ["only one judge sits"] if settings.judges == 1 else []


benchmark = Benchmark(
    name="hicbench",
    version="2",
    about="answer open scientific tasks, inventively and without fault",
    roles=ROLES,
    Settings=Settings,
    Item=Item,
    nodes=NODES,
    grade=grade,
    metrics=metrics,
    calls=calls,
    sections=sections,
    resolve=resolve,
    data=Data(strata=("field",), published=published),
    walks=Walks(lane=lane, order=order),
    judges=Judges(seat=seat, validation=CHECKED),
    people=People(review=rows, Label=Label),
    comparison=Comparison(
        tables=("Readings of IH and DH", "Similarity of answers", "Human review"),
        reference="paper/hicbench.toml",
        headline=headline,
        score_only=SCORE_ONLY,
        also_walked=also_walked,
        unrankable=unrankable,
        answers=answers,
        encoder=lambda settings: str(settings.encoder),
        across=across,
        ends=lambda settings: ends(settings.w1, settings.classes),
    ),
)
