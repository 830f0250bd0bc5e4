"""The pages on which people play: the same game, judge, oracle and records as for a model, a run folder for each person.

A person plays a sample once: what was shown to them is never played again under the same name. Until a game is over, the
browser gets nothing of it except what the player may know (`player_view`).
"""

import asyncio
import datetime
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

from lotbench.calls.budget import Budget
from lotbench.config.experiment import Config
from lotbench.errors import LotbenchError, UsageError
from lotbench.prompting.person_form import interview
from lotbench.run.calling import shared_budget
from lotbench.run.loading import Run
from lotbench.site import game_rounds
from lotbench.site.host import alike
from lotbench.site.others import others
from lotbench.site.page import Served, screen
from lotbench.site.people_runs import LONGEST_NAME, NothingLeftError, joined, of_the_day, planned, play_next
from lotbench.site.play_result import result
from lotbench.site.player import CONSENT, Player
from lotbench.site.run_summary import Shelf, page_file
from lotbench.site.runs import Gallery
from lotbench.storage.pictures.picture_file import media_type
from lotbench.types import JSON, Trace

MOST_PLAYING = 24
"""The maximum number of games at the same time; each holds its journal, its connections and its samples."""
MOST_NAMES = 500
"""The maximum number of people whose pages are kept; the pages that were visited least recently are dropped first."""
IDLE_S = 1800.0
"""The seconds without a visit to its page after which a game is stopped."""
GIVE_WAY_S = 300.0
"""The seconds without a visit after which a game is stopped if another person needs its place."""
HELD = 24
"""The number of runs kept in memory, those viewed last."""
LOOK_S = 5.0
"""The seconds between two checks whether a page is still visited."""
GONE = "Nobody was there for a while"


