"""Problems built from Oogiri rows (lotbench.txt, Sec. 4; docs/standard.md says what the paper leaves open).

Votes decide what is right. A wrong option from the same picture, and each pair of neighbours in a ranking, must differ
clearly in votes. Problems that cannot be built are left out.
"""

import hashlib
import math
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from random import Random

from lotbench.benchmarks.standard.oogiri.problems import RANKED, WRONG, Kind, Option, Origin, Problem, Slot
from lotbench.benchmarks.standard.oogiri.row import Language, Row, Type, held_out
from lotbench.benchmarks.standard.settings import Settings
from lotbench.errors import UsageError
from lotbench.prompting.normal_form import same

LOW = 0.25
"""The bottom share of the voted responses to a prompt that counts as little liked."""
TRIES = 50


@dataclass(frozen=True, slots=True)
class _Prompt:
    """A picture, a question or both, with the responses to it.

    Attributes:
        first: The first of the rows, from which picture and question are taken.
        rows: All responses.
        liked: The responses with votes, best first; see `_liked`.
    """

    first: Row
    rows: tuple[Row, ...]
    liked: tuple[Row, ...]

    @property
    def name(self) -> str:
        """A hash as a name, since a group may hold any character and one picture may have several questions."""
        place = (self.first.language, self.first.type, self.first.group, self.first.question or "")
        return hashlib.sha256("\0".join(place).encode()).hexdigest()[:8]

    @property
    def cell(self) -> tuple[Type, Language]:
        return self.first.type, self.first.language

    @property
    def caption(self) -> str | None:
        return next((row.caption for row in self.rows if row.caption), None)


class _LeftOutError(Exception):
    """A problem cannot be built from the rows."""


def build(rows: Sequence[Row], settings: Settings, seed: int) -> tuple[Problem, ...]:
    """Return the problems built from the rows of a data set; `seed` is the seed of all draws.

    Raises:
        UsageError: No problem can be built, or a picture has no caption and the setting `arm` needs one.
    """
    result = _problems(rows, settings, seed)
    if not result:
        raise UsageError(
            f"no problem of kind={settings.kind} can be made of {len(rows)} rows ({settings.part})"
        )
    if settings.arm == "caption" and settings.captions != "captioner":
        bare = sum(problem.image is not None and problem.caption is None for problem in result)
        if bare:
            raise UsageError(
                f"arm=caption: the pictures of {bare} of {len(result)} problems have no caption: give a `caption` in "
                "the rows, --role captioner=MODEL, or --set arm=blind"
            )
    return result


def _problems(rows: Sequence[Row], settings: Settings, seed: int) -> tuple[Problem, ...]:
    """Return one problem of each kind for every prompt, then a second of each, and so on."""
    prompts = _prompts(rows, settings)
    cells: dict[tuple[Type, Language], list[_Prompt]] = {}
    for prompt in prompts:
        cells.setdefault(prompt.cell, []).append(prompt)
    result: list[Problem] = []
    for number in range(settings.per_prompt):
        for prompt in prompts:
            for kind in settings.kinds:
                with suppress(_LeftOutError):
                    result += _problem(prompt, kind, number, cells[prompt.cell], settings, seed)
    return tuple(result)


def _prompts(rows: Sequence[Row], settings: Settings) -> list[_Prompt]:
    gathered: dict[tuple[object, ...], list[Row]] = {}
    for row in rows:
        out = settings.part == "all" or held_out(row, share=settings.share, seed=settings.split_seed)
        if out:
            gathered.setdefault((row.language, row.type, row.group, row.question), []).append(row)
    prompts: dict[str, _Prompt] = {}
    for group in gathered.values():
        prompt = _Prompt(group[0], tuple(group), _liked(group))
        # A name has 32 bits of a hash: of two prompts with one name the first stays.
        prompts.setdefault(prompt.name, prompt)
    return list(prompts.values())


