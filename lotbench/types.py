"""The records that are shared by all packages of lotbench, and the protocols of samples and models.

All records are frozen. Pictures are referred to by the sha256 of their bytes and are read only where a model is called.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, Literal, Protocol, Self, TypeAlias

from pydantic import BaseModel, Field

if TYPE_CHECKING:
    JSON: TypeAlias = bool | int | float | str | Sequence["JSON"] | Mapping[str, "JSON"] | None
    """Values that survive a round trip through JSON."""
else:
    # Values read from files come from a JSON decoder and need no validation.
    JSON = Any

RUN_SCHEMA = 2
"""The version of the run folder's layout and field names; 1 was lotbench 0.1."""
MOST = 10**11
"""The largest number in a file (tokens, or seconds since 1970); larger ones could exhaust memory or are no dates."""
MAX_CHARACTERS = 1_000_000
"""The longest text of a reply; longer ones are cut, with finish reason `length`."""
Count: TypeAlias = Annotated[int, Field(ge=0, le=MOST)]
Seconds: TypeAlias = Annotated[float, Field(ge=0, le=MOST)]

Speaker: TypeAlias = Literal["system", "user", "assistant"]
Finish: TypeAlias = Literal["stop", "length", "content_filter", "other"]


class FrozenModel(BaseModel, frozen=True, extra="forbid", allow_inf_nan=False):
    """A record whose fields are checked when it is made: frozen, without further fields, and without NaN and infinity."""


class Sample(Protocol):
    """The common fields of the samples of all benchmarks."""

    @property
    def id(self) -> str:
        """The id, unique in the data set."""
        ...

    @property
    def language(self) -> str:
        """The language (`en`, `zh` or `ja`), which selects the prompts."""
        ...

    @property
    def image(self) -> str | None:
        """The path of the picture relative to the data set's folder, if any."""
        ...


@dataclass(frozen=True, slots=True)
class Image:
    """A reference to a picture: the sha256 of its bytes, in hex."""

    sha256: str


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a conversation: texts and pictures in order."""

    speaker: Speaker
    parts: tuple[str | Image, ...]


@dataclass(frozen=True, slots=True)
class Sampling:
    """Sampling parameters; None leaves the choice to the server."""

    temperature: float | None = None
    top_p: float | None = None
    seed: int | None = None
    max_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class Key:
    """The key of a call: its place in an episode, and the digest of the request.

    `step` is the purpose of the call, `draw` numbers intended repetitions (votes), and `attempt` numbers repetitions after
    an unreadable reply. `repeat` is 0 for a question that all episodes share.
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
    """A question of a benchmark to a role.

    `index` selects one of the role's models (the second judge has index 1). A `shared` question is asked once for all
    episodes and runs; the store keeps its reply. `about` replaces the sample's id in the key if several samples share the
    question (`*` for all). `step`, `round`, `draw` and `attempt` are as in `Key`. `schema` is the JSON schema of the reply;
    None asks for free text.
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
    """Replaces the role's temperature for this question; None leaves it."""


@dataclass(frozen=True, slots=True)
class Request:
    """A question addressed to a model.

    The key's digest is that of the request as asked. If the server refuses a parameter, the request is sent without it, and
    the digest stays the same.
    """

    key: Key
    model: str
    messages: tuple[Message, ...]
    schema: Mapping[str, JSON] | None
    sampling: Sampling
    role: str = ""
    """The role that the model plays, for callbacks; not part of the digest."""


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one or more calls; input tokens include cached ones."""

    input_tokens: Count = 0
    cached_input_tokens: Count = 0
    output_tokens: Count = 0

    def __add__(self, other: Self) -> Self:
        return type(self)(*(getattr(self, name) + getattr(other, name) for name in self.__slots__))


@dataclass(frozen=True, slots=True)
class Reply:
    """The reply of a model, as received."""

    text: str
    model: str
    """The id of the model, as the server returned it."""
    finish: Finish = "stop"
    reasoning: str | None = None
    refusal: str | None = None
    usage: Usage = field(default_factory=Usage)
    seconds: Seconds = 0.0
    sent: Mapping[str, JSON] = field(default_factory=dict)
    """The parameters that were sent, without those that the server had refused."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A question with its reply."""

    question: Question
    key: Key
    reply: Reply


@dataclass(frozen=True, slots=True)
class Verdict:
    """The verdict of a judge: a decision, and the fields of its answer."""

    accepted: bool
    parts: Mapping[str, JSON]


@dataclass(frozen=True, slots=True)
class Score:
    """The score of an episode: a number, or None with the reason in `why`. `parts` has the numbers that it is made from."""

    value: float | None
    why: str | None = None
    parts: Mapping[str, JSON] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Trace:
    """The record of an episode; a line of traces.jsonl.

    `outcome` is how the episode ended, such as `scored`, `solved` or `judge_failed`. `memory` is what it passes on to the next
    episode of the same `sequence`. A step is `{"step", "round", "role", "draw", "call", "value", "seconds"}`; `call` is the
    key in the journal, or None for a step without a model call.
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
    """The reason of a failure, if any."""
    arrived: bool = True
    """False if the episode failed because a call brought no reply; a resumed run plays it again."""

    def __repr__(self) -> str:
        return f"<{self.sample}, repeat {self.repeat}: {self.outcome}, score {self.score.value}, {len(self.steps)} steps>"


class Model(Protocol):
    """A model as the caller sees it: a server, a process, a recording or a person that answers requests."""

    async def __call__(self, request: Request) -> Reply:
        """Answer the request.

        Raises:
            CallFailed: All tries failed.
            Unescapable: Every other call to this model would fail too (a wrong key, an unknown model).
        """
        ...


@dataclass(frozen=True, slots=True)
class Metric:
    """A metric with its 95 % interval, or None with the reason in `why`.

    `low` or `high` is None where the interval is open. `n` counts the independent units of the interval (samples),
    `observations` the games or answers in them (0 if not counted). `baselines` are the values that chance and trivial players
    would reach, by name. `instrument` names the encoder that measured it, if any. `bounds` has the range over all possible
    outcomes of the episodes that broke off (`report.bounds`); it is empty if none did.
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
