"""Judge check: put labelled rows to judges and oracle as a game would, and keep how well they judge.

Everything passes the same desk, journal and store as a run, so a check that was stopped goes on where it
was when the same command is given again. The same code judges a full run's anchors.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, TypeAlias

from lotbench import checkup, plan, results
from lotbench.benchmark import Context, take
from lotbench.checkup import Judged, Measure
from lotbench.config import Config, digest
from lotbench.edge import checks, folder, judge_set, preflight
from lotbench.edge.desk import Desk, Tally
from lotbench.edge.journal import Journal
from lotbench.edge.limits import Budget, refuse_unpriced
from lotbench.edge.models import Models
from lotbench.edge.store import Store
from lotbench.errors import DataError, UsageError, at
from lotbench.metrics.agreement import drift
from lotbench.names import ModelName, slug
from lotbench.plan import Plan
from lotbench.probe import Panel, Probe, Said, Validation, stratified
from lotbench.state import State, Walk, joined, start
from lotbench.types import JSON, Answer, Question

REPEATS = 2
"""Judgings of each row, unless said otherwise: the fewest that show how often a verdict flips."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What to check.

    Attributes:
        config: Its roles are the judges; its `repeats` say how often each row is judged.
        judge_set: A folder, or "" for the one that is shipped.
        split: tune, test or all.
        limit: At most so many rows a role, from each kind alike.
        every: Measure every variant of the judge's settings, not only the one that is set.
        stages: Where the chains go that people are to mark.
    """

    config: Config
    judge_set: str = ""
    split: str = "test"
    limit: int | None = None
    every: bool = False
    stages: Path | None = None
    out: Path = Path("runs")
    fresh: bool = False
    preflight: bool = True


@dataclass(slots=True)
class Prepared:
    """A check before it begins; `every_row` has the contested and those of other splits too."""

    wanted: Wanted
    plan: Plan
    validation: Validation
    names: Mapping[str, tuple[ModelName, ...]]
    rows: judge_set.JudgeSet
    every_row: Sequence[Probe]
    probes: Sequence[Probe]
    panels: Sequence[Panel]
    tally: Tally = field(default_factory=Tally)
    done: int = 0

    @property
    def repeats(self) -> int:
        """How often each row is judged."""
        return self.wanted.config.experiment.repeats or REPEATS

    @property
    def total(self) -> int:
        """Judgings in all."""
        rows = {role: sum(one.role == role for one in self.probes) for role in self.names}
        return self.repeats * sum(rows[panel.role] for panel in self.panels)

    @property
    def frozen(self) -> dict[str, JSON]:
        """What the check's numbers depend on."""
        wanted = self.wanted
        return {
            "schema": 1,
            "experiment": self.plan.experiment.model_dump(mode="json"),
            "roles": {role: [name.text for name in given] for role, given in self.names.items()},
            "set": self.rows.digest,
            "split": wanted.split,
            "limit": wanted.limit,
            "every": wanted.every,
            "repeats": self.repeats,
            "digests": self.plan.digests,
        }


@dataclass(frozen=True, slots=True)
class Checked:
    """A finished check.

    Attributes:
        kept: The records that are in the store now.
        notes: What the report says before its tables.
    """

    path: Path
    measures: tuple[Measure, ...]
    names: Mapping[str, Sequence[str]]
    kept: tuple[Path, ...]
    notes: tuple[str, ...]


Watch: TypeAlias = Callable[[Prepared], Awaitable[None]]


def prepare(wanted: Wanted) -> Prepared:
    """Read the judge set and say who is to judge what.

    Raises:
        UsageError: No judge and no oracle is named, or there is nothing to check with.
        DataError: The judge set has faults.
    """
    given = wanted.config.experiment
    config = wanted.config.model_copy(
        update={"experiment": given.model_copy(update={"model": given.model or "human"})}
    )
    made = plan.make(config)
    validation = made.benchmark.validation
    if validation is None:
        raise UsageError(f"{made.benchmark.name} has no judge set")
    names = {role: made.names[role] for role in validation.rows if role in given.roles}
    if not names:
        raise UsageError("nobody to check: give --judge M or --oracle M")
    found = judge_set.find(wanted.judge_set, validation.folder)
    rows = judge_set.load(found, dict(validation.rows[role] for role in names))
    if rows.about.data != made.folder.name:
        raise UsageError(f"{found}: is about the data set {rows.about.data!r}, not {made.folder.name!r}")
    every_row = _probes(rows, validation, made, names)
    probes = [one for one in every_row if not one.contested and wanted.split in ("all", one.split)]
    if wanted.limit is not None:
        seed = f"{made.experiment.seed}:judge-check"
        probes = [
            one
            for role in names
            for one in stratified([p for p in probes if p.role == role], wanted.limit, seed)
        ]
    if not probes:
        raise UsageError(f"{found}: no rows of split {wanted.split!r}")
    panels = [
        panel
        for role in names
        for panel in validation.panels(role, len(names[role]), made.settings, wanted.every)
    ]
    return Prepared(wanted, made, validation, names, rows, every_row, probes, panels)


