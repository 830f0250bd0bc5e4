"""The package for verifiers, under examples/: the released verifiers plays games at a server, in an environment of its own."""

import asyncio
import json
import os
from collections.abc import AsyncIterator, Mapping
from concurrent.futures import Future
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

import lotbench
from tests.environment.test_openenv import KEY, command
from tests.killing import serving
from tests.stepping import policy

pytestmark = pytest.mark.slow


@asynccontextmanager
async def streaming() -> AsyncIterator[str]:
    """The policy as a server that streams chat completions, which is how verifiers asks for them."""

    async def answer(request: web.Request) -> web.StreamResponse:
        body = await request.json()
        delta = {"role": "assistant", "content": policy(body["messages"])}
        table: dict[str, Any] = {
            "id": "one",
            "object": "chat.completion.chunk",
            "created": 1,
            "model": body["model"],
        }
        usage = {"prompt_tokens": 9, "completion_tokens": 3, "total_tokens": 12}
        said = [
            {**table, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]},
            {**table, "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}], "usage": usage},
        ]
        lines = [*map(json.dumps, said), "[DONE]"]
        text = "".join(f"data: {line}\n\n" for line in lines)
        return web.Response(text=text, content_type="text/event-stream")

    app = web.Application()
    app.router.add_post("/v1/chat/completions", answer)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
    finally:
        await runner.cleanup()


async def evaluated(programs: Path, out: Path, address: str, model: str) -> list[dict[str, Any]]:
    """What `vf-eval` makes of two samples with two rollouts each: its traces."""
    flags = f"--env.taskset.base-url {address} --client.base-url {model} -m policy -n 2 -r 2"
    command = [
        str(programs / "vf-eval"),
        "lotbench-v1",
        *flags.split(),
        "--no-push",
        "--no-rich",
        "-o",
        str(out),
    ]
    more = {"LOTBENCH_SERVE_KEY": KEY, "OPENAI_API_KEY": "none", "PATH": f"{programs}:{os.environ['PATH']}"}
    if "PIP_CERT" in os.environ:
        # Where pip needs a certificate of its own, so does uv.
        more["SSL_CERT_FILE"] = os.environ["PIP_CERT"]
    process = await asyncio.create_subprocess_exec(
        *command, env=os.environ | more, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
    )
    told, _ = await asyncio.wait_for(process.communicate(), 400)
    [file] = out.glob("*/traces.jsonl")
    lines = file.read_text(encoding="utf-8").splitlines()
    assert len(lines) == 4, told.decode()
    return [json.loads(line) for line in lines]


async def test_the_released_verifiers_plays_and_is_given_the_scores(
    tmp_path: Path, environments: Mapping[str, Future[Path]]
) -> None:
    python, verifiers = environments["openenv"].result() / "python", environments["verifiers"].result()
    two, growing = ("--limit", "2", "--set", "clue_interval=1"), ("--set", "conversation=growing")
    served = {
        "good": (("--solve", "0.5"), growing),
        "broken": (("--unreadable", "1.0"), (*growing, "--no-preflight")),
        "fresh": (("--solve", "0"), ()),
    }
    async with AsyncExitStack() as stack:
        model = await stack.enter_async_context(streaming())
        addresses = {}
        for name, (judges, settings) in served.items():
            url = stack.enter_context(serving(0, *judges)).url
            begun = command(python, tmp_path / name, url, *two, *settings)
            addresses[name] = stack.enter_context(begun)
        evals = (evaluated(verifiers, tmp_path / name / "out", at, model) for name, at in addresses.items())
        played, unplayed, torn = await asyncio.gather(*evals)
    traces = lotbench.load_run(tmp_path / "good" / "games").traces
    scores = sorted((one.sample, one.score.value) for one in traces)
    rewards = sorted((one["task"]["data"]["sample"], reward(one)) for one in played)
    assert rewards == scores
    assert any(value for _, value in scores)
    assert all(one["ok"] for one in played)
    # A judge that failed fails the episode; nothing of it is a reward.
    assert [one["ok"] for one in unplayed] == [False] * 4
    assert all("judge_failed" in one["errors"][0]["message"] for one in unplayed)
    assert [one["traces"][0]["rewards"] for one in unplayed] == [{}] * 4
    # Where each request tells all anew, an episode would hold the rules again and again.
    assert all("conversation=growing" in one["errors"][0]["message"] for one in torn)


def reward(episode: dict[str, Any]) -> float:
    """The reward of an episode's one trace."""
    [trace] = episode["traces"]
    score = float(trace["rewards"]["creativity_score"]["score"])
    assert trace["metrics"]["solved"] == float(score > 0)
    return score
