"""The parser of all commands with their flags; the function of a command is imported when the command runs."""

import argparse
import tomllib
from collections.abc import Callable, Iterable, Mapping
from functools import cache, partial
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple, NoReturn, TypeAlias

Commands: TypeAlias = "argparse._SubParsersAction[Any]"
Declare = Callable[..., argparse.ArgumentParser]
"""The function `_command` with its first argument bound: it declares a command of one group."""
A_RUN = "a path, a folder name in runs/ or a part of it, or latest"
DEFAULT_BENCHMARK = "lotbench"
"""Equal to `config.experiment.DEFAULT_BENCHMARK`, whose module takes too long to import for a parser."""
LAST_PORT = 65535
SPLITS = ("test", "tune", "all")
IMPORTED = "oogiri-go, caption-contest, hicbench, liveideabench, rinobench, liveideabench-ideas"
EPILOG = "try it without a key: lotbench play, or lotbench local install && lotbench watch"


RENAMED = {"--out": "--runs", "--runs-in": "--runs", "--to": "--out"}
"""The new names of flags that some commands had under another name, by old name."""


@cache
def instead(of: str) -> Mapping[str, str]:
    """Return what to do instead of each removed command (of `commands`) or flag (`flags`), by name."""
    lines: Mapping[str, str] = tomllib.loads(Path(__file__).with_name("removed.toml").read_text("utf-8"))[of]
    return lines


def _near(word: str, names: Iterable[str]) -> str:
    # Imported late: --help does not need it.
    from lotbench.errors import suggestion

    return suggestion(word, names)


