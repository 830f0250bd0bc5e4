"""The game at a terminal, the same as on the page, drawn with rich; escape sequences in models' texts are replaced."""

import asyncio
import shlex
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from rich.color import Color
from rich.console import Console
from rich.padding import Padding
from rich.panel import Panel
from rich.style import Style
from rich.text import Text

from lotbench.config.experiment import Config
from lotbench.errors import DataError, Unescapable, UsageError
from lotbench.models.person import in_daemon_thread
from lotbench.report.markdown import visible
from lotbench.report.replay import find_trace
from lotbench.run.loading import Run, load_run
from lotbench.run.session import Status
from lotbench.site.game_rounds import in_blank, masked
from lotbench.site.others import others
from lotbench.site.people_runs import FIRST, play_next
from lotbench.site.play_result import result
from lotbench.site.player import GUESSES, Player, View
from lotbench.site.runs import Gallery
from lotbench.storage.pictures.picture_file import PictureError, decoded

WIDTH = 48
"""The width of the picture in characters; each character shows two pixels, one above the other."""
TICK_S = 0.1
GIVE_UP = "give up"
SIGNS = {"found": "✓", "miss": "●", "none": "○"}
QUITS, HELPS, YES_NO = ("quit", "q"), ("help", "?", "？"), ("yes", "no", "y", "n")
FAILS = "After a miss you may ask one yes/no question, or guess again at once."
SHOW = "“show” is for a guess that I cannot judge; here, “give up” shows the answer."
HELP = "“give up” ends a game and shows the answer; “quit” leaves, and the game waits."
Asks = Callable[[str], str]


async def play_here(config: Config, out: Path, player: Player, console: Console, asks: Asks = input) -> Run:
    """Let a person play at this terminal; see `play_next`.

    Args:
        config: What to play, and who judges.
        out: The folder of runs.
        player: The person, who has not begun.
        console: The console on which the game is drawn.
        asks: Reads a line that the person types; its argument is the text of the prompt.

    Raises:
        LotbenchError: The run was stopped, or no sample is left to play.
    """

    async def begins(status: Status) -> None:
        await asyncio.to_thread(player.begins, status)

    run = asyncio.ensure_future(play_next(config, out, player.name, player.model, begins, player.decide))
    terminal = Terminal(player, console, asks, out)
    try:
        while not (run.done() and player.ended is None):
            if player.ended is not None:
                await terminal.ends()
            elif player.doubt is not None:
                await terminal.doubts()
            elif player.model.asked is not None:
                await terminal.moves()
            else:
                await terminal.waits(run)
        return await run
    finally:
        run.cancel()
        await asyncio.wait({run})


