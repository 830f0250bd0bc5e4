"""One call per role before the first walk: does the key work, does the model take pictures and forms?

A wrong key then costs one call, not 318 games; the id that the model returns is known before the store is
asked. The calls are counted and journaled like any other.
"""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

from lotbench.benchmark import Benchmark
from lotbench.edge.desk import Desk
from lotbench.errors import CallFailed, Unescapable
from lotbench.reply import Form, prose, schema, shape
from lotbench.state import Walk
from lotbench.types import Image, Message, Question

TEXT = "This is a connection test. Answer with one JSON object of this form:\n"


class Ready(Form):
    """The answer to the test."""

    word: Annotated[str, prose(20, "the word ready")]


async def check(desk: Desk, walk: Walk, benchmark: Benchmark, settings: Any) -> None:
    """Ask every model of every role once.

    Raises:
        Unescapable: A model cannot be reached at all, with the reason in one line.
    """
    pictures = benchmark.needs_pictures(settings)
    places = [(role, seat) for role, seats in desk.seats.items() for seat in range(len(seats))]
    questions = [
        _question(role, seat, number, _picture(walk) if pictures and benchmark.roles[role].pictures else None)
        for number, (role, seat) in enumerate(places)
    ]
    try:
        await asyncio.gather(*(desk.ask(walk, question) for question in questions))
    except CallFailed as error:
        raise Unescapable(f"the connection test failed: {error}") from None


def _question(role: str, seat: int, number: int, picture: Image | None) -> Question:
    parts: tuple[str | Image, ...] = (TEXT + shape(Ready),)
    if picture is not None:
        parts = (picture, *parts)
    messages = (Message("user", parts),)
    return Question(role, "preflight", messages, schema(Ready), seat=seat, draw=number)


def _picture(walk: Walk) -> Image | None:
    found = walk.pictures.get(walk.sample.id)
    return found if isinstance(found, Image) else None
