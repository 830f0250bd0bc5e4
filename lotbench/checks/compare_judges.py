"""Judges to be compared, brought together: models that are checked now, checks that are done, recorded verdicts."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from lotbench import benchmarks
from lotbench.checks import judge_rates
from lotbench.checks.judge_check import Watch, judge_check
from lotbench.checks.judge_check_plan import Wanted
from lotbench.checks.judge_comparison import of_measures
from lotbench.checks.judge_rates import Judged
from lotbench.edge.files import jsonl, run_folder
from lotbench.edge.files.recorded_verdicts import JudgeVerdicts, read_verdicts
from lotbench.errors import RunFolderError, UsageError
from lotbench.harness.judge_validation import JudgePanel, Probe, ProbeResult

ROLE = "judge"


async def gathered(
    given: Sequence[str],
    wanted: Wanted,
    *,
    own: Mapping[str, Any] | None = None,
    watch: Watch | None = None,
) -> list[JudgeVerdicts]:
    """What each judge said: a file of verdicts, the folder of a check, or a model, which is checked now, alone.

    Raises:
        LotbenchError: A file or folder is not what it should be, or a check was stopped; the same call goes on.
    """
    found: list[JudgeVerdicts] = []
    for name in given:
        path = Path(name)
        if path.is_file():
            found += read_verdicts(path, wanted.unknown)
        elif (path / "check.json").is_file():
            found += of_check(path)
        else:
            experiment = wanted.config.experiment.model_copy(update={"roles": {ROLE: (name,)}})
            alone = replace(wanted, config=wanted.config.model_copy(update={"experiment": experiment}))
            found += of_check((await judge_check(alone, own=own, watch=watch)).path)
    if len(found) < 2:
        raise UsageError("--compare: one judge stands beside nobody; give two or more")
    return found


def of_check(folder: Path) -> list[JudgeVerdicts]:
    """The judges of a check that is done, by its folder, with what they cost.

    Raises:
        RunFolderError: The check is not complete, or damaged.
    """
    asked, summary = (run_folder.read_json(folder / name) for name in ("check.json", "summary.json"))
    if not summary["complete"]:
        raise RunFolderError(
            f"{folder}: the check is not complete; the command that began it goes on with it"
        )
    validation = benchmarks.get(asked["experiment"]["benchmark"]).judges.validation
    if validation is None:
        raise RunFolderError(f"{folder}: {asked['experiment']['benchmark']} has no judge set")
    judged = _judged(folder / "checks.jsonl")
    found = of_measures(judge_rates.measures(judged, 0, validation.rulings), asked["roles"])
    return [replace(one, **_paid(asked["roles"], summary, len(judged))) for one in found]


def _judged(path: Path) -> list[Judged]:
    names = {one.name for one in fields(Probe)}
    panels: dict[tuple[Any, ...], JudgePanel] = {}
    made = []
    for _, text in jsonl.texts(path):
        line = json.loads(text)
        place = line["role"], tuple(line["seats"]), line["mode"], line.get("task", "")
        # What a second judge confirms has a first verdict that would stand alone.
        alone = "first" if len(place[1]) > 1 else None
        panel = panels.setdefault(place, JudgePanel(place[0], place[1], place[2], None, alone, place[3]))
        probe = Probe(**{name: value for name, value in line.items() if name in names})
        made.append(Judged(panel, probe, line["repeat"], ProbeResult(**line["said"])))
    return made


def _paid(roles: Mapping[str, Sequence[str]], summary: Mapping[str, Any], verdicts: int) -> dict[str, Any]:
    """What a check of one model used in all, which is that model's; of several nobody knows whose it is."""
    if sum(map(len, roles.values())) != 1:
        return {}
    (spent,) = (summary["usage"][role] for role in roles)
    tokens = spent["input_tokens"] + spent["output_tokens"]
    return {"verdicts": verdicts, "tokens": tokens, "cost_usd": spent["cost_usd"]}
