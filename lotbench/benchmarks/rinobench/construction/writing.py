"""The steps of the data construction that need a model: writing an idea and its justification, and checking both (Sec. 4.1).

A paper is an episode. The writer turns the paper into an idea and its reviews into one justification; the judge checks
both. A paper that fails a check is dropped with the reason.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any, TypeAlias

from lotbench.benchmarks.rinobench import claims
from lotbench.benchmarks.rinobench.candidate import says_something
from lotbench.benchmarks.rinobench.claims import KINDS
from lotbench.benchmarks.rinobench.construction.papers import SUMMARY, Draft, Paper, Rules, leak
from lotbench.benchmarks.rinobench.sample import Idea, Item, Work
from lotbench.benchmarks.rinobench.settings import Settings
from lotbench.errors import Unread
from lotbench.harness.benchmark import Benchmark, Role
from lotbench.harness.episode import AnyEpisode, Episode
from lotbench.harness.state import EpisodeState, Runtime, Update
from lotbench.prompting.prompt import Value
from lotbench.prompting.reply import Form, YesNo, prose, read_form
from lotbench.types import Answer, Sampling, Score

ROLES = {
    "writer": Role("turns papers into ideas, and reviews into justifications", Sampling(temperature=0.0)),
    "judge": Role("looks at what was written, and checks that it is grounded", Sampling(temperature=0.0)),
}
_FIRST_PERSON = re.compile(r"\b(?:we|our|ours)\b", re.IGNORECASE)
NO_GOLD: claims.Arguments = {kind: {} for kind in KINDS}
"""No gold arguments: the justification that is checked will itself be the gold justification."""


PaperEpisode: TypeAlias = Episode[Draft, Rules]
"""An episode of the construction: its sample is a `Draft`."""


class Synthesis(Form):
    """The writer's reply to the prompt `idea`: a research idea in its three parts."""

    problem_statement: Annotated[str, prose(2000)]
    objective: Annotated[str, prose(1200)]
    solution_approach: Annotated[str, prose(3000)]


class Justification(Form):
    """The writer's reply to the prompt `justification`."""

    justification: Annotated[str, prose(3000)]


class Formal(Form):
    """The judge's reply to the prompt `formal` on the wording of an idea and its justification; EXPECTED_VERDICTS has the right answers."""

    reason: Annotated[str, prose(600)]
    idea_in_first_person: YesNo
    justification_in_one_voice: YesNo
    summary_of_several_reviews: YesNo
    novelty_score_as_number: YesNo


EXPECTED_VERDICTS = {
    "idea_in_first_person": (False, "the idea is in the first person"),
    "justification_in_one_voice": (True, "the justification is not in one reviewer's voice"),
    "summary_of_several_reviews": (False, "a text sums up several reviews"),
    "novelty_score_as_number": (False, "a text gives a novelty score as a number"),
}
"""The right answer to each question of `Formal`, and the fault otherwise.

The paper (Sec. 4.1.1) says that the idea has to be in the first person. The public scripts, which made the data, ask
for neutral ideas and check that the justification has one reviewer's voice; so does this."""


def item(draft: Draft, texts: Mapping[str, Any], writers: Sequence[str] = ()) -> Item:
    """Return the sample made from a paper.

    Args:
        draft: The paper with its score.
        texts: The writer's replies, by prompt: `idea` and `justification`.
        writers: The models that wrote them.
    """
    return Item(
        id=f"idea-{draft.id}",
        research_idea=Idea.model_validate(texts["idea"]),
        related_works=tuple(
            Work(id=f"w{number}", title=work.title, abstract=work.abstract or "", year=work.year)
            for number, work in enumerate(draft.paper.works, 1)
        ),
        novelty_score=draft.score,
        novelty_reasoning=texts["justification"]["justification"],
        writer=writers[0] if writers else "",
        gold_writers=tuple(writers),
        source=draft.paper.pdf or draft.paper.venue,
    )


async def respond(state: EpisodeState, runtime: Runtime[PaperEpisode]) -> Update:
    """Ask the writer for an idea, then for a justification; the paper is dropped at the first fault."""
    episode, paper = runtime.context, runtime.context.sample.paper
    summaries = [str(reply.content[SUMMARY]) for reply in paper.replies if reply.content.get(SUMMARY)]
    values = {"title": paper.title, "abstract": paper.abstract, "summaries": _parted(summaries)}
    turn = {"idea": await _written(episode, "idea", Synthesis, values)}
    if not fault(turn):
        reviews = _parted([reply.text() for reply in paper.reviews])
        idea = Idea.model_validate(turn["idea"]).text()
        values = {"idea": idea, "reviews": reviews, "score": str(episode.sample.score)}
        turn["justification"] = await _written(episode, "justification", Justification, values)
    return {"turn": turn, **_dropped(turn)}


