"""Judge check: put labelled rows to judges and oracle as a game would, and keep how well they judge.

Everything passes the same caller, journal and store as a run, so a check that was stopped goes on where it
was when the same command is given again.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias

from lotbench.calls import judge_records
from lotbench.calls.budget import refuse_unpriced
from lotbench.calls.caller import Caller
from lotbench.calls.store import Store
from lotbench.checks import judge_rates
from lotbench.checks.judge_check_plan import Prepared, WantedCheck, prepare
from lotbench.checks.judge_rates import JudgedProbe, Measure
from lotbench.checks.probes import key_of, put, side_by_side
from lotbench.config.experiment import digest
from lotbench.config.model_names import slug
from lotbench.harness.judge_validation import JudgePanel, Probe
from lotbench.run import results
from lotbench.run.calling import Calls, calling
from lotbench.run.session import watched
from lotbench.storage import run_folder
from lotbench.types import JSON


@dataclass(frozen=True, slots=True)
class Checked:
    """A finished check.

    Attributes:
        kept: The records that are in the store now.
        notes: What the report says before its tables.
        sentences: What each judge came to, and whether that is good enough.
    """

    path: Path
    measures: tuple[Measure, ...]
    names: Mapping[str, Sequence[str]]
    kept: tuple[Path, ...]
    notes: tuple[str, ...]
    sentences: tuple[str, ...] = ()


Watch: TypeAlias = Callable[[Prepared], Awaitable[None]]


async def judge_check(
    wanted: WantedCheck, *, own: Mapping[str, Any] | None = None, watch: Watch | None = None
) -> Checked:
    """Check judges and oracle; the same call again goes on where an earlier one was stopped.

    Raises:
        LotbenchError: The check was stopped; what has come so far is written.
    """
    made = prepare(wanted)
    refuse_unpriced(made.plan.limits, {n.text: n for given in made.names.values() for n in given})
    judges = replace(made.plan, names=made.names)
    store, judged = Store(fresh=wanted.fresh), list[JudgedProbe]()
    async with calling(judges, lambda: run_folder.Folder(_place(made)), own, store) as calls:
        calls.folder.write_json("check.json", made.frozen)
        for path, text in made.plan.prompts.files.items():
            calls.folder.write(f"prompts/{path}", text)
        made.stats = calls.caller.stats
        try:
            async with watched(watch, made):
                if wanted.preflight:
                    await calls.check()
                await _judge_all(made, calls.caller, judged)
        finally:
            checked = _written(made, calls, judged)
        return _kept(made, checked, calls.caller.journal.totals.ids())


async def _judge_all(made: Prepared, caller: Caller, judged: list[JudgedProbe]) -> None:
    def piece(panel: JudgePanel, probe: Probe, repeat: int) -> Callable[[], Awaitable[None]]:
        async def judge() -> None:
            judged.append(
                JudgedProbe(panel, probe, repeat, await put(caller, made.plan, panel, probe, repeat))
            )
            made.done += 1

        return judge

    work = [
        piece(panel, probe, repeat)
        for panel in made.panels
        for probe in made.taken(panel)
        for repeat in range(1, made.repeats + 1)
    ]
    await side_by_side(made.plan.limits.concurrency, work)


def _place(made: Prepared) -> Path:
    """Return the folder of this very check: the last that was begun, or a new one if it is to be done afresh."""
    first = next(iter(made.names.values()))[0]
    stem = made.wanted.out / f"judge-check-{slug(first.text)}-{digest(made.frozen)[:8]}"
    places = [stem]
    while places[-1].is_dir():
        places.append(stem.with_name(f"{stem.name}-{len(places) + 1}"))
    return places[-1] if made.wanted.fresh or len(places) == 1 else places[-2]


def _written(made: Prepared, calls: Calls, judged: Sequence[JudgedProbe]) -> Checked:
    """Write what has come of a check, in the order of its rows."""
    order = {one.id: index for index, one in enumerate(made.probes)}
    panels = {id(panel): index for index, panel in enumerate(made.panels)}
    rows = sorted(judged, key=lambda one: (panels[id(one.panel)], order[one.probe.id], one.repeat))
    names = {role: [name.text for name in given] for role, given in made.names.items()}
    found = judge_rates.measures(rows, made.plan.experiment.seed, made.validation.rulings)
    notes = tuple(_notes(made, len(rows)))
    spent = results.spent(calls.caller.journal.totals, made.names)[0]
    place = calls.folder
    place.write("checks.jsonl", "".join(f"{_line(one)}\n" for one in rows))
    labels = made.rows.about.labels
    sentences = judge_rates.sentences(
        found, names, {role: made.validation.deciding(role, made.plan.settings) for role in names}, labels
    )
    place.write("report.md", judge_rates.to_markdown(found, names, notes, spent, sentences))
    place.write_json(
        "summary.json",
        {
            "schema": 1,
            "complete": len(rows) == made.total,
            "notes": list(notes),
            "sentences": sentences,
            "measures": [
                {
                    "role": one.role,
                    "models": [names[one.role][index] for index in one.indexes],
                    "mode": one.variant,
                    **judge_rates.counted(one),
                }
                for one in found
            ],
            "usage": {role: asdict(one) for role, one in spent.items()},
        },
    )
    if made.wanted.stages:
        _export_stages(made.wanted.stages, rows, names)
    return Checked(place.path, tuple(found), names, (), notes, tuple(sentences))


def _line(one: JudgedProbe) -> str:
    table = {
        "role": one.panel.role,
        "indexes": list(one.panel.indexes),
        "mode": one.panel.variant,
        "repeat": one.repeat,
        **asdict(one.probe),
        "said": asdict(one.said),
    }
    return json.dumps(table, ensure_ascii=False, separators=(",", ":"))


def _notes(made: Prepared, done: int) -> list[str]:
    """Return what a reader of the tables must know."""
    notes = [] if done == made.total else [f"Not complete: {done} of {made.total} judgings are done."]
    about = made.rows.about
    if about.labels != "people":
        notes.append(f"Labels: {judge_rates.LABELS[about.labels]}.")
    for role, (rows, contested, agreed) in judge_rates.labelling(
        made.every_row, made.plan.experiment.seed
    ).items():
        if not agreed.n:
            notes.append(f"{role}: {rows} rows, {contested} contested and left out.")
            continue
        ends = judge_rates.interval(agreed) or "no interval: drawing rows again shows no spread"
        value = "none" if agreed.value is None else f"{agreed.value:.3f} ({ends})"
        notes.append(
            f"{role}: {rows} rows, {contested} contested and left out; kappa of the two labellings: {value}."
        )
    split = made.wanted.split
    notes.append(f"Split: {split}; {len(made.probes)} rows, each judged {made.repeats} times.")
    if split != "test":
        notes.append("Only a check on the test split is kept: prompts may have been changed on the other.")
    return notes


def _export_stages(place: Path, rows: Sequence[JudgedProbe], names: Mapping[str, Sequence[str]]) -> None:
    """Write the chains for people to mark, each once (Fig. 15, left)."""
    lines: dict[tuple[str, ...], str] = {}
    for one in rows:
        who = names[one.panel.role][one.panel.indexes[0]]
        for stage, text in (one.said.stages or {}).items():
            guess = None if stage == "chain" else one.probe.turn.get("guess")
            table = {
                "sample": one.probe.sample, "judge": who, "stage": stage, "guess": guess, "text": text,
                "mark": None,
            }  # fmt: skip
            name = (one.probe.sample, who, stage, str(guess), one.panel.variant)
            lines.setdefault(name, json.dumps(table, ensure_ascii=False))
    place.mkdir(parents=True, exist_ok=True)
    with run_folder.Folder(place) as out:
        out.write("stages.jsonl", "".join(f"{line}\n" for line in lines.values()))


def _kept(made: Prepared, checked: Checked, ids: Mapping[str, Sequence[Sequence[str]]]) -> Checked:
    """Keep a complete check on the test split in the store, unless one of more rows is there."""
    if made.wanted.split != "test" or made.done != made.total:
        return checked
    ceilings = judge_rates.labelling(made.every_row, made.plan.experiment.seed)
    about: dict[str, JSON] = {
        "data": made.rows.about.data,
        "labels": made.rows.about.labels,
        "digest": made.rows.digest,
        "shipped": made.on_shipped,
        "limit": made.wanted.limit,
    }
    kept = []
    for one in checked.measures:
        key = key_of(made.plan, one.role, one.indexes, one.settings, ids)
        if key is None:
            continue
        names = [checked.names[one.role][index] for index in one.indexes]
        key |= {"criterion": one.criterion} if one.criterion else {}
        agreed = ceilings[one.role][2]
        ceiling: JSON = {"kappa": agreed.value, "n": agreed.n}
        own = about if agreed.value is None else {**about, "ceiling": ceiling}
        record = judge_rates.record(one, key, names, own)
        before = judge_records.find(key)
        if before and before["set"].get("digest") == made.rows.digest and before["of"] > record["of"]:
            continue
        record["field"] = before["field"] if before else []
        kept.append(judge_records.keep(record))
    return replace(checked, kept=tuple(kept))
