"""The runs of a person who plays: the samples that they have seen, the run to resume, and the sample of a day.

A sample that was shown to a person is never played again under the same name.
"""

import asyncio
import datetime
import random
import re
import secrets
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from lotbench.calls.journal import read_journal
from lotbench.config.experiment import Config, received
from lotbench.errors import UsageError
from lotbench.prompting.normal_form import normal
from lotbench.run import plan
from lotbench.run.evaluate import begin, resume
from lotbench.run.loading import Run, load_run
from lotbench.run.plan import Plan
from lotbench.run.session import Watch
from lotbench.site.host import HOST, Decide, Host
from lotbench.storage import run_folder

LONGEST_NAME = 40
NAME_RULE = f"name: 1 to {LONGEST_NAME} letters, digits, spaces, '.', '_' or '-'"
FIRST = datetime.date(2026, 1, 1)
"""The day of game 1."""
DAILY_LANGUAGE = "en"
"""The language of the game, if no other is asked for."""
ANSWERED = ("lot-0034",)
"""The sample of `lotbench watch` and of the README, whose answer a new player has read."""
SHORT = 3
"""The number of words from which a blank counts as long."""


class Joining(BaseModel):
    """The message of a person who joins a site: their name, a non-empty `agree` if they consent, the `key` of their page if they have one."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str = Field(default="", max_length=10 * LONGEST_NAME)
    agree: list[str] = []
    key: str = ""


class NothingLeftError(UsageError):
    """Raised if a person has seen every sample of a plan; `played` is their last run with one of them, or None."""

    def __init__(self, why: str, played: Run | None) -> None:
        self.played = played
        super().__init__(why)


def person(name: str) -> str:
    """Return a person's name in the form in which it is stored: NFC, with single spaces.

    Raises:
        UsageError: The name is empty, too long, or has characters other than letters, digits, spaces, `.`, `_`, `-`.
    """
    tidy = normal("NFC", " ".join(name.split()))
    if not tidy or len(tidy) > LONGEST_NAME or not re.fullmatch(r"[\w .-]+", tidy):
        raise UsageError(NAME_RULE)
    return tidy


def joined(sent: object, names: Mapping[str, str], private: bool = False) -> tuple[str, str]:
    """Return key and name of a person who joins and consents to what is stored; a new name gets a new key.

    Args:
        sent: The JSON of a `Joining`.
        names: The names of those who joined before, by key.
        private: Whether no consent is needed.

    Raises:
        UsageError: The message is malformed, the name is invalid or another person's, or the person does not consent.
    """
    joining = received(Joining, sent)
    name = person(joining.name)
    if not joining.agree and not private:
        raise UsageError("without your agreement nothing can be kept")
    key = next((key for key, taken in names.items() if taken.casefold() == name.casefold()), None)
    if key not in (None, joining.key):
        raise UsageError(
            f"{name} has begun in another browser: go on there, or choose another name. "
            "Whoever started these pages can start them again; then every name is free"
        )
    return key or secrets.token_urlsafe(12), name


def daily_order(names: Iterable[str]) -> list[str]:
    """Return sample ids in the order of the days on which they are played, from `FIRST` on; it depends on the ids only."""
    ordered = sorted(names)
    random.Random("daily").shuffle(ordered)
    return ordered


def of_the_day(config: Config, day: datetime.date) -> Config:
    """Return the configuration of a day's game: one sample, the same for everybody with the same data.

    All samples are played once before any is played again.

    Raises:
        UsageError: There is no sample to play.
    """
    languages = config.experiment.languages or (DAILY_LANGUAGE,)
    plan_of_all = planned(config.changed(languages=languages, limit=None))
    names = daily_order(item.id for item in plan_of_all.chosen)
    place = (day - FIRST).days % len(names)
    return config.changed(samples=(names[place],), languages=(), limit=None)


def of_a_day(config: Config, day: datetime.date, name: str) -> Config:
    """Return a configuration with its samples in an order drawn for a day and a person's name.

    Short blanks come first, samples with an answer that is told elsewhere (`ANSWERED`) last. No picture comes twice in a row, as far as that is possible.

    Raises:
        UsageError: There is no sample to play.
    """
    items_left = list(planned(config).chosen)
    random.Random(f"order:{day.toordinal()}:{name.casefold()}").shuffle(items_left)
    items_left.sort(key=lambda item: (item.id in ANSWERED, min(len(item.key_text.split()), SHORT)))
    names: list[str] = []
    picture = ""
    while items_left:
        item = next((other for other in items_left if other.image != picture), items_left[0])
        items_left.remove(item)
        names.append(item.id)
        picture = item.image
    return config.changed(samples=tuple(names), languages=())


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
        config: What to play, and who judges; the person replaces its candidate.
        out: The folder of runs.
        name: The person's name, as `person` returns it.
        own: The model that asks the person; None asks at the terminal.
        watch: Shows the progress of the run, as in `evaluate`.
        decide: Asks the person whether a guess counts that is on no list of the host.

    Raises:
        NothingLeftError: The person has seen every sample.
        LotbenchError: The run was stopped.
    """
    # In threads, so that the pages of other people are served meanwhile: the folder may hold many runs.
    run_plan = await asyncio.to_thread(plan.make, _config_for(config, name))
    seen: set[str] = set()
    names, played = {item.id for item in run_plan.chosen}, None
    for run in await asyncio.to_thread(_runs, out, run_plan):
        if _is_unfinished(run, run_plan):
            # The run has the name in the spelling with which it began.
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
    return await begin(_config_for(config, name, samples=unplayed), out=out, own=objects, watch=watch)


def planned(config: Config) -> Plan:
    """Return the plan of a game with a placeholder as the player; raises UsageError if the configuration is invalid."""
    return plan.make(_config_for(config, "nobody"))


def _add_host(model: str, own: Any, run_plan: Plan, decide: Decide | None) -> dict[str, Any]:
    """Return the Python models of a run by name: the host, and the person's model `own` as `model` unless it is None."""
    host = {HOST: Host(run_plan.by_id.__getitem__, decide)}
    return host if own is None else {model: own, **host}


def _config_for(config: Config, name: str, **fields: Any) -> Config:
    """Return the configuration with which a person plays; `fields` are more fields of its experiment."""
    alone = config.model_copy(update={"limits": config.limits.model_copy(update={"concurrency": 1})})
    return alone.changed(model=f"human:{name}", repeats=1, limit=None, **fields)


def _runs(out: Path, run_plan: Plan) -> list[Run]:
    """Return the runs of the plan's person on its benchmark and data, under any settings."""
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
    """Return whether a run has the plan's experiment, only samples of the plan, and episodes left to play."""
    free = {"samples": (), "model": ""}
    same = run.config.model_copy(update=free) == run_plan.experiment.model_copy(update=free)
    within = set(run.config.samples or ()) <= {item.id for item in run_plan.chosen}
    return same and within and len(run.traces) < len(run.samples) * run.config.repeats


def _samples_seen(run: Run) -> set[str]:
    """Return the ids of the samples that a run's candidate was shown: those in its journal and in its traces."""
    in_journal = {line.key.sample for line in read_journal(run.path / "calls.jsonl")}
    return in_journal | {trace.sample for trace in run.traces}
