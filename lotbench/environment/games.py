"""Many games in one process: models, journal, limits and store are opened once, and each game is played step by step.

`docs/integrations.md` has a complete loop.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

from lotbench.calls.journal import read_journal
from lotbench.calls.store import Store
from lotbench.config.experiment import DEFAULT_BENCHMARK, Config, differences, digest
from lotbench.environment.game import Game
from lotbench.errors import RunFolderError, Unreachable, UsageError
from lotbench.harness.episode import AnyEpisode
from lotbench.harness.loop import Planned, play, sequence
from lotbench.run import plan, recorded
from lotbench.run.calling import CALLS, Calls, calling
from lotbench.run.evaluate import Player, configured
from lotbench.run.loading import load_run, planned
from lotbench.run.plan import Plan
from lotbench.run.session import course
from lotbench.storage import run_folder
from lotbench.storage.run_folder import Folder
from lotbench.storage.traces import Traces
from lotbench.types import MOST, Answer, Question, Reply, Request


class Outside:
    """The candidate of games that another program plays: it passes a request to its game and waits for the reply."""

    takes_requests = True

    def __init__(self, name: str) -> None:
        self.__name__ = name
        self.games: dict[tuple[str, int], Game] = {}
        """Running games, by sample and seed."""

    async def __call__(self, request: Request) -> Reply:
        """Show a request in its game, and wait for the reply that the game gets."""
        return await self.games[request.key.sample, request.key.repeat].wait_for_reply(request)


class Games:
    """The games of one run folder, each on a sample and with a seed; opened by `games`.

    Attributes:
        samples: The samples by id, with their answers; do not show them to the player.
        path: The run folder, with every call in calls.jsonl and every finished game in traces.jsonl.
    """

    def __init__(
        self, calls: Calls, outside: Outside, finished: Traces, played: AbstractSet[tuple[str, int]]
    ) -> None:
        self.samples: Mapping[str, Any] = {item.id: item for item in calls.plan.chosen}
        self.path = calls.folder.path
        self._calls = calls
        self._outside = outside
        self._finished = finished
        self._done = {name: at for at, name in enumerate(finished.names)}
        self._played = played
        """The games with replies from an earlier session."""
        self._begun: set[tuple[str, int]] = set()
        self._next: Counter[str] = Counter()
        self._closed = False
        self._course = course(calls.plan, self._ask)

    async def new(self, sample: str, seed: int | None = None) -> Game:
        """Begin a game, or continue one of an earlier session; return it at its next observation or its end.

        Args:
            sample: The id of a sample.
            seed: Which of the independent games on the sample this is, from 0; judge and oracle are asked anew in each.
                None takes the lowest number that has not been played. It is the `repeat` of the trace.

        Raises:
            UsageError: The sample is unknown, the seed is invalid, the game was begun before in this session, or the games are
                closed.
            LotbenchError: The error that ended the episode without a trace.
        """
        if self._closed:
            raise UsageError("these games are closed: open their folder again to go on")
        if sample not in self.samples:
            raise UsageError(f"no sample {sample!r} among the {len(self.samples)} that are played")
        if seed is None:
            seed = self._unplayed(sample)
        name = sample, seed
        if type(seed) is not int or not 0 <= seed <= MOST:
            raise UsageError(f"seed: a whole number from 0 to {MOST:,} is wanted")
        if name in self._begun:
            raise UsageError(f"game {sample}/{seed} was begun before: take another seed")
        self._begun.add(name)
        run_plan = self._calls.plan
        if name in self._done:
            return Game(*name, run_plan.pictures.data_url, self._finished[self._done[name]])
        game = self._outside.games[name] = Game(*name, run_plan.pictures.data_url)
        how = run_plan.benchmark.sequences(run_plan.settings)
        await game.begin(self._play(game, Planned(sample, seed, sequence(how, sample, seed))))
        return game

    async def close(self) -> None:
        """Stop the running games; each can be continued from the folder."""
        self._closed = True
        await asyncio.gather(*(game.close() for game in list(self._outside.games.values())))

    def _unplayed(self, sample: str) -> int:
        """Return the lowest seed with which the sample has not been played in this session or an earlier one."""
        numbers = count(self._next[sample])
        seed = next(n for n in numbers if (sample, n) not in self._begun and (sample, n) not in self._played)
        self._next[sample] = seed + 1
        return seed

    async def _play(self, game: Game, planned: Planned) -> None:
        try:
            trace = await play(self._course, planned)
            self._calls.folder.append(trace)
            game.trace = trace
        finally:
            del self._outside.games[planned.sample, planned.repeat]

    async def _ask(self, episode: AnyEpisode, question: Question) -> Answer:
        if question.role == "candidate":
            self._outside.games[episode.sample.id, episode.repeat].reached(episode.recorded)
        return await self._calls.caller.ask(episode, question)


@asynccontextmanager
async def games(
    benchmark: str = DEFAULT_BENCHMARK,
    *,
    judge: Player | Sequence[Player] | None = None,
    oracle: Player | None = None,
    roles: Mapping[str, Player | Sequence[Player]] | None = None,
    player: str = "player",
    folder: str | Path | None = None,
    out: str | Path = "runs",
    config_file: str | Path | None = None,
    fresh: bool = False,
    check: bool = True,
    **fields: Any,
) -> AsyncIterator[Games]:
    """Open a run folder whose games another program plays step by step.

    Args:
        benchmark: The name of the benchmark.
        judge: A model name, a function (async or not) from OpenAI-style messages to text, or a sequence of them.
        oracle: A model name or a function.
        roles: The models of other roles, by role.
        player: The name of the player in records and keys of calls (`python:NAME`).
        folder: The run folder; created, or continued without repeating finished calls.
        out: The parent of a new folder if `folder` is None.
        config_file: A TOML file; arguments override it.
        fresh: Whether to read nothing from the store of earlier replies.
        check: Whether to test every model with one call first.
        **fields: Fields of Experiment and Limits by name (`data="lotbench"`, `settings={"encore": True}`, `rpm=500`).

    Raises:
        UsageError: An argument is missing, unknown or invalid.
        RunFolderError: The folder belongs to another experiment, or another process writes to it.
    """
    named = {**(roles or {})} | ({} if judge is None else {"judge": judge})
    named |= {} if oracle is None else {"oracle": oracle}
    outside = Outside(player)
    config, own = configured(benchmark, outside, named, config_file, **fields)
    place = None if folder is None else Path(folder)
    async with opened(config, outside, own, place, Path(out), fresh=fresh, check=check) as playing:
        yield playing


@asynccontextmanager
async def opened(
    config: Config,
    outside: Outside,
    own: Mapping[str, Any],
    folder: Path | None = None,
    out: Path = Path("runs"),
    *,
    fresh: bool = False,
    check: bool = True,
) -> AsyncIterator[Games]:
    """Open the games of a configuration; `games` does so from arguments.

    Args:
        config: The configuration.
        outside: The candidate, which passes on the replies of the other program.
        own: Models that are Python objects, by name.
        folder: The run folder, new or begun; None for a new one.
        out: The parent of a new folder if `folder` is None.
        fresh: Whether to read nothing from the store of earlier replies.
        check: Whether to test every model with one call first.

    Raises:
        UsageError: With these settings an episode must wait for another one to end, or there is a cost limit and a model
            has no price.
        RunFolderError: The folder belongs to another experiment, or another process writes to it.
    """
    run_plan, entered, is_begun = _place(config, folder, out)
    if any(len(sequence) > 1 for sequence in run_plan.sequences()):
        raise UsageError("with these settings tasks follow each other: `lotbench evaluate` plays them")
    # The other program chooses the games, and may leave those that go badly.
    run_plan = replace(run_plan, hand_picked=True)
    named = {**own, config.experiment.model: outside}
    async with calling(run_plan, entered, named, Store(fresh=fresh)) as calls:
        for index in calls.caller.role_models["candidate"]:
            index.outside = True
        if not is_begun:
            recorded.freeze(run_plan, calls.folder)
        if check:
            try:
                await calls.check(without=("candidate",))
            except Unreachable:
                # A new folder without any answered call is useless.
                if folder is None:
                    run_folder.discard_unanswered(calls.folder.path)
                raise
        finished = _finished(calls.folder)
        lines = read_journal(calls.folder.path / CALLS)
        begun = {(line.key.sample, line.key.repeat) for line in lines if line.role == "candidate"}
        playing = Games(calls, outside, finished, begun | set(finished.names))
        try:
            yield playing
        finally:
            await playing.close()


def _place(config: Config, folder: Path | None, out: Path) -> tuple[Plan, Any, bool]:
    """Return the plan, a function that opens its folder, and whether the folder has a run already.

    Raises:
        RunFolderError: The folder belongs to another experiment.
    """
    run_plan = plan.make(config)
    if folder is None:
        name = (run_plan.benchmark.name, run_plan.experiment.model, digest(run_plan.experiment))
        return run_plan, partial(run_folder.create, out, *name), False
    if not (folder / "run.json").is_file():
        return run_plan, partial(Folder, folder), False
    before = load_run(folder)
    ours, earlier = (each.model_dump(mode="json") for each in (run_plan.experiment, before.config))
    if differing := differences(ours, earlier):
        raise RunFolderError(f"{folder}: was begun with another {', '.join(differing)}")
    run_plan = planned(before, config.limits)
    recorded.refuse_changed(run_plan, folder)
    return run_plan, partial(Folder, folder), True


def _finished(folder: Folder) -> Traces:
    """Return the traces of finished games in a folder; drop games in which a call got no reply, to play them again."""
    file = folder.path / run_folder.TRACES
    stay = [(trace.sample, trace.repeat) for trace in Traces(file, strict=False) if trace.arrived]
    return folder.order(stay) if file.is_file() else Traces(file)
