"""Which answers to a scene are preferred to which: what became of each, what is one answer, and who is paired with whom.

Nothing here reads a file. An answer that a judge accepted is preferred to one that a judge refused; answers that are
the same by the game's own rule (`words.same`) are one, and one that was judged both ways is none.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from math import lcm
from random import Random
from typing import Literal, TypeAlias

from clot_training.records import Chat, Pair
from lotbench.benchmarks.lotbench.games import Game, Round
from lotbench.benchmarks.lotbench.sample import Item
from lotbench.benchmarks.lotbench.words import same
from lotbench.benchmarks.standard.oogiri import Language
from lotbench.config.experiment import digest

Fate: TypeAlias = Literal["accepted", "refused", "invalid", "repeat", "disputed", "alike", "no verdict"]


def fate(game: Game, one: Round) -> Fate:
    """What became of the answer of a round.

    `accepted` and `refused` are verdicts that stand: of the second judge where one was asked, and about every response
    that was looked for. `disputed` is what one judge accepted and the other refused, `alike` what solves the scene as an
    answer before it did, and `no verdict` what no judge could be read about.
    """
    if one.status != "ok":
        return "invalid" if one.status else "no verdict"
    if one.number == game.solved or one.leap:
        return "accepted"
    check = one.check
    if check is None:
        return "no verdict"
    if check.how != "judge":
        return "alike" if check.how == "exact" else "repeat"
    if one.decision in ("overturned", "alike"):
        return "disputed" if one.decision == "overturned" else "alike"
    return "refused" if one.decision == "refused" and one.denied else "no verdict"


@dataclass(slots=True)
class Answer:
    """An answer to a scene.

    Attributes:
        text: As the candidate is to say it, or, where the rules refused it, as it said it.
        by: Who decided: judge, words or rules.
        runs: Where it was given.
    """

    text: str
    by: Literal["judge", "words", "rules"]
    runs: set[str] = field(default_factory=set)


@dataclass(slots=True)
class Scene:
    """One prompt with all that was said to it.

    Attributes:
        picture: What stands for the sample's picture, shown or not; None if it is not there.
        seen: Digests of the sample's right answers and of its picture.
        accepted: The answers that count, by what makes them the same.
        refused: Those that do not, likewise.
    """

    sample: Item
    picture: str | None
    prompt: Chat
    images: tuple[str, ...]
    seen: tuple[str, ...]
    accepted: dict[str, Answer] = field(default_factory=dict)
    refused: dict[str, Answer] = field(default_factory=dict)

    @property
    def key(self) -> str:
        """Twelve hex digits that stand for sample, picture and prompt, wherever the picture lies."""
        return digest([self.sample.id, self.picture, self.prompt, bool(self.images)])[:12]

    @property
    def language(self) -> Language:
        """Of the sample."""
        return self.sample.language

    def hear(self, said: str, answer: Answer, *, accepted: bool) -> None:
        """Take in an answer; `said` is what it says, without its form."""
        known = (self.accepted if accepted else self.refused).setdefault(same(said), answer)
        known.runs |= answer.runs

    def contradicted(self) -> list[str]:
        """Take out the answers that were judged both ways, and those that the sample's own lists say otherwise of."""
        right = {same(text) for text in (self.sample.key_text, *self.sample.accept)}
        wrong = {same(one.text) for one in self.sample.reject} | {same(text) for text in self.sample.near}
        both = self.accepted.keys() & self.refused.keys()
        against = (self.accepted.keys() & (wrong - right)) | (self.refused.keys() & right)
        for name in both | against:
            self.accepted.pop(name, None)
            self.refused.pop(name, None)
        return ["judged both ways"] * len(both) + ["against the sample's lists"] * len(against - both)

    def pairs(self, most: int, seed: int) -> Iterator[Pair]:
        """At most so many pairs, in which each answer is about as often as any other of its side."""
        key = self.key
        draw = Random(f"{seed}:pairs:{key}")
        chosen, rejected = ([side[name] for name in sorted(side)] for side in (self.accepted, self.refused))
        draw.shuffle(chosen)
        draw.shuffle(rejected)
        for good, bad in _met(chosen, rejected, most):
            yield Pair(
                id=f"{self.sample.id}-{digest([key, good.text, bad.text])[:12]}",
                sample=self.sample.id,
                language=self.language,
                prompt=self.prompt,
                chosen=({"role": "assistant", "content": good.text},),
                rejected=({"role": "assistant", "content": bad.text},),
                images=self.images,
                chosen_by="words" if good.by == "words" else "judge",
                rejected_by="rules" if bad.by == "rules" else "judge",
                runs=tuple(sorted(good.runs | bad.runs)),
                seen=self.seen,
                canary=self.sample.canary,
            )


def counted(scenes: Sequence[Scene]) -> Counter[str]:
    """How many different answers there are on either side."""
    return Counter(
        accepted=sum(len(one.accepted) for one in scenes), refused=sum(len(one.refused) for one in scenes)
    )


def _met(chosen: Sequence[Answer], rejected: Sequence[Answer], most: int) -> Iterator[tuple[Answer, Answer]]:
    """Each of one side with each of the other, all of both sides once before any of them twice."""
    if not chosen or not rejected:
        return
    good, bad = len(chosen), len(rejected)
    for n in range(min(most, good * bad)):
        yield chosen[n % good], rejected[(n + n // lcm(good, bad)) % bad]
