"""The judge check: judges and oracle get labelled rows as in a game, and the store keeps their error rates.

Calls pass through the same caller, journal and store as in a run, so the same command continues a stopped check.
"""

import json
import math
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

from lotbench.calls import judge_records
from lotbench.calls.caller import Caller
from lotbench.calls.journal import Totals
from lotbench.calls.store import Store
from lotbench.checks import chains, judge_rates
from lotbench.checks.judge_check_plan import CheckOrder, Prepared, prepare
from lotbench.checks.judge_rates import JudgedProbe, Measure
from lotbench.checks.probes import key_of, put, side_by_side
from lotbench.config.experiment import digest
from lotbench.config.model_names import slug
from lotbench.errors import file_errors
from lotbench.harness.judge_standing import chains_said
from lotbench.harness.judge_validation import JudgePanel, Probe
from lotbench.regular_file import is_file
from lotbench.report.report import interval
from lotbench.run import results
from lotbench.run.calling import Calls, calling
from lotbench.run.session import watched
from lotbench.storage import run_folder
from lotbench.storage.export import refuse_labelled
from lotbench.types import JSON


@dataclass(frozen=True, slots=True)
class Checked:
    """The result of a judge check.

    Attributes:
        path: The folder of the check.
        names: The names of the models of each role.
        stored: The paths of the records that the check has written to the store.
        notes: The notes before the tables of the report.
        sentences: For each measure that scores can rest on, its rates and whether they are good enough to trust a run.
    """

    path: Path
    measures: tuple[Measure, ...]
    names: Mapping[str, Sequence[str]]
    stored: tuple[Path, ...]
    notes: tuple[str, ...]
    sentences: tuple[str, ...] = ()


STAGES = "stages.jsonl"
Watch: TypeAlias = Callable[[Prepared], Awaitable[None]]


async def judge_check(
    spec: CheckOrder, *, own: Mapping[str, Any] | None = None, watch: Watch | None = None
) -> Checked:
    """Check judges and oracle; the same call continues a check that was stopped.

    Args:
        spec: The request.
        own: Models given as Python objects, by name.
        watch: A coroutine that runs during the check, to show its progress.

    Raises:
        LotbenchError: The request has a fault, or the check was stopped; the verdicts so far are written.
    """
    prepared = prepare(spec)
    if spec.stages:
        refuse_labelled(spec.stages / STAGES)
    with file_errors(kept := judge_records.place(), advice="; the results of a check are kept there"):
        kept.mkdir(parents=True, exist_ok=True)
    chain_rows = chains.draw_rows(prepared) if spec.chains else []
    judges = replace(prepared.plan, names=prepared.names)
    store, judged = Store(fresh=spec.fresh), list[JudgedProbe]()
    async with calling(judges, lambda: run_folder.Folder(_place(prepared)), own, store) as calls:
        calls.folder.write_json("check.json", prepared.frozen)
        for path, text in prepared.plan.prompts.files.items():
            calls.folder.write(f"prompts/{path}", text)
        prepared.stats = calls.caller.stats
        try:
            async with watched(watch, prepared), calls.caller.budget.ending():
                if spec.preflight:
                    await calls.check()
                await _judge_all(prepared, calls.caller, judged)
                if chain_rows:
                    prepared.chains = await chains.replay(prepared, calls.caller, chain_rows)
        finally:
            checked = _write(prepared, calls, judged)
        return _keep_records(prepared, checked, calls.caller.journal.totals)


async def _judge_all(prepared: Prepared, caller: Caller, judged: list[JudgedProbe]) -> None:
    async def judge(panel: JudgePanel, probe: Probe, repeat: int) -> None:
        result = await put(caller, prepared.plan, panel, probe, repeat)
        judged.append(JudgedProbe(panel, probe, repeat, result))
        prepared.done += 1

    work = [
        partial(judge, panel, probe, repeat)
        for panel in prepared.panels
        for probe in prepared.probes_of(panel)
        for repeat in range(1, prepared.repeats + 1)
    ]
    await side_by_side(prepared.plan.limits.concurrency, work)


