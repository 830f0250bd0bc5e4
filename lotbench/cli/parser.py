"""Every command with its flags; the functions that carry them out are imported when one is run."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable
from importlib import import_module
from typing import Any, NoReturn, TypeAlias

from lotbench.cli import removed

Command = Callable[[argparse.Namespace], int]
Commands: TypeAlias = "argparse._SubParsersAction[Any]"
WHO, WHAT = "who plays", "what is played"
RUN = "a path, a folder name in runs/, or latest"
DEFAULT_BENCHMARK = "lotbench"
"""That of the configuration, which takes too long to import for a parser."""
LAST_PORT = 65535
EPILOG = "try it without a key: lotbench play, or lotbench local install && lotbench watch"


RENAMED = {"--out": "--runs", "--runs-in": "--runs", "--to": "--out"}
"""Flags that some commands had, and what these have in their stead."""
MEANT = {
    "--arm": ": it is a setting, --set arm=caption (or image, or image+caption)",
    "--format": ": the file's name says it, --out NAME.csv or --out NAME.jsonl",
}
"""Flags that no command has and that people try, and what they mean."""


def _near(given: str, known: Iterable[str]) -> str:
    # Imported where it is wanted: --help wants nothing.
    from lotbench.errors import suggestion

    return suggestion(given, known)


class Parser(argparse.ArgumentParser):
    """A parser that says of a flag or a command that it does not know which one may be meant."""

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Read the arguments; ends with exit code 2 at a flag that this very command does not know."""
        found, rest = super().parse_known_args(args, namespace)
        flags = [one.partition("=")[0] for one in rest if one.startswith("--") and one != "--"]
        if flags:
            known = [name for name in self._option_string_actions if name.startswith("--")]
            now = RENAMED.get(flags[0])
            near = f"; it is {now} here" if now in known else _near(flags[0], known)
            near = MEANT.get(flags[0], near)
            command = self.prog.removeprefix("lotbench ")
            for name in (flags[0], f"{command} {flags[0]}"):
                near = f": {removed.FLAGS[name]}" if name in removed.FLAGS else near
            self.error(f"no flag {flags[0]}{near}")
        return found, rest

    def error(self, message: str) -> NoReturn:
        """Say what is wrong, and in one line where every flag stands; ends with exit code 2."""
        self.exit(2, f"{self.prog}: {message}\nusage: {self.prog} --help\n")

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        try:
            super()._check_value(action, value)
        except argparse.ArgumentError as error:
            command = f"{self.prog} {value}".removeprefix("lotbench ")
            if command in removed.COMMANDS:
                self.error(f"no command {command}: {removed.COMMANDS[command]}")
            error.message = f"{error.message}{_near(str(value), map(str, action.choices or ()))}"
            raise


def _still_there(before: str) -> Callable[[str], str]:
    """How an argument is read of which some values are gone."""

    def read(value: str) -> str:
        if instead := removed.VALUES.get(f"{before} {value}"):
            raise argparse.ArgumentTypeError(f"{value} is gone: {instead}")
        return value

    return read


def parser() -> argparse.ArgumentParser:
    """The parser of the `lotbench` command."""
    top = Parser(prog="lotbench", description="How creative is a language model? Let it play.", epilog=EPILOG)
    commands = top.add_subparsers(title="commands", metavar="COMMAND", required=True)
    _evaluate(commands)
    _duel(commands)
    _runs(commands)
    _reports(commands)
    _exports(commands)
    _inside(commands)
    _judges(commands)
    _people(commands)
    _serve(commands)
    _data(commands)
    _ballot(commands)
    return top


def _evaluate(commands: Commands) -> None:
    who = _parent()
    play = who.add_argument_group(WHO)
    play.add_argument(
        "--model", metavar="M", help="the candidate: gpt-4o-mini, NAME@http://host:port/v1, local, ..."
    )
    about = "evaluate a model on a benchmark"
    one = _command(commands, "evaluate", "evaluate:evaluate", about, who, _judging(), _played(), _drawn())
    one.add_argument(
        "benchmark", nargs="?", metavar="BENCHMARK", help="see `lotbench list` (default: lotbench)"
    )
    _limits(one)
    _shards(_how(one))


