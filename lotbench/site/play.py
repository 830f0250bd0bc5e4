"""People as players: the same game, judge, oracle and records as a model's, a run folder a person.

A person plays a sample once: what was ever shown under a name is never played again under it. Nothing of a game
reaches a browser before it is over but what its player may know (`player_view`), and the games that are over.
"""

from __future__ import annotations

import asyncio
import datetime
import secrets
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from lotbench.config.experiment import Config
from lotbench.errors import LotbenchError, UsageError
from lotbench.prompting.person_form import interview
from lotbench.run.loading import Run
from lotbench.run.session import Status
from lotbench.site import game_rounds
from lotbench.site.others import others
from lotbench.site.page import screen
from lotbench.site.people_runs import LONGEST_NAME, NothingLeftError, joined, of_the_day, planned, play_next
from lotbench.site.play_result import result
from lotbench.site.player import CONSENT, Player
from lotbench.site.run_summary import Shelf, page_file
from lotbench.site.runs import Gallery
from lotbench.site.serve import Served
from lotbench.storage.pictures.picture_file import media_type
from lotbench.types import JSON, Trace

MOST_PLAYING = 24
"""Games at once: each holds its journal, its connections and its samples."""
MOST_NAMES = 500
"""People whose pages are kept; of those who do not play, the ones not seen for longest go first."""
IDLE_S = 1800.0
"""Seconds after which a game is let go whose page nobody has opened."""
GIVE_WAY_S = 300.0
"""Seconds after which it is let go if somebody else wants its place."""
HELD = 24
"""Runs whose games were looked at last: what was read of others is let go."""
LOOK_S = 5.0
"""Seconds between two looks at who is still there."""
GONE = "Nobody was there for a while"