def _probes(
    rows: judge_set.JudgeSet, validation: Validation, made: Plan, names: Mapping[str, Any]
) -> list[Probe]:
    found: list[Probe] = []
    faults: list[str] = []
    for role in names:
        file = validation.rows[role][0]
        if file not in rows.rows:
            raise UsageError(f"{rows.folder}: no {file}, which a check of the {role} needs")
        numbers = [number for number, _ in rows.rows[file]]
        probes, wrong = validation.probes(role, [row for _, row in rows.rows[file]], made.by_id)
        found.extend(probes)
        for fault in wrong:
            row, _, message = fault.partition(": ")
            faults.append(at(rows.folder / file, numbers[int(row) - 1]) + f": {message}")
    if faults:
        raise DataError(faults)
    return found


async def judge_check(
    wanted: Wanted, *, own: Mapping[str, Any] | None = None, watch: Watch | None = None
) -> Checked:
    """Check judges and oracle; the same call again goes on where an earlier one was stopped.

    Raises:
        LotbenchError: The check was stopped; what has come so far is written.
    """
    made = prepare(wanted)
    refuse_unpriced(made.plan.limits, {n.text: n for given in made.names.values() for n in given})
    models = Models(made.plan.pictures, made.plan.limits, own or {})
    seats = models.seats(made.names)
    with folder.Folder(_place(made)) as place:
        place.write_json("check.json", made.frozen)
        for path, text in made.plan.prompts.files.items():
            place.write(f"prompts/{path}", text)
        judged: list[Judged] = []
        async with models:
            with Journal(place.path / "calls.jsonl") as journal:
                desk = _desk(made, seats, journal, place.path)
                made.tally = desk.tally
                watching = asyncio.ensure_future(watch(made)) if watch else None
                try:
                    if wanted.preflight:
                        await _preflight(made, desk)
                    await _judge_all(made, desk, judged)
                finally:
                    if watching:
                        watching.cancel()
                        with suppress(asyncio.CancelledError):
                            await watching
                    checked = _written(made, place, judged)
    return _kept(made, checked)


async def put(desk: Desk, made: Plan, panel: Panel, probe: Probe, repeat: int) -> Said:
    """Put a probe to a panel: the benchmark's own node asks, for the panel's seats, under its settings."""
    validation = made.benchmark.validation
    assert validation is not None

    def view(state: State, step: str) -> Walk:
        seats = {role: len(names) for role, names in made.names.items()} | {panel.role: len(panel.seats)}
        return replace(made.view(state, step), settings=panel.settings, seats=seats)

    async def ask(walk: Walk, question: Question) -> Answer:
        seated = replace(question, seat=panel.seats[question.seat])
        # The benchmark reads its own question back: for it, the panel is all the judges there are.
        return replace(await desk.ask(walk, seated), question=question)

    state: dict[str, Any] = {**start(probe.sample, repeat, ""), "turn": dict(probe.turn)}
    update = await take(probe.step, state, Context(made.benchmark, view, ask))
    return validation.read(probe, joined(state, update))


async def side_by_side(concurrency: int, work: Sequence[Callable[[], Awaitable[None]]]) -> None:
    """Do all the work, so many pieces at a time; the first error stops the rest and is raised."""
    waiting = iter(work)

    async def worker() -> None:
        for piece in waiting:
            await piece()

    workers = [asyncio.create_task(worker()) for _ in range(max(1, min(concurrency, len(work))))]
    try:
        await asyncio.gather(*workers)
    finally:
        for one in workers:
            one.cancel()
        await asyncio.gather(*workers, return_exceptions=True)


