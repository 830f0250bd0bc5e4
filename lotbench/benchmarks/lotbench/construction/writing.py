"""What a model writes around a response that people voted best: the puzzle, and which runners-up make other points.

A picture is a walk through the panel: a first form for the puzzle, a second for the points. What breaks a rule of
the samples is asked for once more with the reason, then the picture is dropped with it. People decide afterwards.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from string import ascii_uppercase
from typing import Any, Literal, TypeAlias

from pydantic import ValidationError

from lotbench.benchmarks.lotbench.construction.responses import Rules, Scene
from lotbench.benchmarks.lotbench.lints import LINTS
from lotbench.benchmarks.lotbench.sample import Item, Point, Rejected
from lotbench.errors import Unread, faults_of
from lotbench.harness import pieces, state
from lotbench.harness.benchmark import Benchmark, Data, Role
from lotbench.harness.pieces import Piece
from lotbench.harness.state import Update
from lotbench.prompting.prompt import Value
from lotbench.prompting.reply import Form, YesNo, prose, read_form, schema, shape
from lotbench.types import Answer, Question, Sampling, Score

Walk: TypeAlias = state.Walk[Scene, Rules]
"""A picture's walk."""

ROLES = {
    "writer": Role(
        "says what a picture shows, why a response is funny, and what a player is told",
        Sampling(temperature=0.0),
        pictures=True,
    )
}
NO_SAMPLE = "no_sample"
"""The status of an answer that can be read and makes no sample."""
_BULLET = re.compile(r"^\s*(?:[-*•]|\d+[.)、])\s*")
_POINT = re.compile(r"^\W*([A-Z])\s*[|:：]\s*(\S.*)$")


class Puzzle(Form):
    """The answer to `puzzle`: the game around one response. Lists are texts, an entry a line."""

    usable: YesNo
    why: str = prose(300, "why it can be played, or not")
    caption: str = prose(400, "what is in the picture, soberly")
    key_text: str = prose(80, "the words of the response without which nobody would laugh")
    explanation: str = prose(800, "why it is funny, cause by cause")
    leap: str = prose(40, "the kind of leap from picture to joke")
    clues: str = prose(800, "four hints, a line each, from wide to narrow")
    accept: str = prose(400, "other fillings that make the same point, a line each")
    reject: str = prose(1200, "fillings that fail, a line each: TEXT | easy or hard | why")


class Points(Form):
    """The answer to `points`: the runners-up that make a point of their own."""

    points: str = prose(3000, "a line each: LETTER | why it is funny")


def ask(walk: Walk) -> Sequence[Question]:
    """What is open: the puzzle first, then the points of the runners-up if there are any."""
    return pieces.ask(walk, _open(walk))


def read_answers(walk: Walk, answers: Sequence[Answer]) -> Update:
    """What the answers say; a picture whose best response cannot be played is dropped."""
    if walk.step == "grade":
        return {"outcome": "proposed", "memory": pieces.found(walk)}
    update = pieces.read_pieces(walk, _open(walk), answers)
    puzzle = update["draft"]["done"].get("puzzle", {})
    if puzzle.get("usable") is False:
        update |= {"outcome": "dropped", "why": f"cannot be played: {puzzle['why']}"}
    elif "outcome" in update and update["steps"][-1]["value"]["status"] == NO_SAMPLE:
        # The model answers as it should; this picture is beyond it, and no sign that others are.
        update["outcome"] = "dropped"
    return update


def item(scene: Scene, done: Mapping[str, Any], source: str) -> Item:
    """The sample that a scene and what was written about it make.

    Raises:
        ValidationError: It is none, with the fields.
    """
    best, told = scene.responses[0], done["puzzle"]
    return Item(
        id=scene.id,
        language=scene.language,
        image=f"images/{scene.id}.png",
        caption=told["caption"],
        response=best.text.strip(),
        key_text=told["key_text"].strip(),
        explanation=told["explanation"],
        clues=tuple(_lines(told["clues"])),
        # Until somebody has played it.
        tier="medium",
        leap=told["leap"],
        accept=tuple(_lines(told["accept"])),
        reject=tuple(_rejected(line) for line in _lines(told["reject"])),
        points=_points(scene, done.get("points", {})),
        votes=best.votes,
        writer="people",
        source=source,
        licence=scene.licence,
    )


def _points(scene: Scene, told: Mapping[str, str]) -> tuple[Point, ...]:
    voted = dict(zip(ascii_uppercase, scene.responses, strict=False))
    return tuple(
        Point(response=voted[letter].text.strip(), explanation=why, votes=voted[letter].votes)
        for letter, why in told.items()
    )