class Terminal:
    """The terminal of one person: it prints what is new in their game, and reads what they type."""

    def __init__(self, player: Player, console: Console, asks: Asks, out: Path) -> None:
        self._player = player
        self._console = console
        self._asks = asks
        self._gallery = Gallery(out)
        self._drawn: set[tuple[object, ...]] = set()
        self._game: object = None

    async def waits(self, run: asyncio.Future[Run]) -> None:
        """Wait until it is the person's turn or the run ends, and show whom the game waits for and how long."""
        player = self._player
        if player.run is not None and len(player.read) == player.run[1]:
            # All is played; only the report is still written.
            await asyncio.wait({run})
            return
        with self._console.status("") as spinner:
            while player.phase in ("start", "judge", "host") and player.ended is None and not run.done():
                whom = {"judge": "The judge is thinking about your guess", "host": "The host is thinking"}
                about = whom.get(player.phase, "The game is being set up")
                spinner.update(f"{about}, {player.waited_s:.0f} s" if player.waited_s else about)
                await asyncio.sleep(TICK_S)

    async def moves(self) -> None:
        """Print what is new in the game, and send what the person types: an answer, no question, or giving up."""
        player, request = self._player, self._player.model.asked
        assert request is not None
        if self._game != request.key.sample:
            self._game, self._drawn = request.key.sample, set()
            self._scene()
        self._news()
        self._joke()
        version, answers = player.model.version, dict[str, object]()
        for field in player.fields:
            picks = dict(enumerate(player.suggested, 1)) if field.name == "question" else {}
            for number, question in picks.items():
                self._console.print(Text(f"  {number} {question}", style="blue"))
            label = f"Your question{', a number' * bool(picks)}, or your next guess (Enter: go on)"
            label = label if field.name == "question" else _ask_for(field.name)
            typed = player.next_guess if field.name in GUESSES else ""
            typed, player.next_guess = typed or await self._line(label, field.choices), ""
            typed = picks.get(int(typed), typed) if typed.strip() in map(str, picks) else typed
            answers[field.name] = typed
            if typed.strip().lower() == GIVE_UP:
                break
        self._send(version, answers)

    def _send(self, version: int, answers: dict[str, object]) -> None:
        """Send what the person typed, or print why it is refused."""
        if GIVE_UP in (str(typed).strip().lower() for typed in answers.values()):
            self._player.give_up(version)
            return
        try:
            why = self._player.answer(version, answers)
        except UsageError as error:
            why = str(error)
        if why:
            self._console.print(Text(why, style="red"))

    async def doubts(self) -> None:
        """Let the person guess again after a guess on no list, or see the answer and say whether it counts."""
        player = self._player
        doubt = player.doubt
        assert doubt is not None
        self._news()
        told = f"  ? I cannot tell: “{visible(doubt.guess)}” is not on my lists."
        self._console.print(Text(told, style="yellow"))
        line = (await self._line("Guess again, free; Enter: a miss; “show”: the answer", ())).strip()
        if line.lower() != "show":
            guessed = {name: line for name in GUESSES if name in doubt.fields}
            if line:
                self._send(doubt.version, {**doubt.fields, **guessed})
            else:
                player.says("miss")
            return
        player.says("show")
        self._console.print(told_answer(doubt.sample.model_dump()))
        asked = f"Does “{visible(doubt.guess)}” count, the same idea and as good a joke?"
        while (line := (await self._line(asked, YES_NO[:2])).strip().lower()) not in (*YES_NO, GIVE_UP):
            self._console.print(Text("Type yes or no.", style="red"))
        player.says("counts" if line[0] == "y" else "misses")

    async def ends(self) -> None:
        """Print the result of a game: the answer, why it is funny, the rounds as signs, and how others did."""
        player = self._player
        ended, run = player.ended, player.run
        assert ended is not None and run is not None
        self._news()
        folder = await asyncio.to_thread(load_run, run[0])
        trace = find_trace(folder.traces, ended.sample, ended.repeat)
        sample = folder.samples[trace.sample]
        outcome = result(trace, int(folder.config.settings.get("max_rounds", 1)))
        panel_text, around = Text(), masked(sample)
        if outcome.solved and around and outcome.guess != sample["key_text"]:
            panel_text.append(f"Yours: {visible(in_blank(outcome.guess, around).join(around))}\n\n")
        panel_text.append_text(told_answer(sample))
        signs = (SIGNS[dot] + ("◆" if clue else "") for dot, clue in outcome.dots)
        panel_text.append(f"\n\n{' '.join(signs)}")
        same = await asyncio.to_thread(others, self._gallery, trace.sample, run[0])
        for name, round_ in [("you", outcome.solved), *((one.name or "people", one.round) for one in same)]:
            how = "not solved" if round_ is None else f"round {round_:g}"
            panel_text.append(f"\n{visible(name):24} {how}")
        colour = "green" if outcome.solved else "yellow"
        self._console.print(Panel(panel_text, title=outcome.words, border_style=colour))
        day = "" if player.day is None else f" #{(player.day - FIRST).days + 1}"
        shared = outcome.text(f"lotbench{day}").replace("\n", "  ")
        self._console.print(Text(f"to share: {shared}", style="dim"))
        player.goes_on()
        if len(player.games) < run[1]:
            await self._line("Enter for the next game", ())

    def _scene(self) -> None:
        """Print the picture and the rules of a game."""
        view, status = self._player.view, self._player.status
        if view is None or status is None:
            return
        self._console.rule(f"game {len(self._player.games) + 1} of {status.total}")
        if view.picture:
            path = status.plan.pictures.path(str(self._game))
            show_picture(self._console, status.plan.pictures.sent_bytes(view.picture))
            self._console.print(Text(f"picture: {path}", style="dim"))
        if view.caption:
            self._console.print(Text(f"In the picture: {visible(view.caption)}"))
        what = "Write a funny caption." if view.whole else "Fill in the blank; the same idea counts."
        rules = f"{what} {view.most} rounds. {FAILS} {view.clues_come} {HELP}"
        self._console.print(Text(rules, style="dim"))

    def _news(self) -> None:
        """Print the verdicts, answers and clues that are not printed yet."""
        for text in news(self._player.view, self._drawn):
            self._console.print(text)

    def _joke(self) -> None:
        """Print the sentence with its blank, and a dot for each round."""
        view = self._player.view
        if view is None:
            return
        line = Text()
        if view.joke:
            before, after = map(visible, view.joke)
            line.append(before).append("______", style="bold underline blue").append(after)
        dots = "●" * (view.round - 1) + "◉" + "○" * (view.most - view.round)
        clued = "".join(dot + ("◆" if at in view.clue_rounds else "") for at, dot in enumerate(dots, 1))
        line.append(f"\n{clued}  round {view.round} of {view.most}", style="dim")
        self._console.print(Padding(line, (1, 0, 0, 0)))

    async def _line(self, before: str, choices: tuple[str, ...]) -> str:
        options = f" ({', '.join(choices)})" if choices else ""
        while True:
            try:
                line = await in_daemon_thread(partial(self._asks, f"{before}{options} > "))
            except EOFError:
                raise Unescapable(f"the terminal was closed; {waits(self._player)}") from None
            word = line.strip().lower()
            if word in QUITS:
                raise Unescapable(waits(self._player))
            if word in HELPS:
                self._console.print(Text(f"Here: {before}{options}\n{HELP}", style="dim"))
            elif word == "show" and "show" not in before:
                self._console.print(Text(SHOW, style="dim"))
            else:
                return line


