"""One measurement of the engine bench, in a process of its own: `python -m tests.bench.variants VARIANT ...`.

Prints one line of JSON: calls, seconds of wall and of CPU, memory at its peak. Imports and a few
games to warm up come before the clock starts.
"""

import argparse
import asyncio
import itertools
import json
import os
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, TypeAlias

from tests.bench.calls import REPEATS, Body, pictures_of, players, scripts

Play: TypeAlias = Callable[[Sequence[Body]], Awaitable[None]]
Work: TypeAlias = Callable[[int, int], int]
"""Plays so many games, so many side by side; returns the number of calls."""


async def _pooled(play: Play, recorded: Sequence[Sequence[Body]], games: int, flight: int) -> int:
    """Play games side by side, each a sequence of calls; returns the number of calls."""
    waiting: Iterator[Sequence[Body]] = itertools.islice(itertools.cycle(recorded), games)
    calls = 0

    async def worker() -> None:
        nonlocal calls
        for game in waiting:
            await play(game)
            calls += len(game)

    await asyncio.gather(*(worker() for _ in range(flight)))
    return calls


def bare_aiohttp(url: str, options: argparse.Namespace) -> Work:
    """An asyncio loop on aiohttp: the least that these calls can cost in Python."""
    import aiohttp

    recorded = scripts(options.scripts)

    async def main(games: int, flight: int) -> int:
        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=flight)) as session:

            async def play(game: Sequence[Body]) -> None:
                for body in game:
                    async with session.post(f"{url}/chat/completions", json=body) as response:
                        answer = await response.json()
                        assert answer["choices"][0]["message"]["content"]

            return await _pooled(play, recorded, games, flight)

    return lambda games, flight: asyncio.run(main(games, flight))


def bare_openai(url: str, options: argparse.Namespace) -> Work:
    """An asyncio loop on `AsyncOpenAI.chat.completions.create`: what one would write by hand."""
    from openai import AsyncOpenAI

    recorded = scripts(options.scripts)

    async def main(games: int, flight: int) -> int:
        async with AsyncOpenAI(base_url=url, api_key="none", max_retries=6) as client:

            async def play(game: Sequence[Body]) -> None:
                for body in game:
                    answer = await client.chat.completions.create(**body)
                    assert answer.choices[0].message.content

            return await _pooled(play, recorded, games, flight)

    return lambda games, flight: asyncio.run(main(games, flight))


def client(url: str, options: argparse.Namespace) -> Work:
    """An asyncio loop on the client of lotbench: ChatOpenAI, guarded, without games and journal."""
    from lotbench.config.experiment import Limits
    from lotbench.config.model_names import parse
    from lotbench.models.registry import Models

    recorded = scripts(options.scripts)
    pictures = {part["url"][-64:]: part["url"] for part in pictures_of(recorded)}
    requests = {id(body): _request(body) for game in recorded for body in game}

    async def main(games: int, flight: int) -> int:
        seen = SimpleNamespace(data_url=pictures.__getitem__)
        async with Models(seen, Limits(concurrency=flight), {}) as models:
            roles = {name: [parse(f"{name}@{url}")] for name in "cjo"}
            [*models] = models.role_models(roles).items()
            by_name = {name: index.model for name, (index,) in models}

            async def play(game: Sequence[Body]) -> None:
                for body in game:
                    answer = await by_name[body["model"]](requests[id(body)])
                    assert answer.text

            return await _pooled(play, recorded, games, flight)

    return lambda games, flight: asyncio.run(main(games, flight))


def _request(body: Body) -> Any:
    from lotbench.types import Image, Key, Message, Request, Sampling

    messages = []
    for message in body["messages"]:
        parts = message["content"]
        if isinstance(parts, str):
            parts = [{"type": "text", "text": parts}]
        read = (
            part["text"] if part["type"] == "text" else Image(part["image_url"]["url"][-64:])
            for part in parts
        )
        messages.append(Message(message["role"], tuple(read)))
    schema = body.get("response_format", {}).get("json_schema", {}).get("schema")
    names = ("temperature", "top_p", "seed", "max_tokens")
    sampling = Sampling(**{name: body[name] for name in names if name in body})
    return Request(Key("s", 1, 1, "respond", 0, 0, "d"), body["model"], tuple(messages), schema, sampling)