def _duel(commands: Commands) -> None:
    about = (
        "play models side by side on the same samples until it is known who is better, in four looks at most"
    )
    one = _command(commands, "duel", "duel:duel", about, _judging(), _played(), _drawn())
    one.add_argument(
        "models",
        nargs="+",
        metavar="MODEL",
        help="as in evaluate --model; or the runs of a duel to go on with",
    )
    one.add_argument("--benchmark", metavar="B", help="see `lotbench list` (default: lotbench)")
    _limits(one)
    _how(one)
    one.set_defaults(model=None)


def _judging() -> argparse.ArgumentParser:
    """Who judges, by a file."""
    parent = _parent()
    parent.add_argument_group(WHO).add_argument(
        "--panel", metavar="FILE", help="a panel file, whose models judge (docs/liveideabench.md)"
    )
    return parent


def _drawn() -> argparse.ArgumentParser:
    """How many games are played."""
    parent = _parent()
    games = parent.add_argument_group(WHAT)
    games.add_argument("--limit", metavar="N", type=int, help="only N samples, drawn by the seed")
    games.add_argument("--repeats", metavar="M", type=int, help="independent games a sample")
    games.add_argument("--seed", metavar="N", type=int)
    return parent


def _how(one: argparse.ArgumentParser) -> argparse._ArgumentGroup:
    """Where to, and what is done before the first game."""
    how = one.add_argument_group("how")
    how.add_argument("--out", metavar="DIR", default="runs", help="where the folder is made (default: runs)")
    how.add_argument("--fresh", action="store_true", help="take no causal chain or the like from the store")
    how.add_argument("--no-preflight", action="store_true", help="do not test each model with one call first")
    how.add_argument(
        "--dry-run", action="store_true", help="print the plan and what it may cost; call nothing"
    )
    return how


def _parent() -> argparse.ArgumentParser:
    """A parser whose flags others take over."""
    return argparse.ArgumentParser(add_help=False)


def _played() -> argparse.ArgumentParser:
    """Who plays and what is played, whoever the candidate is."""
    parent = _parent()
    who = parent.add_argument_group(WHO)
    who.add_argument("--judge", metavar="M", action="append", help="a judge; twice for a second opinion")
    who.add_argument("--oracle", metavar="M", help="who answers the questions")
    who.add_argument(
        "--role", metavar="NAME=M", action="append", default=[], help="the model of any other role"
    )
    what = parent.add_argument_group(WHAT)
    what.add_argument(
        "--data", metavar="NAME|PATH", help="a data set: a shipped one, or a folder with samples.jsonl"
    )
    what.add_argument("--config", metavar="FILE", help="a TOML file; everything given here goes before it")
    what.add_argument(
        "--set", metavar="K=V", action="append", default=[], dest="sets", help="any setting, by name"
    )
    what.add_argument("--sample", metavar="ID", action="append", help="only this sample (repeatable)")
    what.add_argument(
        "--language", metavar="L", action="append", help="only samples in this language (repeatable)"
    )
    what.add_argument("--max-rounds", metavar="N", type=int, help="rounds of a game at most")
    return parent


def _kept() -> argparse.ArgumentParser:
    """Where runs are kept."""
    parent = _parent()
    parent.add_argument(
        "--runs",
        metavar="DIR",
        dest="kept",
        help="where runs are looked for by name (default: runs; `latest` is the latest there, or where none is, the latest made)",
    )
    return parent


def _run() -> argparse.ArgumentParser:
    """A run, and where it is kept."""
    parent = argparse.ArgumentParser(add_help=False, parents=[_kept()])
    parent.add_argument("run", metavar="RUN", help=RUN)
    return parent


def _site() -> argparse.ArgumentParser:
    """Where pages are served."""
    parent = _parent()
    parent.add_argument("--port", metavar="N", type=_port, default=0, help="the port (default: a free one)")
    parent.add_argument(
        "--host",
        metavar="H",
        default="127.0.0.1",
        help="the address to serve on (default: this machine only)",
    )
    parent.add_argument("--no-browser", action="store_true", help="print the address only")
    return parent


def _port(text: str) -> int:
    """A port by its number."""
    if not text.isascii() or not text.isdigit() or int(text[:6]) > LAST_PORT:
        raise argparse.ArgumentTypeError(f"{text!r} is no port: 0 (a free one) to {LAST_PORT}")
    return int(text)


def _shards(one: argparse._ActionsContainer) -> None:
    one.add_argument(
        "--shards",
        metavar="K",
        type=int,
        default=1,
        help="take the tasks in K processes, each with its share of the limits (needs the extra `scale`)",
    )


