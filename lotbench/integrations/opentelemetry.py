"""A run as OpenTelemetry traces: one a task, a span a call, in the semantic conventions of generative AI.

OTLP in JSON, a line a walk: each line is a body that a collector takes at /v1/traces. The conventions are still in
development; names are those of 2026.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from lotbench.edge.files import atomic_write
from lotbench.integrations import Exported, played_by
from lotbench.integrations.conversations import moment, plain
from lotbench.run.plan import version
from lotbench.run.rescore import Call, Transcript, transcripts
from lotbench.run.results import Run
from lotbench.types import JSON

NAME = "traces.jsonl"
LEFT_OUT = (
    "intervals, baselines and metrics of the run are not part of any span",
    "spans hold every call as it was sent, and what judges are sent tells keys and references",
    "a call that was answered by an earlier run (the store) has no start of its own: that of its task is taken",
)
CLIENT, INTERNAL, ERROR = 3, 1, 2
"""Kinds of spans, and the status of one that failed (OTLP)."""


async def export(run: Run, out: Path) -> Exported:
    """Write a line a walk.

    Raises:
        RunFolderError: The run cannot be read.
    """
    with atomic_write.opened(out / NAME) as file:
        async for walk in transcripts(run):
            file.write(f"{json.dumps(_body(run, walk), ensure_ascii=False)}\n".encode())
    return Exported((out / NAME,), LEFT_OUT)


def _body(run: Run, walk: Transcript) -> dict[str, JSON]:
    """What a collector is sent of one walk."""
    resource = _attributes({"service.name": "lotbench", "service.version": played_by(run)})
    scope: dict[str, JSON] = {"name": "lotbench", "version": version()}
    spans: list[JSON] = list(_spans(run, walk))
    scoped: dict[str, JSON] = {"scope": scope, "spans": spans}
    return {"resourceSpans": [{"resource": {"attributes": resource}, "scopeSpans": [scoped]}]}


def _spans(run: Run, walk: Transcript) -> Iterator[dict[str, JSON]]:
    """The walk, then its calls in order."""
    trace = walk.trace
    named = f"{run.path.name}/{trace.sample}/{trace.repeat}"
    trace_id, root = _digest(named, 32), _digest(f"{named}/walk", 16)
    times = [_times(call) for call in walk.calls]
    known = [start for start, _ in times if start] or [0]
    first, last = min(known), max((end for _, end in times), default=0)
    walked: dict[str, JSON] = {
        "lotbench.benchmark": run.config.benchmark,
        "lotbench.sample": trace.sample,
        "lotbench.repeat": trace.repeat,
        "lotbench.outcome": trace.outcome,
        "lotbench.whole": walk.whole,
        "gen_ai.conversation.id": named,
    }
    yield {
        "traceId": trace_id,
        "spanId": root,
        "name": f"task {run.config.benchmark}",
        "kind": INTERNAL,
        "startTimeUnixNano": str(first),
        "endTimeUnixNano": str(max(first, last)),
        "attributes": _attributes(walked),
        "events": [_evaluation(walk, max(first, last))],
        "status": {"code": ERROR, "message": trace.why or ""} if trace.outcome.endswith("_failed") else {},
    }
    for call, (start, end) in zip(walk.calls, times, strict=True):
        yield {
            "traceId": trace_id,
            "spanId": _digest(f"{named}/{call.request.key}", 16),
            "parentSpanId": root,
            "name": f"chat {call.request.model}",
            "kind": CLIENT,
            "startTimeUnixNano": str(start or first),
            "endTimeUnixNano": str(end or first),
            "attributes": _attributes(_call(named, call)),
        }


def _call(named: str, call: Call) -> dict[str, JSON]:
    question, request, reply = call.question, call.request, call.reply
    return {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "lotbench",
        "gen_ai.conversation.id": named,
        "gen_ai.request.model": request.model,
        "gen_ai.response.model": reply.model,
        "gen_ai.response.finish_reasons": [reply.finish],
        "gen_ai.usage.input_tokens": reply.usage.input_tokens,
        "gen_ai.usage.output_tokens": reply.usage.output_tokens,
        "gen_ai.input.messages": json.dumps(
            [
                {"role": message.speaker, "parts": [{"type": "text", "content": plain(message)}]}
                for message in request.messages
            ],
            ensure_ascii=False,
        ),
        "gen_ai.output.messages": json.dumps(
            [{"role": "assistant", "parts": [{"type": "text", "content": reply.text}]}], ensure_ascii=False
        ),
        "lotbench.role": question.role,
        "lotbench.step": question.step,
        "lotbench.round": question.round,
        "lotbench.call": str(request.key),
    }


def _evaluation(walk: Transcript, at: int) -> dict[str, JSON]:
    """The walk's score as an evaluation result; one that failed has no value, and says why."""
    score = walk.trace.score
    told: dict[str, JSON] = {
        "gen_ai.evaluation.name": "lotbench",
        "gen_ai.evaluation.score.label": walk.trace.outcome,
    }
    if score.value is not None:
        told["gen_ai.evaluation.score.value"] = score.value
    if why := walk.trace.why or score.why:
        told["gen_ai.evaluation.explanation"] = why
    return {"name": "gen_ai.evaluation.result", "timeUnixNano": str(at), "attributes": _attributes(told)}


def _times(call: Call) -> tuple[int, int]:
    """Start and end of a call in nanoseconds since 1970; 0 where the journal does not tell."""
    start = call.started
    if start is None:
        return 0, 0
    return int(moment(start) * 1e9), int(moment(start + call.reply.seconds) * 1e9)


def _attributes(table: Mapping[str, JSON]) -> list[JSON]:
    return [{"key": name, "value": _value(value)} for name, value in table.items()]


def _value(value: Any) -> dict[str, JSON]:
    """A value in OTLP's JSON: whole numbers are texts there."""
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int):
        return {"intValue": str(value)}
    if isinstance(value, float):
        return {"doubleValue": value}
    if isinstance(value, list):
        return {"arrayValue": {"values": [_value(one) for one in value]}}
    return {"stringValue": str(value)}


def _digest(text: str, digits: int) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:digits]