def lotbench(url: str, options: argparse.Namespace) -> Work:
    """`evaluate`, whole: data set, prompts, graph, desk, journal, reading of replies, score and report; as the command has it."""
    from lotbench import evaluate_sync
    from lotbench.calls.journal import read_journal
    from lotbench.run.session import collect_rarely

    collect_rarely()
    out = tempfile.mkdtemp(dir=options.folder)

    def work(games: int, flight: int) -> int:
        os.environ["LOTBENCH_HOME"] = tempfile.mkdtemp(dir=out)
        run = evaluate_sync(
            **players(url),
            data=str(options.data),
            out=out,
            limit=games // REPEATS,
            repeats=REPEATS,
            concurrency=flight,
            settings={"max_rounds": options.rounds},
        )
        assert len(run.traces) == games
        return sum(entry.source == "call" for entry in read_journal(run.path / "calls.jsonl"))

    return work


def inspect_ai(url: str, options: argparse.Namespace) -> Work:
    """An inspect_ai task whose solver makes the calls of one game."""
    os.environ |= {
        "FAKE_API_KEY": "none",
        "FAKE_BASE_URL": url,
        "INSPECT_TRACE_FILE": tempfile.mkdtemp() + "/trace.log",
    }
    import inspect_ai as inspect
    from inspect_ai.dataset import MemoryDataset, Sample
    from inspect_ai.model import GenerateConfig, Model, ResponseSchema, get_model
    from inspect_ai.solver import Generate, Solver, TaskState, solver

    recorded = scripts(options.scripts)

    def config(body: Body) -> GenerateConfig:
        form = body["response_format"]["json_schema"]
        shape = ResponseSchema(name=form["name"], json_schema=form["schema"], strict=True)
        chosen = {name: body[name] for name in ("temperature", "seed", "max_tokens") if name in body}
        return GenerateConfig(**chosen, response_schema=shape)

    @solver
    def game() -> Solver:
        models: dict[str, Model] = {}

        async def solve(state: TaskState, generate: Generate) -> TaskState:
            for body in recorded[state.metadata["game"] % len(recorded)]:
                name = f"openai-api/fake/{body['model']}"
                if name not in models:
                    models[name] = get_model(name, config=GenerateConfig(max_connections=options.flight))
                output = await models[name].generate(_messages(body), config=config(body))
                assert output.completion
            return state

        return solve

    def work(games: int, flight: int) -> int:
        samples = [Sample(input="play", metadata={"game": number}) for number in range(games)]
        task = inspect.Task(dataset=MemoryDataset(samples), solver=game())
        [log] = inspect.eval(
            task,
            model="openai-api/fake/c",
            max_samples=flight,
            max_connections=flight,
            display="none",
            log_dir=tempfile.mkdtemp(dir=options.folder),
        )
        assert log.status == "success", log.error and log.error.message
        return sum(len(recorded[number % len(recorded)]) for number in range(games))

    return work


def _messages(body: Body) -> list[Any]:
    from inspect_ai.model import ChatMessageSystem, ChatMessageUser, ContentImage, ContentText

    made: list[Any] = []
    for message in body["messages"]:
        content = message["content"]
        if not isinstance(content, str):
            content = [
                ContentText(text=part["text"])
                if part["type"] == "text"
                else ContentImage(image=part["image_url"]["url"])
                for part in content
            ]
        made.append((ChatMessageSystem if message["role"] == "system" else ChatMessageUser)(content=content))
    return made


VARIANTS: dict[str, Callable[[str, argparse.Namespace], Work]] = {
    "aiohttp": bare_aiohttp,
    "openai": bare_openai,
    "client": client,
    "lotbench": lotbench,
    "inspect_ai": inspect_ai,
}


def _peak_mb() -> float:
    """The most memory that this process ever held."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    [line] = [line for line in status.splitlines() if line.startswith("VmHWM:")]
    return int(line.split()[1]) / 1024


def main() -> None:
    """Measure one variant once."""
    parser = argparse.ArgumentParser()
    parser.add_argument("variant", choices=VARIANTS)
    parser.add_argument("--url", required=True)
    for name, kind in (("data scripts folder", Path), ("games rounds flight", int)):
        for flag in name.split():
            parser.add_argument(f"--{flag}", type=kind, required=True)
    options = parser.parse_args()
    work = VARIANTS[options.variant](options.url, options)
    work(REPEATS, REPEATS)
    started, cpu = time.monotonic(), time.process_time()
    calls = work(options.games, options.flight)
    measured = {
        "calls": calls,
        "wall": time.monotonic() - started,
        "cpu": time.process_time() - cpu,
        "peak_mb": _peak_mb(),
    }
    print(json.dumps(measured), flush=True)


if __name__ == "__main__":
    main()