def _limits(one: argparse.ArgumentParser) -> argparse._ArgumentGroup:
    limits = one.add_argument_group("limits (may change when a run is resumed)")
    limits.add_argument("--concurrency", metavar="N", type=int, help="games in flight (default: 20)")
    limits.add_argument("--rpm", metavar="N", type=float, help="requests a minute, for each endpoint")
    limits.add_argument("--tpm", metavar="N", type=float, help="tokens a minute, for each endpoint")
    limits.add_argument("--cost-limit", metavar="USD", type=float)
    limits.add_argument("--token-limit", metavar="N", type=int)
    limits.add_argument("--time-limit", metavar="S", type=float, help="seconds")
    return limits


def _runs(commands: Commands) -> None:
    one = _command(commands, "resume", "runs:resume", "go on with a run that was stopped", _run())
    _limits(one)
    _shards(one)
    one.add_argument(
        "--retry-failed", action="store_true", help="ask again for replies that could not be read"
    )
    one.add_argument("--no-preflight", action="store_true", help="do not test each model with one call first")
    one = _command(
        commands, "score", "runs:score", "read and score a run again from its journal, without a call", _run()
    )
    one.add_argument(
        "--labels",
        metavar="FILE",
        action="append",
        help="labels to be kept first: of `export --for-review`, or of `judge-check --from-run`; again for each person",
    )
    one.add_argument(
        "--embed", action="store_true", help="load the encoder that the run names for texts without a vector"
    )


def _reports(commands: Commands) -> None:
    one = _command(
        commands,
        "report",
        "runs:report",
        "write the report of a run again, or print a comparison of several",
        _kept(),
    )
    one.add_argument(
        "runs", metavar="RUN", nargs="+", help="a run; or several, for `compare` as Markdown and no file"
    )
    one.add_argument(
        "--full",
        action="store_true",
        help="with every section, all settings, calls and digests in the report",
    )
    one.add_argument("--png", action="store_true", help="every plot as a picture and as CSV too, in plots/")
    one.add_argument(
        "--table",
        metavar="FILE",
        help="a CSV file with scores of models, to be compared with those of several runs",
    )
    one = _command(
        commands,
        "compare",
        "compare:compare",
        "rank runs, say which models were clearly different, and tabulate all metrics",
        _kept(),
    )
    one.add_argument(
        "runs", metavar="RUN", nargs="+", help="runs of several models, of one benchmark or more"
    )
    one.add_argument("--full", action="store_true", help="print every table too, before the sentence")
    one.add_argument(
        "--table", metavar="FILE", help="a CSV file with scores of models: is the order of its columns ours?"
    )
    one.add_argument(
        "--out",
        metavar="DIR",
        default="compare",
        help="where compare.html, .md and .json are written (default: compare)",
    )
    one.add_argument("--latex", action="store_true", help="the tables as LaTeX too, in DIR/compare.tex")
    one.add_argument(
        "--png", action="store_true", help="every plot as a picture and as CSV too, in DIR/plots/"
    )
    one.add_argument("--pdf", action="store_true", help="the same as PDF")


def _exports(commands: Commands) -> None:
    one = _command(
        commands, "export", "runs:export", "the tasks of a run as a table, or its answers to label", _kept()
    )
    one.add_argument("runs", metavar="RUN", nargs="+", help=f"{RUN}; several with --preferences")
    rows = one.add_mutually_exclusive_group()
    rows.add_argument("--for-review", action="store_true", help="answers for people to label, nothing judged")
    rows.add_argument("--steps", action="store_true", help="one row a step, not one a task")
    rows.add_argument(
        "--preferences",
        action="store_true",
        help="games: accepted beside refused answers to the same sample, as rows for TRL's DPOTrainer",
    )
    one.add_argument(
        "--per-sample",
        metavar="N",
        type=int,
        default=16,
        help="preferences: rows of a sample, at most (default: 16)",
    )
    one.add_argument(
        "--to",
        metavar="TOOL",
        type=_still_there("export --to"),
        help="for another tool, into the folder --out: huggingface, inspect",
    )
    one.add_argument(
        "--out", metavar="FILE", help="where rows are written: .csv, else a JSON line each (default: here)"
    )


