"""One call per role before the first walk: does the key work, does the model take pictures and forms?

A wrong key then costs one call, not 318 games; the id that the model returns is known before the store is
asked. The calls are counted and journaled like any other.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any

from pydantic import Field

from lotbench.benchmark import Benchmark
from lotbench.edge.desk import Desk
from lotbench.errors import CallFailed, Unescapable
from lotbench.reply import Form, schema, shape
from lotbench.state import Walk
from lotbench.types import Image, Message, Question

TEXT = "This is a connection test. Answer with one JSON object of this form:\n"


class Ready(Form):
    """The answer to the test."""

    word: Annotated[str, Field(max_length=20, description="the word ready")]


async def check(desk: Desk, walk: Walk, benchmark: Benchmark, settings: Any) -> None:
    """Ask every model of every role once.

    Raises:
        Unescapable: A model cannot be reached at all, with the reason in one line.
    """
    pictures = benchmark.needs_pictures(settings)
    questions = [
        _question(role, seat, _picture(walk) if pictures and benchmark.roles[role].pictures else None)
        for role, seats in _different(desk).items()
        for seat in seats
    ]
    try:
        await asyncio.gather(*(desk.ask(walk, question) for question in questions))
    except CallFailed as error:
        raise Unescapable(f"the connection test failed: {error}") from None


def _different(desk: Desk) -> Mapping[str, list[int]]:
    return {role: list(range(len(seats))) for role, seats in desk.seats.items()}


def _question(role: str, seat: int, picture: Image | None) -> Question:
    parts: tuple[str | Image, ...] = (TEXT + shape(Ready),)
    if picture is not None:
        parts = (picture, *parts)
    messages = (Message("user", parts),)
    return Question(role, "preflight", messages, schema(Ready), seat=seat, draw=seat)


def _picture(walk: Walk) -> Image | None:
    found = walk.pictures.get(walk.sample.id)
    return found if isinstance(found, Image) else None


def place(walk: Walk) -> Walk:
    """The walk under whose name the test is journaled: of no sample's own repeats."""
    return replace(walk, repeat=0)
