"""`lotbench --help` is instant: nothing heavy is imported before a command runs."""

import json
import os
import subprocess
import sys

import pytest

from tests.pages import ROOT

HEAVY = {
    "PIL", "aiohttp", "asyncio", "httpx2", "langchain_core", "langchain_openai", "langgraph", "numpy",
    "openai", "opencc", "orjson", "pydantic", "rich", "scipy", "sklearn", "torch", "xllamacpp",
}  # fmt: skip
LIST = """
import sys
before = set(sys.modules)
from lotbench.cli import main
try:
    code = main({arguments})
except SystemExit as ended:
    code = ended.code
import json
print(json.dumps([code, sorted(set(sys.modules) - before)]), file=sys.stderr)
"""


def imported(*arguments: str) -> tuple[int, set[str]]:
    """The exit code of a command, and what its process has imported."""
    # Isolated from the sites' .pth files, some of which import on their own.
    script = f"import sys; sys.path[:0] = {[str(ROOT), *sys.path]!r}\n" + LIST.format(
        arguments=list(arguments)
    )
    done = subprocess.run([sys.executable, "-S", "-c", script], capture_output=True, text=True, check=True)
    code, names = json.loads(done.stderr.splitlines()[-1])
    return code, set(names)


def tops(names: set[str]) -> set[str]:
    return {name.partition(".")[0] for name in names}


@pytest.mark.parametrize("command", [["--help"], ["evaluate", "--help"], ["data", "check", "--help"]])
def test_help_imports_nothing_heavy(command: list[str]) -> None:
    code, names = imported(*command)
    assert code == 0
    assert tops(names) & HEAVY == set()
    ours = {name for name in names if name.startswith(("lotbench", "graphs"))}
    assert ours == {"lotbench", "lotbench.cli", "lotbench.cli.parser"}


def test_a_wrong_flag_is_refused_without_importing_a_command() -> None:
    code, names = imported("evaluate", "--no-such-flag")
    assert code == 2
    assert tops(names) & HEAVY == set()


def test_a_command_does_import_what_it_needs() -> None:
    code, names = imported("list")
    assert code == 0
    assert {"lotbench.cli.runs", "pydantic"} <= names


def test_a_run_of_the_game_does_without_scipys_statistics_until_its_report() -> None:
    loaded = "import sys, lotbench.cli.evaluate; print(int('scipy.stats' in sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", loaded], capture_output=True, text=True, check=True, cwd=ROOT
    )
    assert done.stdout == "0\n"


@pytest.mark.parametrize(("streams", "code"), [(">/dev/full", 2), (">&-", 0), ("<&- >&- 2>&-", 0)])
def test_an_output_that_is_full_or_closed_gives_no_traceback(streams: str, code: int) -> None:
    script = f"'{sys.executable}' -c 'from lotbench.cli import main; raise SystemExit(main())' list {streams}"
    done = subprocess.run(script, shell=True, capture_output=True, text=True, cwd=ROOT, check=False)
    said = "lotbench: the output: No space left on device\n" if code else ""
    assert (done.returncode, done.stdout, done.stderr) == (code, "", said)


@pytest.mark.parametrize(("asked", "code"), [(["list"], 0), (["report", "nowhere"], 2)])
def test_a_reader_that_ends_early_changes_no_exit_code(asked: list[str], code: int) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    script = [sys.executable, "-c", "from lotbench.cli import main; raise SystemExit(main())"]
    with open(writer, "wb") as closed:
        assert subprocess.run([*script, *asked], stdout=closed, stderr=closed, check=False).returncode == code
