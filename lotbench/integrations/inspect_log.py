"""Export as a log of inspect_ai, for `inspect view`, `read_eval_log` and `inspect view bundle`.

An `.eval` file is a zip of JSON files: the header, a summary of each sample, and the samples, which are written one at a
time. An episode becomes a sample with its repeat as epoch, and calls become model events. A failed episode has the score
NaN with the reason, which inspect leaves out of metrics.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from lotbench.calls.journal import call_times
from lotbench.errors import UsageError
from lotbench.integrations import Exported, canaries, played_by, slug
from lotbench.run.loading import Run
from lotbench.run.rescore import Call, Transcript, transcripts
from lotbench.storage import atomic_write
from lotbench.storage.run_folder import read_json
from lotbench.types import JSON, Image, Message, Reply, Usage

VERSION = 2
"""The version of inspect_ai's log format."""
SCORER = "lotbench"
LAST = 253_402_300_799.0
"""The last second of 9999-12-31, after which there is no date; a journal of another program may have any number."""
LEFT_OUT = (
    "intervals, baselines and trust have no field in a metric: they stand in its metadata",
    "target is empty; events hold every call as it was sent, and what judges are sent tells keys and references: "
    "publish a log only where you would publish the data set",
    "pictures stand in messages by their sha256",
    "conversations of a task follow each other in messages; each call has its own in the events",
)


async def export(run: Run, out: Path) -> Exported:
    """Write the log into the folder `out`, with a file name like inspect's own.

    Raises:
        RunFolderError: The run cannot be read.
    """
    first, last = call_times(run.path / "calls.jsonl")
    ids = hashlib.sha256(run.path.name.encode()).hexdigest()[:22]
    spec = _spec(run, ids, _time(first))
    name = f"{_time(first).replace(':', '-')}_{slug(spec['task'])}_{ids}.eval"
    summaries: list[dict[str, Any]] = []
    with atomic_write.opened(out / name) as file, zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as log:
        _put(log, "_journal/start.json", {"version": VERSION, "eval": spec, "plan": {}})
        async for episode in transcripts(run):
            sample = _sample(run, episode, first)
            if re.search(r"[/\\\0]", sample["id"]):
                # A path in the id would let the zip write outside its folder.
                raise UsageError(
                    f"{run.path}: sample {sample['id'][:80]!r} can be no name of a file in a log"
                )
            _put(log, f"samples/{sample['id']}_epoch_{sample['epoch']}.json", sample)
            summaries.append(_summary(sample))
        _put(log, "summaries.json", summaries)
        _put(log, "header.json", _header(run, spec, summaries, (_time(first), _time(last))))
    return Exported((out / name,), LEFT_OUT)


def _put(log: zipfile.ZipFile, name: str, table: object) -> None:
    log.writestr(name, json.dumps(table, ensure_ascii=False))


def _time(seconds: float) -> str:
    return datetime.fromtimestamp(min(max(seconds, 0.0), LAST), UTC).isoformat(timespec="seconds")


def _spec(run: Run, ids: str, created: str) -> dict[str, Any]:
    """Return the `eval` table of the log: task, data set, models by role; `ids` is the id of evaluation, run and task."""
    models = run.summary["models"]
    others = {
        role: [{"model": name} for name in names] for role, names in models.items() if role != "candidate"
    }
    return {
        "eval_id": ids,
        "run_id": ids,
        "created": created,
        "task": f"lotbench/{run.config.benchmark}",
        "task_id": ids,
        "task_version": read_json(run.path / "run.json").get("version", "unknown"),
        "task_args": dict(run.config.settings),
        "dataset": {
            "name": run.config.data,
            "samples": run.summary["n_samples"],
            "sample_ids": list(run.samples),
            "shuffled": False,
        },
        "model": (models.get("candidate") or [run.config.model])[0],
        "model_roles": {
            role: group[0] if len(group) == 1 else group for role, group in others.items() if group
        },
        "config": {"epochs": max((trace.repeat for trace in run.traces), default=1)},
        "packages": {"lotbench": played_by(run)},
        "metadata": {
            "arm": run.summary.get("arm"),
            "rankable": run.summary["rankable"],
            "reasons": run.summary["reasons"],
            "digests": dict(run.digests),
            "canary": canaries(run),
        },
    }


def _header(
    run: Run, spec: Mapping[str, Any], summaries: list[dict[str, Any]], times: tuple[str, str]
) -> dict[str, JSON]:
    """Return the header of the log, with all metrics of the run; `times` are its start and end as ISO dates."""
    scored = sum(not math.isnan(summary["scores"][SCORER]["value"]) for summary in summaries)
    metrics: dict[str, JSON] = {
        name: {
            "name": name,
            "value": score["value"],
            "metadata": {key: value for key, value in score.items() if key != "value"},
        }
        for name, score in run.summary["scores"].items()
        if score["value"] is not None
    }
    score: dict[str, JSON] = {
        "name": SCORER,
        "scorer": SCORER,
        "scored_samples": scored,
        "unscored_samples": len(summaries) - scored,
        "metrics": metrics,
    }
    usage: dict[str, JSON] = {
        role: _usage(Usage(**{name: used[name] for name in Usage.__slots__}))
        for role, used in run.summary["usage"]["by_role"].items()
    }
    stats: dict[str, JSON] = {"started_at": times[0], "completed_at": times[1], "role_usage": usage}
    results: dict[str, JSON] = {
        "total_samples": len(summaries),
        "completed_samples": len(summaries),
        "scores": [score],
    }
    return {
        "version": VERSION,
        "status": "success" if run.summary["complete"] else "cancelled",
        "eval": dict(spec),
        "plan": {},
        "results": results,
        "stats": stats,
    }