class Parser(argparse.ArgumentParser):
    """An argument parser whose errors about unknown flags and commands suggest a known one."""

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Return the parsed arguments and the rest; exit with code 2 at a flag that the command does not know."""
        parsed, rest = super().parse_known_args(args, namespace)
        flags = [arg.partition("=")[0] for arg in rest if arg.startswith("--") and arg != "--"]
        if flags:
            own_flags = [name for name in self._option_string_actions if name.startswith("--")]
            now = RENAMED.get(flags[0])
            near = f"; it is {now} here" if now in own_flags else _near(flags[0], own_flags)
            command, gone = self.prog.removeprefix("lotbench "), instead("flags")
            for name in (flags[0], f"{command} {flags[0]}"):
                near = f": {gone[name]}" if name in gone else near
            self.error(f"no flag {flags[0]}{near}")
        return parsed, rest

    def error(self, message: str) -> NoReturn:
        """Print the error and the command that lists all flags, and exit with code 2."""
        such = " (such as latest)" if message.endswith("required: RUN") else ""
        self.exit(2, f"{self.prog}: {message}{such}\nusage: {self.prog} --help\n")

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        try:
            super()._check_value(action, value)
        except argparse.ArgumentError as error:
            command = f"{self.prog} {value}".removeprefix("lotbench ")
            gone = instead("commands")
            if command in gone:
                self.error(f"no command {command}: {gone[command]}")
            near = _near(str(value), map(str, action.choices or ()))
            error.message = f"there is no {value}{near}" if near else error.message
            raise


class Flag(NamedTuple):
    """A flag or a positional argument of commands.

    Attributes:
        name: The name, such as `--limit` or `run`.
        how: The keyword arguments of `add_argument`.
        heading: The heading in `--help` under which it is listed; "" for none.
    """

    name: str
    how: dict[str, Any]
    heading: str = ""


def flag(usage: str, about: str | None = None, **how: Any) -> Flag:
    """Return the declaration of a flag or of a positional argument.

    Args:
        usage: The name and the placeholder of its value (`--limit N`, `run RUN`); without one it takes no value (`--fresh`).
        about: The help text.
        **how: Further keyword arguments of `add_argument`.
    """
    name, _, metavar = usage.partition(" ")
    shape = {"metavar": metavar} if metavar else {"action": "store_true"}
    return Flag(name, {**shape, "help": about, **how})


def under(heading: str, *flags: Flag) -> tuple[Flag, ...]:
    """Return the flags, listed under a heading of `--help`."""
    return tuple(declared._replace(heading=heading) for declared in flags)


def _many(usage: str, about: str | None = None, **how: Any) -> Flag:
    """Return the declaration of a flag that may be repeated; its values form a list."""
    return flag(usage, about, action="append", **how)


def _positive(text: str) -> int:
    """Return a text as a number from 1.

    Raises:
        argparse.ArgumentTypeError: It is another text.
    """
    if text.strip().isdecimal() and int(text):
        return int(text)
    raise argparse.ArgumentTypeError(f"{text!r} is no whole number from 1")


def _port(text: str) -> int:
    """Return the port number in a text.

    Raises:
        argparse.ArgumentTypeError: The text is no number from 0 to 65535.
    """
    if not text.isascii() or not text.isdigit() or int(text[:6]) > LAST_PORT:
        raise argparse.ArgumentTypeError(f"{text!r} is no port: 0 (a free one) to {LAST_PORT}")
    return int(text)


BENCHMARK = flag("benchmark BENCHMARK", "see `lotbench list` (default: lotbench)", nargs="?")
OF_BENCHMARK = flag("--benchmark NAME", "see `lotbench list` (default: lotbench)", default=DEFAULT_BENCHMARK)
PANEL = flag("--panel FILE", "a panel file, whose models judge (docs/liveideabench.md)")
ORACLE = flag("--oracle M", "who answers the questions")
DATA = flag("--data NAME|PATH", "a data set: a shipped one, or a folder with samples.jsonl")
CONFIG = flag("--config FILE", "a TOML file; everything given here goes before it")
SET = _many("--set K=V", "any setting, by name", default=[], dest="sets")
SAMPLE = _many("--sample ID", "only this sample (repeatable)")
LIMIT = flag("--limit N", "only N samples, drawn by the seed", type=int)
REPEATS = flag("--repeats M", "independent games a sample", type=_positive)
SEED = flag("--seed N", "of everything that is drawn", type=int)
OUT = flag("--out DIR", "where the folder is made (default: runs)", default="runs")
FRESH = flag("--fresh", "take no causal chain or the like from the store")
NO_PREFLIGHT = flag("--no-preflight", "do not test each model with one call first")
SHARDS = flag(
    "--shards K", "processes that share tasks and limits (needs the extra `scale`)", type=_positive, default=1
)
RUNS = flag(
    "--runs DIR", "where runs are looked for by name and as `latest` (default: runs)", dest="runs_folder"
)
RUN = flag("run RUN", A_RUN)
PATH = flag("path PATH")
PORT = flag("--port N", "the port (default: a free one)", type=_port, default=0)
NO_BROWSER = flag("--no-browser", "print the address only")
SITE = (
    PORT,
    flag("--host H", "the address to serve on (default: this machine only)", default="127.0.0.1"),
    NO_BROWSER,
)
PLAYED = (
    *under(
        "who plays",
        _many("--judge M", "a judge; twice for a second opinion"),
        ORACLE,
        _many("--role NAME=M", "the model of any other role", default=[]),
    ),
    *under(
        "what is played",
        DATA,
        CONFIG,
        SET,
        SAMPLE,
        _many("--language L", "only samples in this language (repeatable)"),
        flag("--max-rounds N", "rounds of a game at most", type=int),
    ),
)
"""The flags of all commands that play: who judges and answers, what is played, and by which rules."""
DRAWN = under("what is played", LIMIT, REPEATS, SEED)
LIMITS = under(
    "limits (may change when a run is resumed)",
    flag("--concurrency N", "games in flight (default: 20)", type=int),
    flag("--rpm N", "requests a minute, for each endpoint", type=float),
    flag("--tpm N", "tokens a minute, for each endpoint", type=float),
    flag("--cost-limit USD", type=float),
    flag("--token-limit N", type=int),
    flag("--time-limit S", "seconds", type=float),
)
DRY_RUN = flag("--dry-run", "print the plan and what it may cost; call nothing")
HOW = (OUT, FRESH, NO_PREFLIGHT, DRY_RUN)


@cache
def parser() -> argparse.ArgumentParser:
    """Return the parser of the program `lotbench`, with all commands."""
    top = Parser(prog="lotbench", description="How creative is a language model? Let it play.", epilog=EPILOG)
    commands = top.add_subparsers(title="commands", metavar="COMMAND")
    top.set_defaults(run_command=partial(_show_help, top))
    top_level = partial(_command, commands)
    for declare in (_plays, _runs, _inside, _judges, _people, _serve):
        declare(top_level)
    _data(_family(commands, "data", "data sets"))
    _family(commands, "local", "the embedded model")(
        "install = data:install_local", "install the embedded model's weights and runtime here"
    )
    _ballot(_family(commands, "ballot", "free responses for people to vote on"))
    return top


def _show_help(program: Parser, parsed: argparse.Namespace) -> NoReturn:
    """Print the help and exit with code 2: no command was named."""
    program.print_help()
    program.exit(2)


def _plays(command: Declare) -> None:
    model = flag("--model M", "the candidate: gpt-4o-mini, NAME@http://host:port/v1, local, ...")
    command(
        "evaluate = evaluate:evaluate",
        "evaluate a model on a benchmark",
        *under("who plays", model, PANEL),
        *PLAYED,
        *DRAWN,
        BENCHMARK,
        *LIMITS,
        *under("how", *HOW, SHARDS),
    )
    command(
        "duel = duel:duel",
        "play models side by side on the same samples until it is known who is better, in four looks at most",
        *under("who plays", PANEL),
        *PLAYED,
        *DRAWN,
        flag("models MODEL", "as in evaluate --model; or the runs of a duel to go on with", nargs="+"),
        flag("--benchmark NAME", "see `lotbench list` (default: lotbench)"),
        *LIMITS,
        *under("how", *HOW),
    ).set_defaults(model=None)


def _runs(command: Declare) -> None:
    command(
        "resume = runs:resume",
        "go on with a run that was stopped",
        RUNS,
        RUN,
        *LIMITS,
        SHARDS,
        flag("--retry-failed", "ask again for replies that could not be read"),
        NO_PREFLIGHT,
    )
    command(
        "score = runs:score",
        "read and score a run again from its journal, without a call",
        RUNS,
        RUN,
        _many("--labels FILE", "labels to keep first (of `export --for-review` or `judge-check --from-run`)"),
        flag("--embed", "load the encoder that the run names for texts without a vector"),
    )
    command(
        "report = runs:report",
        "write the report of a run again, or print a comparison of several",
        RUNS,
        flag("runs RUN", "a run; or several, for `compare` as Markdown and no file", nargs="+"),
        flag("--full", "with every section, all settings, calls and digests in the report"),
        flag("--png", "every plot as a picture and as CSV too, in plots/"),
    )
    command(
        "compare = compare:compare",
        "rank runs, say which models were clearly different, and tabulate all metrics",
        RUNS,
        flag("runs RUN", "runs of several models, of one benchmark or more", nargs="+"),
        flag("--full", "print every table too, before the sentence"),
        flag("--table FILE", "a CSV file with scores of models: is the order of its columns ours?"),
        flag("--out DIR", "where compare.html, .md and .json go (default: compare)", default="compare"),
        flag("--latex", "the tables as LaTeX too, in DIR/compare.tex"),
        flag("--png", "every plot as a picture and as CSV too, in DIR/plots/"),
        flag("--pdf", "the same as PDF"),
    )


def _inside(command: Declare) -> None:
    export = command(
        "export = runs:export",
        "the tasks of a run as a table, or its answers to label",
        RUNS,
        RUN,
        flag("--to TOOL", "for another tool, into the folder --out: huggingface"),
        flag("--out FILE", "where rows are written: .csv, else a JSON line each (default: here)"),
    )
    rows = export.add_mutually_exclusive_group()
    for option in (
        flag("--for-review", "answers for people to label, nothing judged"),
        flag("--steps", "one row a step, not one a task"),
    ):
        rows.add_argument(option.name, **option.how)
    command(
        "replay = runs:replay",
        "show how an idea came about, round by round",
        RUNS,
        RUN,
        flag("--sample ID", "by default the first that was played"),
        flag("--repeat K", "by default the first that was played of it", type=int),
        flag("--json", "the same as JSON"),
    )
    command(
        "show = runs:show",
        "every prompt of a benchmark, or what one call of a run sent",
        RUNS,
        flag("what BENCHMARK|RUN", f"(default: {DEFAULT_BENCHMARK})", nargs="?"),
        flag("--call KEY", "the key of a call, as in traces.jsonl"),
        CONFIG,
        SET,
        DATA,
        SAMPLE,
    )
    command("list = runs:listing", "the benchmarks, their roles and settings, and the data sets")


def _judges(command: Declare) -> None:
    command(
        "judge-check = judges:check",
        "measure how often judges and the oracle err",
        RUNS,
        BENCHMARK,
        *under("who is checked", _many("--judge M", "a judge; twice for a pair"), ORACLE),
        *under(
            "on what",
            flag("--data NAME|PATH", "the data set that the rows are about"),
            flag("--judge-set DIR", "rows whose answer is known (default: the shipped ones)"),
            flag(
                "--split S", "test (default), tune or all; only test is kept", choices=SPLITS, default="test"
            ),
            flag("--limit N", "at most N rows a role, of each kind alike", type=int),
            flag("--repeats K", "judgings of each row (default: 2)", type=_positive),
            flag("--all-modes", "every judge mode, not only the one that is set"),
            flag("--chains N", "judge rows of 20 samples with N new causal chains too", type=int, default=0),
            CONFIG,
            SET,
            SEED,
            flag("--stages DIR", "write the causal chains there, for people to mark"),
            flag("--marks FILE", "read people's marks on exported chains; no call"),
        ),
        *under(
            "field rates, without a call",
            flag("--from-run RUN", "draw guesses of a run for people to label"),
            flag("--n N", "how many (default: 200)", type=int, default=200),
            _many("--labels FILE", "read the labels of such a draw; again for each person"),
        ),
        *LIMITS,
        *under("how", OUT, flag("--fresh", "begin anew, without the store"), NO_PREFLIGHT, DRY_RUN),
    )


def _people(command: Declare) -> None:
    about = "watch the embedded model at a joke, then a good player at the same; no key"
    command("watch = watch:watch", about, OUT)
    command(
        "view = people:view",
        "look through runs: who beats whom, two of them compared, every game round by round",
        *SITE,
        flag(
            "root DIR|RUN", "where runs are kept (default: runs), or a run to open", nargs="?", default="runs"
        ),
        flag("--export DIR", "write the pages as files instead, into a new folder"),
    )
    command(
        "play = people:play",
        "play a benchmark yourself, here or in the browser",
        *SITE,
        *PLAYED,
        BENCHMARK,
        flag("--name WHO", "who plays, at this terminal"),
        flag("--browser", "serve pages on which one or more people play"),
        flag("--daily", "the game of today (UTC), the same for everybody with the same data"),
        flag(
            "--export PATH",
            "write the daily game as one file to send or to host (a .html, or index.html in a folder)",
        ),
        flag("--limit N", "samples a person at most", type=int),
        OUT,
    )


def _serve(command: Declare) -> None:
    command(
        "serve = serve:serve",
        "serve the game step by step to training code on this machine (OpenEnv: reset, step, state)",
        *under("who plays", PANEL),
        *PLAYED,
        BENCHMARK,
        *under("what is played", LIMIT, SEED),
        *LIMITS,
        *under(
            "how",
            PORT,
            flag("--sessions N", "clients at once (default: 1000)", type=_positive, default=1000),
            flag("--folder DIR", "the run folder: begun, or gone on with if it is there"),
            OUT,
            FRESH,
            NO_PREFLIGHT,
        ),
    ).set_defaults(model="python:player", repeats=None)


def _data(command: Declare) -> None:
    command("list = data:listing", "the data sets that come with lotbench")
    about = "name every fault of a data set or a judge set by file, line and field"
    command("check = data:check", about, PATH, OF_BENCHMARK, SET)
    command(
        "import = data:imported",
        "make a data set of what others have published",
        flag("name NAME", IMPORTED),
        flag("source SRC", "the folder, or the file (CDID.csv, train.json, test.json, ideas as CSV)"),
        flag("out DEST", "the folder that is made"),
    )
    _build(command)
    command(
        "review = people:review",
        "open a page on which you accept, edit or reject samples",
        flag("path PATH", "a data set's folder"),
        OF_BENCHMARK,
        flag("--out FILE", "where decisions are appended (default: PATH.review.jsonl, beside PATH)"),
        flag("--name WHO", "who decides, as it is written down", default=""),
        *SITE,
    )


def _build(command: Declare) -> None:
    shared = (
        flag("--out DEST", "the folder that is made; again to go on with a build", required=True),
        flag("--writer M", "the model that writes", required=True),
        SET,
        flag("--seed N", "of everything that is drawn", type=int, default=0),
        NO_PREFLIGHT,
        *LIMITS,
    )
    command(
        "build-rinobench = data:build_rinobench",
        "make ideas with a gold score of papers with their reviews",
        *shared,
        flag("sources SRC", "OpenReview-shaped JSON, a file for each conference", nargs="+"),
        flag("--judge M", "the model that checks what was written", required=True),
    )
    command(
        "build-lotbench = data:build_lotbench",
        "make games of pictures with responses that people voted on",
        *shared,
        flag("sources SRC", "imported contests or Oogiri rows, a folder for each", nargs="+"),
    )


def _ballot(command: Declare) -> None:
    command(
        "make = ballot:make",
        "write the free responses of several runs to a ballot",
        RUNS,
        flag("runs RUN", "finished runs with kind=generate, a model each", nargs="+"),
        flag("--out FILE", "the ballot (.jsonl); the names go to FILE.key.json", required=True),
        flag("--seed N", "of the order of the responses", type=int, default=0),
        flag("--pairs", "two responses at a time, each pair of models"),
    )
    closed = flag("ballot FILE", "a ballot; its key is not opened")
    votes = flag("votes VOTES", "a JSON line a vote: id, voter, letters")
    about = "count the votes on a ballot: shares by type; of pairs, ratings"
    with_key = flag("ballot FILE", "a ballot, with its key beside it")
    command("count = ballot:count", about, with_key, votes)
    about = "make a data set of the votes, for models to rank responses"
    folder = flag("--out DEST", "the folder that is made", required=True)
    command("rank = ballot:rank", about, closed, votes, folder)
    about = "serve a ballot to people, one vote a person and prompt"
    votes_out = flag("--votes FILE", "where votes are appended (default: FILE.votes.jsonl)")
    command("vote = people:vote", about, *SITE, closed, votes_out)


def _family(commands: Commands, name: str, about: str) -> Declare:
    """Return a function that declares commands whose first word is `name`, such as `data` in `lotbench data list`."""
    family = commands.add_parser(name, help=about)
    return partial(_command, family.add_subparsers(title="commands", metavar="COMMAND", required=True))


def _command(commands: Commands, entry: str, about: str, *flags: Flag) -> argparse.ArgumentParser:
    """Declare a command and return its parser.

    Args:
        commands: The group of commands to which it is added.
        entry: `name = module:function`; the module of lotbench.cli is imported when the command runs.
        about: The help text, without a capital letter and a full stop.
        *flags: The flags and positional arguments.
    """
    name, _, place = entry.partition(" = ")
    description = about[0].upper() + about[1:] + "."
    command_parser: argparse.ArgumentParser = commands.add_parser(name, help=about, description=description)
    headings: dict[str, argparse._ActionsContainer] = {"": command_parser}
    for option in flags:
        if option.heading not in headings:
            headings[option.heading] = command_parser.add_argument_group(option.heading)
        headings[option.heading].add_argument(option.name, **option.how)

    def run_command(parsed: argparse.Namespace) -> None:
        module, _, function = place.partition(":")
        getattr(import_module(f"lotbench.cli.{module}"), function)(parsed)

    command_parser.set_defaults(run_command=run_command)
    return command_parser