def _inside(commands: Commands) -> None:
    one = _command(commands, "replay", "runs:replay", "show how an idea came about, round by round", _run())
    one.add_argument("--sample", metavar="ID", help="by default the first that was played")
    one.add_argument("--repeat", metavar="K", type=int, help="by default the first that was played of it")
    one.add_argument("--json", action="store_true", help="the same as JSON")
    one = _command(
        commands, "show", "runs:show", "every prompt of a benchmark, or what one call of a run sent", _kept()
    )
    one.add_argument("what", metavar="BENCHMARK|RUN", nargs="?", help=f"(default: {DEFAULT_BENCHMARK})")
    one.add_argument("--call", metavar="KEY", help="the key of a call, as in traces.jsonl")
    one.add_argument("--config", metavar="FILE", help="prompts as the settings of this file have them")
    one.add_argument("--set", metavar="K=V", action="append", default=[], dest="sets")
    one.add_argument("--data", metavar="NAME|PATH")
    one.add_argument("--sample", metavar="ID", action="append")
    _command(commands, "list", "runs:listing", "the benchmarks, their roles and settings, and the data sets")


def _people(commands: Commands) -> None:
    one = _command(
        commands, "watch", "watch:watch", "watch a good game, then the embedded model at one; no key"
    )
    one.add_argument("--out", metavar="DIR", default="runs", help="where the folder is made (default: runs)")
    one = _command(
        commands, "view", "people:view", "look through runs: leaderboards, and games round by round", _site()
    )
    one.add_argument(
        "root",
        metavar="DIR|RUN",
        nargs="?",
        default="runs",
        help="where runs are kept (default: runs), or a run, whose page comes first; `latest` is one",
    )
    one.add_argument("--export", metavar="DIR", help="write the pages as files instead, into a new folder")
    about = "play a benchmark yourself, here or in the browser"
    one = _command(commands, "play", "people:play", about, _site(), _played())
    one.add_argument("benchmark", nargs="?", metavar="BENCHMARK", help="(default: lotbench)")
    one.add_argument("--name", metavar="WHO", help="who plays, at this terminal")
    one.add_argument("--browser", action="store_true", help="serve pages on which one or more people play")
    one.add_argument(
        "--daily",
        action="store_true",
        help="the game of today (UTC), the same for everybody with the same data",
    )
    one.add_argument(
        "--export",
        metavar="DIR",
        help="write the daily game as a page for any host, or to send: no server, no key",
    )
    one.add_argument("--limit", metavar="N", type=int, help="samples a person at most")
    one.add_argument(
        "--out", metavar="DIR", default="runs", help="where run folders are made (default: runs)"
    )


def _serve(commands: Commands) -> None:
    about = "serve the game step by step to training code on this machine (OpenEnv: reset, step, state)"
    one = _command(commands, "serve", "serve:serve", about, _judging(), _played())
    one.add_argument(
        "benchmark", nargs="?", metavar="BENCHMARK", help="see `lotbench list` (default: lotbench)"
    )
    one.add_argument("--limit", metavar="N", type=int, help="only N samples, drawn by the seed")
    one.add_argument("--seed", metavar="N", type=int)
    _limits(one)
    how = one.add_argument_group("how")
    how.add_argument("--port", metavar="N", type=_port, default=0, help="the port (default: a free one)")
    how.add_argument(
        "--sessions", metavar="N", type=int, default=1000, help="clients at once (default: 1000)"
    )
    how.add_argument("--folder", metavar="DIR", help="the run folder: begun, or gone on with if it is there")
    how.add_argument("--out", metavar="DIR", default="runs", help="where the folder is made (default: runs)")
    how.add_argument("--fresh", action="store_true", help="take no causal chain or the like from the store")
    how.add_argument("--no-preflight", action="store_true", help="do not test each model with one call first")
    one.set_defaults(model="python:player", repeats=None)