def _usage(used: Usage) -> dict[str, JSON]:
    """Return token counts as inspect has them: input tokens without the cached ones, which are counted separately."""
    return {
        "input_tokens": used.input_tokens - used.cached_input_tokens,
        "output_tokens": used.output_tokens,
        "total_tokens": used.input_tokens + used.output_tokens,
        "input_tokens_cache_read": used.cached_input_tokens,
    }


def _sample(run: Run, episode: Transcript, origin: float) -> dict[str, Any]:
    """Return an episode as a sample of the log; `origin` is the start of the first call, in seconds since 1970."""
    trace = episode.trace
    messages = [{"role": role, "content": text} for role, text in turns(episode)]
    last = replies(episode)[-1:]
    first_text = next((message["content"] for message in messages if message["role"] == "user"), "")
    return {
        "id": trace.sample,
        "epoch": trace.repeat,
        "input": first_text,
        "target": "",
        "messages": messages,
        "output": _output(last[0]) if last else {"model": run.config.model, "choices": []},
        "scores": {SCORER: _score(episode)},
        "metadata": {"outcome": trace.outcome, "whole": episode.whole},
        "events": [_call(call, origin) for call in episode.calls],
        **_usage_table(episode),
        "uuid": hashlib.sha256(f"{run.path.name}/{trace.sample}/{trace.repeat}".encode()).hexdigest()[:22],
    }


def _usage_table(episode: Transcript) -> dict[str, JSON]:
    """Return the fields of a sample for the tokens by model and the total seconds of its calls."""
    used: dict[str, Usage] = {}
    for call in episode.calls:
        used[call.reply.model] = used.get(call.reply.model, Usage()) + call.reply.usage
    seconds = sum(call.reply.seconds for call in episode.calls)
    models: dict[str, JSON] = {model: _usage(usage) for model, usage in used.items()}
    return {"model_usage": models, "total_time": seconds, "working_time": seconds}


def _score(episode: Transcript) -> dict[str, JSON]:
    score, outcome = episode.trace.score, episode.trace.outcome
    about: dict[str, JSON] = {"metadata": {**score.parts, "outcome": outcome}}
    if score.value is None:
        return {"value": float("nan"), "reason": episode.trace.why or score.why or outcome, **about}
    answer = next((reply.text for reply in reversed(replies(episode))), None)
    return {"value": score.value, "answer": answer, "explanation": outcome, **about}


def _summary(sample: Mapping[str, Any]) -> dict[str, JSON]:
    """Return the entry in summaries.json for a sample of the log."""
    left_out = ("messages", "output", "events", "uuid")
    table = {name: value for name, value in sample.items() if name not in left_out}
    return table | {
        "input": sample["input"][:1000],
        "completed": True,
        "message_count": len(sample["messages"]),
    }


def _call(call: Call, origin: float) -> dict[str, JSON]:
    question, request, reply = call.question, call.request, call.reply
    start = call.started or origin
    return {
        "event": "model",
        "timestamp": _time(start),
        "working_start": start - origin,
        "model": reply.model,
        "role": question.role,
        "input": [{"role": each.speaker, "content": message_text(each)} for each in request.messages],
        "tools": [],
        "tool_choice": "none",
        "config": {name: value for name, value in asdict(request.sampling).items() if value is not None},
        "output": _output(reply),
        "completed": _time(start + reply.seconds),
        "working_time": reply.seconds,
        "metadata": {"round": question.round, "step": question.step, "call": str(request.key)},
    }


def _output(reply: Reply) -> dict[str, JSON]:
    stops = {"stop": "stop", "length": "max_tokens", "content_filter": "content_filter"}
    message = {"role": "assistant", "content": reply.text, "model": reply.model, "source": "generate"}
    choice: dict[str, JSON] = {"message": message, "stop_reason": stops.get(reply.finish, "unknown")}
    return {
        "model": reply.model,
        "choices": [choice],
        "completion": reply.text,
        "usage": _usage(reply.usage),
        "time": reply.seconds,
    }


def turns(transcript: Transcript) -> Iterator[tuple[str, str]]:
    """Yield (speaker, text) for the messages and replies of the candidate's calls; skip a repeated system message."""
    system = ""
    for call in transcript.calls:
        if call.question.role != "candidate":
            continue
        for message in call.request.messages:
            text = message_text(message)
            if message.speaker == "system":
                if text == system:
                    continue
                system = text
            yield message.speaker, text
        yield "assistant", call.reply.text


def replies(transcript: Transcript) -> list[Reply]:
    """Return the candidate's replies in an episode."""
    return [call.reply for call in transcript.calls if call.question.role == "candidate"]


def message_text(message: Message) -> str:
    """Return a message as text, with `[picture sha256:...]` in place of each picture."""
    return "".join(
        f"[picture sha256:{part.sha256}]\n" if isinstance(part, Image) else part for part in message.parts
    )
