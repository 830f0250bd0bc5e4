"""A run as every-eval-ever keeps evaluations: a JSON file a run, a JSON line a task (its schema 0.3.0).

Written from the schemas in its wheel, without the package. Files lie where its data store wants them:
data/COLLECTION/DEVELOPER/MODEL/UUID.json with UUID_samples.jsonl; one run has one UUID, whenever it is exported.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from datetime import datetime
from math import inf
from pathlib import Path
from typing import Any
from uuid import UUID

from lotbench import benchmarks
from lotbench.config.experiment import Limits
from lotbench.config.model_names import without_address
from lotbench.edge.files import atomic_write
from lotbench.edge.files.run_folder import read_json
from lotbench.integrations import Exported, canaries, played_by
from lotbench.integrations.conversations import model_id, replies, slug, turns
from lotbench.run.rescore import Transcript, transcripts
from lotbench.run.results import Run, planned
from lotbench.types import JSON

SCHEMA = "0.3.0"
SAMPLING = ("temperature", "top_p", "max_tokens")
UNKNOWN = {"deployment_type": "unknown", "model_availability": "unknown"}
LEFT_OUT = (
    "baselines, the chance line and the error rates of judges have no field: they are in additional_details as text",
    "reference answers are not written: they would be in the training data of tomorrow",
    "is_correct: solved, or a task of the highest score; dimensions without right and wrong have none that means it",
    "pictures stand in messages by their sha256",
)


async def export(run: Run, out: Path) -> Exported:
    """Write the run's file and its walks' lines; a walk without a score is no line.

    Raises:
        RunFolderError: The run cannot be read.
    """
    model = model_id(_candidate(run))
    folder = Path("data", slug(f"lotbench-{run.config.benchmark}"), *model.split("/"))
    name = UUID(
        bytes=hashlib.sha256(f"{run.path.name} {run.digests['experiment']}".encode()).digest()[:16], version=4
    )
    place, lines = folder / f"{name}.json", folder / f"{name}_samples.jsonl"
    about = _identity(run, model)
    digest, rows, missing, highest = hashlib.sha256(), 0, 0, _highest(run)
    with atomic_write.opened(out / lines) as file:
        async for walk in transcripts(run):
            if walk.trace.score.value is None:
                missing += 1
                continue
            line = f"{json.dumps(_instance(walk, about, highest), ensure_ascii=False)}\n".encode()
            digest.update(line)
            file.write(line)
            rows += 1
    detailed: dict[str, JSON] = {
        "format": "jsonl",
        "file_path": lines.as_posix(),
        "hash_algorithm": "sha256",
        "checksum": digest.hexdigest(),
        "total_rows": rows,
        "additional_details": {"walks_without_score": str(missing)},
    }
    table = {**_aggregate(run, about), "detailed_evaluation_results": detailed}
    atomic_write.write(out / place, json.dumps(table, ensure_ascii=False, indent=1) + "\n")
    left = (f"{missing} tasks have no score and are no lines: a row needs a number",) if missing else ()
    return Exported((out / place, out / lines), (*left, *LEFT_OUT))


def _candidate(run: Run) -> str:
    """The candidate's name, by the id that it answered with where it is known."""
    answered = run.summary.get("models", {}).get("candidate") or [run.config.model]
    bare = without_address(run.config.model)
    return bare if "/" in bare else str(answered[0])


def _identity(run: Run, model: str) -> dict[str, str]:
    """What names the evaluation in both files."""
    began = _began(run)
    return {
        "evaluation_id": f"lotbench-{run.config.benchmark}/{model}/{began}",
        "model_id": model,
        "name": f"lotbench {run.config.benchmark}",
        "began": began,
    }


def _began(run: Run) -> str:
    """Seconds since 1970 at which the run was made, from its folder's name; the file's time where that tells none."""
    try:
        stamp = datetime.strptime("-".join(run.path.name.split("-")[:2]) + "+0000", "%Y%m%d-%H%M%z")
    except ValueError:
        return str(int((run.path / "run.json").stat().st_mtime))
    return str(int(stamp.timestamp()))


def _aggregate(run: Run, about: Mapping[str, str]) -> dict[str, JSON]:
    summary = run.summary
    scores: Mapping[str, Mapping[str, Any]] = summary["scores"]
    return {
        "schema_version": SCHEMA,
        "evaluation_id": about["evaluation_id"],
        "evaluation_timestamp": about["began"],
        "retrieved_timestamp": about["began"],
        "source_metadata": {
            "source_name": "lotbench",
            "source_type": "evaluation_run",
            "source_organization_name": "unknown",
            "evaluator_relationship": "other",
        },
        "eval_library": {"name": "lotbench", "version": played_by(run)},
        "model_info": _model(_candidate(run)),
        "evaluation_results": [
            _result(run, name, score) for name, score in scores.items() if score["value"] is not None
        ],
    }


