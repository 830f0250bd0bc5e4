"""Every command of the README runs, in its order, against a fake server that stands where each provider does."""

import asyncio
import glob
import io
import json
import re
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest
from rich.console import Console

from lotbench.calls.prices import picture_tokens
from lotbench.cli import main, watch
from lotbench.models import embedded
from lotbench.site import serve
from tests.bench import pictures
from tests.cli.test_docs import commands, fenced
from tests.cli.test_reproduce import named, providers, tables
from tests.pages import ROOT
from tests.server import FakeServer

__all__ = ["providers"]
SMALLER = {
    # Twenty-four problems of standard evaluation have every kind of every type, which the average needs.
    "evaluate standard": ["--limit", "24"],
    # The paper's encoder lies on a hub.
    "evaluate hicbench": ["--limit", "2", "--repeats", "1", "--set", "encoder=minilm"],
    "evaluate": ["--limit", "2", "--repeats", "1"],
    "judge-check": ["--limit", "2", "--repeats", "1"],
    "view": ["--no-browser"],
    "play": ["--no-browser"],
}
"""What makes a command of the README small enough for a test."""
ELSEWHERE = ("make evaluate", "make demo", "pip install", ". .venv/bin/activate")
"""What .ci/run does, and the test of the demo."""


def asked() -> list[list[str]]:
    """The arguments of every lotbench command on the page, in blocks and in sentences, in order; none that is only named."""
    return [arguments for arguments in commands("README.md") if arguments[-1] != "--help"]


def run(arguments: list[str]) -> int:
    """A command, made small, with its placeholders in their places."""
    words = [one for word in arguments for one in (sorted(glob.glob(word)) if "*" in word else [word])]
    if "KEY" in words:
        lines = (newest() / "calls.jsonl").read_text("utf-8").splitlines()
        words[words.index("KEY")] = "/".join(map(str, json.loads(lines[-1])["key"].values()))
    return main(
        [*words, *next((more for start, more in SMALLER.items() if shlex.join(words).startswith(start)), ())]
    )


def newest() -> Path:
    """The run that was made last."""
    return max(Path("runs").glob("*/run.json"), key=lambda file: file.stat().st_mtime_ns).parent


def unknown(run: Path) -> list[str]:
    """The scores of a run that are no numbers, with why."""
    scores = json.loads((run / "summary.json").read_text("utf-8"))["scores"]
    return [
        f"{name}: {score['why']}"
        for name, score in scores.items()
        if not isinstance(score["value"], float | int)
    ]


@pytest.mark.slow
def test_every_command_of_the_readme_runs(
    providers: FakeServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def served(
        pages: serve.Pages, port: int, ready: Callable[[str], None], host: str = serve.HOST
    ) -> None:
        ready("http://127.0.0.1/")

    monkeypatch.setattr(serve, "serve", served)
    monkeypatch.setattr(embedded, "install", lambda: None)
    monkeypatch.chdir(tmp_path)
    watch.tell(Console(file=io.StringIO()), Path("runs"))
    ran = 0
    for arguments in asked():
        assert run(arguments) == 0, arguments
        ran += 1
        if arguments[0] == "evaluate" and "--dry-run" not in arguments:
            assert unknown(newest()) == [], arguments
        if arguments[0] == "judge-check":
            (check,) = Path("runs").glob("judge-check-*/report.md")
            assert any(named(table, "accuracy") for table in tables(check.read_text("utf-8")))
        if arguments[0] == "compare":
            assert any(
                named(table, "creativity_score")
                for table in tables(Path("compare/compare.md").read_text("utf-8"))
            )
    assert ran >= 16


def test_all_that_the_readme_lets_one_type_is_a_command_of_ours_or_seen_to_elsewhere() -> None:
    blocks = "\n".join(fenced("README.md", "sh")).replace("\\\n", " ")
    lines = [line.split("#")[0].strip() for line in blocks.splitlines()]
    parts = [part.strip() for line in lines for part in re.split(r"&&|;", line) if part.strip()]
    assert [
        part for part in parts if not part.startswith(("lotbench ", "export OPENAI_API_KEY", *ELSEWHERE))
    ] == []


def dry(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    """The largest number of calls that a dry run prints, and the cost in dollars."""
    assert main([*arguments, "--dry-run"]) == 0
    told = capsys.readouterr().out
    assert told.rfind("cost at most") > told.find("\nsettings"), "the cost comes last"
    calls = sum(int(row.replace(",", "")) for row in re.findall(r"^[a-z]+ +([\d,]+)  ", told, re.MULTILINE))
    return calls, re.findall(r"about: \$([\d.]+)", told)[0]


def test_the_numbers_of_calls_and_dollars_are_those_of_a_dry_run(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("LOTBENCH_PRICES", raising=False)
    told = " ".join((ROOT / "README.md").read_text("utf-8").split())
    (check,) = (line for line in asked() if line[0] == "judge-check")
    calls, dollars = dry(capsys, *check)
    assert f"at most {calls:,} calls, ${dollars}." in told
    every, five = (
        [dry(capsys, "evaluate", "--model", model, *more) for model in ("gpt-4o-mini", "gpt-4.1-mini")]
        for more in ([], ["--limit", "5"])
    )
    assert f"at most {every[0][0]:,} calls, about" in told
    assert f"as {picture_tokens('gpt-4o-mini'):,} tokens" in told
    costs = [*(f"${few}" for _, few in five), *(f"${float(all_105):.0f}" for _, all_105 in every)]
    assert re.findall(r"\$[\d.]*\d", told) == [*costs, f"${dollars}"]
    assert main(["evaluate", "--model", "gpt4o", "--dry-run"]) == 0
    assert "no price of gpt4o is known; did you mean gpt-4o?" in capsys.readouterr().out


@pytest.mark.slow
def test_the_leaderboard_is_that_of_the_demo(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asyncio.run(pictures.played(tmp_path / "demo", limit=24))
    runs = sorted(map(str, (tmp_path / "demo").iterdir()))
    assert main(["compare", *runs, "--out", str(tmp_path)]) == 0
    told = capsys.readouterr().out
    page = " ".join((ROOT / "README.md").read_text("utf-8").split())
    rows = re.findall(r"^ *(\(\d\)) +(\S+) +(\S+ \(.+?\)) *(.*?) *$", told, re.MULTILINE)
    assert len(runs) == len(rows) == 3 and told.splitlines()[0] in page and "lotbench view " in told
    assert [row for row in rows if " ".join(f"| {' | '.join(row)} |".split()) not in page] == []
    makefile = (ROOT / "Makefile").read_text("utf-8")
    assert "-m tests.bench.pictures --runs demo" in makefile and "lotbench view demo" in makefile