async def _judge_all(made: Prepared, desk: Desk, judged: list[Judged]) -> None:
    def piece(panel: Panel, probe: Probe, repeat: int) -> Callable[[], Awaitable[None]]:
        async def judge() -> None:
            judged.append(Judged(panel, probe, repeat, await put(desk, made.plan, panel, probe, repeat)))
            made.done += 1

        return judge

    work = [
        piece(panel, probe, repeat)
        for panel in made.panels
        for probe in made.probes
        if probe.role == panel.role
        for repeat in range(1, made.repeats + 1)
    ]
    await side_by_side(made.plan.limits.concurrency, work)


def _place(made: Prepared) -> Path:
    """The folder of this very check: the one it was begun in, or a new one if it is to be done afresh."""
    first = next(iter(made.names.values()))[0]
    name = f"judge-check-{slug(first.text)}-{digest(made.frozen)[:8]}"
    path, number = made.wanted.out / name, 1
    while (made.wanted.out / f"{name}-{number + 1}").is_dir():
        number += 1
    if number > 1:
        path = made.wanted.out / f"{name}-{number}"
    if made.wanted.fresh and path.is_dir():
        path = made.wanted.out / f"{name}-{number + 1}"
    return path


def _desk(made: Prepared, seats: Mapping[str, Any], journal: Journal, path: Path) -> Desk:
    budget = Budget(made.plan.limits)
    for before in results.spent(path, made.names)[0].values():
        budget.tokens += before.input_tokens + before.output_tokens
        budget.cost += before.cost_usd or 0.0
    store = Store(fresh=made.wanted.fresh)
    return Desk(seats, made.plan.sampling(), journal, store, budget, seed=made.plan.experiment.seed)


async def _preflight(made: Prepared, desk: Desk) -> None:
    first = made.plan.data[0]
    walk = made.plan.view(start(first.id, 0, "preflight"), "preflight")
    await preflight.check(desk, walk, made.plan.benchmark, made.plan.settings)


def _written(made: Prepared, place: folder.Folder, judged: Sequence[Judged]) -> Checked:
    """Write what has come of a check, in the order of its rows."""
    order = {one.id: index for index, one in enumerate(made.probes)}
    panels = {id(panel): index for index, panel in enumerate(made.panels)}
    rows = sorted(judged, key=lambda one: (panels[id(one.panel)], order[one.probe.id], one.repeat))
    names = {role: [name.text for name in given] for role, given in made.names.items()}
    found = checkup.measures(rows, made.plan.experiment.seed)
    notes = tuple(_notes(made, len(rows)))
    spent, _ = results.spent(place.path, made.names)
    place.write("checks.jsonl", "".join(f"{_line(one)}\n" for one in rows))
    place.write("report.md", checkup.to_markdown(found, names, notes, spent))
    place.write_json(
        "summary.json",
        {
            "schema": 1,
            "complete": len(rows) == made.total,
            "notes": list(notes),
            "measures": [_summary(one, names) for one in found],
            "usage": {role: asdict(one) for role, one in spent.items()},
        },
    )
    if made.wanted.stages:
        _export_stages(made.wanted.stages, rows, names)
    return Checked(place.path, tuple(found), names, (), notes)


def _line(one: Judged) -> str:
    table = {
        "role": one.panel.role,
        "seats": list(one.panel.seats),
        "mode": one.panel.variant,
        "repeat": one.repeat,
        **asdict(one.probe),
        "said": asdict(one.said),
    }
    return json.dumps(table, ensure_ascii=False, separators=(",", ":"))


