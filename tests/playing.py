"""Small games against the fake server: what tests of whole runs share."""

from pathlib import Path
from typing import Any

from lotbench.run.evaluate import evaluate
from lotbench.run.loading import Run
from tests.server import FakeServer

SETTINGS = {"max_rounds": 3, "clue_interval": 2, "arm": "caption"}


def players(url: str, **other: Any) -> dict[str, Any]:
    """All three roles at one address."""
    named = {role: other.get(role, f"{role}@{url}") for role in ("candidate", "judge", "oracle")}
    return {"model": named.pop("candidate"), "roles": named}


async def play(server: FakeServer | str, out: Path, **fields: Any) -> Run:
    """Three samples, one repeat, three rounds, unless the fields say otherwise."""
    url = server if isinstance(server, str) else server.url
    other = {role: fields.pop(role) for role in ("candidate", "judge", "oracle") if role in fields}
    given: dict[str, Any] = {"data": "lotbench_easy", "limit": 3, "repeats": 1, "concurrency": 4} | fields
    given["settings"] = SETTINGS | given.get("settings", {})
    return await evaluate(out=out, **players(url, **other), **given)


def outcomes(run: Run) -> dict[str, str]:
    """How each episode ended."""
    return {f"{trace.sample}/{trace.repeat}": trace.outcome for trace in run.traces}


def steps(run: Run, name: str) -> list[dict[str, Any]]:
    """What the steps of that name came to, in order."""
    return [dict(step["value"]) for trace in run.traces for step in trace.steps if step["step"] == name]