def _place(prepared: Prepared) -> Path:
    """Return the folder of a check: the last one with the same request, or a new one if there is none or `fresh` is set."""
    first = next(iter(prepared.names.values()))[0]
    stem = prepared.order.out / f"judge-check-{slug(first.text)}-{digest(prepared.frozen)[:8]}"
    places = [stem]
    while places[-1].is_dir():
        places.append(stem.with_name(f"{stem.name}-{len(places) + 1}"))
    # A folder from somebody else may be of another check than its name says.
    file, asked = places[-2:][0] / "check.json", digest(prepared.frozen)
    same = not prepared.order.fresh and is_file(file) and digest(run_folder.read_json(file)) == asked
    return file.parent if same else places[-1]


def _write(prepared: Prepared, calls: Calls, judged: Sequence[JudgedProbe]) -> Checked:
    """Write the verdicts so far, in the order of the rows, with report and summary; return the result of the check."""
    order = {probe.id: index for index, probe in enumerate(prepared.probes)}
    panels = {id(panel): index for index, panel in enumerate(prepared.panels)}
    rows = sorted(judged, key=lambda row: (panels[id(row.panel)], order[row.probe.id], row.repeat))
    names = {role: [name.text for name in models] for role, models in prepared.names.items()}
    measures = judge_rates.measures(rows, prepared.plan.experiment.seed, prepared.validation.rulings)
    notes = tuple(_notes(prepared, len(rows)))
    spent = results.usage_tables(calls.caller.journal.totals, prepared.names)[0]
    place = calls.folder
    place.write("checks.jsonl", "".join(f"{_line(row)}\n" for row in rows))
    sentences = judge_rates.sentences(
        measures, names, {role: prepared.validation.deciding(role, prepared.plan.settings) for role in names}
    )
    place.write("report.md", judge_rates.to_markdown(measures, names, notes, spent, sentences))
    place.write_json(
        "summary.json",
        {
            "schema": 1,
            "complete": len(rows) == prepared.total,
            "notes": list(notes),
            "sentences": sentences,
            **({"chains": prepared.chains} if prepared.chains else {}),
            "measures": [
                {
                    "role": measure.panel.role,
                    "models": [names[measure.panel.role][index] for index in measure.panel.indexes],
                    "mode": measure.panel.variant,
                    **judge_rates.counted(measure),
                }
                for measure in measures
            ],
            "usage": {role: asdict(role_spent) for role, role_spent in spent.items()},
        },
    )
    if prepared.order.stages:
        _export_stages(prepared.order.stages, rows, names)
    return Checked(place.path, tuple(measures), names, (), notes, tuple(sentences))


def _line(row: JudgedProbe) -> str:
    table = {
        "role": row.panel.role,
        "indexes": list(row.panel.indexes),
        "mode": row.panel.variant,
        "repeat": row.repeat,
        **asdict(row.probe),
        "said": asdict(row.said),
    }
    return json.dumps(table, ensure_ascii=False, separators=(",", ":"))


def _notes(prepared: Prepared, done: int) -> list[str]:
    """Return the notes before the report's tables: what is missing, who labelled the rows, and which rows were used."""
    notes = [] if done == prepared.total else [f"Not complete: {done} of {prepared.total} judgings are done."]
    about = prepared.rows.about
    if about.labels != "people":
        notes.append(f"Labels: {judge_rates.LABELS[about.labels]}.")
    for role, (rows, contested, agreed) in judge_rates.labelling(
        prepared.every_row, prepared.plan.experiment.seed
    ).items():
        ends = interval(agreed) or "no interval: drawing rows again shows no spread"
        value = "none" if agreed.value is None else f"{agreed.value:.3f} ({ends})"
        twice = f"; kappa of the two labellings: {value}" if agreed.n else ""
        notes.append(f"{role}: {rows} rows, {contested} contested and left out{twice}.")
    split = prepared.order.split
    notes.append(f"Split: {split}; {len(prepared.probes)} rows, each judged {prepared.repeats} times.")
    if prepared.chains:
        notes.append(chains_said(prepared.chains))
    if split != "test":
        notes.append("Only a check on the test split is kept: prompts may have been changed on the other.")
    if not prepared.counts:
        notes.append("Not kept: for shipped samples only the shipped judge set counts.")
    return notes