def waits(player: Player) -> str:
    """Return the sentence for a person who leaves a game, with the command that goes on."""
    daily = ["--daily"] if player.day else []
    command = shlex.join(["lotbench", "play", *daily, "--name", player.name])
    return f"the game waits; go on, with any other flags that you gave: {command}"


def news(view: View | None, printed: set[tuple[object, ...]], with_questions: bool = False) -> Iterator[Text]:
    """Yield the verdicts, answers and clues of a game that are not in `printed`, and add them to it.

    Args:
        view: The game as its player sees it; None yields nothing.
        printed: The round number and the kind of each text that was yielded before.
        with_questions: Whether to yield the player's questions too, and which rounds have no usable guess.
    """
    for turn in view.turns if view else ():
        lines: list[tuple[str, Text]] = []
        if turn.guess and turn.counts is not None:
            note = " (that is in the picture already)" if turn.in_caption else ""
            lines.append(("counts", judged(turn.number, turn.guess, turn.counts).append(note)))
        if with_questions and not turn.guess and view and turn.number < view.round:
            lines.append(("counts", judged(turn.number, None, False)))
        if with_questions and turn.question:
            lines.append(("question", Text(f"  asks: {visible(turn.question)}")))
        if turn.answer:
            said = "I can't tell" if turn.answer == "Unclear" else visible(turn.answer)
            lines.append(("answer", Text(f"  host: {said}", style="bold")))
        lines += [(clue, Text(f"  clue: {visible(clue)}", style="yellow")) for clue in turn.clues]
        if turn.frame:
            lines.append(("frame", Text(f"  part of the joke: {visible(turn.frame)}", style="yellow")))
        for kind, text in lines:
            if (turn.number, kind) not in printed:
                printed.add((turn.number, kind))
                yield text


def judged(number: object, guess: object, counts: bool) -> Text:
    """Return a line with the number of an attempt, its guess (None: no usable one), and whether it counts."""
    line = Text(f"  attempt {number} ")
    if not guess:
        return line.append("✕ no usable guess", "dim")
    line.append("✓ it counts: " if counts else "✕ not it: ", "green" if counts else "red")
    return line.append(visible(str(guess)), "bold")


def show_picture(console: Console, picture: bytes) -> None:
    """Print a picture, given the bytes of its file; nothing if the terminal has few colours or columns, or it is unreadable."""
    colours = console.is_terminal and console.color_system in ("truecolor", "256")
    if colours and console.width > WIDTH:
        with suppress(PictureError, DataError):
            console.print(draw_picture(picture))


def told_answer(sample: Mapping[str, Any]) -> Text:
    """Return the response of a sample, with its key text highlighted, and the explanation why it is funny."""
    text = Text("The original: ").append(f"{visible(str(sample['response']))}\n\n", style="bold")
    text.highlight_words([visible(str(sample["key_text"]))], style="bold green")
    return text.append(f"{visible(str(sample['explanation']))}\n")


def draw_picture(picture: bytes) -> Text:
    """Return a picture as coloured half blocks, two pixels per character.

    Raises:
        PictureError: The bytes are no picture.
    """
    image = decoded(picture)
    image = image.resize((WIDTH, max(2, round(WIDTH * image.height / image.width / 2) * 2)))
    colours = [Color.from_rgb(*image.getpixel((x, y))) for y in range(image.height) for x in range(WIDTH)]
    rows = [colours[at : at + WIDTH] for at in range(0, len(colours), WIDTH)]
    text = Text()
    for upper, lower in zip(rows[::2], rows[1::2], strict=True):
        for top, bottom in zip(upper, lower, strict=True):
            text.append("▀", Style(color=top, bgcolor=bottom))
        text.append("\n")
    return text


def _ask_for(field: str) -> str:
    """Return the label of a form field in the prompt."""
    return "Your joke" if field == "response" else f"Your {field.replace('_', ' ')}"