def _model(name: str) -> dict[str, JSON]:
    return {"name": name, "id": model_id(name), "additional_details": dict(UNKNOWN)}


def _result(run: Run, name: str, score: Mapping[str, Any]) -> dict[str, JSON]:
    """One metric with its interval and its judges."""
    summary = run.summary
    uncertainty: dict[str, JSON] = {"num_samples": score["n"]}
    if score["low"] is not None and score["high"] is not None:
        uncertainty["confidence_interval"] = {
            "lower": score["low"],
            "upper": score["high"],
            "confidence_level": 0.95,
        }
    metric: dict[str, JSON] = {
        "metric_id": f"lotbench.{run.config.benchmark}.{name}",
        "metric_name": name,
        "lower_is_better": score["better"] == "lower",
        "additional_details": {key: json.dumps(value) for key, value in score["baselines"].items()},
    }
    if judges := _judges(run):
        metric["llm_scoring"] = judges
    details = {
        "arm": str(summary.get("arm")),
        "rankable": json.dumps(summary["rankable"]),
        "reasons": json.dumps(summary["reasons"], ensure_ascii=False),
        "observations": str(score.get("observations", 0)),
        "complete": json.dumps(summary["complete"]),
    }
    digests = {"sha256": run.digests["data"], "prompts_sha256": run.digests["prompts"]}
    data: dict[str, JSON] = {
        "dataset_name": run.config.data,
        "source_type": "other",
        "additional_details": {**digests, "canary": " ".join(canaries(run))},
    }
    return {
        "evaluation_result_id": name,
        "evaluation_name": f"{run.config.benchmark}: {name}",
        "source_data": data,
        "metric_config": metric,
        "score_details": {"score": score["value"], "details": details, "uncertainty": uncertainty},
        "generation_config": _generation(run),
    }


def _judges(run: Run) -> dict[str, JSON] | None:
    """The models whose verdicts scores rest on, with what they were asked, by digest; None if people or words decide."""
    roles = benchmarks.get(run.config.benchmark).roles
    names = [name for role, given in run.summary["models"].items() if roles[role].impartial for name in given]
    if not names:
        return None
    asked = f"prompts of lotbench, sha256 {run.digests['prompts']}"
    return {"judges": [{"model_info": _model(name)} for name in names], "input_prompt": asked}


def _generation(run: Run) -> dict[str, JSON]:
    sampling = read_json(run.path / "run.json").get("sampling", {}).get("candidate", {})
    known = {name: sampling[name] for name in SAMPLING if sampling.get(name) is not None}
    settings = json.dumps(run.config.settings, ensure_ascii=False)
    return {"generation_args": known, "additional_details": {"settings": settings}}


def _highest(run: Run) -> float:
    """The most that a walk's score can be; infinite where the benchmark does not say."""
    ends = benchmarks.get(run.config.benchmark).comparison.ends
    return ends(planned(run, Limits()).settings)[1] if ends else inf


def _instance(walk: Transcript, about: Mapping[str, str], highest: float) -> dict[str, JSON]:
    """One walk as a line; it is correct if it was solved, or has the highest score that there is."""
    trace, said = walk.trace, list(turns(walk))
    given = replies(walk)
    single = len(given) < 2
    asked = next((turn.text for turn in said if turn.role == "user"), "")
    value = trace.score.value
    assert value is not None
    line: dict[str, Any] = {
        "schema_version": SCHEMA,
        "evaluation_id": about["evaluation_id"],
        "model_id": about["model_id"],
        "evaluation_name": about["name"],
        "sample_id": f"{trace.sample}/{trace.repeat}",
        "sample_hash": hashlib.sha256(asked.encode()).hexdigest(),
        "interaction_type": "single_turn" if single else "multi_turn",
        "input": {"raw": asked, "reference": []},
        "answer_attribution": [],
        "evaluation": {"score": value, "is_correct": trace.outcome == "solved" or value >= highest},
        "token_usage": {
            "input_tokens": sum(reply.usage.input_tokens for reply in given),
            "output_tokens": sum(reply.usage.output_tokens for reply in given),
            "total_tokens": sum(reply.usage.input_tokens + reply.usage.output_tokens for reply in given),
        },
        "metadata": {"outcome": trace.outcome, "whole": json.dumps(walk.whole)},
    }
    if single:
        line["output"] = {"raw": [reply.text for reply in given]}
    else:
        line["messages"] = [
            {"turn_idx": number, "role": turn.role, "content": turn.text}
            | ({"reasoning_trace": turn.reasoning} if turn.reasoning else {})
            for number, turn in enumerate(said)
        ]
        line["evaluation"]["num_turns"] = len(said)
    return line
