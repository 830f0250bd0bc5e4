"""One test call to each model before the first task: checks the key, and that pictures and JSON schemas are accepted.

A wrong key then costs one call instead of a whole run, and the model's id is known before the store is read. The calls
are counted and journaled like any other.
"""

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
"""Kinds of models without a test call: recordings have no reply to it, and people are not asked for JSON."""
TEXT = "This is a connection test. Answer with one JSON object of this form:\n"


class Ready(Form):
    """The answer to the test."""

    word: Annotated[str, prose(20, "the word ready")]


async def check(
    caller: Caller, episode: AnyEpisode, benchmark: Benchmark, settings: Any, without: Collection[str] = ()
) -> None:
    """Call each model of each role once, except the roles in `without`.

    The picture of the episode's sample is sent along to roles that see pictures.

    Raises:
        UnknownModel: Models are not served under their names; the message lists them.
        Unescapable: A model cannot be used, with the reason in one line.
    """
    picture = episode.pictures.get(episode.sample.id) if benchmark.shows_pictures(settings) else None
    places = [
        (role, number)
        for role, models in caller.role_models.items()
        for number, model in enumerate(models)
        if role not in without and parse(model.name).kind not in UNTESTED
    ]
    questions = [
        _question(role, index, number, picture if benchmark.roles[role].pictures else None)
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
        # After one failure the run is over: the other calls must not go on.
        for task in asking:
            task.cancel()
        await asyncio.gather(*asking, return_exceptions=True)
    if gone:
        named = list(dict.fromkeys(gone))
        several = f"{len(named)} models do not answer: " if len(named) > 1 else ""
        raise UnknownModel(several + "; ".join(named))


def _question(role: str, index: int, number: int, picture: Image | None) -> Question:
    text = TEXT + shape(Ready)
    message = Message("user", (text,) if picture is None else (picture, text))
    return Question(role, "preflight", (message,), schema(Ready), index=index, draw=number)
