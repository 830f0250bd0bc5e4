"""The runs of a person who plays: which samples they have seen, which run goes on, and the sample of a day.

What was ever shown under a name is never played again under it.
"""

from __future__ import annotations

import asyncio
import datetime
import random
import re
import secrets
import unicodedata
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from lotbench.calls.journal import read_journal
from lotbench.config.experiment import Config
from lotbench.errors import UsageError, faults_of
from lotbench.run import plan
from lotbench.run.evaluate import begin, resume
from lotbench.run.loading import Run, load_run
from lotbench.run.plan import Plan
from lotbench.run.session import Watch
from lotbench.site.host import HOST, Decide, Host
from lotbench.storage import run_folder

LONGEST_NAME = 40
FIRST = datetime.date(2026, 1, 1)
"""The day of game 1."""
DAILY_LANGUAGE = "en"
"""Of the game, if no other is asked for."""
SHORT = 3
"""Words from which a blank is a long one."""


class Joining(BaseModel):
    """What the first page of a site for people sends; `key` is the one that the browser got under this name."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str = ""
    agree: list[str] = []
    key: str = ""


class NothingLeftError(UsageError):
    """A person has played every sample that there is to play; `played` is their last run with one of them."""

    def __init__(self, why: str, played: Run | None) -> None:
        self.played = played
        super().__init__(why)


def person(name: str) -> str:
    """Return a person's name as it is kept.

    Raises:
        UsageError: It is empty, too long, or has something else than letters, digits, spaces, `.`, `_`, `-`.
    """
    tidy = unicodedata.normalize("NFC", " ".join(name.split()))
    if not tidy or len(tidy) > LONGEST_NAME or not re.fullmatch(r"[\w .-]+", tidy):
        raise UsageError(f"name: 1 to {LONGEST_NAME} letters, digits, spaces, '.', '_' or '-'")
    return tidy


def joined(sent: object, names: Mapping[str, str]) -> tuple[str, str]:
    """Return key and name of a person who has come and agrees to what is kept; a name belongs to whom has its key.

    Args:
        sent: What the first page sent.
        names: The names of those who have come, by their keys.

    Raises:
        UsageError: They do not agree, it is no name, or it is somebody else's.
    """
    try:
        joining = Joining.model_validate(sent)
    except ValidationError as error:
        raise UsageError(faults_of(error)[0]) from None
    name = person(joining.name)
    if not joining.agree:
        raise UsageError("without your agreement nothing can be kept")
    key = next((key for key, taken in names.items() if taken.casefold() == name.casefold()), None)
    if key not in (None, joining.key):
        raise UsageError(
            f"{name} has begun in another browser: go on there, or choose another name. "
            "Whoever started these pages can start them again; then every name is free"
        )
    return key or secrets.token_urlsafe(12), name


def daily_order(names: Iterable[str]) -> list[str]:
    """Return sample ids in the order of their days, the first of them on `FIRST`."""
    ordered = sorted(names)
    random.Random("daily").shuffle(ordered)
    return ordered


def of_the_day(config: Config, day: datetime.date) -> Config:
    """Return the game of a day: one sample, the same for everybody with the same data; all come once before any comes again.

    Raises:
        UsageError: There is no sample to play.
    """
    languages = config.experiment.languages or (DAILY_LANGUAGE,)
    experiment = config.experiment.model_copy(update={"languages": languages, "limit": None})
    plan_of_all = plan.make(_config_for(Config(experiment=experiment, limits=config.limits), "nobody"))
    names = daily_order(item.id for item in plan_of_all.chosen)
    place = (day - FIRST).days % len(names)
    return Config(
        experiment=experiment.model_copy(update={"samples": (names[place],), "languages": ()}),
        limits=config.limits,
    )


def of_a_day(config: Config, day: datetime.date) -> Config:
    """Return the samples in the order of a day: short blanks first, and no picture twice running.

    Raises:
        UsageError: There is no sample to play.
    """
    items_left = list(planned(config).chosen)
    random.Random(f"order:{day.toordinal()}").shuffle(items_left)
    items_left.sort(key=lambda item: min(len(item.key_text.split()), SHORT))
    names: list[str] = []
    picture = ""
    while items_left:
        item = next((other for other in items_left if other.image != picture), items_left[0])
        items_left.remove(item)
        names.append(item.id)
        picture = item.image
    experiment = config.experiment.model_copy(update={"samples": tuple(names), "languages": ()})
    return Config(experiment=experiment, limits=config.limits)


async def play_next(
    config: Config,
    out: Path,
    name: str,
    own: Any = None,
    watch: Watch | None = None,
    decide: Decide | None = None,
) -> Run:
    """Let a person play what they have not seen: go on with their run, or begin one.

    Args:
        config: What is played, by whom it is judged; its candidate is replaced by the person.
        out: Where run folders are kept.
        name: The person's, as `person` gives it.
        own: The model that asks the person; the terminal if there is none.
        watch: See `evaluate`.
        decide: Asks the person whether a guess counts of which the host by lists cannot tell.

    Raises:
        NothingLeftError: The person has seen every sample.
        LotbenchError: The run was stopped.
    """
    # In threads, beside the pages of others who play: the folder may hold many runs.
    run_plan = await asyncio.to_thread(plan.make, _config_for(config, name))
    seen: set[str] = set()
    names, played = {item.id for item in run_plan.chosen}, None
    for run in await asyncio.to_thread(_runs, out, run_plan):
        if _is_unfinished(run, run_plan):
            # The name as it was written when the run began.
            return await resume(
                run.path, own=_add_host(run.config.model, own, run_plan, decide), watch=watch, concurrency=1
            )
        seen_in_run = await asyncio.to_thread(_samples_seen, run)
        played = run if seen_in_run & names else played
        seen |= seen_in_run
    unplayed = tuple(item.id for item in run_plan.chosen if item.id not in seen)[: config.experiment.limit]
    if not unplayed:
        raise NothingLeftError(f"{name} has played every sample there is to play", played)
    objects = _add_host(run_plan.experiment.model, own, run_plan, decide)
    return await begin(_config_for(config, name, unplayed), out=out, own=objects, watch=watch)


def planned(config: Config) -> Plan:
    """Return what is played, whoever plays it; raises UsageError where what is asked for does not fit."""
    return plan.make(_config_for(config, "nobody"))


def _add_host(model: str, own: Any, run_plan: Plan, decide: Decide | None) -> dict[str, Any]:
    """Return the Python objects of a run: the person, and the host by lists where it judges or answers."""
    host = {HOST: Host(run_plan.by_id.__getitem__, decide)}
    return host if own is None else {model: own, **host}


def _config_for(config: Config, name: str, samples: tuple[str, ...] | None = None) -> Config:
    change: dict[str, Any] = {"model": f"human:{name}", "repeats": 1, "limit": None}
    if samples is not None:
        change["samples"] = samples
    return Config(
        experiment=config.experiment.model_copy(update=change),
        limits=config.limits.model_copy(update={"concurrency": 1}),
    )


def _runs(out: Path, run_plan: Plan) -> list[Run]:
    """Return the runs of this person on this benchmark and data, whatever the settings."""
    ours = run_plan.experiment
    runs = []
    for place in sorted(out.glob("*/run.json")):
        fields = run_folder.read_json(place).get("experiment", {})
        candidate = str(fields.get("model", ""))
        if candidate.casefold() == ours.model.casefold() and fields.get("benchmark") == ours.benchmark:
            run = load_run(place.parent)
            runs += [run] if run.config.data == ours.data else []
    return runs


def _is_unfinished(run: Run, run_plan: Plan) -> bool:
    """Return whether a run is this very experiment, has games left, and none that was not asked for."""
    free = {"samples": (), "model": ""}
    same = run.config.model_copy(update=free) == run_plan.experiment.model_copy(update=free)
    within = set(run.config.samples or ()) <= {item.id for item in run_plan.chosen}
    return same and within and len(run.traces) < len(run.samples) * run.config.repeats


def _samples_seen(run: Run) -> set[str]:
    """Return the samples of which a run's candidate has seen anything."""
    in_journal = {line.key.sample for line in read_journal(run.path / "calls.jsonl")}
    return in_journal | {trace.sample for trace in run.traces}
