"""Unusual uses of things, with how original people found them: what judges of originality are tried on.

The rows are others' (ocsai); a benchmark puts a use where its candidate's answer stands.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from random import Random
from statistics import fmean
from typing import Any, Literal

from pydantic import Field

from lotbench.config.makers import PEOPLE
from lotbench.errors import DataError, at
from lotbench.harness.judge_validation import Probe, Ruling
from lotbench.harness.planted import PlantedRow, Text
from lotbench.harness.published import Source
from lotbench.types import JSON

USES = "originality of uses"
"""The task of such probes, and the criterion of their rulings."""
NONSENSE = "originality of nonsense"
"""The criterion of uses that are none: words of other uses, drawn at random."""


class RatedUse(PlantedRow):
    """A use of a thing; `rating` is people's mean, 1 to 5, and null of nonsense."""

    use: Text
    rating: float | None = Field(default=None, ge=1, le=5)
    kind: Literal["use", "nonsense"] = "use"

    @property
    def contested(self) -> bool:
        """Never: a rating is a mean."""
        return False


def use_probe(
    role: str, row: RatedUse, *, turn: Mapping[str, JSON], state: Mapping[str, JSON] | None = None
) -> Probe:
    """The probe of a use, put where an answer stands."""
    return Probe(
        id=row.id,
        role=role,
        sample=row.sample,
        step="judge",
        turn=turn,
        label=False,
        kind=row.kind if row.kind == "nonsense" else None,
        language="en",
        split=row.split,
        labels=(),
        contested=False,
        state=state or {},
        task=USES,
        known={"rating": row.rating, "use": row.use},
    )


def use_rulings(probe: Probe, originality: Any) -> list[Ruling]:
    """How original a judge found a use, beside what people found; of nonsense, beside the least there is."""
    rating, said = probe.known["rating"], None if originality is None else float(originality)
    criterion = NONSENSE if rating is None else USES
    truth = 1.0 if rating is None else float(str(rating))
    return [Ruling(criterion, probe.id, probe.sample, probe.kind, probe.language, truth, said)]


def trivial_judges(texts: Sequence[str]) -> dict[str, list[float]]:
    """What judges say that know nothing but the words: how long a text is, and how rare its words are among all texts.

    A word's rarity is the negative logarithm of the share of texts that have it; a text has the mean of its words'.
    """
    words = [re.findall(r"\w+", text.casefold()) for text in texts]
    seen = Counter(word for one in words for word in set(one))
    rarity = [
        sum(math.log(len(texts) / seen[word]) for word in one) / len(one) if one else 0.0 for one in words
    ]
    return {"length": [float(len(text)) for text in texts], "rarity of words": rarity}


_USE = re.compile(r"AUT Prompt:(?P<thing>.*?)\nResponse:(?P<use>.*)\nScore:\s*", re.DOTALL)
_NONSENSE = 3
"""Nonsensical uses made for each thing: words of other uses, drawn at random, as many as a use has in the middle."""


def read_uses(source: Source) -> tuple[dict[str, str], list[RatedUse]]:
    """The things of ocsai's test.jsonl by id, and their rated uses with nonsense; a use rated several times has the mean.

    Raises:
        DataError: The file cannot be read, or a line of it is no rated use.
    """
    path = source.path / "test.jsonl" if source.has("test.jsonl") else source.path
    ratings: dict[tuple[str, str], list[float]] = {}
    texts: dict[tuple[str, str], str] = {}
    faults: list[str] = []
    for number, line in source.lines("test.jsonl" if path != source.path else ""):
        try:
            thing, use, rating = _use(json.loads(line))
        except (ValueError, KeyError, TypeError):
            faults.append(at(path, number) + ": not a use of a thing with its rating, 10 to 50")
            continue
        place = thing, use.casefold()
        texts.setdefault(place, use)
        ratings.setdefault(place, []).append(rating)
    if faults:
        raise DataError(faults)
    things = {thing: f"thing-{n:02}" for n, thing in enumerate(dict.fromkeys(thing for thing, _ in texts), 1)}
    rows = [
        _row(f"use-{number:04}", things[place[0]], text, fmean(ratings[place]))
        for number, (place, text) in enumerate(texts.items(), 1)
    ]
    rows += _nonsense(list(texts.values()), things.values())
    return {name: thing for thing, name in things.items()}, rows


def _use(row: Mapping[str, Any]) -> tuple[str, str, float]:
    found, rating = _USE.fullmatch(row["prompt"]), float(row["completion"]) / 10
    if found is None or not found["use"].strip() or not 1 <= rating <= 5:
        raise ValueError("no rated use")
    return found["thing"].strip(), found["use"].strip(), rating


def _row(name: str, sample: str, use: str, rating: float | None) -> RatedUse:
    kind: Literal["use", "nonsense"] = "nonsense" if rating is None else "use"
    return RatedUse(id=name, sample=sample, split="test", writer=PEOPLE, use=use, rating=rating, kind=kind)


def _nonsense(uses: Sequence[str], things: Iterable[str]) -> Iterator[RatedUse]:
    bag = [word for use in uses for word in use.split()]
    length = max(2, sorted(len(use.split()) for use in uses)[len(uses) // 2])
    for thing in things:
        for number in range(1, _NONSENSE + 1):
            drawn = Random(f"nonsense:{thing}:{number}").sample(bag, length)
            yield _row(f"nonsense-{thing}-{number}", thing, " ".join(drawn), None)