def _export_stages(place: Path, rows: Sequence[JudgedProbe], names: Mapping[str, Sequence[str]]) -> None:
    """Write each causal chain of a judge once to stages.jsonl in the folder `place`, for people to mark (Fig. 15, left)."""
    lines: dict[tuple[str, ...], str] = {}
    for row in rows:
        who = names[row.panel.role][row.panel.indexes[0]]
        for stage, text in (row.said.stages or {}).items():
            guess = None if stage == "chain" else row.probe.turn.get("guess")
            table = {
                "sample": row.probe.sample, "judge": who, "stage": stage, "guess": guess, "text": text,
                "mark": None,
            }  # fmt: skip
            name = (row.probe.sample, who, stage, str(guess), row.panel.variant)
            lines.setdefault(name, json.dumps(table, ensure_ascii=False))
    with run_folder.Folder(place) as out:
        out.write(STAGES, "".join(f"{line}\n" for line in lines.values()))


def _size(record: Mapping[str, Any]) -> tuple[float, int]:
    """Return how large a check was: the limit on its rows, and its verdicts."""
    return record["set"].get("limit") or math.inf, record["of"]


def _keep_records(prepared: Prepared, checked: Checked, totals: Totals) -> Checked:
    """Write a complete check on the test split to the store, and return it with the paths of its records.

    A measure is left out if the store has a later record, or one with more verdicts on the same judge set (a note says so), or
    if a model's id is unknown. `totals` are those of the journal.
    """
    if prepared.order.split != "test" or prepared.done != prepared.total or not prepared.counts:
        return checked
    about: dict[str, JSON] = {
        "data": prepared.rows.about.data,
        "labels": prepared.rows.about.labels,
        "shipped": prepared.on_shipped,
        "limit": prepared.order.limit,
        "seed": prepared.plan.experiment.seed,
    }
    paths, notes, ids = [], [*checked.notes], totals.ids()
    began, now = (datetime.fromtimestamp(at, UTC).isoformat() for at in (totals.began, time.time()))
    for measure in checked.measures:
        key = key_of(prepared.plan, measure.panel.role, measure.panel.indexes, measure.panel.settings, ids)
        names = [checked.names[measure.panel.role][index] for index in measure.panel.indexes]
        if key is None:
            notes.append(f"Not kept: the replies of {' and '.join(names)} have no id, or more than one.")
            continue
        key |= {"criterion": measure.criterion} if measure.criterion else {}
        key |= {} if prepared.on_shipped else {"data": prepared.plan.digests["data"]}
        before = judge_records.find(key)
        # Older records have only the day on which they were kept; one from the future was written by a wrong clock.
        date = before.get("began", before.get("kept", "")) if before and before["of"] else ""
        more = other = False
        rows = {"digest": prepared.digest_of(measure.panel)}
        if before and before["set"].get("digest") == rows["digest"]:
            # Of several small draws, with many repeats or other seeds, one may pass by luck.
            limit, drawn = prepared.order.limit or math.inf, before["set"].get("seed", 0)
            other = limit < math.inf and about["seed"] != drawn and _size(before)[0] == limit
            more = other or _size(before) > (limit, measure.of)
        if more or began < date <= now:
            which = "of another seed" if other else "with more verdicts" if more else "that began later"
            notes.append(f"Not kept: the store has a check of {' and '.join(names)} {which}, of {date[:19]}.")
            continue
        record: dict[str, Any] = {
            "schema": 1,
            "key": key,
            "names": names,
            "set": about | rows,
            "began": began,
            **judge_rates.counted(measure),
            "field": before["field"] if before else [],
        }
        of_panel = measure.panel.settings is prepared.chain_panel.settings and not measure.criterion
        if new_chains := (prepared.chains if of_panel else {}) or (before or {}).get("chains"):
            record["chains"] = new_chains
        paths.append(judge_records.keep(record))
    return replace(checked, stored=tuple(paths), notes=tuple(notes))
