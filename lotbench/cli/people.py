"""Commands for people: view runs, play games, vote on ballots, review data."""

import argparse
import asyncio
import datetime
import sys
import time
import webbrowser
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote

from lotbench.config.experiment import DEFAULT_BENCHMARK, Config
from lotbench.errors import UsageError
from lotbench.report.markdown import visible
from lotbench.site import serve
from lotbench.site.host import HOST
from lotbench.site.people_runs import DAILY_LANGUAGE, of_a_day
from lotbench.storage import run_folder

KEYLESS: Mapping[str, Any] = {
    "data": "lotbench_easy",
    "limit": 5,
    "settings.max_rounds": 6,
    "settings.clue_interval": 1,
    "settings.clue_reveal": "next",
    "settings.judge_mode": "zero_shot",
    "roles.judge": [HOST],
    "roles.oracle": [HOST],
}
"""Configuration fields of a game without an API key: easy samples, clues after the first rounds, word lists as the judge."""
NO_KEY = (
    "No key is set, so the lists of the samples judge; where they cannot tell,\n"
    "you do. Such games appear on no leaderboard.\n"
    "With $OPENAI_API_KEY a model judges; --judge names another.\n"
)
NO_TERMINAL = "play: a person needs a terminal to play in, or lines in a pipe; --browser serves pages"
AGREE = """Your name, your guesses and your times go into {out} on this machine,
and may be published.
Do you agree? (yes, no, or more) """
EVERYWHERE = ("0.0.0.0", "::")
"""Host addresses that mean all addresses of a machine; a browser cannot open them as they are."""


def view(parsed: argparse.Namespace) -> None:
    """Carry out `lotbench view`: serve the pages of a runs folder until Ctrl-C, or write them (`--export`).

    Raises:
        UsageError: There is no run, or the pages cannot be served or written.
    """
    from lotbench.site.runs import Gallery, export

    root, first = _find_root(parsed.root)
    if first and parsed.export:
        raise UsageError(f"--export writes the pages of a folder of runs: lotbench view {root} --export ...")
    if parsed.export:
        count, size, faults = export(Gallery(root), Path(parsed.export))
        for fault in faults:
            print(f"left out: {visible(fault)}", file=sys.stderr)
        print(
            f"{parsed.export}: {count} files, {size / 1e6:.1f} MB; open {Path(parsed.export) / 'index.html'}"
        )
        return
    _serve(Gallery(root), parsed, first=first)


def _find_root(place: str) -> tuple[Path, str]:
    """Return a runs folder and the address of the page to open first.

    Args:
        place: A folder of runs, whose home page comes first (""), or a run, whose own page comes first.

    Raises:
        UsageError: `place` is neither.
    """
    root = Path(place)
    if root.is_dir() and not (root / "run.json").is_file():
        return root, ""
    if place == run_folder.RUNS:
        raise UsageError(f"{root}: no runs yet; make one: lotbench watch")
    path = run_folder.find(place).resolve()
    return path.parent, f"run/{quote(path.name)}.html"


def _serve(
    pages: serve.Pages,
    parsed: argparse.Namespace,
    close: Callable[[], Awaitable[None]] | None = None,
    first: str = "",
) -> None:
    """Serve pages until Ctrl-C.

    Args:
        pages: The site.
        parsed: The flags `--port`, `--host` and `--no-browser`.
        close: Called at the end, to release what the site holds.
        first: The address of the page to open, relative to the site; "" for the home page.
    """

    def ready(address: str) -> None:
        print(f"open {address}{first}")
        if parsed.host in EVERYWHERE:
            print(f"from other machines: the address of this one in the place of {parsed.host}")
        print("end with Ctrl-C", flush=True)
        if not parsed.no_browser:
            webbrowser.open(f"{address}{first}")

    async def main() -> None:
        try:
            await serve.serve(pages, parsed.port, ready, parsed.host)
        finally:
            if close:
                await close()

    try:
        asyncio.run(main())
    except KeyboardInterrupt:
        print()


def play(parsed: argparse.Namespace) -> None:
    """Carry out `lotbench play`: play here or on served pages, or write the daily game (`--export`).

    Raises:
        UsageError: The configuration is invalid, or no model can be called as asked.
    """
    from lotbench.site.people_runs import planned
    from lotbench.site.play import PlaySite

    if parsed.export:
        from lotbench.site.daily import export

        count, page = export(_game(parsed, {"data": KEYLESS["data"]}), Path(parsed.export))
        size = page.stat().st_size / 1e6
        print(
            f"{page}: {count} games, one a day, in one file of {size:.1f} MB; open it, send it, or put it on any host"
        )
        return
    config, out = _game(parsed), Path(parsed.out)
    game = config.experiment.benchmark == DEFAULT_BENCHMARK
    try:
        asyncio.run(_refuse_missing(config))
    except UsageError as error:
        if not game or parsed.judge or parsed.oracle or parsed.role or parsed.config:
            raise UsageError(f"{error}; without a key: lotbench play, without --judge") from None
        # These games go to a folder that no leaderboard reads.
        config, out = _game(parsed, KEYLESS), out / "keyless"
        planned(config)
        print(NO_KEY)
    day = _today() if parsed.daily else None
    drawn = game and not parsed.sample and not day
    private = out != Path(parsed.out) and parsed.host in serve.NAMES
    if parsed.browser:
        today, order = _today if day else None, _order_of_today if drawn else None
        table = PlaySite(config, out, today=today, order=order, private=private)
        return _serve(table, parsed, table.close)
    _at_terminal(config, out, parsed.name, day, drawn, private)


def _order_of_today(config: Config, name: str) -> Config:
    return of_a_day(config, _today(), name)


