"""The runs of a person who plays: which samples they have seen, which run goes on, and the sample of a day.

What was ever shown under a name is never played again under it.
"""

from __future__ import annotations

import asyncio
import datetime
import random
import re
import unicodedata
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
DAILY_LANGUAGE = "en"
"""Of the game, if no other is asked for."""
SHORT = 3
"""Words from which a blank is a long one."""


class Joining(BaseModel):
    """What the first page of a site for people sends."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str = ""
    agree: list[str] = []


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
    kept = unicodedata.normalize("NFC", " ".join(name.split()))
    if not kept or len(kept) > LONGEST_NAME or not re.fullmatch(r"[\w .-]+", kept):
        raise UsageError(f"name: 1 to {LONGEST_NAME} letters, digits, spaces, '.', '_' or '-'")
    return kept


def joined(sent: object) -> str:
    """Return the name of a person who has come and agrees to what is kept.

    Raises:
        UsageError: They do not agree, or it is no name.
    """
    try:
        joining = Joining.model_validate(sent)
    except ValidationError as error:
        raise UsageError(faults_of(error)[0]) from None
    name = person(joining.name)
    if not joining.agree:
        raise UsageError("without your agreement nothing can be kept")
    return name


def of_the_day(asked: Config, day: datetime.date) -> Config:
    """Return the game of a day: one sample, the same for everybody with the same data; all come once before any comes again.

    Raises:
        UsageError: There is no sample to play.
    """
    languages = asked.experiment.languages or (DAILY_LANGUAGE,)
    experiment = asked.experiment.model_copy(update={"languages": languages, "limit": None})
    made = plan.make(_of(Config(experiment=experiment, limits=asked.limits), "nobody"))
    names = sorted(item.id for item in made.chosen)
    turn, place = divmod(day.toordinal(), len(names))
    random.Random(f"daily:{turn}").shuffle(names)
    return Config(
        experiment=experiment.model_copy(update={"samples": (names[place],), "languages": ()}),
        limits=asked.limits,
    )


def of_a_day(asked: Config, day: datetime.date) -> Config:
    """Return the samples in the order of a day: short blanks first, and no picture twice running.

    Raises:
        UsageError: There is no sample to play.
    """
    left = list(planned(asked).chosen)
    random.Random(f"order:{day.toordinal()}").shuffle(left)
    left.sort(key=lambda item: min(len(item.key_text.split()), SHORT))
    names: list[str] = []
    picture = ""
    while left:
        item = next((one for one in left if one.image != picture), left[0])
        left.remove(item)
        names.append(item.id)
        picture = item.image
    experiment = asked.experiment.model_copy(update={"samples": tuple(names), "languages": ()})
    return Config(experiment=experiment, limits=asked.limits)


async def play_next(
    asked: Config,
    out: Path,
    name: str,
    own: Any = None,
    watch: Watch | None = None,
    decide: Decide | None = None,
) -> Run:
    """Let a person play what they have not seen: go on with their run, or begin one.

    Args:
        asked: What is played, by whom it is judged; its candidate is replaced by the person.
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
    made = await asyncio.to_thread(plan.make, _of(asked, name))
    seen: set[str] = set()
    wanted, played = {item.id for item in made.chosen}, None
    for run in await asyncio.to_thread(_runs, out, made):
        if _open(run, made):
            # The name as it was written when the run began.
            return await resume(
                run.path, own=_own(run.config.model, own, made, decide), watch=watch, concurrency=1
            )
        shown = await asyncio.to_thread(_shown, run)
        played = run if shown & wanted else played
        seen |= shown
    left = tuple(item.id for item in made.chosen if item.id not in seen)[: asked.experiment.limit]
    if not left:
        raise NothingLeftError(f"{name} has played every sample there is to play", played)
    mine = _own(made.experiment.model, own, made, decide)
    return await begin(_of(asked, name, left), out=out, own=mine, watch=watch)


def planned(asked: Config) -> Plan:
    """Return what is played, whoever plays it; raises UsageError where what is asked for does not fit."""
    return plan.make(_of(asked, "nobody"))


def _own(model: str, own: Any, made: Plan, decide: Decide | None) -> dict[str, Any]:
    """Return the Python objects of a run: the person, and the host by lists where it judges or answers."""
    host = {HOST: Host(made.by_id.__getitem__, decide)}
    return host if own is None else {model: own, **host}


def _of(asked: Config, name: str, samples: tuple[str, ...] | None = None) -> Config:
    change: dict[str, Any] = {"model": f"human:{name}", "repeats": 1, "limit": None}
    if samples is not None:
        change["samples"] = samples
    return Config(
        experiment=asked.experiment.model_copy(update=change),
        limits=asked.limits.model_copy(update={"concurrency": 1}),
    )


def _runs(out: Path, made: Plan) -> list[Run]:
    """Return the runs of this person on this benchmark and data, whatever the settings."""
    ours = made.experiment
    found = []
    for place in sorted(out.glob("*/run.json")):
        asked = run_folder.read_json(place).get("experiment", {})
        theirs = str(asked.get("model", ""))
        if theirs.casefold() == ours.model.casefold() and asked.get("benchmark") == ours.benchmark:
            run = load_run(place.parent)
            found += [run] if run.config.data == ours.data else []
    return found


def _open(run: Run, made: Plan) -> bool:
    """Return whether a run is this very experiment, has games left, and none that was not asked for."""
    free = {"samples": (), "model": ""}
    same = run.config.model_copy(update=free) == made.experiment.model_copy(update=free)
    wanted = set(run.config.samples or ()) <= {item.id for item in made.chosen}
    return same and wanted and len(run.traces) < len(run.samples) * run.config.repeats


def _shown(run: Run) -> set[str]:
    """Return the samples of which a run's candidate has seen anything."""
    journal = run.path / "calls.jsonl"
    asked = {one.key.sample for one in read_journal(journal)} if journal.is_file() else set()
    return asked | {trace.sample for trace in run.traces}