def _judges(commands: Commands) -> None:
    one = _command(
        commands, "judge-check", "judges:check", "measure how often judges and the oracle err", _kept()
    )
    one.add_argument("benchmark", nargs="?", metavar="BENCHMARK", help="whose judges (default: lotbench)")
    who = one.add_argument_group("who is checked")
    who.add_argument(
        "--judge", metavar="M", action="append", help="a judge; twice for a pair, the second confirming"
    )
    who.add_argument("--oracle", metavar="M", help="who answers the questions")
    what = one.add_argument_group("on what")
    what.add_argument("--data", metavar="NAME|PATH", help="the data set that the rows are about")
    what.add_argument(
        "--judge-set",
        metavar="DIR",
        help="a folder with rows whose answer is known (default: the shipped one of the benchmark)",
    )
    what.add_argument(
        "--split", choices=["test", "tune", "all"], default="test", help="only a check on test is kept"
    )
    what.add_argument("--limit", metavar="N", type=int, help="at most N rows a role, of each kind alike")
    what.add_argument("--repeats", metavar="K", type=int, help="judgings of each row (default: 2)")
    what.add_argument(
        "--all-modes", action="store_true", help="every judge mode, not only the one that is set"
    )
    what.add_argument("--config", metavar="FILE", help="a TOML file; everything given here goes before it")
    what.add_argument("--set", metavar="K=V", action="append", default=[], dest="sets", help="any setting")
    what.add_argument("--seed", metavar="N", type=int)
    what.add_argument("--stages", metavar="DIR", help="write the causal chains there, for people to mark")
    what.add_argument("--marks", metavar="FILE", help="read people's marks on exported chains; no call")
    field = one.add_argument_group("field rates, without a call")
    field.add_argument("--from-run", metavar="RUN", help="draw guesses of a run for people to label")
    field.add_argument("--n", metavar="N", type=int, default=200, help="how many (default: 200)")
    field.add_argument(
        "--labels",
        metavar="FILE",
        action="append",
        help="read the labels of such a draw; again for each person",
    )
    _limits(one)
    how = one.add_argument_group("how")
    how.add_argument("--out", metavar="DIR", default="runs", help="where the folder is made (default: runs)")
    how.add_argument(
        "--fresh", action="store_true", help="begin anew beside an earlier check, without the store"
    )
    how.add_argument("--no-preflight", action="store_true", help="do not test each model with one call first")


def _data(commands: Commands) -> None:
    data = commands.add_parser("data", help="data sets").add_subparsers(
        title="commands", metavar="COMMAND", required=True
    )
    _command(data, "list", "data:listing", "the data sets that come with lotbench")
    one = _command(
        data, "check", "data:check", "name every fault of a data set or a judge set by file, line and field"
    )
    one.add_argument("path", metavar="PATH")
    one.add_argument("--benchmark", metavar="NAME", default=DEFAULT_BENCHMARK)
    one.add_argument("--set", metavar="K=V", action="append", default=[], dest="sets")
    one = _command(
        data, "render", "data:render", "draw the SVG drawings of a data set as the PNG pictures beside them"
    )
    one.add_argument("path", metavar="PATH")
    one = _command(
        data,
        "digest",
        "data:digest",
        "print the digest of a data set, as run.json has it, to publish in its place",
    )
    one.add_argument("path", metavar="PATH")
    one.add_argument("--benchmark", metavar="NAME", default=DEFAULT_BENCHMARK)
    one = _command(
        data,
        "calibrate",
        "data:calibrate",
        "add the games of finished runs to the blind plays of a data set",
        _kept(),
    )
    one.add_argument("runs", metavar="RUN", nargs="+", help=RUN)
    one.add_argument("--data", metavar="NAME|PATH", help="the data set (default: that of the runs)")
    one.add_argument(
        "--player",
        metavar="WHO",
        default="",
        help="who played (default: the model's id), such as 'NAME, by hand'",
    )
    _import(data)
    _build(data)
    one = _command(data, "sheet", "data:sheet", "draw contact sheets: nine pictures a page, with their texts")
    one.add_argument("path", metavar="PATH")
    one.add_argument(
        "--out", metavar="DIR", required=True, help="where the pages are written (page-01.png, ...)"
    )
    one.add_argument(
        "--font", metavar="FILE", help="a font with Chinese characters (default: one that is found)"
    )
    one.add_argument("--benchmark", metavar="NAME", default=DEFAULT_BENCHMARK)
    _review(data)
    local = commands.add_parser("local", help="the embedded model").add_subparsers(
        title="commands", metavar="COMMAND", required=True
    )
    _command(local, "install", "data:install_local", "install the embedded model's weights and runtime here")


