"""The episode in which a model (the writer) makes a sample of a picture and the best response that people gave to it.

The writer fills two forms: the puzzle has the texts of the sample, and the points say why other responses are funny.
If a reply makes no valid sample, the writer is asked once more with the reason; then the picture is dropped with that
reason. People decide later on the proposed samples.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from string import ascii_uppercase
from typing import TYPE_CHECKING, Any, TypeAlias

from pydantic import ValidationError

from lotbench.benchmarks.lotbench.construction.responses import Rules, Scene
from lotbench.benchmarks.lotbench.lints import LINTS
from lotbench.benchmarks.lotbench.sample import Fixed, Item, Point, Rejected
from lotbench.errors import Unread, faults_of
from lotbench.harness.benchmark import Benchmark, Role
from lotbench.harness.episode import AskResult, Episode
from lotbench.harness.state import EpisodeState, Update
from lotbench.prompting.prompt import Value
from lotbench.prompting.reply import Form, YesNo, prose, read_form
from lotbench.types import Answer, Sampling, Score

if TYPE_CHECKING:
    from langgraph.runtime import Runtime

PictureEpisode: TypeAlias = Episode[Scene, Rules]
"""An episode of the construction: one picture."""

ROLES = {
    "writer": Role(
        "says what a picture shows, why a response is funny, and what a player is told",
        Sampling(temperature=0.0),
        pictures=True,
    )
}
NO_SAMPLE = "no_sample"
"""The status of a reply that can be read but makes no valid sample."""
_BULLET = re.compile(r"^\s*(?:[-*•]|\d+[.)、])\s*")
_POINT = re.compile(r"^\W*([A-Z])\s*[|:：]\s*(\S.*)$")


class Puzzle(Form):
    """The reply to the prompt `puzzle`: the texts of a sample around the best response. A list is a text, an entry a line."""

    usable: YesNo
    why: str = prose(300, "why it can be played, or not")
    caption: str = prose(400, "what is in the picture, soberly")
    key_text: str = prose(80, "the words of the response without which nobody would laugh")
    explanation: str = prose(800, "why it is funny, cause by cause")
    part: str = prose(120, "what of the picture is mapped")
    likeness: str = prose(120, "by which likeness")
    effect: str = prose(140, "what a reader concludes")
    leap: str = prose(40, "the kind of leap from picture to joke")
    clues: str = prose(800, "four hints, a line each, from wide to narrow")
    accept: str = prose(400, "other guesses that make the same point, a line each")
    reject: str = prose(1200, "guesses that fail, a line each: TEXT | easy or hard | why")


class Points(Form):
    """The reply to the prompt `points`: the other responses (runners-up) that have a creative point of their own."""

    points: str = prose(3000, "a line each: LETTER | why it is funny")


async def respond(state: EpisodeState, runtime: Runtime[PictureEpisode]) -> Update:
    """Ask the writer for the puzzle, then for the points of the runners-up.

    The episode ends if the picture cannot be played, or if a reply cannot be used.
    """
    episode, scene = runtime.context, runtime.context.sample
    puzzle = await _puzzle(episode)
    if puzzle.value is None:
        return _ended("puzzle", puzzle)
    if not puzzle.value["usable"]:
        return {"outcome": "dropped", "why": f"cannot be played: {puzzle.value['why']}"}
    texts = {"puzzle": puzzle.value}
    if episode.settings.points and len(scene.responses) > 1:
        points = await _runners_up(episode, puzzle.value)
        if points.value is None:
            return _ended("points", points)
        texts["points"] = points.value
    return {"memory": texts}


async def nothing(state: EpisodeState, runtime: Runtime[PictureEpisode]) -> Update:
    """Return no update: the graph's node `judge` has nothing to do, since people judge the proposals later."""
    return {}


async def propose(state: EpisodeState, runtime: Runtime[PictureEpisode]) -> Update:
    """End the episode of a picture that was not dropped: its sample is proposed."""
    return {"outcome": "proposed"}


def _ended(step: str, reading: AskResult[Any]) -> Update:
    """Return the update that ends an episode after a reply that cannot be used."""
    # A valid reply that makes no sample drops one picture; an unreadable reply is a failure of the writer.
    outcome = "dropped" if reading.status == NO_SAMPLE else "writer_failed"
    return {"outcome": outcome, "why": f"{step}: {reading.reason}"}