def _open(walk: Walk) -> list[Piece]:
    """The next thing to find out, if any."""
    done = pieces.found(walk)
    if walk.step != "respond":
        return []
    if "puzzle" not in done:
        return [_puzzle(walk)]
    wanted = walk.settings.points and len(walk.sample.responses) > 1 and done["puzzle"]["usable"]
    return [_runners_up(walk, done["puzzle"])] if wanted and "points" not in done else []


def _puzzle(walk: Walk) -> Piece:
    scene = walk.sample
    values: dict[str, Value] = {"response": scene.responses[0].text}

    def read(answer: Answer) -> Mapping[str, Any]:
        told = read_form(answer.reply, Puzzle).model_dump()
        if told["usable"]:
            _holds(scene, {"puzzle": told})
        return told

    return _piece(walk, "puzzle", Puzzle, values, read)


def _runners_up(walk: Walk, puzzle: Mapping[str, Any]) -> Piece:
    scene = walk.sample
    voted = dict(zip(ascii_uppercase, scene.responses, strict=False))
    listed = [f"{letter}. {one.text}" for letter, one in voted.items()]
    values: dict[str, Value] = {
        "best": listed[0],
        "explanation": puzzle["explanation"],
        "responses": "\n".join(listed[1:]),
        "most": str(walk.settings.points),
    }

    def read(answer: Answer) -> Mapping[str, Any]:
        told = read_form(answer.reply, Points).points
        points = dict(_point(line, voted) for line in told.splitlines() if line.strip(" -"))
        kept = {letter: points[letter] for letter in sorted(points)[: walk.settings.points]}
        _holds(scene, {"puzzle": puzzle, "points": kept})
        return kept

    return _piece(walk, "points", Points, values, read)


def _piece(
    walk: Walk, name: Literal["puzzle", "points"], form: type[Form], values: Mapping[str, Value], read: Any
) -> Piece:
    scene = walk.sample
    beside = walk.prompt("labels").line("beside", text=scene.question) if scene.question else None

    def asked(*, attempt: int, again: Any) -> Question:
        messages = walk.prompt(name).messages(
            image=walk.pictures[scene.id], question=beside, shape=shape(form), again=again, **values
        )
        return Question("writer", name, messages, schema(form), attempt=attempt, shared=True)

    return Piece(name, asked, read)


def _holds(scene: Scene, done: Mapping[str, Any]) -> None:
    """Refuse what is no sample, or one with a grave fault.

    Raises:
        Unread: `no_sample`, with every fault.
    """
    try:
        made = item(scene, done, "a proposal")
    except ValidationError as error:
        raise Unread(NO_SAMPLE, "; ".join(faults_of(error))) from None
    if grave := [found for lint in LINTS for found in lint(made) if found.grave]:
        raise Unread(NO_SAMPLE, "; ".join(f"{one.field} {one.text}" for one in grave))


def _point(line: str, voted: Mapping[str, Any]) -> tuple[str, str]:
    """The letter of a runner-up and why it is funny.

    Raises:
        Unread: `no_sample`; the line says something else.
    """
    found = _POINT.match(line)
    if not found or found[1] not in voted or found[1] == "A":
        letters = ", ".join(list(voted)[1:])
        raise Unread(NO_SAMPLE, f"points: {line.strip()!r} is not LETTER | why, with a letter of {letters}")
    return found[1], found[2].strip()


def _rejected(line: str) -> Rejected:
    """A filling that fails, of `TEXT | easy or hard | why`; hard where nothing is said."""
    text, _, rest = line.partition("|")
    level, _, why = rest.partition("|")
    easy = level.strip().lower() == "easy"
    return Rejected(text=text.strip(), difficulty="easy" if easy else "hard", why=why.strip() or rest.strip())


def _lines(text: str) -> list[str]:
    return [cleared for line in text.splitlines() if (cleared := _BULLET.sub("", line).strip())]


benchmark = Benchmark(
    name="lotbench-construction",
    about="turn pictures with responses that people voted on into samples of the game",
    roles=ROLES,
    Settings=Rules,
    Item=Item,
    ask=ask,
    read=read_answers,
    grade=lambda walk: Score(None, why=walk.state["outcome"]),
    metrics=lambda traces, settings, evidence: {},
    calls=lambda settings: {"writer": 2 if settings.points else 1},
    data=Data(needs_pictures=lambda settings: True),
)