def _today() -> datetime.date:
    return datetime.date(*time.gmtime()[:3])


async def _refuse_missing(config: Config) -> None:
    """Check that the judge's and the oracle's API models can be called, before a game begins.

    Raises:
        UsageError: A key, a file or a package is missing; the message names it.
    """
    from lotbench.models.registry import Models
    from lotbench.site.people_runs import planned

    plan = planned(config)
    # The embedded model begins with the game: it takes seconds, and its weights are looked for then.
    names = {
        role: [name for name in names if name.kind == "api"]
        for role, names in plan.names.items()
        if role != "candidate"
    }
    async with Models(plan.pictures, plan.limits, {}) as models:
        models.role_models(names)


def _at_terminal(
    config: Config, out: Path, player_name: str | None, day: datetime.date | None, drawn: bool, private: bool
) -> None:
    """Play one run at this terminal.

    Args:
        config: What to play, and who judges.
        out: The folder of runs.
        player_name: The person's name; None asks for it.
        day: The day whose game is played; None plays all samples of `config`.
        drawn: Whether the samples are played in an order drawn for the person and today.
        private: Whether the games stay on this machine, and nobody is asked for consent.

    Raises:
        UsageError: There is no terminal, or the name is invalid.
    """
    from rich.console import Console

    from lotbench.cli.evaluate import interruptible, print_result
    from lotbench.cli.play_terminal import play_here, waits
    from lotbench.site.people_runs import NothingLeftError, of_the_day, person, planned, play_next
    from lotbench.site.player import Player

    name = person(player_name) if player_name else _asked_name()
    if private and name:
        print(f"What you type stays on this machine, in {out}.")
    elif not name or not _agrees(config, out):
        print("Nothing was kept.")
        return
    chosen = of_the_day(config, day) if day else _order_of_today(config, name) if drawn else config
    player, is_game = Player("", name, private=private, day=day), planned(chosen).benchmark.graph == "game"
    work = play_here(chosen, out, player, Console()) if is_game else play_next(chosen, out, name)
    try:
        return print_result(interruptible(work))
    except KeyboardInterrupt:
        print(f"\n{waits(player)}")
        raise
    except NothingLeftError:
        if not day:
            raise
        print(f"Today's game is done; the next one is tomorrow, in {24 - time.gmtime().tm_hour} hours.")
        return


def _asked_name() -> str:
    """Ask at the terminal for a name until it can be stored, and return it; "" if the person quits."""
    from lotbench.cli.play_terminal import HELPS, QUITS
    from lotbench.site.people_runs import NAME_RULE, person

    while (typed := _line("Your name (Enter: you): ").strip()).lower() not in QUITS:
        with suppress(UsageError):
            if typed.lower() not in HELPS:
                return person(typed or "you")
        print(f"{NAME_RULE}; “quit” leaves")
    return ""


def _agrees(config: Config, out: Path) -> bool:
    """Ask at the terminal whether a person consents to what is stored, and return the answer."""
    from lotbench.site.people_runs import planned
    from lotbench.site.player import CONSENT

    while (agreed := _line(AGREE.format(out=out)).strip().lower()) == "more":
        roles = (f"{role}: {', '.join(names)}" for role, names in planned(config).experiment.roles.items())
        print(CONSENT, *roles, f"the folder: {out}", sep="\n")
    return agreed in ("yes", "y")


def _line(prompt: str) -> str:
    """Return a line from the terminal or a pipe; raises UsageError if there is none."""
    try:
        return input(prompt)
    except (EOFError, OSError):
        raise UsageError(NO_TERMINAL) from None


def _game(parsed: argparse.Namespace, defaults: Mapping[str, Any] | None = None) -> Config:
    """Return the configuration of a game for a person, from the flags of `play`; `defaults` as in `configuration`."""
    from lotbench.cli.evaluate import configuration

    fixed: dict[str, Any] = {"model": "human"}
    if parsed.benchmark in (None, DEFAULT_BENCHMARK) and not parsed.sample:
        fixed["languages"] = parsed.language or [DAILY_LANGUAGE]
    config = configuration(parsed, defaults, fixed)
    if config.experiment.settings.get("wording") != "paper":
        return config
    # The paper's wording asks for the sentence around the guess too; a person types the guess alone.
    return configuration(parsed, defaults, {**fixed, "settings.wording": "ours"})


def vote(parsed: argparse.Namespace) -> None:
    """Carry out `lotbench ballot vote`: serve a ballot to people until Ctrl-C."""
    from lotbench.cli.ballot import votes_beside
    from lotbench.site.vote import Polls

    ballot = Path(parsed.ballot)
    votes = Path(parsed.votes) if parsed.votes else votes_beside(ballot)
    polls = Polls(ballot, votes)
    print(f"{len(polls.items)} prompts; votes into {votes}")
    _serve(polls, parsed)


def review(parsed: argparse.Namespace) -> None:
    """Carry out `lotbench data review`: serve the cards of a data set until Ctrl-C."""
    from lotbench import benchmarks
    from lotbench.site import review as pages
    from lotbench.site.review_page import sample_card
    from lotbench.storage import datasets

    declared, folder = benchmarks.get(parsed.benchmark), Path(parsed.path)
    out = pages.decisions_file(folder, parsed.out)
    items = {item.id: item for item in datasets.samples(folder, declared.Item)}
    cards, decided = [sample_card(item) for item in items.values()], len(pages.past(out, parsed.name))
    site = pages.Review(cards, items, folder, declared, out=out, name=parsed.name)

    print(f"{len(cards)} to review, {decided} decided; into {out}")
    _serve(site, parsed)
    print(f"{out}: {len(pages.past(out, parsed.name))} decided")
