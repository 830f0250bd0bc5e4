"""The records that pass between the rooms of lotbench, and the two protocols of models; data, no logic.

Every record is frozen: a room that wants another value makes another record. Pictures travel as the
sha256 of their bytes and are turned into pixels only where a model is called, so a record stays small enough to print.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, Literal, Protocol, TypeAlias

from pydantic import Field

if TYPE_CHECKING:
    JSON: TypeAlias = bool | int | float | str | Sequence["JSON"] | Mapping[str, "JSON"] | None
    """What survives a round trip through a JSON file."""
else:
    # Whoever reads a record from a file has it from a decoder of JSON, and need not look through it.
    JSON = Any

RUN_SCHEMA = 2
"""The layout of a run folder: its field names. 1 was lotbench 0.1."""
MOST = 10**11
"""No number in a file is larger: tokens, or seconds since 1970. What is made of larger ones fills the memory or is no date."""
Count: TypeAlias = Annotated[int, Field(ge=0, le=MOST)]
Seconds: TypeAlias = Annotated[float, Field(ge=0, le=MOST)]

Speaker: TypeAlias = Literal["system", "user", "assistant"]
Finish: TypeAlias = Literal["stop", "length", "content_filter", "other"]


class Sample(Protocol):
    """One item of a benchmark's data set; a benchmark's own `Item` has these and more."""

    @property
    def id(self) -> str:
        """Opaque and unique in its data set."""
        ...

    @property
    def language(self) -> str:
        """`en` or `zh`: chooses the prompts."""
        ...

    @property
    def image(self) -> str | None:
        """Path of the picture relative to the data set's folder, if the item has one."""
        ...


@dataclass(frozen=True, slots=True)
class Image:
    """A picture, by content."""

    sha256: str


@dataclass(frozen=True, slots=True)
class Message:
    """One turn of a conversation: text and pictures in the order in which they are sent."""

    speaker: Speaker
    parts: tuple[str | Image, ...]


@dataclass(frozen=True, slots=True)
class Sampling:
    """How a reply is drawn; None leaves the choice to the server."""

    temperature: float | None = None
    top_p: float | None = None
    seed: int | None = None
    max_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class Key:
    """The name of one call: where in which episode it stands, and the digest of what it asks.

    `step` is the purpose of the call, `draw` numbers wanted repetitions of one request (votes),
    `attempt` numbers askings of the same thing after a reply that could not be read.
    """

    sample: str
    repeat: Count
    round: Count
    step: str
    draw: Count
    attempt: Count
    digest: str

    def __str__(self) -> str:
        place = f"{self.sample}/{self.repeat}/{self.round}/{self.step}"
        return f"{place}/{self.draw}/{self.attempt}/{self.digest}"


@dataclass(frozen=True, slots=True)
class Question:
    """What a benchmark wants to have asked: of which role, for which purpose, in which words.

    `index` chooses among the models of a role (the second judge is index 1). A `shared` question belongs to the sample: it
    is asked once for all episodes and runs, and kept in the store. `about` names what samples share it by, `*` for all.
    """

    role: str
    step: str
    messages: tuple[Message, ...]
    schema: Mapping[str, JSON] | None = None
    index: int = 0
    round: int = 0
    draw: int = 0
    attempt: int = 0
    shared: bool = False
    about: str = ""
    temperature: float | None = None
    """Replaces the role's temperature for this question."""


@dataclass(frozen=True, slots=True)
class Request:
    """A question addressed to a model: what the call digest covers, before any fallback of the endpoint."""

    key: Key
    model: str
    messages: tuple[Message, ...]
    schema: Mapping[str, JSON] | None
    sampling: Sampling
    role: str = ""
    """Who is asked, for whoever listens to the calls; no part of what is asked."""


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one or more calls; cached input tokens are part of the input tokens."""

    input_tokens: Count = 0
    cached_input_tokens: Count = 0
    output_tokens: Count = 0


@dataclass(frozen=True, slots=True)
class Reply:
    """What came back from a model, as received."""

    text: str
    model: str
    """The id of the model that answered, as the server names it."""
    finish: Finish = "stop"
    reasoning: str | None = None
    refusal: str | None = None
    usage: Usage = field(default_factory=Usage)
    seconds: Seconds = 0.0
    sent: Mapping[str, JSON] = field(default_factory=dict)
    """How the call went out after fallbacks: form of the answer asked for, parameters dropped."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A question with the reply to it."""

    question: Question
    key: Key
    reply: Reply


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a judge said, read: one decision, and the named parts that it rests on."""

    accepted: bool
    parts: Mapping[str, JSON]


@dataclass(frozen=True, slots=True)
class Score:
    """The score of one episode: a number, or None with the reason why there is none."""

    value: float | None
    why: str | None = None
    parts: Mapping[str, JSON] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Trace:
    """The record of one episode; one line of traces.jsonl.

    A step is `{"step", "round", "role", "draw", "call", "value", "seconds"}`; `call` is the key of the
    journal line, or None where no model was asked.
    """

    sample: str
    repeat: int
    sequence: str
    outcome: str
    score: Score
    steps: tuple[Mapping[str, JSON], ...]
    memory: JSON
    usage: Mapping[str, JSON]
    why: str | None = None
    """What ended the episode, where that was a failure."""
    arrived: bool = True
    """False if the episode ended on a call whose reply never came: a resumed run tries it again."""


class Model(Protocol):
    """Anything that answers a request: a server, a process, a recording, a person."""

    async def __call__(self, request: Request) -> Reply:
        """Answer the request.

        Raises:
            CallFailed: No reply came, after all retries.
            Unescapable: No other call to this model can succeed either (a wrong key, an unknown model).
        """
        ...


@dataclass(frozen=True, slots=True)
class Metric:
    """A number over samples with its 95 % interval, or None with the reason why there is none.

    `n` counts the independent units that the interval rests on (samples); `observations` what they were seen in (games,
    answers), 0 where that is not counted apart. `baselines` are the values of chance and trivial players, by name.
    `instrument` is what it was measured with (an encoder). `bounds`: see `report.bounds`; empty if no episode broke off.
    """

    value: float | None
    low: float | None = None
    high: float | None = None
    n: int = 0
    better: Literal["higher", "lower"] = "higher"
    baselines: Mapping[str, float | None] = field(default_factory=dict)
    why: str | None = None
    instrument: str = ""
    observations: int = 0
    bounds: Mapping[str, float | None] = field(default_factory=dict)