def _liked(rows: Sequence[Row]) -> tuple[Row, ...]:
    """Return the responses that people rated or, if there are none, those with likes; best first, each text once."""
    rated = [row for row in rows if row.ratings and row.ratings.n > 1]
    voted = rated or [row for row in rows if row.star is not None]
    once: dict[str, Row] = {}
    for row in sorted(voted, key=lambda row: row.preference or 0.0, reverse=True):
        once.setdefault(same(row.text), row)
    return tuple(once.values())


def _problem(
    prompt: _Prompt, kind: Kind, number: int, near: Sequence[_Prompt], settings: Settings, seed: int
) -> Iterator[Problem]:
    """Yield the problem of this kind and number (from 0) for a prompt; nothing for `generate` and a number above 0.

    Args:
        prompt: The prompt.
        kind: The kind.
        number: The number.
        near: All prompts of its type and language.
        settings: The settings of the run.
        seed: The seed of all draws.

    Raises:
        _LeftOutError: The rows do not have the options that it needs.
    """
    if kind == "generate" and number:
        return
    name = f"{kind}-{prompt.name}-{number + 1}"
    making = _Making(prompt, near, settings, Random(f"{seed}:{name}:0:build"))
    making.writers.update(row.writer for row in prompt.rows)
    options: tuple[Option, ...] = ()
    if kind == "rank":
        options = making.ranking()
    elif kind != "generate":
        # The right responses are the same in every kind, so kinds differ only in their wrong options.
        options = making.choice(kind, number, Random(f"{seed}:{prompt.name}:0:right"))
    first = prompt.first
    yield Problem(
        id=name,
        language=first.language,
        type=first.type,
        kind=kind,
        group=first.group,
        image=first.image,
        question=first.question,
        caption=prompt.caption,
        guessed=any(row.guessed for row in prompt.liked),
        writer=first.writer,
        gold_writers=tuple(sorted(making.writers - {first.writer})),
        options=options,
        other_image=making.captioned[0].first.image if making.captioned else None,
        other_group=making.captioned[0].first.group if making.captioned else None,
    )


