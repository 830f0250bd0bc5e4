"""The steps of the data construction that need a model: an idea, its justification, and whether both hold (Sec. 4.1).

A paper is a walk through the panel like any other: the writer turns it into an idea and its reviews into one
justification, the judge looks at both. What does not hold is dropped with its reason, never mended.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, Any, TypeAlias

from lotbench.benchmarks.rinobench import claims, judge
from lotbench.benchmarks.rinobench.candidate import says_something
from lotbench.benchmarks.rinobench.claims import KINDS
from lotbench.benchmarks.rinobench.construction.papers import SUMMARY, Paper, Rules, leak
from lotbench.benchmarks.rinobench.sample import Idea, Item, Work
from lotbench.benchmarks.rinobench.settings import Settings
from lotbench.errors import Unread
from lotbench.harness import pieces, state
from lotbench.harness.benchmark import Benchmark, Role
from lotbench.harness.pieces import Piece
from lotbench.harness.state import AnyWalk, Update
from lotbench.prompting.reply import Form, YesNo, prose, read_form, schema, shape
from lotbench.types import Answer, Question, Sampling, Score

ROLES = {
    "writer": Role("turns papers into ideas, and reviews into justifications", Sampling(temperature=0.0)),
    "judge": Role("looks at what was written, and checks that it is grounded", Sampling(temperature=0.0)),
}
_FIRST_PERSON = re.compile(r"\b(?:we|our|ours)\b", re.IGNORECASE)
NO_GOLD: claims.Arguments = {kind: {} for kind in KINDS}
"""A justification that is itself to be the gold is checked against nothing."""


@dataclass(frozen=True, slots=True)
class Draft:
    """A paper on its way: the sample of its walk."""

    paper: Paper
    score: int

    @property
    def id(self) -> str:
        """That of the paper."""
        return self.paper.id

    @property
    def language(self) -> str:
        """That of the paper."""
        return self.paper.language

    @property
    def image(self) -> None:
        """Papers have no picture."""
        return None


Walk: TypeAlias = state.Walk[Draft, Rules]
"""A paper's walk."""


class Synthesis(Form):
    """The answer to `idea`."""

    problem_statement: Annotated[str, prose(2000)]
    objective: Annotated[str, prose(1200)]
    solution_approach: Annotated[str, prose(3000)]


class Justification(Form):
    """The answer to `justification`."""

    justification: Annotated[str, prose(3000)]


class Formal(Form):
    """The answer to `formal`: what is wrong with an idea and its justification as texts."""

    reason: Annotated[str, prose(600)]
    idea_in_first_person: YesNo
    justification_in_one_voice: YesNo
    summary_of_several_reviews: YesNo
    novelty_score_as_number: YesNo


WANTED = {
    "idea_in_first_person": (False, "the idea is in the first person"),
    "justification_in_one_voice": (True, "the justification is not in one reviewer's voice"),
    "summary_of_several_reviews": (False, "a text sums up several reviews"),
    "novelty_score_as_number": (False, "a text gives a novelty score as a number"),
}
"""What a formally correct sample has, and what it lacks otherwise.

The paper (Sec. 4.1.1) says that the idea has to be in the first person. The public scripts, which made the data, ask
for neutral ideas and check the justification for the voice of one reviewer; so does this.
"""


def item(draft: Draft, found: Mapping[str, Any], writers: Sequence[str] = ()) -> Item:
    """The sample that a paper has become.

    Args:
        draft: The paper with its score.
        found: What the writer wrote: `idea` and `justification`.
        writers: The models that wrote it.
    """
    return Item(
        id=f"idea-{draft.id}",
        research_idea=Idea.model_validate(found["idea"]),
        related_works=tuple(
            Work(id=f"w{number}", title=work.title, abstract=work.abstract or "", year=work.year)
            for number, work in enumerate(draft.paper.works, 1)
        ),
        novelty_score=draft.score,
        novelty_reasoning=found["justification"]["justification"],
        writer=writers[0] if writers else "",
        gold_writers=tuple(writers),
        source=draft.paper.pdf or draft.paper.venue,
    )


def ask(walk: Walk) -> Sequence[Question]:
    """What is open at the step."""
    # What depends on the paper alone outlives this build.
    return [replace(question, shared=True) for question in pieces.ask(walk, _open(walk))]


def read_answers(walk: Walk, answers: Sequence[Answer]) -> Update:
    """What the answers say; a paper is dropped as soon as something does not hold."""
    if walk.step == "grade":
        written = {name: pieces.found(walk)[name] for name in ("idea", "justification")}
        return {"outcome": "kept", "memory": written}
    update = pieces.read_pieces(walk, _open(walk), answers)
    if "outcome" not in update and (why := fault(update["draft"]["done"])):
        update |= {"outcome": "dropped", "why": why}
    return update


