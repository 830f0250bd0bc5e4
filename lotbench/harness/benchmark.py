"""The seam: what a benchmark declares.

A benchmark is a record of nodes, which ask, and of pure functions: what a finished episode is worth (`grade`), and what
all of them together say. The graph says when a node is visited. docs/adding_a_benchmark.md has a whole one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from pydantic import BaseModel

from lotbench.config.model_names import ModelName
from lotbench.harness.ballot import Ballot
from lotbench.harness.data_findings import Finding, Sight
from lotbench.harness.episode import Node
from lotbench.harness.evidence import Evidence
from lotbench.harness.judge_validation import Validation
from lotbench.harness.published import Source
from lotbench.metrics.headline import ByLabels, Headline, of_traces
from lotbench.report.replay import Replay
from lotbench.report.sections import Section
from lotbench.types import JSON, Metric, Sample, Sampling, Score, Trace

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
        asked: What samples have in common that bring the same requests under these settings (a scene without its caption);
            a draw takes one of each. None: no two do.
        by_position: Whether these settings let recorded predictions be joined to samples by position, not id.
        predicted: The field by which a JSON list is known as released predictions; none if empty.
        published: The samples in what others have published of it.
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
    asked: Callable[[Any, Any], str | None] = lambda sample, settings: None
    by_position: Callable[[Any], bool] = lambda settings: False
    predicted: str = ""
    published: Callable[[Source], Sequence[BaseModel]] | None = None
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
        tables: Titles of the sections with the paper's tables: those that a report has without `--full`.
        reference: The preset under configs/ that reports compare with; the default settings if empty.
        headline: The metric by which runs are ranked; `by_labels` is taken where each has labels of its verdicts.
        score_only: Settings that change the score of a finished trace, not the walk; `also_walked`, under some, both.
        unrankable: What the benchmark asks of a run, beside the rule of all (`report.trust`), and these settings lack.
        answers: What the candidate said to each sample, and `encoder` the name of what embeds it; nothing if empty.
        across: Sections on several runs at once, from the traces and settings of each by its name.
        ends: The least and the most that a score can be, by the settings; None for 0 and 1.
    """

    tables: tuple[str, ...] = ()
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
    """What a benchmark declares; every function but the nodes is pure. The first ten are all that a small one needs.

    Attributes:
        roles: By name; `candidate` is the model under test.
        Settings: Frozen pydantic model of the named settings.
        Item: Pydantic model of one line of samples.jsonl.
        nodes: The nodes of its graph, by name: `respond`, `judge`, `grade` of a panel; `respond`, `check`, `ask`,
            `answer`, `reveal` of a game. An `outcome` in what a node changes ends the episode.
        grade: What a finished episode is worth, from the episode in its last state; no number where it failed.
        metrics: The run's numbers, by name, from its traces and settings.
        calls: The most calls a walk can make, by role, for the plan of a dry run; see also `Walks.beyond`.
        version: Printed in every report; moves when a change moves a published number.
        graph: `panel` (respond, judge, grade) or `game` (respond, check, ask, answer, reveal, and again).
        sections: What the report says beside the metrics.
        example: What the candidate may reply where no form is wanted, from the settings: of 0 what is judged, of -1 what is
            not; for previews of the questions.
        resolve: The settings with what depends on the number of models in each role filled in.
    """

    name: str
    about: str
    roles: Mapping[str, Role]
    Settings: type[Any]
    Item: type[Any]
    nodes: Mapping[str, Node]
    grade: Callable[[Any], Score]
    metrics: Callable[[Sequence[Trace], Any, Evidence], Mapping[str, Metric]]
    calls: Callable[[Any], Mapping[str, int]]
    version: str = "1"
    graph: Literal["game", "panel"] = "panel"
    sections: Callable[[Sequence[Trace], Any, Evidence], Sequence[Section]] = lambda traces, settings, known: ()
    example: Callable[[Any, int], str] = lambda settings, choice: "An example of an answer."
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
