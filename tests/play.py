"""Games in a test: scripted players at a real desk, through the compiled graph and the loop.

    game = await play(candidate("bell", "egg timer"), judge(NO, YES), max_rounds=3)
    assert game.outcome == "solved" and game.attempts == 2

The sample is `SAMPLE` unless another is named; the three samples beside it lend their key texts to the
trial of a causal chain.
"""

import json
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from graphs import game as graph
from lotbench.benchmarks.lotbench.sample import Item, Rejected
from lotbench.benchmarks.lotbench.settings import Settings, cast
from lotbench.benchmarks.lotbench.task import ROLES, benchmark
from lotbench.calls.budget import Bucket, Budget
from lotbench.calls.caller import Caller, RoleModel
from lotbench.calls.journal import Entry, Journal, read_journal
from lotbench.calls.prices import Price
from lotbench.calls.store import Store
from lotbench.config.experiment import Limits
from lotbench.harness.episode import Call, Episode, Node, nobody, visit
from lotbench.harness.loop import Course, Loop, Planned
from lotbench.harness.state import State
from lotbench.storage import datasets
from lotbench.types import Answer, Image, Key, Question, Reply, Request, Trace
from tests.episodes import resolved
from tests.fakes import ScriptedModel, text_of

SAMPLE = Item(
    id="lot-1",
    language="en",
    image="lot-1.png",
    caption="A puffer fish in a glass tank swells up and shrinks again every second.",
    response="My neighbour keeps an alarm clock in the tank.",
    key_text="alarm clock",
    explanation="The fish swells at fixed times, as the thing beside a bed goes off at a fixed time.",
    clues=("It is an object.", "Most bedrooms have one.", "Watch the rhythm.", "It ends the night."),
    accept=("egg timer", "metronome"),
    reject=(Rejected(text="aquarium heater", difficulty="easy"), Rejected(text="drum", difficulty="hard")),
)
OTHERS = tuple(
    Item(
        id=f"lot-{number}",
        language="en",
        image=f"lot-{number}.png",
        caption=f"A thing that looks like a {key}.",
        response=f"Nobody expected the {key} here.",
        key_text=key,
        explanation=f"It looks like a {key}.",
        clues=("It is large.",),
    )
    for number, key in ((2, "lighthouse"), (3, "wedding cake"), (4, "cement mixer"))
)
CHINESE = Item(
    id="lot-5",
    language="zh",
    image="lot-5.png",
    caption="玻璃缸里，一条河豚每秒鼓起来又瘪下去。",
    response="邻居在鱼缸里养了一只闹钟。",
    key_text="闹钟",
    explanation="河豚按时鼓起，就像床头的东西按时响起。",
    clues=("它是一件物品。", "卧室里常有。"),
)
DATA = (SAMPLE, *OTHERS, CHINESE)
CONTROLS = tuple(other.key_text for other in OTHERS)


def verdict(point: bool, function: bool) -> dict[str, Any]:
    """What a judge says; the fields of every form, since each takes its own."""
    return {
        "intervened_chain": "it swells -> it rings",
        "point_reason": "the rhythm",
        "same_creative_point": point,
        "function_reason": "the noise",
        "same_function": function,
        "explanation": "the rhythm and the noise",
        "SUMMARY": point and function,
        "EXPLANATION": "the rhythm and the noise",
    }


YES, NO = verdict(True, True), verdict(False, False)
TRIAL = (YES, NO, NO, NO)
"""The key text passes, three controls fail."""
CHAIN = {
    "scene_chain": "time passes -> the fish swells",
    "caption_chain": "time passes -> the clock rings",
    "creative_point": "swelling is ringing",
    "function": "somebody is startled",
}
SORRY = "I'm sorry, but I can't help with that."
REASONING = "the fish reminds me of a heartbeat"
FILTERED = Reply("", "somebody", finish="content_filter")
GARBAGE = "Hard to say.\nReally."
GUESSES = tuple(f"thing number {n}" for n in range(1, 61))
QUESTIONS = tuple(f"Is it bigger than {n} metres?" for n in range(1, 61))


def candidate(*guesses: Any, asks: Sequence[Any] = QUESTIONS, **steps: Sequence[Any]) -> ScriptedModel:
    """A candidate that fills in these (or one thing after another) and asks these."""
    return ScriptedModel(respond=guesses or GUESSES, ask=asks, model_id="the-candidate", **steps)


def judge(
    *checks: Any,
    confirms: Sequence[Any] = (),
    chains: Sequence[Any] = (CHAIN,),
    trial: Sequence[Any] = TRIAL,
    ideas: Sequence[Any] = (),
    name: str = "the-judge",
) -> ScriptedModel:
    """A judge that says these verdicts and then the last of them again (No, if there are none)."""
    steps = {"chain": chains, "chain_check": trial, "check": checks or (NO,), "confirm": confirms}
    steps["different"] = ideas
    return ScriptedModel(**steps, loop=True, model_id=name)


def oracle(*answers: Any) -> ScriptedModel:
    """An oracle that answers so, and then the last of it again (No, if there is nothing)."""
    return ScriptedModel(answer=answers or ("No",), loop=True, model_id="the-oracle")


def reasoned(guess: str) -> dict[str, str]:
    """A guess with the reasoning that led to it."""
    return {"reasoning": REASONING, "guess": guess}


def said_to_candidate(player: ScriptedModel, step: str = "respond") -> list[str]:
    """What changes from round to round: the text of the last message of each request of a step."""
    return [text_of(asked).rpartition("\nuser: ")[2] for asked in player.asked if asked.key.step == step]


def at(model: ScriptedModel, *steps: str) -> list[Request]:
    """What a player was asked at these steps."""
    return [asked for asked in model.asked if asked.key.step in steps]