class PlaySite:
    """The pages on which people play, one or more at once.

    Args:
        asked: What is played, by whom it is judged.
        out: Where run folders are kept.
        now: The clock, in seconds.
        today: Says what day it is, where the game of the day is played, the same sample for everybody; None plays all that
            is asked for.

    Raises:
        UsageError: What is asked for does not fit.
    """

    def __init__(
        self,
        config: Config,
        out: Path,
        now: Callable[[], float] = time.monotonic,
        today: Callable[[], datetime.date] | None = None,
    ) -> None:
        self._now = now
        self._asked = config
        self._today = today
        self._plan = planned(self._config_of_day(self._day))
        self._out = out
        self._gallery = Gallery(out, HELD)
        self._players: dict[str, Player] = {}

    @property
    def _day(self) -> datetime.date | None:
        return self._today() if self._today else None

    def _config_of_day(self, day: datetime.date | None) -> Config:
        return of_the_day(self._asked, day) if day else self._asked

    def get(self, path: str) -> Served:
        """Return the page at a path."""
        match path.split("/"):
            case [""] | ["index.html"]:
                return self._join_page()
            case ["player", key, *rest]:
                return self._player_page(self._player(key), rest)
        raise LookupError(path)

    async def post(self, path: str, sent: object) -> Mapping[str, JSON]:
        """Take a person who joins, or a move in their game, and return the next address or why the move is refused."""
        match path.split("/"):
            case ["join"]:
                return {"go": f"player/{self._join(sent).key}/index.html"}
            case ["player", key, move] if move in ("answer", "skip", "give-up", "next", "says"):
                why = self._move(self._player(key), move, sent)
                return {"why": why} if why else {"go": "index.html"}
        raise LookupError(path)

    def _player(self, key: str) -> Player:
        """Return who has a page, noted as being there; raises LookupError if nobody has it."""
        player = self._players[key]
        player.seen = self._now()
        return player

    async def close(self) -> None:
        """Stop every game; each can be gone on with."""
        tasks = [player.task for player in self._players.values() if player.task]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _join(self, sent: object) -> Player:
        name = joined(sent)
        same_name = [player for player in self._players.values() if player.name.casefold() == name.casefold()]
        player = same_name[0] if same_name else Player(secrets.token_urlsafe(12), name)
        if not player.playing:
            self._make_room()
            player.over, player.day = None, self._day
            player.task = asyncio.create_task(self._play(player))
        player.seen = self._now()
        self._players[player.key] = player
        return player

    def _make_room(self) -> None:
        """See that one more may play.

        Raises:
            UsageError: Every place is taken, and everybody is there.
        """
        playing = sorted(
            (player for player in self._players.values() if player.playing), key=lambda player: player.seen
        )
        if len(playing) >= MOST_PLAYING:
            if playing[0].over is None and self._now() - playing[0].seen < GIVE_WAY_S:
                raise UsageError(f"all {MOST_PLAYING} places are taken: come again in some minutes")
            _drop_player(playing[0])
        away = sorted(
            (player for player in self._players.values() if not player.playing),
            key=lambda player: player.seen,
        )
        for player in away[: max(0, len(self._players) + 1 - MOST_NAMES)]:
            del self._players[player.key]

    async def _play(self, player: Player) -> None:
        """Play a person's next run; ended if nobody looks at its page any more."""
        game = asyncio.ensure_future(self._game(player))
        try:
            while not (await asyncio.wait({game}, timeout=LOOK_S))[0]:
                if self._now() - player.seen > IDLE_S:
                    _drop_player(player)
            game.result()
            player.over = ""
        except asyncio.CancelledError:
            game.cancel()
            await asyncio.wait({game})
            raise
        except NothingLeftError as error:
            player.over = str(error)
            if error.played is not None:
                player.show_past_games(error.played)
        except LotbenchError as error:
            player.over = str(error)
        except Exception as error:  # noqa: BLE001 - a bug must be told to who waits, not only to the log
            player.over = f"{type(error).__name__}: {error}"
        finally:
            # Hundreds of people may have played here: of a run that is over, its page shows how its games ended.
            player.task = player.status = None

    async def _game(self, player: Player) -> Run:
        # In a thread: the sample of a day is drawn of the whole data set.
        config = await asyncio.to_thread(self._config_of_day, player.day)
        return await play_next(
            config, self._out, player.name, player.model, partial(_note_status, player), player.decide
        )

    def _move(self, player: Player, move: str, sent: object) -> str | None:
        """Take a person's move (an answer, none, the end, the next game) and return why it is not taken."""
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
                ended = player.ended
                return self._play_page(player) if ended is None else self._result_page(player, ended.sample)
            case ["state.json"]:
                return Served(f'{{"version": "{player.version}"}}'.encode(), "application/json")
            case ["picture", file]:
                return self._picture(player, file)
            case ["result", sample] if player.run:
                return self._result_page(player, sample.removesuffix(".html"), "../")
            case ["game", sample] if player.run:
                return self._replay_page(player, sample.removesuffix(".html"))
        raise LookupError("/".join(rest))

    def _join_page(self) -> Served:
        roles = {role: [name.text for name in names] for role, names in self._plan.names.items()}
        roles.pop("candidate", None)
        return screen(
            "join",
            title=_title(self._day),
            consent=CONSENT,
            roles=roles,
            about=self._plan.benchmark.about,
            game=self._plan.benchmark.graph == "game",
            settings=self._plan.settings,
            daily=self._today is not None,
            longest=LONGEST_NAME,
        )

    def _play_page(self, player: Player) -> Served:
        request = player.model.asked
        phase, view = player.phase, player.view
        return screen(
            "play",
            "",
            name=player.name,
            title=_title(player.day),
            daily=player.day is not None,
            version=player.version,
            answer=player.model.version,
            phase=phase,
            view=view,
            hint=player.hint,
            wait=round(player.waited_s),
            waiting=player.waiting,
            doubt=player.doubt,
            around=game_rounds.masked(player.doubt.sample.model_dump()) if player.doubt else None,
            fields=player.fields,
            asked=interview(request) if request and view is None else None,
            over=player.over,
            done=list(player.games.values())[::-1],
            total=player.run[1] if player.run else None,
        )

    def _trace(self, player: Player, sample: str) -> tuple[Shelf, Trace]:
        """Return a game that is over, and its run; raises LookupError if it is not over, or not theirs."""
        if player.run is None or (sample, 1) not in player.games:
            raise LookupError(sample)
        shelf = self._gallery.shelf(player.run[0].name)
        return shelf, shelf.run.traces[shelf.at(page_file(sample, 1))]

    def _result_page(self, player: Player, sample: str, up: str = "") -> Served:
        """Return how a game came out: the answer, why it is funny, and how others did."""
        shelf, trace = self._trace(player, sample)
        assert player.run is not None
        values = self._gallery.episode_values(shelf, trace)
        item, title = values["sample"], _title(player.day)
        outcome = result(trace, int(getattr(self._plan.settings, "max_rounds", 1)))
        return screen(
            "result",
            up,
            **values,
            player=player.name,
            title=title,
            result=outcome,
            thought=game_rounds.thought(trace, {}),
            around=game_rounds.masked(item),
            others=others(self._gallery, sample, player.run[0]),
            about=title if player.day else "One picture, one joke, a part of it missing",
            shared=outcome.text(f"lotbench, {title[0].lower()}{title[1:]}" if player.day else "lotbench"),
            version=player.version,
            over=player.over,
            more=len(player.games) < player.run[1],
            fresh=(sample, 1) not in player.read,
        )

    def _replay_page(self, player: Player, sample: str) -> Served:
        """Return a game that is over, told again."""
        return self._gallery.episode_page(*self._trace(player, sample), "../", "played", {})

    def _picture(self, player: Player, file: str) -> Served:
        """Return a picture that the person was shown, by the digest of its bytes."""
        if player.status is not None:
            try:
                image = player.status.plan.pictures.sent_bytes(file.removesuffix(".png"))
                return Served(image, media_type(image), lasting=True)
            except KeyError:
                pass
        return self._gallery.get(f"picture/{file}")


def _title(day: datetime.date | None) -> str:
    return f"The game of {day.day} {day:%B %Y}" if day else "Play"


def _drop_player(player: Player) -> None:
    """End a game that can be gone on with."""
    player.over = GONE
    if player.task:
        player.task.cancel()


async def _note_status(player: Player, status: Status) -> None:
    """Note of a run that has begun what its person's pages show, and what the person agreed to beside it."""
    await asyncio.to_thread(player.begins, status)
