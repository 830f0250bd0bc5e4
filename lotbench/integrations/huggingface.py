"""Export for the Hugging Face hub: a score for the model's repository, and the episodes as a data set.

Each repository gets a folder, and the upload commands are printed; nothing is uploaded. The data set has JSON lines for
`datasets.load_dataset`, one table of episodes and one of steps, and a card.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import yaml

from lotbench import benchmarks
from lotbench.config.model_names import parse, without_address
from lotbench.errors import UsageError
from lotbench.report import trace_rows
from lotbench.report.markdown import plain, table
from lotbench.report.sections import Table
from lotbench.run.loading import Run
from lotbench.storage import atomic_write
from lotbench.types import JSON

MODEL = "model_repository"
TABLES = {"episodes": trace_rows.episodes, "steps": trace_rows.steps}
LABELS = frozenset({"value.status", "value.how", "value.model", "value.answer", "value.grade"})
"""Text fields of judges and the oracle that are exported; their other texts reveal key texts and references."""
LEFT_OUT = (
    "an .eval_results entry holds one value: its interval stands in the notes as text",
    "samples are not written: keys and references on the hub would be in the training data of tomorrow",
    "nor are texts of judges, which tell them: of their steps there are decisions and numbers",
)
PEOPLE = "a person played or judged, whose name and words stand in these files: publish them with that person's leave alone"


def export(run: Run, out: Path) -> tuple[list[Path], list[str]]:
    """Write the folder of the model's repository, if the run has a score, and the folder of the data set.

    A failed episode is never exported as a number.

    Returns:
        The files in the order of writing; and notes for the user, above all on what the format cannot hold.

    Raises:
        UsageError: The run has no summary.
        OSError: The folder cannot be written to.
        RunFolderError: The run cannot be read.
    """
    if not run.summary:
        raise UsageError(f"{run.path}: has no summary yet: resume it, or lotbench score {run.path}")
    name = f"lotbench-{run.config.benchmark}"
    # Named after the run, since `datasets` caches by the folder's name.
    episodes = out / re.sub(r"[^A-Za-z0-9._-]+", "-", f"episodes-{run.path.name}")
    metric = run.summary["primary_metric"]
    files, scored = [], run.score() is not None
    if scored:
        files.append(out / MODEL / ".eval_results" / f"{name}.yaml")
        atomic_write.write(files[-1], _yaml([_result(run, metric)]))
    for name_of, rows in TABLES.items():
        files.append(episodes / f"{name_of}.jsonl")
        atomic_write.write(files[-1], _lines(rows(run.traces, run.path.name, run.answered)))
    files.append(episodes / "README.md")
    atomic_write.write(files[-1], _card(run, name))
    names = (run.config.model, *(name for models in run.config.roles.values() for name in models))
    notes = [
        *["the run has no value of its primary metric: there is no .eval_results entry"] * (not scored),
        *LEFT_OUT,
        f"to upload: hf upload MODEL_REPOSITORY {out / MODEL} .",
        f"to upload: hf upload DATA_SET {episodes} . --repo-type dataset",
        *[PEOPLE] * any(parse(model).kind == "human" for model in names),
    ]
    return files, notes


def _lines(rows: Iterable[Mapping[str, JSON]]) -> Iterator[str]:
    """Yield rows as JSON lines with one type for each column: lists and dicts become JSON strings."""
    for row in rows:
        # A server's error may quote a prompt with a key text.
        row = {name: value for name, value in row.items() if name != "why"}
        if row.get("role") not in (None, "candidate"):
            row = {name: value for name, value in row.items() if not _is_text(name, value)}
        plain = {
            name: json.dumps(value, ensure_ascii=False) if isinstance(value, list | dict) else value
            for name, value in row.items()
            if not name.startswith("value.")
        }
        values = {name[6:]: value for name, value in row.items() if name.startswith("value.")}
        if values:
            plain["value"] = json.dumps(values, ensure_ascii=False)
        yield json.dumps(plain, ensure_ascii=False) + "\n"


def _is_text(name: str, value: JSON) -> bool:
    """Return whether a field of a judge's or the oracle's step, given by name and value, is a text that is not exported."""
    return name.startswith("value.") and isinstance(value, str | list) and name not in LABELS


def _result(run: Run, metric: str) -> dict[str, JSON]:
    """Return a metric of the run as an entry of .eval_results, without `source`, which needs a URL."""
    score = run.summary["scores"][metric]
    low, high = score["low"], score["high"]
    interval = f", 95 % interval {low} to {high}" if low is not None and high is not None else ""
    remarks = "".join(f"{remark} " for remark in run.summary.get("remarks", ()))
    return {
        "dataset": {
            "id": f"lotbench/{run.summary.get('data_set') or run.config.benchmark}",
            "task_id": str(run.summary.get("arm") or "all"),
        },
        "value": score["value"],
        "notes": f"{metric}{interval}, {score['n']} samples; {run.trust}; {remarks}lotbench {run.digests.get('code', 'unknown')}",
    }


def _card(run: Run, name: str) -> str:
    """Return the data set card (README.md): model, data, scores and digests of the run."""
    summary = run.summary
    head: dict[str, JSON] = {
        "pretty_name": f"{name}: tasks of {without_address(run.config.model)}",
        "tags": ["lotbench", run.config.benchmark, "evaluation"],
        "configs": [{"config_name": table, "data_files": f"{table}.jsonl"} for table in TABLES],
    }
    scores = [
        (metric, score["value"], score["low"], score["high"], score["n"])
        for metric, score in summary["scores"].items()
    ]
    canaries = sorted({str(sample["canary"]) for sample in run.samples.values() if sample.get("canary")})
    models = [(role, ", ".join(names)) for role, names in summary["models"].items()]
    tables = (
        Table(("role", "models"), tuple(models)),
        Table(("metric", "value", "low", "high", "samples"), tuple(scores)),
        Table(("of", "sha256"), tuple(summary["digests"].items())),
    )
    return "\n\n".join(
        [
            f"---\n{_yaml(head)}---",
            f"# {plain(str(head['pretty_name']))}",
            f"{benchmarks.get(run.config.benchmark).about.capitalize()}. One line a task, one a step.",
            f"Do not train on them: they hold texts of samples. Canary: {plain(' '.join(canaries) or 'none')}",
            f"Model: {plain(without_address(run.config.model))}. Variant: {plain(str(summary.get('arm')))}. "
            f"The run is {plain(run.trust)}. {plain(' '.join(summary.get('remarks', ())))}",
            *map(table, tables),
            "",
        ]
    )


def _yaml(value: JSON) -> str:
    return str(yaml.safe_dump(value, allow_unicode=True, sort_keys=False, width=1000))
