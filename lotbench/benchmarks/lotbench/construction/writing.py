"""The episode in which a model (the writer) makes a sample of a picture and a response to it.

The writer fills in the texts of the sample. If its reply makes no valid sample, it is asked once more with the reason;
then the picture is dropped with that reason. People decide later on the proposed samples.
"""

import re
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, TypeAlias

from pydantic import ValidationError

from lotbench.benchmarks.lotbench.construction.responses import Rules, Scene
from lotbench.benchmarks.lotbench.lints import LINTS
from lotbench.benchmarks.lotbench.sample import Fixed, Item, Rejected
from lotbench.errors import Unread, faults_of
from lotbench.harness.benchmark import Benchmark, Role
from lotbench.harness.episode import Episode, nothing
from lotbench.harness.state import EpisodeState, Runtime, Update
from lotbench.prompting.reply import Form, YesNo, prose, read_form
from lotbench.types import Answer, Sampling, Score

PictureEpisode: TypeAlias = Episode[Scene, Rules]
"""An episode of the construction: one picture."""

ROLES = {
    "writer": Role(
        "says what a picture shows, why a response is funny, and what a player is told",
        Sampling(temperature=0.0),
        pictures=True,
    )
}
LICENCE = "not cleared: the picture and the responses are their owners'"
"""The licence field of the samples; whoever publishes a set must clear the rights."""
MOST_LINES = 100
"""The maximum number of lines of a list: each clue is compared with each guess."""
NO_SAMPLE = "no_sample"
"""The status of a reply that can be read but makes no valid sample."""
_BULLET = re.compile(r"^\s*(?:[-*•]|\d+[.)、])\s*")


class Puzzle(Form):
    """The reply to the prompt `puzzle`: the texts of a sample around the best response.

    Clues and guesses are each one text with one entry per line.
    """

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


async def respond(state: EpisodeState, runtime: Runtime[PictureEpisode]) -> Update:
    """Ask the writer for the puzzle; the episode ends if the picture cannot be played, or if the reply cannot be used."""
    episode, scene = runtime.context, runtime.context.sample
    question = episode.prompt("labels").line("beside", text=scene.question) if scene.question else None
    puzzle = await episode.ask(
        "writer",
        "puzzle",
        episode.prompt("puzzle"),
        Puzzle,
        {"image": episode.pictures[scene.id], "question": question, "response": scene.response},
        read=partial(_parse, scene),
        value=lambda fields: {"status": "ok", **fields},
        missing=lambda error: {"status": error.kind, "reason": error.reason},
        shared=True,
    )
    if puzzle.value is None:
        # A valid reply that makes no sample drops one picture; an unreadable reply is a failure of the writer.
        outcome = "dropped" if puzzle.status == NO_SAMPLE else "writer_failed"
        return {"outcome": outcome, "why": f"puzzle: {puzzle.reason}"}
    if not puzzle.value["usable"]:
        return {"outcome": "dropped", "why": f"cannot be played: {puzzle.value['why']}"}
    return {"memory": puzzle.value}


async def propose(state: EpisodeState, runtime: Runtime[PictureEpisode]) -> Update:
    """End the episode of a picture that was not dropped: its sample is proposed."""
    return {"outcome": "proposed"}


def item(scene: Scene, puzzle: Mapping[str, Any], writers: Sequence[str]) -> Item:
    """Return the sample made from a scene and the fields of `Puzzle`; it names the models that may have filled them in.

    Raises:
        ValidationError: The texts make no valid sample.
    """
    return Item(
        id=scene.id,
        language=scene.language,
        image=f"images/{scene.id}.png",
        caption=puzzle["caption"],
        response=scene.response.strip(),
        key_text=puzzle["key_text"].strip(),
        explanation=puzzle["explanation"],
        point=Fixed(part=puzzle["part"], likeness=puzzle["likeness"], effect=puzzle["effect"]),
        clues=tuple(_lines(puzzle["clues"])),
        # A default until people have played the sample.
        tier="medium",
        leap=puzzle["leap"],
        accept=tuple(_lines(puzzle["accept"])),
        reject=tuple(_rejected(line) for line in _lines(puzzle["reject"])),
        votes=scene.votes,
        writer=scene.writer,
        gold_writers=tuple(writers),
        source=f"{scene.source}; the rest proposed by {', '.join(writers)}",
        licence=LICENCE,
    )


def _parse(scene: Scene, answer: Answer) -> dict[str, Any]:
    """Return the fields of the writer's reply.

    If the writer says that the picture is usable, the fields make a valid sample without grave findings.

    Raises:
        Unread: The reply does not fit `Puzzle`. Or it says usable and makes no such sample: `no_sample`, with every fault.
    """
    puzzle = read_form(answer.reply, Puzzle).model_dump()
    if not puzzle["usable"]:
        return puzzle
    try:
        sample = item(scene, puzzle, ["a model"])
    except ValidationError as error:
        raise Unread(NO_SAMPLE, "; ".join(faults_of(error))) from None
    if grave := [finding for lint in LINTS for finding in lint(sample) if finding.grave]:
        raise Unread(NO_SAMPLE, "; ".join(f"{finding.field} {finding.text}" for finding in grave))
    return puzzle


def _rejected(line: str) -> Rejected:
    """Return a guess that should fail, from a line `TEXT | easy or hard | why`; hard unless the line says easy."""
    text, _, rest = line.partition("|")
    level, _, why = rest.partition("|")
    easy = level.strip().lower() == "easy"
    return Rejected(text=text.strip(), difficulty="easy" if easy else "hard", why=why.strip() or rest.strip())


def _lines(text: str) -> list[str]:
    """Return the entries of a list in a reply, at most MOST_LINES."""
    return [cleared for line in text.splitlines()[:MOST_LINES] if (cleared := _BULLET.sub("", line).strip())]


benchmark = Benchmark(
    name="lotbench-construction",
    about="turn pictures with responses into samples of the game",
    roles=ROLES,
    Settings=Rules,
    Item=Item,
    nodes={"respond": respond, "judge": nothing, "grade": propose},
    grade=lambda episode: Score(None, why=episode.state["outcome"]),
    metrics=lambda traces, settings, evidence: {},
    calls=lambda settings: {"writer": 1},
)
