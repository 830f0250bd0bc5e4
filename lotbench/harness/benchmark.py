"""The interface of a benchmark.

A benchmark declares the nodes of its graph, which ask models, and pure functions: the score of a finished episode
(`grade`) and the metrics of a run. docs/development.md has a complete example.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from pydantic import BaseModel

from lotbench.config.model_names import Names
from lotbench.harness.ballot import Ballot
from lotbench.harness.data_findings import Finding
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
    """A role that models play, such as the judge; a run may name its models, else those of `default` play it."""

    about: str
    sampling: Sampling
    default: tuple[str, ...] = ()
    required: bool = True
    pictures: bool = False
    """Whether the models of the role see the picture of the sample."""
    impartial: bool = False
    """Whether the candidate and other models of its family must not play the role."""
    checked: bool = False
    """Whether scores rest on verdicts of the role; a run is then trusted only after a judge check of it (`report.trust`)."""


@dataclass(frozen=True, slots=True)
class Composed:
    """Samples that are composed from the lines of a data set.

    Attributes:
        Sample: The pydantic class of a sample.
        make: Makes the samples from the lines, the settings and the run's seed.
        data: The name of the data set.
        choices: The settings that choose which samples are made, with the values that make all of the data set.
    """

    Sample: type[Any]
    make: Callable[[Sequence[Any], Any, int], Sequence[Any]]
    data: str
    choices: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Review:
    """How people label the answers of a run.

    Attributes:
        rows: Makes the rows, without verdicts of judges, from traces, settings and `Evidence`; the fields to fill in are None.
        Label: The pydantic class of a filled-in row.
    """

    rows: Callable[[Sequence[Trace], Any, Evidence], Sequence[Mapping[str, JSON]]]
    Label: type[Any]


@dataclass(frozen=True, slots=True)
class Benchmark:
    """The declaration of a benchmark; all functions except the nodes are pure. A small benchmark needs only the first nine.

    Some settings have a meaning by their name: `max_rounds` (of a game), `arm` (the variant; pictures are shown if its name
    contains "image"), `encoder` (embeds `answers`), `join` ("position" joins recorded predictions to samples by position).

    Attributes:
        roles: Roles by name; `candidate` is the model under test.
        Settings: The frozen pydantic class of the settings.
        Item: The pydantic class of one line of samples.jsonl.
        nodes: The nodes of the graph by name: `respond`, `judge`, `grade` for a panel; `respond`, `check`, `ask`, `answer`,
            `reveal` for a game. A node that sets `outcome` ends the episode.
        grade: Returns the score of a finished episode, from the episode in its last state; a failed episode has the value None.
        metrics: Returns the metrics of a run by name, from traces, settings and `Evidence` (samples, embeddings, labels).
        calls: Returns the maximum number of calls of an episode by role, from the settings; used by a dry run.
        version: The version, printed in every report; it changes whenever published numbers change.
        sections: Returns the sections of the report beside the metrics, from the arguments of `metrics`.
        cast: Returns the settings and the models by role that a run uses, from those asked for and the seed; it may drop a judge.
        composed: How samples are composed from the lines of a data set; None if each line is a sample.
        strata: Fields of samples over which `--limit` spreads its draw, the most important first.
        alike: Returns a key of the samples that give the same requests, of which a draw takes one; None for other samples.
        asked: The names of the fields of a sample that may hold its prompt; pages show the first that is not empty.
        shared_fields: The names of the fields (besides id and language) of all samples that nodes may read in `episode.data`, for
            example to draw control guesses; a run folder keeps them. None: nodes see only the samples that are played.
        lints: Returns findings on weak samples, from the samples, the settings and the metadata of their pictures by id.
        published: Reads the samples from files that others have published; None if there are none.
        right: Returns the right answers of a sample; a candidate that was trained on one of them has seen the sample.
        repeats: The default number of repeats.
        sequences: Returns how the episodes of a repeat pass on memory, from the settings; see `loop.Sequences`.
        beyond: Returns by role the most calls on a sample beside `calls`, from it, settings, number of episodes, models by role.
        validation: How judges are checked; None without a judge set.
        review: How people label the answers of a run; None if they label none.
        ballot: How responses are put to the vote; None if they are not.
        replay: Renders an episode from its sample's fields and its trace; None renders it step by step.
        primary_metric: Returns the metric that ranks runs, with its data, from traces and settings.
        answers: Returns the candidate's answers in an episode, for measures of likeness.
        across: Returns the sections of a comparison, from the traces and settings of several runs by name.
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
    sections: Callable[[Sequence[Trace], Any, Evidence], Sequence[Section]] = lambda *run: ()
    cast: Callable[[Any, Names, int], tuple[Any, Names]] = lambda settings, names, seed: (settings, names)
    composed: Composed | None = None
    strata: tuple[str, ...] = ("language",)
    alike: Callable[[Any, Any], str | None] = lambda sample, settings: None
    asked: tuple[str, ...] = ()
    shared_fields: tuple[str, ...] | None = None
    lints: Callable[[Sequence[Any], Any, Mapping[str, Sequence[str]]], Sequence[Finding]] = lambda *data: ()
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
        """The name of the graph in which the nodes are connected."""
        return "game" if "reveal" in self.nodes else "panel"

    @property
    def judged(self) -> bool:
        """Whether scores rest on verdicts of judges."""
        return any(role.checked for role in self.roles.values())

    @property
    def data_set(self) -> str:
        """The name of the shipped data set."""
        return self.composed.data if self.composed else self.name

    @property
    def Sample(self) -> type[Any]:  # noqa: N802 - it is a type, as Item and Settings are
        """The pydantic class of a sample that is played."""
        return self.composed.Sample if self.composed else self.Item

    def supersteps(self, settings: Any) -> int:
        """Return the maximum number of nodes that an episode visits, for the graph's recursion limit."""
        return 5 * getattr(settings, "max_rounds", 1) + 5

    def shows_pictures(self, settings: Any) -> bool:
        """Return whether any role sees pictures under these settings."""
        return "image" in getattr(settings, "arm", "image") and any(
            role.pictures for role in self.roles.values()
        )

    def answers_by_sample(self, traces: Sequence[Trace], settings: Any) -> dict[str, list[str]]:
        """Return the candidate's answers by sample."""
        answers: dict[str, list[str]] = {}
        for trace in traces:
            answers.setdefault(trace.sample, []).extend(self.answers(trace, settings))
        return answers

    def samples(self, items: Sequence[Any], settings: Any, seed: int) -> tuple[Any, ...]:
        """Return the samples of a data set: its items, or the samples that are composed from them."""
        return tuple(self.composed.make(items, settings, seed) if self.composed else items)