class PlaySite:
    """The pages on which one or more people play at the same time.

    Args:
        config: What to play, and who judges.
        out: The folder of runs.
        now: Returns the time in seconds.
        today: Returns the current day, for the game of the day; None plays all samples of the configuration.
        order: Returns the configuration with its samples in the order for a person; None leaves their order.
        private: Whether the games stay on this machine and nobody is asked for consent.

    Raises:
        UsageError: The configuration is invalid.
    """

    def __init__(
        self,
        config: Config,
        out: Path,
        now: Callable[[], float] = time.monotonic,
        today: Callable[[], datetime.date] | None = None,
        order: Callable[[Config, str], Config] | None = None,
        private: bool = False,
    ) -> None:
        self._now = now
        self._private = private
        self._asked = config
        self._today = today
        self._order = order
        self._plan = planned(self._config_of_day(self._day))
        self._out = out
        self._gallery = Gallery(out, HELD)
        self._players: dict[str, Player] = {}
        # A name stays its browser's when the page is dropped: the games of the name are shown to who gives it.
        self._names: dict[str, str] = {}
        # One budget for all who play: with a new name, anybody begins a new run.
        self._budget = Budget(config.limits.model_copy(update={"time_limit": None}))

    @property
    def _day(self) -> datetime.date | None:
        return self._today() if self._today else None

    def _config_of_day(self, day: datetime.date | None) -> Config:
        return of_the_day(self._asked, day) if day else self._asked

    def get(self, path: str) -> Served:
        """Return the page or file at a path; raises LookupError if there is none."""
        match path.split("/"):
            case [""] | ["index.html"]:
                return self._join_page()
            case ["player", key, *rest]:
                return self._player_page(self._player(key), rest)
        raise LookupError(path)

    async def post(self, path: str, sent: object) -> Mapping[str, JSON]:
        """Take the message of a person who joins, or a move in their game.

        Returns:
            `{"go": ADDRESS}` with the address of the next page, or `{"why": REASON}` if the move is refused.

        Raises:
            LookupError: Nothing at this path takes messages, or no player has this key.
            UsageError: The message is refused, with the reason.
        """
        match path.split("/"):
            case ["join"]:
                return {"go": f"player/{(await self._join(sent)).key}/index.html"}
            case ["player", key, move] if move in ("answer", "skip", "give-up", "next", "says"):
                why = self._move(self._player(key), move, sent)
                return {"why": why} if why else {"go": "index.html"}
            case ["player", key, "more"]:
                await self._begin(self._player(key))
                return {"go": "index.html"}
        raise LookupError(path)

    def _player(self, key: str) -> Player:
        """Return the player with a key, and note the time of the visit; raises LookupError if there is none."""
        player = self._players[key]
        player.seen = self._now()
        return player

    async def close(self) -> None:
        """Stop all games; each can be resumed."""
        tasks = [player.task for player in self._players.values() if player.task]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _join(self, sent: object) -> Player:
        key, name = joined(sent, self._names, self._private)
        player = self._players.get(key) or Player(key, name, private=self._private)
        await self._begin(player)
        player.seen = self._now()
        self._players[key], self._names[key] = player, player.name
        return player

    async def _begin(self, player: Player) -> None:
        """Begin or resume a person's run, when the report of their last one is written; raises UsageError if there is no place."""
        if player.task and player.end is not None:
            await asyncio.wait({player.task})
        if not player.playing:
            self._make_room()
            player.over, player.day, player.run = None, self._day, None
            player.task = asyncio.create_task(self._play(player))

    def _make_room(self) -> None:
        """Make room for one more player: if all places are taken, stop the game whose page was visited least recently.

        Raises:
            UsageError: All places are taken, and all players were there in the last `GIVE_WAY_S` seconds.
        """
        people = sorted(self._players.values(), key=lambda player: player.seen)
        playing = [player for player in people if player.playing]
        if len(playing) >= MOST_PLAYING:
            if playing[0].over is None and self._now() - playing[0].seen < GIVE_WAY_S:
                raise UsageError(f"all {MOST_PLAYING} places are taken: come again in some minutes")
            _drop_player(playing[0])
        away = [player for player in people if not player.playing]
        for player in away[: max(0, len(people) + 1 - MOST_NAMES)]:
            del self._players[player.key]

    async def _play(self, player: Player) -> None:
        """Play a person's next run; stop it if its page is not visited for `IDLE_S` seconds."""
        shared_budget.set(self._budget)
        game = asyncio.ensure_future(self._game(player))
        try:
            while not (await asyncio.wait({game}, timeout=LOOK_S))[0]:
                if self._now() - player.seen > IDLE_S:
                    _drop_player(player)
            game.result()
        except asyncio.CancelledError:
            game.cancel()
            await asyncio.wait({game})
            raise
        except LotbenchError as error:
            player.over = str(error)
            if isinstance(error, NothingLeftError) and error.played is not None:
                player.show_past_games(error.played)
        except Exception as error:  # noqa: BLE001 - a bug must be told to who waits, not only to the log
            player.over = f"{type(error).__name__}: {error}"
        finally:
            # Hundreds of people may have played here. The page of an ended run shows only how its games ended.
            player.task = player.status = None

    async def _game(self, player: Player) -> Run:
        # In a thread: the sample of a day is drawn from the whole data set.
        config = await asyncio.to_thread(self._config_of_day, player.day)
        if self._order is not None:
            config = await asyncio.to_thread(self._order, config, player.name)
        # Beside the run, its folder and what its person agreed to are noted.
        return await play_next(
            config,
            self._out,
            player.name,
            player.model,
            lambda status: asyncio.to_thread(player.begins, status),
            player.decide,
        )

    def _move(self, player: Player, move: str, sent: object) -> str | None:
        """Take a person's move and return why it is refused, or None.

        Args:
            player: The person.
            move: `answer`, `skip` (no question), `give-up`, `says` (on a guess that is on no list), `next` (game).
            sent: The JSON of the message.
        """
        if not isinstance(sent, Mapping):
            raise UsageError("not an answer")
        fields = {str(name): value for name, value in sent.items() if name != "version"}
        text = str(sent.get("version"))
        version = int(text) if text.isdecimal() and len(text) < 10 else -1
        if move == "answer":
            return player.answer(version, fields)
        if move == "skip":
            player.skip(version)
        elif move == "give-up":
            player.give_up(version)
        elif move == "says":
            player.says(str(sent.get("said")))
        else:
            player.goes_on()
        return None

    def _player_page(self, player: Player, rest: list[str]) -> Served:
        match rest:
            case ["index.html"]:
                # This is a thread, and the game goes on: a page that it has overtaken is made again.
                version, ended = player.version, player.ended
                page = self._result_page(player, ended.sample) if ended else self._play_page(player)
                return page if player.version == version else self._player_page(player, rest)
            case ["state.json"]:
                return Served(f'{{"version": "{player.version}"}}'.encode(), "application/json")
            case ["picture", file]:
                return self._picture(player, file)
            case ["result", sample] if player.run:
                return self._result_page(player, sample.removesuffix(".html"), "../")
            case ["game", sample] if player.run:
                shown = self._trace(player, sample.removesuffix(".html"))
                return self._gallery.episode_page(*shown, "../", "played", {})
        raise LookupError("/".join(rest))

    def _join_page(self) -> Served:
        roles = {role: [name.text for name in names] for role, names in self._plan.names.items()}
        del roles["candidate"]
        return screen(
            "join",
            title=_title(self._day),
            consent=CONSENT,
            private=self._private and self._out,
            roles=roles,
            about=self._plan.benchmark.about,
            game=self._plan.benchmark.graph == "game",
            settings=self._plan.settings,
            daily=self._today is not None,
            longest=LONGEST_NAME,
        )

    def _play_page(self, player: Player) -> Served:
        shelf = self._gallery.shelf(player.run[0].name) if player.run and player.end is not None else None
        most = int(getattr(self._plan.settings, "max_rounds", 1))
        traces = [shelf.run.traces[shelf.at(page_file(*place))] for place in player.games] if shelf else []
        done = [(trace, result(trace, most)) for trace in traces]
        return screen(
            "play",
            "",
            player=player,
            title=_title(player.day),
            in_blank=game_rounds.in_blank,
            masked=game_rounds.masked,
            interview=interview,
            alike=alike,
            done=done,
            more=self._asked.experiment.limit,
            gallery=self._gallery,
            shelf=shelf,
        )

    def _trace(self, player: Player, sample: str) -> tuple[Shelf, Trace]:
        """Return the run and the trace of a player's finished game; raises LookupError if they have none on this sample."""
        if player.run is None or (sample, 1) not in player.games:
            raise LookupError(sample)
        shelf = self._gallery.shelf(player.run[0].name)
        return shelf, shelf.run.traces[shelf.at(page_file(sample, 1))]

    def _result_page(self, player: Player, sample: str, up: str = "") -> Served:
        """Return the page with the result of a finished game: the answer, why it is funny, and how others did."""
        shelf, trace = self._trace(player, sample)
        assert player.run is not None
        values = self._gallery.episode_values(shelf, trace)
        title = _title(player.day)
        outcome = result(trace, int(getattr(self._plan.settings, "max_rounds", 1)))
        return screen(
            "result",
            up,
            **values,
            player=player.name,
            title=title,
            result=outcome,
            alike=alike,
            thought=game_rounds.thought(trace, {}),
            others=others(self._gallery, sample, player.run[0]),
            about=title if player.day else "One picture, one joke, a part of it missing",
            shared=outcome.text(f"lotbench, {title[0].lower()}{title[1:]}" if player.day else "lotbench"),
            version=player.version,
            over=player.over,
            more=len(player.games) < player.run[1],
            fresh=(sample, 1) not in player.read,
        )

    def _picture(self, player: Player, file: str) -> Served:
        """Return a picture that the player was shown, by its file name: a digest, and `.png`."""
        if player.status is not None:
            with suppress(KeyError):
                image = player.status.plan.pictures.sent_bytes(file.removesuffix(".png"))
                return Served(image, media_type(image), lasting=True)
        return self._gallery.get(f"picture/{file}")


def _title(day: datetime.date | None) -> str:
    return f"The game of {day.day} {day:%B %Y}" if day else "Play"


def _drop_player(player: Player) -> None:
    """Stop a player's game; it can be resumed."""
    player.over = GONE
    if player.task:
        player.task.cancel()
