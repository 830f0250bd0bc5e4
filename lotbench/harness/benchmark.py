"""The seam: what a benchmark declares, and how a node of a graph puts its questions.

A benchmark is a record of pure functions. It says what to ask (`ask`), what to make of the answers (`read`) and what a
finished walk is worth (`grade`); the graph says when, the edge does it. docs/adding_a_benchmark.md has a whole one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

from pydantic import BaseModel

from lotbench.config.model_names import ModelName
from lotbench.errors import CallFailed
from lotbench.harness.ballot import Ballot
from lotbench.harness.calibration import Calibration
from lotbench.harness.data_findings import Finding, Guess, Sight
from lotbench.harness.evidence import Evidence
from lotbench.harness.judge_validation import Validation
from lotbench.harness.published import Source
from lotbench.harness.state import AnyWalk, State, Update, joined
from lotbench.metrics.headline import ByLabels, Headline, of_traces
from lotbench.report.replay import Replay
from lotbench.report.sections import Section
from lotbench.types import JSON, Answer, Metric, Question, Sample, Sampling, Score, Trace

Names: TypeAlias = Mapping[str, tuple[ModelName, ...]]
"""The models of each role, by seat."""
Runs: TypeAlias = Mapping[str, tuple[Sequence[Trace], Any]]
"""The traces and the settings of several runs, by name."""


@dataclass(frozen=True, slots=True)
class Role:
    """A part that a model plays beside the candidate: a `default` model, or one that the run must name."""

    about: str
    sampling: Sampling
    default: tuple[str, ...] = ()
    required: bool = True
    pictures: bool = False
    """Whether it is shown the picture."""
    impartial: bool = False
    """Whether it must not be played by the candidate or its sibling."""
    checked: bool = False
    """Whether scores rest on its verdicts, so that it must have been checked (`report.trust`)."""


@dataclass(frozen=True, slots=True)
class Data:
    """The samples of a benchmark: where they lie, what may be wrong with them, what of them is played.

    Attributes:
        folder: The shipped data set, a folder of data/; the one of the benchmark's name if empty.
        faults: What one line alone cannot show, from the items and the settings.
        lints: What makes a sample weak, given the samples and what was seen of their pictures by id.
        needs_pictures: Whether a walk with these settings shows a picture.
        build: The samples that are played, from the items, the settings and the run's seed; the items
            themselves unless the benchmark composes its samples of them.
        Composed: Pydantic model of a sample that `build` composes of items; None if it composes none.
        beside: Fields of every sample of the data set, next to id and language, that walks read in `walk.data`
            (for drawing controls): a run folder keeps them. None: walks see no sample but those that are played.
        strata: Fields of samples over which `--limit` spreads its draw, the most important first.
        by_position: Whether these settings let recorded predictions be joined to samples by position, not id.
        predicted: The field by which a JSON list is known as released predictions; none if empty.
        published: The samples in what others have published of it.
        guess: How a model is tried on samples without their pictures.
        calibration: How blind plays stand beside a data set; None where there are none.
        right: The texts of a sample that are right answers: who was trained on one of them is not measured by it.
    """

    folder: str = ""
    faults: Callable[[Sequence[Any], Any], Sequence[str]] = lambda items, settings: ()
    lints: Callable[[Sequence[Any], Mapping[str, Sight]], Sequence[Finding]] = lambda items, sights: ()
    needs_pictures: Callable[[Any], bool] = lambda settings: False
    build: Callable[[Sequence[Any], Any, int], Sequence[Any]] = lambda items, settings, seed: items
    Composed: type[Any] | None = None
    beside: tuple[str, ...] | None = None
    strata: tuple[str, ...] = ("language",)
    by_position: Callable[[Any], bool] = lambda settings: False
    predicted: str = ""
    published: Callable[[Source], Sequence[BaseModel]] | None = None
    guess: Guess | None = None
    calibration: Calibration | None = None
    right: Callable[[Any], Sequence[str]] = lambda sample: ()


@dataclass(frozen=True, slots=True)
class Walks:
    """How often a sample is walked, how far a walk may go, and which walks follow each other.

    Attributes:
        repeats: The walks of a sample if nothing is said.
        supersteps: The most nodes that a walk can visit, for the graph's recursion limit.
        lane: The lane of a repeat on a sample; by default each walk has its own.
        order: The walks of a lane, its name first and they in data order, as they are taken; by settings and seed.
        beyond: The most calls that `calls` leaves out, by role; from sample, settings, its walks and the seats of roles.
    """

    repeats: int = 1
    supersteps: Callable[[Any], int] = lambda settings: 10
    lane: Callable[[Sample, int, Any], str] = lambda sample, repeat, settings: f"{sample.id}/{repeat}"
    order: Callable[[str, Sequence[Any], Any, int], Sequence[Any]] = lambda lane, walks, settings, seed: walks
    beyond: Callable[[Any, Any, int, Mapping[str, int]], Mapping[str, int]] = lambda *plan: {}


@dataclass(frozen=True, slots=True)
class Judges:
    """Who judges, and how well.

    Attributes:
        seat: Who sits in each role and in which order, of those named (a judge that is the candidate's sibling may
            have to leave); from the settings, the names by role (candidate included) and the run's seed.
        validation: How judges are checked; None if there is no judge set.
    """

    seat: Callable[[Any, Names, int], Names] = lambda settings, names, seed: names
    validation: Validation | None = None


@dataclass(frozen=True, slots=True)
class People:
    """What people are shown and asked of a run.

    Attributes:
        review: The answers of a run for people to label, a row each, without what judges said; None is to fill in.
        Label: The pydantic model of a row filled in.
        ballot: How what models wrote is put to the vote.
        replay: How a walk is told again, from its sample's fields and its trace; None tells it step by step.
    """

    review: Callable[[Sequence[Trace], Any, Evidence], Sequence[Mapping[str, JSON]]] | None = None
    Label: type[Any] | None = None
    ballot: Ballot | None = None
    replay: Callable[[Mapping[str, Any], Trace], Replay] | None = None


@dataclass(frozen=True, slots=True)
class Comparison:
    """What scores are compared with, and what keeps them from being compared.

    Attributes:
        reference: The preset under configs/ that reports compare with; the default settings if empty.
        headline: The metric by which runs are ranked; `by_labels` is taken where each has labels of its verdicts.
        score_only: Settings that change the score of a finished trace, not the walk; `also_walked`, under some, both.
        unrankable: What the benchmark asks of a run, beside the rule of all (`report.trust`), and these settings lack.
        answers: What the candidate said to each sample, and `encoder` the name of what embeds it; nothing if empty.
        across: Sections on several runs at once, from the traces and settings of each by its name.
        ends: The least and the most that a score can be, by the settings; None for 0 and 1.
    """

    reference: str = ""
    headline: Callable[[Sequence[Trace], Any], Headline] = of_traces
    by_labels: ByLabels = lambda traces, settings, labels: None
    score_only: frozenset[str] = frozenset()
    also_walked: Callable[[Any], frozenset[str]] = lambda settings: frozenset()
    unrankable: Callable[[Any], Sequence[str]] = lambda settings: ()
    answers: Callable[[Sequence[Trace], Any], Mapping[str, Sequence[str]]] = lambda traces, settings: {}
    encoder: Callable[[Any], str] = lambda settings: ""
    across: Callable[[Runs], Sequence[Section]] = lambda runs: ()
    ends: Callable[[Any], tuple[float, float]] | None = None


@dataclass(frozen=True, slots=True)
class Benchmark:
    """What a benchmark declares; every function is pure. The first ten are all that a small one needs.

    Attributes:
        roles: By name; `candidate` is the model under test.
        Settings: Frozen pydantic model of the named settings; `Before` says what runs had before one was there.
        Item: Pydantic model of one line of samples.jsonl.
        ask: The questions to put next at the walk's step; none when the step is done. It is called again
            after every `read`, so **a step is done when what was read is in the turn** (or in the draft, for
            what the next step need not see): look there for the key that `read` leaves.
        read: What the answers change; called once with no answers if a step asks nothing. An `outcome` in
            it ends the walk; a turn or a draft replaces the one before, steps and history are added.
        grade: What a finished walk is worth; no number where it failed.
        metrics: The run's numbers, by name, from its traces and settings.
        calls: The most calls a walk can make, by role, for the plan of a dry run; see also `Walks.beyond`.
        version: Printed in every report; moves when a change moves a published number.
        graph: `panel` (respond, judge, grade) or `game` (respond, check, ask, answer, reveal, and again).
        sections: What the report says beside the metrics.
        preview: One question of each step, filled in for people to read; by default what the first step asks.
        resolve: The settings with what depends on the number of models in each role filled in.
    """

    name: str
    about: str
    roles: Mapping[str, Role]
    Settings: type[Any]
    Item: type[Any]
    ask: Callable[[AnyWalk], Sequence[Question]]
    read: Callable[[AnyWalk, Sequence[Answer]], Update]
    grade: Callable[[AnyWalk], Score]
    metrics: Callable[[Sequence[Trace], Any, Evidence], Mapping[str, Metric]]
    calls: Callable[[Any], Mapping[str, int]]
    version: str = "1"
    graph: Literal["game", "panel"] = "panel"
    sections: Callable[[Sequence[Trace], Any, Evidence], Sequence[Section]] = lambda traces, settings, known: ()
    preview: Callable[[AnyWalk], Sequence[Question]] | None = None
    resolve: Callable[[Any, Mapping[str, int]], Any] = lambda settings, seats: settings
    data: Data = Data()
    walks: Walks = Walks()
    judges: Judges = Judges()
    people: People = People()
    comparison: Comparison = Comparison()

    @property
    def judged(self) -> bool:
        """Whether scores rest on verdicts of judges; if not, there are none for people to label, or to check."""
        return any(role.checked for role in self.roles.values())

    @property
    def data_set(self) -> str:
        """The name of the shipped data set."""
        return self.data.folder or self.name


def preview(benchmark: Benchmark, walk: AnyWalk) -> Sequence[Question]:
    """The questions that people are shown of a walk that has not begun."""
    return benchmark.preview(walk) if benchmark.preview else benchmark.ask(replace(walk, step="respond"))


@dataclass(frozen=True, slots=True)
class Context:
    """What a node reaches beside the state: the benchmark, the live view of a walk, and `ask`."""

    benchmark: Benchmark
    view: Callable[[State, str], AnyWalk]
    ask: Callable[[AnyWalk, Question], Awaitable[Answer]]


async def take(step: str, state: State, context: Context) -> Update:
    """Put one step's questions until it asks no more; what the answers change is the node's update.

    A call that brought no reply ends the walk as ROLE_failed, which is an outcome and not a score.
    """
    changed: Update = {}
    benchmark, now = context.benchmark, dict(state)
    walk = context.view(now, step)
    questions = benchmark.ask(walk)
    while True:
        try:
            answers = await _all(context, walk, questions)
            update = benchmark.read(walk, answers) | {"usage": _usage(answers)}
        except CallFailed as error:
            role = questions[0].role
            update = {"outcome": f"{role}_failed", "why": str(error), "arrived": False}
        now = joined(now, update)
        changed = joined(changed, update)
        if now["outcome"] is not None:
            return changed
        walk = context.view(now, step)
        questions = benchmark.ask(walk)
        if not questions:
            return changed


async def _all(context: Context, walk: AnyWalk, questions: Sequence[Question]) -> list[Answer]:
    """Every answer; one that fails does not leave the others behind, whose replies are paid for.

    Raises:
        LotbenchError: Of several failures, one that ends the run before one that ends the walk.
    """
    if len(questions) == 1:
        # The rule, and it needs no task of its own.
        return [await context.ask(walk, questions[0])]
    asked = (context.ask(walk, question) for question in questions)
    answers = await asyncio.gather(*asked, return_exceptions=True)
    failures = [answer for answer in answers if isinstance(answer, BaseException)]
    if failures:
        raise min(failures, key=lambda failure: isinstance(failure, CallFailed))
    return [answer for answer in answers if isinstance(answer, Answer)]


def _usage(answers: Sequence[Answer]) -> dict[str, int]:
    """What the walk's own questions used; what is shared by all walks is counted by the run alone."""
    own = [answer.reply.usage for answer in answers if not answer.question.shared]
    return {
        "calls": len(own),
        "input_tokens": sum(usage.input_tokens for usage in own),
        "cached_input_tokens": sum(usage.cached_input_tokens for usage in own),
        "output_tokens": sum(usage.output_tokens for usage in own),
    }


Step: TypeAlias = tuple[
    Callable[[AnyWalk], Sequence[Question]], Callable[[AnyWalk, Sequence[Answer]], Update]
]
"""What asks at a node, and what reads the answers."""


def by_step(steps: Mapping[str, Step]) -> Step:
    """A benchmark's `ask` and `read`, from the pair of functions of each node."""
    return (lambda walk: steps[walk.step][0](walk), lambda walk, answers: steps[walk.step][1](walk, answers))


def record(answer: Answer, value: Mapping[str, JSON]) -> dict[str, JSON]:
    """One step of a trace: who was asked what for, and what the reply was read as."""
    question = answer.question
    return {
        "step": question.step,
        "round": question.round,
        "role": question.role,
        "draw": question.draw,
        "call": str(answer.key),
        "value": dict(value),
        "seconds": answer.reply.seconds,
    }


def remark(step: str, round: int, value: Mapping[str, JSON]) -> dict[str, JSON]:
    """One step of a trace for which no model was asked."""
    place: dict[str, JSON] = {"step": step, "round": round, "role": None, "draw": 0}
    return place | {"call": None, "value": dict(value), "seconds": 0.0}