def item(scene: Scene, done: Mapping[str, Any], source: str) -> Item:
    """Return the sample made from a scene and the texts written about it.

    Args:
        scene: The picture and its responses; the first becomes the response of the sample.
        done: The replies of the writer as dictionaries: `puzzle` and, if it was asked for, `points`.
        source: The source to name in the sample.

    Raises:
        ValidationError: The texts make no valid sample.
    """
    best, puzzle = scene.responses[0], done["puzzle"]
    return Item(
        id=scene.id,
        language=scene.language,
        image=f"images/{scene.id}.png",
        caption=puzzle["caption"],
        response=best.text.strip(),
        key_text=puzzle["key_text"].strip(),
        explanation=puzzle["explanation"],
        point=Fixed(part=puzzle["part"], likeness=puzzle["likeness"], effect=puzzle["effect"]),
        clues=tuple(_lines(puzzle["clues"])),
        # A default until people have played the sample.
        tier="medium",
        leap=puzzle["leap"],
        accept=tuple(_lines(puzzle["accept"])),
        reject=tuple(_rejected(line) for line in _lines(puzzle["reject"])),
        points=_points(scene, done.get("points", {})),
        votes=best.votes,
        writer="people",
        source=source,
        licence=scene.licence,
    )


def _points(scene: Scene, reasons: Mapping[str, str]) -> tuple[Point, ...]:
    voted = dict(zip(ascii_uppercase, scene.responses, strict=False))
    return tuple(
        Point(response=voted[letter].text.strip(), explanation=why, votes=voted[letter].votes)
        for letter, why in reasons.items()
    )


async def _puzzle(episode: PictureEpisode) -> AskResult[dict[str, Any]]:
    scene = episode.sample

    def parse(answer: Answer) -> dict[str, Any]:
        puzzle = read_form(answer.reply, Puzzle).model_dump()
        if puzzle["usable"]:
            _holds(scene, {"puzzle": puzzle})
        return puzzle

    return await _written(episode, "puzzle", Puzzle, {"response": scene.responses[0].text}, parse)


async def _runners_up(episode: PictureEpisode, puzzle: Mapping[str, Any]) -> AskResult[dict[str, Any]]:
    scene, most = episode.sample, episode.settings.points
    voted = dict(zip(ascii_uppercase, scene.responses, strict=False))
    listed = [f"{letter}. {response.text}" for letter, response in voted.items()]
    values: dict[str, Value] = {
        "best": listed[0],
        "explanation": puzzle["explanation"],
        "responses": "\n".join(listed[1:]),
        "most": str(most),
    }

    def parse(answer: Answer) -> dict[str, Any]:
        lines = read_form(answer.reply, Points).points.splitlines()
        points = dict(_point(line, voted) for line in lines if line.strip(" -"))
        chosen = {letter: points[letter] for letter in sorted(points)[:most]}
        _holds(scene, {"puzzle": puzzle, "points": chosen})
        return chosen

    return await _written(episode, "points", Points, values, parse)


async def _written(
    episode: PictureEpisode, name: str, form: type[Form], values: Mapping[str, Value], read: Any
) -> AskResult[dict[str, Any]]:
    scene = episode.sample
    question = episode.prompt("labels").line("beside", text=scene.question) if scene.question else None
    return await episode.ask(
        "writer",
        name,
        episode.prompt(name),
        form,
        {"image": episode.pictures[scene.id], "question": question, **values},
        read=read,
        value=lambda fields: {"status": "ok", **fields},
        missing=lambda error: {"status": error.kind, "reason": error.reason},
        shared=True,
    )


def _holds(scene: Scene, done: Mapping[str, Any]) -> None:
    """Check that the writer's texts make a valid sample without grave findings; `done` is as for `item`.

    Raises:
        Unread: `no_sample`, with every fault.
    """
    try:
        sample = item(scene, done, "a proposal")
    except ValidationError as error:
        raise Unread(NO_SAMPLE, "; ".join(faults_of(error))) from None
    if grave := [finding for lint in LINTS for finding in lint(sample) if finding.grave]:
        raise Unread(NO_SAMPLE, "; ".join(f"{finding.field} {finding.text}" for finding in grave))


def _point(line: str, voted: Mapping[str, Any]) -> tuple[str, str]:
    """Return the letter of a runner-up, and why it is funny, from a line of the writer.

    Raises:
        Unread: `no_sample`; the line has another format, or a letter of no runner-up.
    """
    match = _POINT.match(line)
    if not match or match[1] not in voted or match[1] == "A":
        letters = ", ".join(list(voted)[1:])
        raise Unread(NO_SAMPLE, f"points: {line.strip()!r} is not LETTER | why, with a letter of {letters}")
    return match[1], match[2].strip()


def _rejected(line: str) -> Rejected:
    """Return a guess that should fail, from a line `TEXT | easy or hard | why`; hard unless the line says easy."""
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
    nodes={"respond": respond, "judge": nothing, "grade": propose},
    grade=lambda episode: Score(None, why=episode.state["outcome"]),
    metrics=lambda traces, settings, evidence: {},
    calls=lambda settings: {"writer": 2 if settings.points else 1},
)
