"""One call per role before the first task: does the key work, does the model take pictures and forms?

A wrong key then costs one call, not 318 games; the id that the model returns is known before the store is
asked. The calls are counted and journaled like any other.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from typing import Annotated, Any

from lotbench.calls.caller import Caller
from lotbench.config.model_names import parse
from lotbench.errors import CallFailed, Unescapable, UnknownModel
from lotbench.harness.benchmark import Benchmark
from lotbench.harness.episode import AnyEpisode
from lotbench.prompting.reply import Form, prose, schema, shape
from lotbench.types import Image, Message, Question

UNTESTED = ("file", "human")
"""Recordings have no reply to a test, and a person is not asked to fill in JSON."""
TEXT = "This is a connection test. Answer with one JSON object of this form:\n"


class Ready(Form):
    """The answer to the test."""

    word: Annotated[str, prose(20, "the word ready")]


async def check(
    caller: Caller, episode: AnyEpisode, benchmark: Benchmark, settings: Any, without: Collection[str] = ()
) -> None:
    """Ask every model of every role once, but for roles of which it is known that somebody plays them.

    Raises:
        UnknownModel: Models are not served under their names, or no longer; all of them are named.
        Unescapable: A model cannot be reached at all, with the reason in one line.
    """
    pictures = benchmark.shows_pictures(settings)
    places = [
        (role, number)
        for role, models in caller.role_models.items()
        for number, model in enumerate(models)
        if role not in without and parse(model.name).kind not in UNTESTED
    ]
    questions = [
        _question(
            role, index, number, _picture(episode) if pictures and benchmark.roles[role].pictures else None
        )
        for number, (role, index) in enumerate(places)
    ]
    gone: list[str] = []

    async def ask(question: Question) -> None:
        try:
            await caller.ask(episode, question)
        except UnknownModel as error:
            gone.append(str(error))

    asking = [asyncio.create_task(ask(question)) for question in questions]
    try:
        await asyncio.gather(*asking)
    except CallFailed as error:
        raise Unescapable(f"the connection test failed: {error}") from None
    finally:
        # One that failed is reason enough; the others must not go on in a run that is over.
        for task in asking:
            task.cancel()
        await asyncio.gather(*asking, return_exceptions=True)
    if gone:
        named = list(dict.fromkeys(gone))
        several = f"{len(named)} models do not answer: " if len(named) > 1 else ""
        raise UnknownModel(several + "; ".join(named))


def _question(role: str, index: int, number: int, picture: Image | None) -> Question:
    parts: tuple[str | Image, ...] = (TEXT + shape(Ready),)
    if picture is not None:
        parts = (picture, *parts)
    messages = (Message("user", parts),)
    return Question(role, "preflight", messages, schema(Ready), index=index, draw=number)


def _picture(episode: AnyEpisode) -> Image | None:
    picture = episode.pictures.get(episode.sample.id)
    return picture if isinstance(picture, Image) else None