@dataclass(frozen=True, slots=True)
class _Making:
    """A builder of one problem's options.

    Attributes:
        prompt: The prompt of the problem.
        near: All prompts of its type and language.
        settings: The settings of the run.
        rng: The source of all draws but those of the right options.
        taken: The normal forms of the texts used so far.
        writers: The writers of all rows of the prompt and of options of other prompts.
        captioned: The other prompt whose picture the captioner describes for an option; empty without such an option.
    """

    prompt: _Prompt
    near: Sequence[_Prompt]
    settings: Settings
    rng: Random
    taken: set[str] = field(default_factory=set)
    writers: set[str] = field(default_factory=set)
    captioned: list[_Prompt] = field(default_factory=list)

    def choice(self, kind: Kind, number: int, shuffled: Random) -> tuple[Option, ...]:
        """Return the right options, then one wrong option for each slot of the kind.

        Args:
            kind: A kind of choice.
            number: The number of the problem; two numbers share no right option.
            shuffled: Orders the right responses; seeded alike for all kinds and numbers.

        Raises:
            _LeftOutError: There are too few responses.
        """
        count = 2 if kind == "5t2" else 1
        right = self._right(count)
        shuffled.shuffle(right)
        chosen = right[number * count : (number + 1) * count]
        if len(chosen) < count:
            raise _LeftOutError  # too few responses that enough people like
        options = [self._option(row, "right", "response") for row in chosen]
        return (*options, *(self._wrong(slot, chosen) for slot in WRONG[kind]))

    def ranking(self) -> tuple[Option, ...]:
        """Return five responses, drawn at random, whose votes all differ clearly; best first.

        Raises:
            _LeftOutError: No draw found five.
        """
        liked = self.prompt.liked
        for _ in range(TRIES):
            chosen: list[Row] = []
            for row in self.rng.sample(liked, len(liked)):
                if all(self._apart(row, other) or self._apart(other, row) for other in chosen):
                    chosen.append(row)
                if len(chosen) == RANKED:
                    chosen.sort(key=lambda row: row.preference or 0.0, reverse=True)
                    return tuple(self._option(row, "ranked", "response") for row in chosen)
        raise _LeftOutError  # no five responses whose votes are apart

    def _right(self, count: int) -> list[Row]:
        """Return the responses that count as right: the top share of those with votes, or the top `count`.

        Responses with fewer than `min_likes` likes are left out, if the votes are likes.

        Raises:
            _LeftOutError: No response has votes.
        """
        liked, settings = self.prompt.liked, self.settings
        if not liked:
            raise _LeftOutError  # nobody voted on the responses
        rated = liked[0].ratings is not None
        share = settings.top_ratings if rated else settings.top_likes
        top = liked[: max(count, math.ceil(share * len(liked)))]
        return [row for row in top if rated or (row.star or 0) >= settings.min_likes]

    def _wrong(self, slot: Slot, right: Sequence[Row]) -> Option:
        """Return the wrong option of a slot: caption, rewrite or unrelated text.

        Where there is none, it is a response: to the same prompt with fewer votes for a rewrite, else to another prompt.
        """
        if slot == "caption" and self.prompt.first.image:
            if self.settings.captions == "captioner":
                return Option(slot=slot, origin="captioner")
            if (caption := self.prompt.caption) and same(caption) not in self.taken:
                self.taken.add(same(caption))
                return Option(slot=slot, origin="caption", text=caption)
        if slot == "rewrite":
            if self.settings.rewrites == "rewriter":
                return Option(slot=slot, origin="rewriter", row=right[0].id)
            return self._option(self._low(right), slot, "low")
        if slot == "unrelated" and self.settings.unrelated == "caption" and self.prompt.first.image:
            return self._other_caption(slot)
        return self._option(self._elsewhere(), slot, "elsewhere")

    def _low(self, right: Sequence[Row]) -> Row:
        """Return a response to the same prompt with clearly fewer votes than each right one."""
        bottom = self.prompt.liked[-max(1, int(LOW * len(self.prompt.liked))) :]
        for row in self.rng.sample(bottom, len(bottom)):
            if same(row.text) not in self.taken and all(self._apart(best, row) for best in right):
                return row
        raise _LeftOutError  # no response that people like clearly less

    def _other_caption(self, slot: Slot) -> Option:
        """Return the caption of another picture (Sec. 4); a response to another prompt if no caption is found."""
        for _ in range(TRIES):
            other = self.rng.choice(self.near)
            if other.first.group == self.prompt.first.group:
                continue
            if self.settings.captions == "captioner":
                self.captioned.append(other)
                return Option(slot=slot, origin="other_captioner")
            if (caption := other.caption) and same(caption) not in self.taken:
                self.taken.add(same(caption))
                self.writers.update(row.writer for row in other.rows)
                return Option(slot=slot, origin="other_caption", text=caption)
        return self._option(self._elsewhere(), slot, "elsewhere")

    def _elsewhere(self) -> Row:
        """Return a random response to another picture or question of the same type and language."""
        for _ in range(TRIES):
            other = self.rng.choice(self.near)
            row = self.rng.choice(other.rows)
            if other.first.group != self.prompt.first.group and same(row.text) not in self.taken:
                return row
        raise _LeftOutError  # no response to another picture or question of this type and language

    def _apart(self, better: Row, worse: Row) -> bool:
        """Return whether people clearly liked `better` more than `worse`.

        Mean ratings must differ by `errors` standard errors of the difference. Likes must differ by the `factor`.
        """
        if better.ratings and worse.ratings:
            error = math.hypot(better.ratings.error, worse.ratings.error)
            gap = better.ratings.mean - worse.ratings.mean
            return gap > 0 and gap >= self.settings.errors * error
        more, fewer = better.star or 0, worse.star or 0
        return more > fewer and more >= self.settings.factor * max(fewer, 1)

    def _option(self, row: Row, slot: Slot, origin: Origin) -> Option:
        self.taken.add(same(row.text))
        self.writers.add(row.writer)
        return Option(slot=slot, origin=origin, text=row.text, row=row.id, star=row.star, ratings=row.ratings)
