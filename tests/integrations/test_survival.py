"""What of a run survives in each tool's format, counted on the recorded runs: the table of docs/integrations.md.

`LOTBENCH_GOLDEN=write` (`make golden`) writes the table anew.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import zipfile
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, TypeAlias

import pytest
import yaml

from lotbench.cli import main
from lotbench.integrations import EXPORTERS
from tests.pages import ROOT
from tests.recorded import FOLDER, RUNS

PAGE = ROOT / "docs" / "integrations.md"
PLACE = re.compile(r"(?<=<!-- survival: `make golden` writes it anew -->\n).*?(?=<!-- end -->)", re.DOTALL)
FACTS = {
    "value": "value of a metric",
    "interval": "its interval",
    "samples": "its number of samples",
    "better": "whether more is better",
    "baselines": "its baselines",
    "judge": "judge or oracle, by the id that answered",
    "walk": "score of a task",
    "failed": "tasks that failed and became a number",
}
Facts: TypeAlias = "dict[tuple[str, ...], Any]"
"""What a run says, by fact and name; or what a format says of it."""


def rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def told(run: Path) -> Facts:
    """What a run says of itself."""
    summary = json.loads((run / "summary.json").read_text(encoding="utf-8"))
    facts: Facts = {}
    for name, score in summary["scores"].items():
        if score["value"] is None:
            continue
        facts["value", name] = score["value"]
        facts["samples", name] = score["n"]
        facts["better", name] = score["better"]
        if score["low"] is not None and score["high"] is not None:
            facts["interval", name] = (score["low"], score["high"])
        for base, value in score["baselines"].items():
            facts["baselines", name, base] = value
    for role, names in summary["models"].items():
        if role != "candidate":
            facts |= {("judge", role, name): True for name in names}
    for trace in rows(run / "traces.jsonl"):
        place, value = f"{trace['sample']}/{trace['repeat']}", trace["score"]["value"]
        facts["failed" if value is None else "walk", place] = value
    return facts


def by_inspect(out: Path) -> Facts:
    [path] = out.glob("*.eval")
    with zipfile.ZipFile(path) as log:
        header, samples = json.loads(log.read("header.json")), json.loads(log.read("summaries.json"))
    facts: Facts = {}
    for name, metric in header["results"]["scores"][0]["metrics"].items():
        about = metric["metadata"]
        facts |= {("value", name): metric["value"], ("better", name): about["better"]}
        facts |= {("samples", name): about["n"], ("interval", name): (about["low"], about["high"])}
        facts |= {("baselines", name, base): value for base, value in about["baselines"].items()}
    for role, given in header["eval"]["model_roles"].items():
        models = given if isinstance(given, list) else [given]
        facts |= {("judge", role, one["model"]): True for one in models}
    for one in samples:
        place, value = f"{one['id']}/{one['epoch']}", one["scores"]["lotbench"]["value"]
        facts["failed" if value != value else "walk", place] = None if value != value else value
    return facts


def by_huggingface(out: Path) -> Facts:
    facts: Facts = {}
    text = (next(out.glob("walks-*")) / "README.md").read_text(encoding="utf-8")
    cells = [
        [cell.strip() for cell in line[1:-1].split("|")] for line in text.splitlines() if line[:1] == "|"
    ]
    for name, *values in (row for row in cells if len(row) == 5 and row[0] not in ("metric", "---")):
        value, low, high, number = (json.loads(cell) if cell else None for cell in values)
        facts |= {("value", name): value, ("interval", name): (low, high), ("samples", name): number}
    for role, models in (row for row in cells if len(row) == 2):
        facts |= {("judge", role, model): True for model in models.split(", ")}
    [entry] = [yaml.safe_load(path.read_text(encoding="utf-8"))[0] for path in out.rglob("*.yaml")]
    assert entry["value"] == facts["value", entry["notes"].split(",")[0].split(";")[0]]
    for row in rows(next(out.glob("walks-*")) / "walks.jsonl"):
        facts["failed" if row["score"] is None else "walk", f"{row['sample']}/{row['repeat']}"] = row["score"]
    return facts


READERS: Mapping[str, Callable[[Path], Facts]] = {
    "inspect": by_inspect,
    "huggingface": by_huggingface,
}
NO_FIELD = {
    "huggingface": {"better", "baselines"},
    "inspect": set(),
}
"""What a format has no place for, of one walk or of all."""


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """The recorded runs, and one of a game in which a walk broke off."""
    broken = tmp_path_factory.mktemp("broken") / next(name for name in RUNS if "-lotbench-" in name)
    shutil.copytree(FOLDER / broken.name, broken)
    traces = rows(broken / "traces.jsonl")
    traces[1] |= {
        "outcome": "judge_failed",
        "score": {"value": None, "why": "", "parts": {}},
        "why": "silence",
    }
    (broken / "traces.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in traces), encoding="utf-8")
    return [*(FOLDER / name for name in RUNS), broken]


def kept(fact: str, said: Facts, found: Facts) -> Iterable[bool]:
    """Of each thing that a run says of a fact, whether the format says the same."""
    for place, value in said.items():
        if place[0] == fact:
            other = found.get(place, found.get((fact, place[-1])) if fact == "judge" else None)
            yield other == value


def table(runs: Iterable[Path], out: Path) -> tuple[str, list[str]]:
    """The table, and what was lost where the format has a field."""
    of, survived, lost, wrong = Counter[str](), Counter[tuple[str, str]](), [], Counter[str]()
    for number, run in enumerate(runs):
        said = told(run)
        of.update(place[0] for place in said)
        for tool, read in READERS.items():
            folder = out / str(number) / tool
            assert main(["export", str(run), "--to", tool, "--out", str(folder)]) == 0
            found = read(folder)
            for fact in set(FACTS) - {"failed"} - NO_FIELD[tool]:
                same = list(kept(fact, said, found))
                survived[tool, fact] += sum(same)
                lost += [f"{tool}: {fact} of {run.name}"] * (len(same) - sum(same))
            wrong[tool] += sum(("walk", place[1]) in found for place in said if place[0] == "failed")
    lines = ["| | " + " | ".join(f"`{tool}`" for tool in READERS) + " |", "| --- |" + " --- |" * len(READERS)]
    for fact, shown in FACTS.items():
        cells = [
            f"{wrong[tool]} of {of[fact]}"
            if fact == "failed"
            else "no field"
            if fact in NO_FIELD[tool]
            else f"{survived[tool, fact]} of {of[fact]}"
            for tool in READERS
        ]
        lines.append(f"| {shown} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n", lost


def test_golden_all_that_a_format_has_a_field_for_survives(runs: list[Path], tmp_path: Path) -> None:
    assert READERS.keys() == EXPORTERS.keys()
    made, lost = table(runs, tmp_path)
    assert not lost
    page = PAGE.read_text(encoding="utf-8")
    if os.environ.get("LOTBENCH_GOLDEN") == "write":
        PAGE.write_text(PLACE.sub(lambda _: made, page), encoding="utf-8")
    found = PLACE.search(PAGE.read_text(encoding="utf-8"))
    assert found and found[0] == made, "docs/integrations.md is out of date: make golden"