async def look(state: EpisodeState, runtime: Runtime[PaperEpisode]) -> Update:
    """Ask the judge about the wording of both texts, then whether each argument is grounded; drop the paper at a fault."""
    episode, turn = runtime.context, dict(state["turn"])
    sample, settings = item(episode.sample, turn), Settings()
    values = {"idea": sample.research_idea.text(), "justification": sample.novelty_reasoning}

    async def first(at: PaperEpisode, name: str) -> Mapping[str, Any]:
        if name == "claims":
            return await claims.extract(at, sample.novelty_reasoning, settings.max_claims, gold=True)
        read = lambda answer: read_form(answer.reply, Formal).model_dump()  # noqa: E731 - as short as it can be
        return await at.require("judge", name, at.prompt(name), Formal, values, read=read, shared=True)

    names = ("formal", "claims")
    turn |= dict(zip(names, await episode.each(first, names), strict=True))
    if why := _dropped(turn):
        return why
    kinds = [kind for kind in KINDS if turn["claims"][kind]]

    async def grounds(at: AnyEpisode, kind: str) -> Mapping[str, Any]:
        idea = replace(at, sample=sample, settings=settings)
        return await claims.check(idea, kind, NO_GOLD, turn["claims"], shared=True, about=episode.sample.id)

    checked = await episode.each(grounds, kinds)
    return _dropped(turn | {kind: {"claims": flags} for kind, flags in zip(kinds, checked, strict=True)})


async def keep(state: EpisodeState, runtime: Runtime[PaperEpisode]) -> Update:
    """End the episode of a paper that was not dropped with the outcome `kept`, and put its texts into `memory`."""
    return {"outcome": "kept", "memory": state["turn"]}


async def _written(
    episode: PaperEpisode, name: str, form: type[Form], values: Mapping[str, Value]
) -> dict[str, Any]:
    """Ask the writer with the prompt of this name and these values; return the fields of the reply, whose schema is `form`.

    Raises:
        EpisodeFailed: No reply came, none was readable, or a field was empty.
    """

    def parse(answer: Answer) -> dict[str, Any]:
        texts = read_form(answer.reply, form).model_dump()
        if blank := [field for field, text in texts.items() if not says_something(text)]:
            raise Unread("unparsed", f"{', '.join(blank)}: it says nothing")
        return texts

    # Texts that depend only on the paper are shared by all builds.
    return await episode.require("writer", name, episode.prompt(name), form, values, read=parse, shared=True)


def _dropped(turn: Mapping[str, Any]) -> Update:
    """Return the update that ends an episode as `dropped` because of a fault; empty without a fault."""
    why = fault(turn)
    return {"outcome": "dropped", "why": why} if why else {}


def fault(turn: Mapping[str, Any]) -> str | None:
    """Return the first fault in the texts and checks of an episode so far; None without a fault."""
    for name in ("idea", "justification"):
        if number := leak("\n".join(turn.get(name, {}).values())):
            return f"the {name} may give its score away: {number!r}"
    if match := _FIRST_PERSON.search("\n".join(turn.get("idea", {}).values())):
        return f"the idea is in the first person: {match[0]!r}"
    for name, (right, wrong) in EXPECTED_VERDICTS.items():
        if turn.get("formal", {}).get(name, right) is not right:
            return f"{wrong}: {turn['formal']['reason']}"
    if "claims" in turn and not any(turn["claims"].values()):
        return "the justification has no arguments"
    loose = [
        f"{claim}: {turn['claims'][kind][claim]}"
        for kind in KINDS
        for claim, flags in turn.get(kind, {}).get("claims", {}).items()
        if not flags["grounded"]
    ]
    return f"not grounded: {'; '.join(loose)}" if loose else None


def _parted(texts: Sequence[str]) -> str:
    return "\n\n".join(f"({number}) {text}" for number, text in enumerate(texts, 1)) or "(none)"


benchmark = Benchmark(
    name="rinobench-construction",
    about="turn reviewed papers into ideas with a gold score and justification",
    roles=ROLES,
    Settings=Rules,
    Item=Paper,
    nodes={"respond": respond, "judge": look, "grade": keep},
    grade=lambda episode: Score(None, why=episode.state["outcome"]),
    metrics=lambda traces, settings, evidence: {},
    calls=lambda settings: {"writer": 2, "judge": 4},
)