def fault(found: Mapping[str, Any]) -> str | None:
    """The first thing that does not hold in what was found out so far; None if there is none."""
    for name in ("idea", "justification"):
        if number := leak("\n".join(found.get(name, {}).values())):
            return f"the {name} may give its score away: {number!r}"
    if said := _FIRST_PERSON.search("\n".join(found.get("idea", {}).values())):
        return f"the idea is in the first person: {said[0]!r}"
    for name, (wanted, wrong) in WANTED.items():
        if found.get("formal", {}).get(name, wanted) is not wanted:
            return f"{wrong}: {found['formal']['reason']}"
    if "claims" in found and not any(found["claims"].values()):
        return "the justification has no arguments"
    loose = [
        f"{claim}: {found['claims'][kind][claim]}"
        for kind in KINDS
        for claim, flags in found.get(kind, {}).get("claims", {}).items()
        if not flags["grounded"]
    ]
    return f"not grounded: {'; '.join(loose)}" if loose else None


def _open(walk: Walk) -> list[Piece]:
    """The pieces that can be asked for now: idea, justification, then what looks at both, then the grounds."""
    if walk.step == "grade":
        return []
    done = pieces.found(walk)
    stages = (_written,) if walk.step == "respond" else (_looked_at, _grounded)
    for stage in stages:
        if left := [piece for piece in stage(walk, done) if piece.name not in done]:
            return left[:1] if stage is _written else left
    return []


def _written(walk: Walk, done: Mapping[str, Any]) -> Iterator[Piece]:
    draft = walk.sample
    reviews = [reply.text() for reply in draft.paper.reviews]
    summaries = [str(reply.content[SUMMARY]) for reply in draft.paper.replies if reply.content.get(SUMMARY)]
    paper = {"title": draft.paper.title, "abstract": draft.paper.abstract, "summaries": _parted(summaries)}
    yield _piece(walk, "idea", "writer", Synthesis, paper)
    if "idea" in done:
        idea = Idea.model_validate(done["idea"]).told()
        told = {"idea": idea, "reviews": _parted(reviews), "score": str(draft.score)}
        yield _piece(walk, "justification", "writer", Justification, told)


def _looked_at(walk: Walk, done: Mapping[str, Any]) -> Iterator[Piece]:
    made, limit = item(walk.sample, done), walk.settings.max_claims
    told = {"idea": made.research_idea.told(), "justification": made.novelty_reasoning}
    yield _piece(walk, "formal", "judge", Formal, told)
    asking = partial(claims.extract, walk.prompt("extract"), made.novelty_reasoning, limit, gold=True)
    yield Piece("claims", asking, partial(claims.read_arguments, limit=limit))


def _grounded(walk: Walk, done: Mapping[str, Any]) -> Iterator[Piece]:
    """Every argument is checked as a claim of a candidate would be, by works or by the idea; there is no gold."""
    settings = Settings(works_chars=walk.settings.works_chars, max_claims=walk.settings.max_claims)
    any_walk: AnyWalk = walk
    view = replace(any_walk, sample=item(walk.sample, done), settings=settings)
    for kind in KINDS:
        if done["claims"][kind]:
            yield judge.checking(view, [kind], NO_GOLD, done["claims"])


def _piece(walk: Walk, name: str, role: str, form: type[Form], values: Mapping[str, str]) -> Piece:
    """A piece whose answer is a form, kept as it was filled in; what is written has to say something."""

    def asked(*, attempt: int, again: Any) -> Question:
        messages = walk.prompt(name).messages(shape=shape(form), again=again, **values)
        return Question(role, name, messages, schema(form), attempt=attempt)

    def made(answer: Answer) -> dict[str, Any]:
        found = read_form(answer.reply, form).model_dump()
        if role == "writer" and (
            blank := [field for field, text in found.items() if not says_something(text)]
        ):
            raise Unread("unparsed", f"{', '.join(blank)}: it says nothing")
        return found

    return Piece(name, asked, made)


def _parted(texts: Sequence[str]) -> str:
    return "\n\n".join(f"({number}) {text}" for number, text in enumerate(texts, 1)) or "(none)"


benchmark = Benchmark(
    name="rinobench-construction",
    about="turn reviewed papers into ideas with a gold score and justification",
    roles=ROLES,
    Settings=Rules,
    Item=Paper,
    ask=ask,
    read=read_answers,
    grade=lambda walk: Score(None, why=walk.state["outcome"]),
    metrics=lambda traces, settings, evidence: {},
    calls=lambda settings: {"writer": 2, "judge": 4},
)