def shape(asked: Request) -> list[str]:
    """The fields of the answer that is asked for, in order."""
    return list(asked.schema["properties"]) if asked.schema else []


@dataclass(frozen=True)
class Game:
    """A game that was played: its trace, and what its steps were read as."""

    trace: Trace

    @property
    def outcome(self) -> str:
        return self.trace.outcome

    @property
    def attempts(self) -> Any:
        return self.trace.score.parts["attempts"]

    def steps(self, step: str) -> list[Mapping[str, Any]]:
        return [one for one in self.trace.steps if one["step"] == step]

    def values(self, step: str) -> list[Mapping[str, Any]]:
        return [one["value"] for one in self.steps(step)]

    def read(self, step: str, name: str) -> list[Any]:
        """One part of the values of a step, in order."""
        return [value.get(name) for value in self.values(step)]

    def calls(self, step: str) -> int:
        """How often a model was asked at a step."""
        return sum(one["call"] is not None for one in self.steps(step))


PROMPTS = datasets.prompts("lotbench")


def episode(
    settings: Settings,
    *,
    sample: str = SAMPLE.id,
    repeat: int = 1,
    data: Sequence[Item] = DATA,
    seed: int = 0,
    models: Mapping[str, int] = MappingProxyType({"candidate": 1, "judge": 1, "oracle": 1}),
    call: Call = nobody,
) -> Episode[Item, Settings]:
    """An episode of the game; every sample has a picture."""
    return Episode(
        sample=next(item for item in data if item.id == sample),
        repeat=repeat,
        settings=settings,
        prompts=PROMPTS,
        data=tuple(data),
        models=models,
        seed=seed,
        pictures={item.id: Image(f"sha-of-{item.id}") for item in data},
        call=call,
    )


async def asked_by(
    node: Node, state: State, episode: Episode[Item, Settings], *replies: Any
) -> list[Question]:
    """What a node asks of somebody who says these things one after the other, and then nothing that can be read."""
    left, heard = list(replies), list[Question]()

    async def call(episode: Any, question: Question) -> Answer:
        heard.append(question)
        said = left.pop(0) if left else GARBAGE
        text = said if isinstance(said, str) else json.dumps(said)
        key = Key("lot-1", 1, question.round, question.step, question.draw, question.attempt, "")
        return Answer(question, key, Reply(text, "somebody"))

    await visit(node, state, replace(episode, call=call))
    return heard


class Room:
    """A run without a run folder: players, a journal, a store, and the games that are played there.

    Args:
        folder: Where the journal is; the store too, unless another is given.
        judges: By index.
        introduced: The desk knows who the models are, as it does after the connection test.
        **settings: Of the benchmark.
    """

    def __init__(
        self,
        folder: Path,
        candidate: Any,
        judges: Sequence[Any],
        oracle: Any,
        *,
        data: Sequence[Item] = DATA,
        store: Path | None = None,
        seed: int = 0,
        introduced: bool = True,
        max_failed: int = 1000,
        **settings: Any,
    ) -> None:
        self.settings = resolved(cast, Settings(**settings), judge=len(judges))
        self.data = tuple(data)
        self.seed = seed
        self.max_failed = max_failed
        players = {"candidate": (candidate,), "judge": tuple(judges), "oracle": (oracle,)}
        self.journal = Journal(folder / "calls.jsonl")
        self.desk = Caller(
            {role: tuple(_index(model, introduced) for model in models) for role, models in players.items()},
            {role: (ROLES[role].sampling, True) for role in players},
            self.journal,
            Store(store or folder),
            Budget(Limits()),
            seed=seed,
        )

    def episode(self, sample: str, repeat: int) -> Episode[Item, Settings]:
        models = {role: len(models) for role, models in self.desk.role_models.items()}
        about: dict[str, Any] = {"sample": sample, "repeat": repeat, "data": self.data, "seed": self.seed}
        return episode(self.settings, models=models, call=self.desk.ask, **about)

    async def games(self, *episodes: tuple[str, int]) -> list[Game]:
        """Play side by side; the games in the order of the episodes that ended."""
        supersteps = benchmark.supersteps(self.settings)
        course = Course(graph.build(benchmark.nodes), self.episode, benchmark.grade, supersteps)
        loop = Loop(course, {}, max(1, len(episodes)), self.max_failed)
        sequences = [[Planned(sample, repeat, f"{sample}/{repeat}")] for sample, repeat in episodes]
        played = [Game(trace) async for trace in loop.traces(sequences)]
        for error in loop.crashed.values():
            raise error
        return sorted(played, key=lambda game: episodes.index((game.trace.sample, game.trace.repeat)))

    def calls(self) -> list[Entry]:
        """The journal's lines."""
        return list(read_journal(self.journal.path))


def _index(model: Any, introduced: bool) -> RoleModel:
    name = model.model_id
    return RoleModel(
        f"asked-{name}", model, Price(0, 0, 0), Bucket(None), Bucket(None), name if introduced else ""
    )


async def play(
    candidate: Any, judges: Any = None, oracles: Any = None, *, sample: Item = SAMPLE, **more: Any
) -> Game:
    """Play one game; `judges` is one judge or a sequence of them."""
    placed = list(judges) if isinstance(judges, list | tuple) else [judges or judge()]
    data = more.pop("data", DATA)
    with tempfile.TemporaryDirectory() as folder:
        beside = tuple(item for item in data if item.id != sample.id)
        room = Room(Path(folder), candidate, placed, oracles or oracle(), data=(sample, *beside), **more)
        with room.journal:
            return (await room.games((sample.id, 1)))[0]