def _summary(one: Measure, names: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    return {
        "role": one.role,
        "models": [names[one.role][seat] for seat in one.seats],
        "mode": one.variant,
        "what": one.what,
        "groups": {name: asdict(group) for name, group in one.groups.items()},
        "unreadable": one.unreadable,
        "of": one.of,
        "flips": list(one.flips),
    }


def _notes(made: Prepared, done: int) -> list[str]:
    """What a reader of the tables must know."""
    notes = [] if done == made.total else [f"Not complete: {done} of {made.total} judgings are done."]
    about = made.rows.about
    if about.labels == "author":
        notes.append(f"Labels: {checkup.AUTHOR}.")
    for role, (rows, contested, agreed) in checkup.labelling(
        made.every_row, made.plan.experiment.seed
    ).items():
        value = "none" if agreed.value is None else f"{agreed.value:.3f} ({checkup.interval(agreed)})"
        notes.append(
            f"{role}: {rows} rows, {contested} contested and left out; kappa of the two labellings: {value}."
        )
    split = made.wanted.split
    notes.append(f"Split: {split}; {len(made.probes)} rows, each judged {made.repeats} times.")
    if split != "test":
        notes.append("Only a check on the test split is kept: prompts may have been changed on the other.")
    return notes


def _export_stages(place: Path, rows: Sequence[Judged], names: Mapping[str, Sequence[str]]) -> None:
    """Write the chains for people to mark, each once (Fig. 15, left)."""
    lines: dict[tuple[str, ...], str] = {}
    for one in rows:
        who = names[one.panel.role][one.panel.seats[0]]
        for stage, text in (one.said.stages or {}).items():
            filling = None if stage == "chain" else one.probe.turn.get("filling")
            table = {
                "sample": one.probe.sample, "judge": who, "stage": stage, "filling": filling, "text": text,
                "mark": None,
            }  # fmt: skip
            name = (one.probe.sample, who, stage, str(filling), one.panel.variant)
            lines.setdefault(name, json.dumps(table, ensure_ascii=False))
    place.mkdir(parents=True, exist_ok=True)
    with folder.Folder(place) as out:
        out.write("stages.jsonl", "".join(f"{line}\n" for line in lines.values()))


def _kept(made: Prepared, checked: Checked) -> Checked:
    """Keep a complete check on the test split in the store, unless one of more rows is there."""
    if made.wanted.split != "test" or made.done != made.total:
        return checked
    ids = checks.ids(checked.path)
    about = {
        "data": made.rows.about.data,
        "labels": made.rows.about.labels,
        "digest": made.rows.digest,
        "limit": made.wanted.limit,
    }
    kept = []
    for one in checked.measures:
        key = key_of(made.plan, one.role, one.seats, one.settings, ids)
        if key is None:
            continue
        names = [checked.names[one.role][seat] for seat in one.seats]
        record = checkup.record(one, key, names, about)
        before = checks.find(key)
        if before and before["set"].get("digest") == made.rows.digest and before["of"] > record["of"]:
            continue
        record["field"] = before["field"] if before else []
        kept.append(checks.keep(record))
    return replace(checked, kept=tuple(kept))


def key_of(
    made: Plan, role: str, seats: Sequence[int], settings: Any, ids: Mapping[str, Sequence[Sequence[str]]]
) -> dict[str, JSON] | None:
    """The name in the store of what these seats' verdicts depend on; None if a seat has not one id."""
    validation = made.benchmark.validation
    answered = ids.get(role, ())
    mine = [answered[seat] if seat < len(answered) else () for seat in seats]
    if validation is None or any(len(one) != 1 for one in mine):
        return None
    part = validation.key(role, settings, made.prompts, plan.sampling_table(made)[role], made.digests["data"])
    return {**part, "models": [one[0] for one in mine]}


async def anchors(made: Plan, desk: Desk, path: Path) -> dict[str, Any]:
    """Judge rows of the stored check again at the end of a full run, and compare verdict by verdict.

    Returns:
        How many were judged and flipped and what chance that has; or why none were.
    """
    validation = made.benchmark.validation
    if validation is None or not (wanted := validation.anchors(made.settings)):
        return {"skipped": "anchors = 0"}
    if len(made.chosen) < len(made.data):
        return {"skipped": f"not a full run: {len(made.chosen)} of {len(made.data)} samples"}
    role, seats = validation.judged(made.settings)
    key = key_of(made, role, seats, made.settings, checks.ids(path))
    record = checks.find(key) if key else None
    if record is None or not record["rows"]:
        return {"skipped": "no stored check of this judge"}
    known = {row["probe"]["id"]: bool(row["accepted"]) for row in record["rows"]}
    every = [Probe(**{**row["probe"], "labels": tuple(row["probe"]["labels"])}) for row in record["rows"]]
    probes = stratified(every, wanted, f"{made.experiment.seed}:anchors")
    panel = Panel(role, seats, "", made.settings)
    said: dict[str, bool | None] = {}

    def piece(probe: Probe) -> Callable[[], Awaitable[None]]:
        async def judge() -> None:
            # Repeat 0 is no walk's: an anchor can never be taken for a verdict of a game.
            said[probe.id] = (await put(desk, made, panel, probe, 0)).last

        return judge

    await side_by_side(made.limits.concurrency, [piece(probe) for probe in probes])
    read = {name: verdict for name, verdict in said.items() if verdict is not None}
    flipped = sorted(name for name, verdict in read.items() if verdict is not known[name])
    before, of = record["flips"]
    chance = drift(len(flipped), len(read), before, of) if of and read else None
    return {
        "n": len(read),
        "unreadable": len(said) - len(read),
        "flipped": flipped,
        "before": [before, of],
        "chance": chance,
    }