def _ballot(commands: Commands) -> None:
    ballot = commands.add_parser("ballot", help="free responses for people to vote on").add_subparsers(
        title="commands", metavar="COMMAND", required=True
    )
    one = _command(
        ballot, "make", "ballot:make", "write the free responses of several runs to a ballot", _kept()
    )
    one.add_argument("runs", metavar="RUN", nargs="+", help="finished runs with kind=generate, a model each")
    one.add_argument(
        "--out", metavar="FILE", required=True, help="the ballot (.jsonl); the names go to FILE.key.json"
    )
    one.add_argument("--seed", metavar="N", type=int, default=0, help="of the order of the responses")
    one.add_argument("--pairs", action="store_true", help="two responses at a time, each pair of models")
    one = _command(
        ballot, "count", "ballot:count", "count the votes on a ballot: shares by type; of pairs, ratings"
    )
    one.add_argument("ballot", metavar="FILE", help="a ballot, with its key beside it")
    one.add_argument("votes", metavar="VOTES", help="a JSON line a vote: id, voter, letters")
    one = _command(
        ballot, "rank", "ballot:rank", "make a data set of the votes, for models to rank responses"
    )
    one.add_argument("ballot", metavar="FILE", help="a ballot; its key is not opened")
    one.add_argument("votes", metavar="VOTES", help="a JSON line a vote: id, voter, letters")
    one.add_argument("--out", metavar="DEST", required=True, help="the folder that is made")
    one = _command(
        ballot, "vote", "people:vote", "serve a ballot to people, one vote a person and prompt", _site()
    )
    one.add_argument("ballot", metavar="FILE", help="a ballot; its key is not opened")
    one.add_argument("--votes", metavar="FILE", help="where votes are appended (default: FILE.votes.jsonl)")


def _import(data: Commands) -> None:
    one = _command(data, "import", "data:imported", "make a data set of what others have published")
    one.add_argument(
        "name",
        metavar="NAME",
        type=_still_there("data import"),
        help="oogiri-go, caption-contest (a folder); hicbench (CDID.csv); "
        "liveideabench (the folder with kws.csv and keyword_classifications.csv); rinobench (train.json or test.json); "
        "liveideabench-ideas (released ideas and critiques as CSV, which become runs)",
    )
    one.add_argument("source", metavar="SRC", help="the file or the folder that was published")
    one.add_argument("out", metavar="DEST", help="the folder that is made")


def _build(data: Commands) -> None:
    shared = _parent()
    shared.add_argument(
        "--out", metavar="DEST", required=True, help="the folder that is made; again to go on with a build"
    )
    shared.add_argument("--writer", metavar="M", required=True, help="the model that writes")
    shared.add_argument(
        "--set", metavar="K=V", action="append", default=[], dest="sets", help="any rule, by name"
    )
    shared.add_argument("--seed", metavar="N", type=int, default=0)
    shared.add_argument(
        "--no-preflight", action="store_true", help="do not test each model with one call first"
    )
    _limits(shared)
    made = "make ideas with a gold score of papers with their reviews"
    one = _command(data, "build-rinobench", "data:build_rinobench", made, shared)
    one.add_argument(
        "sources", metavar="SRC", nargs="+", help="OpenReview-shaped JSON, a file for each conference"
    )
    one.add_argument("--judge", metavar="M", required=True, help="the model that checks what was written")
    made = "make games of pictures with responses that people voted on"
    one = _command(data, "build-lotbench", "data:build_lotbench", made, shared)
    one.add_argument(
        "sources", metavar="SRC", nargs="+", help="imported contests or Oogiri rows, a folder for each"
    )


def _review(data: Commands) -> None:
    one = _command(
        data,
        "review",
        "people:review",
        "open a page on which you accept, edit or reject samples, or label verdicts",
    )
    one.add_argument("path", metavar="PATH", help="a data set's folder, or a file of judge-set rows to label")
    one.add_argument("--data", metavar="NAME|PATH", help="the data set that judge-set rows are about")
    one.add_argument("--benchmark", metavar="NAME", default=DEFAULT_BENCHMARK)
    one.add_argument(
        "--out", metavar="FILE", help="where decisions are appended (default: PATH.review.jsonl, beside PATH)"
    )
    one.add_argument("--name", metavar="WHO", default="", help="who decides, as it is written down")
    one.add_argument(
        "--port", metavar="N", type=_port, default=0, help="the local port (default: a free one)"
    )
    one.add_argument("--no-browser", action="store_true", help="print the address only")


def _command(
    commands: Commands, name: str, place: str, about: str, *parents: argparse.ArgumentParser
) -> argparse.ArgumentParser:
    """A command whose function `module:name` is imported when it is run, with the flags of its parents first."""
    description = about[0].upper() + about[1:] + "."
    one: argparse.ArgumentParser = commands.add_parser(
        name, help=about, description=description, parents=parents
    )
    module, _, function = place.partition(":")

    def run_command(parsed: argparse.Namespace) -> int:
        carry_out: Command = getattr(import_module(f"lotbench.cli.{module}"), function)
        return carry_out(parsed)

    one.set_defaults(run_command=run_command)
    return one
