"""The seam: what a benchmark declares.

A benchmark is a record of nodes, which ask, and of pure functions: what a finished episode is worth (`grade`), and what
all of them together say. The graph says when a node is visited. docs/development.md has a whole one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from pydantic import BaseModel

from lotbench.config.model_names import Names
from lotbench.harness.ballot import Ballot
from lotbench.harness.data_findings import Finding, Sight
from lotbench.harness.episode import Node
from lotbench.harness.evidence import Evidence
from lotbench.harness.judge_validation import Validation
from lotbench.harness.loop import Sequences
from lotbench.harness.published import Source
from lotbench.metrics.primary_metric import PrimaryMetric, of_traces
from lotbench.report.replay import Replay
from lotbench.report.sections import Section
from lotbench.types import JSON, Metric, Sampling, Score, Trace

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
class Composed:
    """Samples that are not the lines of a data set but made of them.

    Attributes:
        Sample: Their pydantic model.
        make: The samples, from the items, the settings and the run's seed.
        data: The data set that they are made of.
    """

    Sample: type[Any]
    make: Callable[[Sequence[Any], Any, int], Sequence[Any]]
    data: str


@dataclass(frozen=True, slots=True)
class Review:
    """What people are asked of a run: `rows` of it to label, without what judges said, and the `Label` of a row filled in.

    What is to be filled in is None in a row.
    """

    rows: Callable[[Sequence[Trace], Any, Evidence], Sequence[Mapping[str, JSON]]]
    Label: type[Any]


@dataclass(frozen=True, slots=True)
class Benchmark:
    """What a benchmark declares; every function but the nodes is pure. The first nine are all that a small one needs.

    Some settings are known by name, where a benchmark has them: `max_rounds` (of a game), `arm` (which sets the variant; one
    with "image" in it shows pictures), `encoder` (what embeds `answers`), `join` ("position" joins recorded predictions
    to samples by position). `config.setting_marks` has what a setting says of itself.

    Attributes:
        roles: By name; `candidate` is the model under test.
        Settings: Frozen pydantic model of the named settings.
        Item: Pydantic model of one line of samples.jsonl.
        nodes: The nodes of its graph, by name: `respond`, `judge`, `grade` of a panel; `respond`, `check`, `ask`,
            `answer`, `reveal` of a game. An `outcome` in what a node changes ends the episode.
        grade: What a finished episode is worth, from the episode in its last state; no number where it failed.
        metrics: The run's numbers, by name, from its traces and settings.
        calls: The most calls an episode can make, by role, for the plan of a dry run.
        version: Printed in every report; moves when a change moves a published number.
        sections: What the report says beside the metrics.
        cast: The settings with what depends on the models in each role filled in, and who sits in each role and in which
            order (a judge that is the candidate's sibling may have to leave); from the settings, the names by role
            (candidate included) and the run's seed.
        composed: How samples are made of the lines of a data set; None if each line is a sample.
        strata: Fields of samples over which `--limit` spreads its draw, the most important first.
        alike: What samples have in common that bring the same requests under these settings (a scene without its
            caption); a draw takes one of each. None: no two do.
        beside: Fields of every sample of the data set, next to id and language, that nodes read in `episode.data` (for
            drawing controls): a run folder keeps them. None: nodes see no sample but those that are played.
        lints: What makes samples weak, from the samples, the settings and what was seen of their pictures by id.
        published: The samples in what others have published of it.
        right: The texts of a sample that are right answers: who was trained on one of them is not measured by it.
        repeats: The episodes of a sample if nothing is said.
        sequences: How the episodes of a repeat hand their memory on: `each` is alone, or all follow each other, `shuffled` or
            in the order of the `data`.
        beyond: The most calls that `calls` leaves out, by role; from a sample, settings, its episodes and the models of roles.
        validation: How judges are checked; None if there is no judge set.
        review: How people review the answers of a run.
        ballot: How what models wrote is put to the vote.
        replay: How an episode is told again, from its sample's fields and its trace; None tells it step by step.
        primary_metric: The metric by which runs are ranked, and what may keep a run from it.
        answers: What the candidate said in an episode, to see how much of it is alike.
        across: Sections on several runs at once, from the traces and settings of each by its name.
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
    sections: Callable[[Sequence[Trace], Any, Evidence], Sequence[Section]] = (
        lambda traces, settings, evidence: ()
    )
    cast: Callable[[Any, Names, int], tuple[Any, Names]] = lambda settings, names, seed: (settings, names)
    composed: Composed | None = None
    strata: tuple[str, ...] = ("language",)
    alike: Callable[[Any, Any], str | None] = lambda sample, settings: None
    beside: tuple[str, ...] | None = None
    lints: Callable[[Sequence[Any], Any, Mapping[str, Sight]], Sequence[Finding]] = (
        lambda items, settings, sights: ()
    )
    published: Callable[[Source], Sequence[BaseModel]] | None = None
    right: Callable[[Any], Sequence[str]] = lambda sample: ()
    repeats: int = 1
    sequences: Callable[[Any], Sequences] = lambda settings: "each"
    beyond: Callable[[Any, Any, int, Mapping[str, int]], Mapping[str, int]] = lambda *plan: {}
    validation: Validation | None = None
    review: Review | None = None
    ballot: Ballot | None = None
    replay: Callable[[Mapping[str, Any], Trace], Replay] | None = None
    primary_metric: Callable[[Sequence[Trace], Any], PrimaryMetric] = of_traces
    answers: Callable[[Trace, Any], Sequence[str]] = lambda trace, settings: ()
    across: Callable[[Runs], Sequence[Section]] = lambda runs: ()

    @property
    def graph(self) -> Literal["game", "panel"]:
        """Which graph its nodes are of."""
        return "game" if "reveal" in self.nodes else "panel"

    @property
    def judged(self) -> bool:
        """Whether scores rest on verdicts of judges; if not, there are none for people to label, or to check."""
        return any(role.checked for role in self.roles.values())

    @property
    def data_set(self) -> str:
        """The name of the shipped data set."""
        return self.composed.data if self.composed else self.name

    @property
    def Sample(self) -> type[Any]:  # noqa: N802 - it is a type, as Item and Settings are
        """The pydantic model of what is played."""
        return self.composed.Sample if self.composed else self.Item

    def supersteps(self, settings: Any) -> int:
        """Return the most nodes that an episode can visit, for the graph's recursion limit."""
        return 5 * getattr(settings, "max_rounds", 1) + 5

    def shows_pictures(self, settings: Any) -> bool:
        """Return whether episodes with these settings show a picture to anybody."""
        return "image" in getattr(settings, "arm", "image") and any(
            role.pictures for role in self.roles.values()
        )

    def answers_by_sample(self, traces: Sequence[Trace], settings: Any) -> dict[str, list[str]]:
        """Return what the candidate said to each sample."""
        answers: dict[str, list[str]] = {}
        for trace in traces:
            answers.setdefault(trace.sample, []).extend(self.answers(trace, settings))
        return answers

    def samples(self, items: Sequence[Any], settings: Any, seed: int) -> tuple[Any, ...]:
        """Return the samples that the lines of a data set are, or make."""
        return tuple(self.composed.make(items, settings, seed) if self.composed else items)
