"""Batch files from end to end, against a server with both batch APIs: what comes of a run is what calls one by one make of it."""

from __future__ import annotations

import json
import math
import os
import re
import socket
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeAlias

import orjson
import pytest

from lotbench.cli import main
from lotbench.edge.calls.journal import Entry, read_journal, read_totals
from lotbench.edge.models import batch_format, batches, chat
from lotbench.edge.models.batch_format import Outcome
from tests.batch_server import KEY, BatchServer
from tests.killing import PATIENCE_S, running
from tests.rules import game_rule, hear
from tests.run.test_checked_judges import candidate, rinobench

with socket.socket() as free:
    free.bind(("127.0.0.1", 0))
    PORT: int = free.getsockname()[1]
"""Where every server listens: who judges is drawn by the names of models, which have the address in them."""
APIS = ("openai", "anthropic")
BENCHMARKS: Mapping[str, tuple[int, tuple[str, ...]]] = {
    "liveideabench": (3, ()),
    "rinobench": (1, ()),
    "hicbench": (2, ("answers=2",)),
    "standard": (0, ("kind=2t1", "arm=blind")),
}
"""Of each benchmark without rounds, how many judges it is given, and its settings."""
RINO = re.compile(r"steps|known|score|[kn]\d+_\w+")
"""Fields that a judge of RINoBench is asked to fill; the numbers in them are shown in ways that a game has not."""
PAGE = Path(__file__).resolve().parents[2] / "docs" / "integrations.md"
PLACE = re.compile(r"(?<=<!-- batches -->\n).*?(?=<!-- end -->)", re.DOTALL)
Seen: TypeAlias = "dict[tuple[str, str], str]"
LINES = {
    "expired": "a line that expired",
    "429": "a line with a 429",
    "500": "a line with a 500",
    "missing": "a line that is missing",
    "garbage": "a line that is no JSON",
    "no_choices": "a line without an answer",
}
ENDS = {
    "upload": "the upload of a file",
    "create": "making a batch",
    "retrieve": "a look at a batch",
    "content": "fetching results",
}
TROUBLES = {"lost": "done, and the answer lost", "garbage": "an answer that is none", "cut": "cut off"}
"""What is met, as the table of the page has it."""
PASSING = ("expired", "429", "500", "missing", "garbage", "no_choices")


def rarely(given: Iterable[Any], often: Any) -> list[Any]:
    """Parameters of which all but one are of slow tests."""
    return [pytest.param(one, marks=() if one == often else pytest.mark.slow) for one in given]


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOTBENCH_API_KEY", KEY)
    # An encoder takes longer to load than a run to end, and no test here looks at embeddings.
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    monkeypatch.setattr(batches, "LULL_S", 0.05)
    monkeypatch.setattr(chat, "FIRST_WAIT_S", 0.01)
    monkeypatch.setattr(chat, "LONGEST_WAIT_S", 0.02)


def blind(body: Mapping[str, Any]) -> Any:
    """A rule to whom a seed and a form asked for beside the prompt change nothing: one of the APIs has neither."""
    asked = {name: body[name] for name in ("model", "messages")}
    form = hear(asked).form
    if "novelty_score" in form:
        return candidate(asked)
    return rinobench(asked) if any(map(RINO.fullmatch, form)) else game_rule()(asked)


def command(server: BatchServer, out: Path, benchmark: str = "liveideabench", *more: str) -> list[str]:
    judges, settings = BENCHMARKS[benchmark]
    named = [f"--judge=judge-{seat}@{server.url}" for seat in range(judges)]
    sets = [f"--set={one}" for one in (*settings, "batch_poll_s=0.02")]
    return [
        "evaluate", benchmark, "--model", f"candidate@{server.url}", *named, *sets,
        "--limit", "3", "--repeats", "1", "--out", str(out), *more,
    ]  # fmt: skip


@pytest.fixture(scope="module")
def seen() -> Seen:
    """What the tests of this module came to: what was met, at which API, and what became of it."""
    return {}


def became(code: int, server: BatchServer, out: Path, resumed: int | None = None) -> str:
    """What became of a run: its exit, that of the resumed run, and the answers that were paid for and never taken."""
    again = "" if resumed is None else f", resumed {resumed}"
    return f"exit {code}{again}; {server.service.answered - len(batched(out))} paid for twice"


def the_run(out: Path) -> Path:
    (path,) = out.glob("*/run.json")
    return path.parent


def told(out: Path) -> list[Any]:
    """The walks of the one run, without what a clock or the way of a call put there."""
    text = re.sub(r'"seconds":[0-9.e-]+', "", (the_run(out) / "traces.jsonl").read_text("utf-8"))
    return sorted(re.sub(r',?"crc":"\w+"', "", line) for line in text.splitlines())


def batched(out: Path) -> list[Entry]:
    """The lines of the journal that came out of batch files."""
    return [one for one in read_journal(the_run(out) / "calls.jsonl") if "batch" in one.reply.sent]


def nobody_paid_twice(server: BatchServer, out: Path) -> None:
    assert server.service.answered == len(batched(out)) > 0


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], list[Any]]]:
    """The walks of each benchmark where every call is made by itself, names of models as they are everywhere."""
    known: dict[str, list[Any]] = {}

    def made(benchmark: str) -> list[Any]:
        if benchmark not in known:
            out = tmp_path_factory.mktemp(benchmark)
            with BatchServer(blind, port=PORT) as server:
                assert main(command(server, out, benchmark)) == 0
                assert server.service.answered == 0
                known[benchmark] = told(out)
        return known[benchmark]

    yield made


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize("benchmark", rarely(BENCHMARKS, "liveideabench"))
def test_a_run_by_files_is_the_run_call_by_call(
    benchmark: str, api: str, tmp_path: Path, alone: Callable[[str], list[Any]]
) -> None:
    whole = alone(benchmark)
    with BatchServer(blind, port=PORT) as server:
        assert main(command(server, tmp_path, benchmark, "--batch", api)) == 0
        assert told(tmp_path) == whole
        nobody_paid_twice(server, tmp_path)
        lines = [line for batch in server.service.batches.values() for line in batch.lines]
    keys = {str(one.key) for one in batched(tmp_path)}
    places = sorted((the_run(tmp_path) / "batches").glob("*.json"))
    named = {
        key: call["line"] for path in places for key, call in json.loads(path.read_text())["calls"].items()
    }
    assert keys == named.keys() and {one["custom_id"] for one in lines} == set(named.values())
    assert all((key == name) is (api == "openai") for key, name in named.items())
    assert {one.reply.sent["batch"] for one in batched(tmp_path)} == {api}


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize("fate", rarely(PASSING, "expired"))
def test_a_line_that_came_to_nothing_goes_into_the_next_file(
    fate: str, api: str, tmp_path: Path, alone: Callable[[str], list[Any]], seen: Seen
) -> None:
    whole = alone("liveideabench")
    with BatchServer(blind, port=PORT, fates=lambda number, line: fate if number % 5 == 1 else "") as server:
        assert main(command(server, tmp_path, "liveideabench", "--batch", api)) == 0
        assert told(tmp_path) == whole
        empty = fate == "no_choices"
        assert (server.service.answered > len(batched(tmp_path))) is empty
        seen[f"{LINES[fate]}, each fifth", api] = became(0, server, tmp_path)
    for path in (path for path in tmp_path.rglob("*") if path.is_file()):
        assert KEY.encode() not in path.read_bytes()


@pytest.mark.parametrize("trouble", rarely([429, 500, "lost", "garbage"], "lost"))
@pytest.mark.parametrize(
    ("api", "endpoint"),
    # Anthropic has no files to upload.
    [
        pytest.param(api, endpoint, marks=() if endpoint == "create" else pytest.mark.slow)
        for endpoint in ENDS
        for api in APIS
        if (api, endpoint) != ("anthropic", "upload")
    ],
)
def test_a_trouble_at_an_endpoint_passes(
    endpoint: str, trouble: int | str, api: str, tmp_path: Path, alone: Callable[[str], list[Any]], seen: Seen
) -> None:
    if endpoint == "content" and trouble == "garbage":
        trouble = "cut"
    whole = alone("liveideabench")
    with BatchServer(blind, port=PORT, troubles={endpoint: [trouble, None, trouble]}) as server:
        assert main(command(server, tmp_path, "liveideabench", "--batch", api)) == 0
        assert server.service.met == 2
        assert told(tmp_path) == whole
        nobody_paid_twice(server, tmp_path)
        met = trouble if isinstance(trouble, int) else TROUBLES[trouble]
        seen[f"{ENDS[endpoint]}: {met}, twice", api] = became(0, server, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("api", APIS)
def test_results_that_are_cut_short_in_order_are_fetched_again(api: str, tmp_path: Path, seen: Seen) -> None:
    with BatchServer(blind, port=PORT, troubles={"content": ["short", "short"]}) as server:
        assert main(command(server, tmp_path, "liveideabench", "--batch", api)) == 0
        nobody_paid_twice(server, tmp_path)
        seen["fetching results: half of the lines, in order, twice", api] = became(0, server, tmp_path)


@pytest.mark.parametrize("api", rarely(APIS, "openai"))
def test_a_cancelled_batch_stops_the_run_and_resume_asks_again(
    api: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    alone: Callable[[str], list[Any]],
    seen: Seen,
) -> None:
    whole = alone("liveideabench")
    with BatchServer(blind, port=PORT, fates={2: "cancelled"}) as server:
        assert main(command(server, tmp_path, "liveideabench", "--batch", api)) == 1
        assert "batch file 0001 (batch_0) was cancelled" in capsys.readouterr().err
        assert main(["resume", str(the_run(tmp_path))]) == 0
        assert told(tmp_path) == whole
        nobody_paid_twice(server, tmp_path)
        seen["a batch that was cancelled", api] = became(1, server, tmp_path, 0)


def test_what_stops_a_run_does_not_wait_for_the_files_of_other_models(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], alone: Callable[[str], list[Any]]
) -> None:
    whole = alone("liveideabench")

    def fate(number: int, line: Mapping[str, Any]) -> str:
        return "cancelled" if line["body"]["model"] == "judge-0" else ""

    with BatchServer(blind, port=PORT, fates=fate) as server:
        server.service.held = lambda batch: batch.lines[0]["body"]["model"] in ("judge-1", "judge-2")
        assert main(command(server, tmp_path, "liveideabench", "--batch", "openai")) == 1
        assert "was cancelled" in capsys.readouterr().err
        server.service.held = lambda batch: False
        server.service.fates = {}
        assert main(["resume", str(the_run(tmp_path))]) == 0
        assert told(tmp_path) == whole
        nobody_paid_twice(server, tmp_path)


def test_a_file_that_is_refused_as_a_whole_stops_the_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], seen: Seen
) -> None:
    with BatchServer(blind, port=PORT, refused="invalid_json_line") as server:
        assert main(command(server, tmp_path, "liveideabench", "--batch", "openai")) == 1
        assert "was refused: invalid_json_line: The file was refused." in capsys.readouterr().err
        server.service.refused = ""
        assert main(["resume", str(the_run(tmp_path))]) == 0
        nobody_paid_twice(server, tmp_path)
        seen["a file that is refused as a whole", "openai"] = became(1, server, tmp_path, 0)


def test_a_file_waits_its_turn_where_too_much_is_waiting_already(tmp_path: Path) -> None:
    with BatchServer(blind, port=PORT, refused="token_limit_exceeded") as server:
        served = server.service._look

        def looked(name: str) -> Any:
            answer = served(name)
            server.service.refused = ""
            return answer

        server.service._look = looked  # type: ignore[method-assign]
        assert main(command(server, tmp_path, "liveideabench", "--batch", "openai")) == 0
        nobody_paid_twice(server, tmp_path)


@pytest.mark.parametrize("api", rarely(APIS, "openai"))
def test_a_wrong_key_is_told_before_a_file_is_written(
    api: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOTBENCH_API_KEY", "sk-another")
    with BatchServer(blind, port=PORT) as server:
        assert main(command(server, tmp_path / "tested", "liveideabench", "--batch", api)) == 1
        assert not (the_run(tmp_path / "tested") / "batches").exists()
        untested = command(server, tmp_path / "not", "liveideabench", "--batch", api, "--no-preflight")
        assert main(untested) == 1
        assert capsys.readouterr().err.count("the key in $LOTBENCH_API_KEY was refused") == 2
        assert not server.service.batches


def test_a_server_without_a_batch_api_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with BatchServer(blind, port=PORT, troubles={"upload": [404]}) as server:
        assert main(command(server, tmp_path, "liveideabench", "--batch", "openai")) == 1
        assert f"no batch API at {server.url}" in capsys.readouterr().err


@pytest.mark.parametrize("api", rarely(APIS, "openai"))
def test_a_judge_check_goes_by_files(api: str, tmp_path: Path) -> None:
    checked: dict[str, Any] = {}
    with BatchServer(blind, port=PORT) as server:
        for how in ("none", api):
            out = tmp_path / how
            given = ["judge-check", "--judge", f"judge@{server.url}", "--oracle", f"oracle@{server.url}"]
            size = ["--limit", "4", "--repeats", "1", "--set=batch_poll_s=0.02", "--out", str(out)]
            assert main([*given, *size, "--batch", how]) == 0
            (path,) = out.glob("*/summary.json")
            checked[how] = json.loads(path.read_text("utf-8"))["measures"]
        (journal,) = (tmp_path / api).glob("*/calls.jsonl")
        lines = [one for one in read_journal(journal) if "batch" in one.reply.sent]
        assert server.service.answered == len(lines) > 0
    assert checked["none"] == checked[api]


# What it costs.


def priced(server: BatchServer, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = [f"candidate@{server.url}", *(f"judge-{seat}@{server.url}" for seat in range(3))]
    rows = "".join(f'"{name}" = [1000.0, 1000.0, 2000.0]\n' for name in names)
    place.write_text(f'date = "2026-11-22"\n[usd_per_million]\n{rows}', "utf-8")
    monkeypatch.setenv("LOTBENCH_PRICES", str(place))


def cost(out: Path) -> float:
    """What a run cost, as its summary says."""
    summary: dict[str, Any] = json.loads((the_run(out) / "summary.json").read_text("utf-8"))
    return float(summary["usage"]["cost_usd"])


def test_a_batched_call_costs_half_in_plan_report_and_budget(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with BatchServer(blind, port=PORT) as server:
        priced(server, tmp_path / "prices.toml", monkeypatch)
        shown, spent = [], []
        for how in ("none", "openai"):
            given = command(server, tmp_path / how, "liveideabench", "--batch", how, "--no-preflight")
            assert main([*given, "--dry-run"]) == 0
            shown.append(capsys.readouterr().out)
            assert main(given) == 0
            spent.append(cost(tmp_path / how))
        plans = [float(re.search(r"cost at most, about: \$([\d.]+)", one)[1]) for one in shown]  # type: ignore[index]
        assert (
            plans[1] == pytest.approx(plans[0] / 2, abs=0.01)
            and "half the price, by batch files of openai" in shown[1]
        )
        assert spent[1] == pytest.approx(spent[0] / 2) and spent[0] > 0
        # What would not be enough call by call is enough by files; a journal that is read again says the same.
        limited = ["--cost-limit", f"{spent[0] * 0.9:.4f}"]
        assert main([*command(server, tmp_path / "a", "liveideabench", "--no-preflight"), *limited]) == 3
        by_files = command(server, tmp_path / "b", "liveideabench", "--no-preflight", "--batch", "openai")
        assert main([*by_files, "--cost-limit", "1000"]) == 0
        assert main(["report", str(the_run(tmp_path / "openai"))]) == 0
    assert cost(tmp_path / "openai") == pytest.approx(spent[1])


def test_a_batched_call_has_no_seconds_by_which_its_energy_could_be_bounded(tmp_path: Path) -> None:
    with BatchServer(blind, port=PORT) as server:
        assert main(command(server, tmp_path, "standard", "--batch", "openai")) == 0
    totals = read_totals(the_run(tmp_path) / "calls.jsonl").by_origin
    assert {total.seconds for total in totals.values()} == {math.inf}
    assert {one.reply.seconds for one in batched(tmp_path)} == {0.0}


# What cannot be.


def refusals(url: str) -> Mapping[str, tuple[list[str], str]]:
    model = ["--model", f"m@{url}"]
    return {
        "rounds": (
            ["evaluate", *model, "--judge", f"j@{url}", "--oracle", f"o@{url}", "--batch", "openai"],
            "--batch openai: lotbench is played in rounds",
        ),
        "duel": (
            ["duel", f"m@{url}", f"n@{url}", "--judge", f"j@{url}", "--oracle", f"o@{url}", "--batch", "openai"],
            "--batch openai: lotbench is played in rounds",
        ),
        "lanes": (
            ["evaluate", "hicbench", *model, "--judge", f"j@{url}", "--role", f"dhp_judge=d@{url}",
             "--set=dhp=true", "--set=orders=2", "--batch", "openai"],
            "tasks follow each other",
        ),
        "nobody": (
            ["evaluate", "standard", "--model", "openai/gpt-4o-mini", "--batch", "anthropic"],
            "no model in it is anthropic's (of openai/gpt-4o-mini)",
        ),
        "shards": (
            ["evaluate", "standard", *model, "--shards", "2", "--batch", "openai"],
            "--shards: --batch openai asks by files",
        ),
    }  # fmt: skip


@pytest.mark.parametrize("case", ["rounds", "duel", "lanes", "nobody", "shards"])
def test_what_batches_cannot_do_is_refused_with_the_reason(
    case: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given, why = refusals("http://127.0.0.1:9/v1")[case]
    assert main([*given, "--out", str(tmp_path)]) == 2
    assert why in capsys.readouterr().err
    if case not in ("shards", "duel"):
        assert main([*given, "--dry-run"]) == 2
    assert list(tmp_path.iterdir()) == []


# Killed, and gone on with.


def reached(server: BatchServer, stage: str) -> bool:
    looks = [batch.looks for batch in server.service.batches.values()]
    return any(looks) if stage == "polling" else server.service.met > 0


STAGES: Mapping[str, Mapping[str, Any]] = {
    "written": {"upload": ["deaf"]},
    "uploaded": {"upload": ["hang"]},
    "submitted": {"create": ["hang"]},
    "polling": {},
    "collecting": {"content": ["half"]},
}
STAGE = {
    "written": "when a file is written, and nothing is sent",
    "uploaded": "when the server has heard, and nothing came back",
    "submitted": "when there is a batch, whose id is not written down",
    "polling": "while it is looked at",
    "collecting": "while its results are fetched",
}
"""The moments of a kill, as troubles: what was asked is not heard, or is heard and not answered."""


@pytest.mark.slow
@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize("stage", STAGES)
def test_a_run_that_was_killed_fetches_what_it_has_paid_for(
    stage: str, api: str, tmp_path: Path, alone: Callable[[str], list[Any]], seen: Seen
) -> None:
    troubles = STAGES[stage]
    if api == "anthropic":
        troubles = {"create" if name == "upload" else name: given for name, given in troubles.items()}
    whole = alone("liveideabench")
    with BatchServer(blind, port=PORT, troubles=troubles) as server:
        server.service.held = lambda batch: stage == "polling"
        given = command(server, tmp_path / "runs", "liveideabench", "--batch", api)
        with running(tmp_path / "home", "cli", *given) as process:
            deadline = time.monotonic() + PATIENCE_S
            while not reached(server, stage):
                assert process.poll() is None and time.monotonic() < deadline
                time.sleep(0.01)
            process.kill()
            process.wait()
        server.service.held = lambda batch: False
        before = server.service.answered
        assert (before == 0) is (
            stage in ("written", "uploaded") and (api, stage) != ("anthropic", "uploaded")
        )
        assert main(["resume", str(the_run(tmp_path / "runs"))]) == 0
        assert told(tmp_path / "runs") == whole
        nobody_paid_twice(server, tmp_path / "runs")
        seen[f"kill -9 {STAGE[stage]}", api] = became(-9, server, tmp_path / "runs", 0)


@pytest.mark.parametrize("api", rarely(APIS, "anthropic"))
def test_results_on_disk_are_taken_before_anything_is_asked(api: str, tmp_path: Path) -> None:
    with BatchServer(blind, port=PORT) as server:
        assert main(command(server, tmp_path, "liveideabench", "--batch", api)) == 0
        run, whole = the_run(tmp_path), told(tmp_path)
        lines = (run / "calls.jsonl").read_bytes().splitlines(keepends=True)
        # As a kill leaves it: the results are there, the journal has some of them.
        (run / "calls.jsonl").write_bytes(b"".join(lines[: len(lines) // 2]))
        (run / "traces.jsonl").write_bytes(b"")
        asked = dict(server.service.asked)
        assert main(["resume", str(run)]) == 0
        assert told(tmp_path) == whole and server.service.asked == asked
        nobody_paid_twice(server, tmp_path)


def test_without_batch_files_a_resumed_run_says_what_nobody_will_fetch(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with BatchServer(blind, port=PORT) as server:
        assert main(command(server, tmp_path, "liveideabench", "--batch", "openai")) == 0
        run = the_run(tmp_path)
        lines = (run / "calls.jsonl").read_bytes().splitlines(keepends=True)
        (run / "calls.jsonl").write_bytes(b"".join(lines[:-3]))
        (run / "traces.jsonl").write_bytes(b"")
        assert main(["resume", str(run), "--batch", "none"]) == 0
    assert "3 calls stand in batch files whose results were not fetched" in capsys.readouterr().err


def test_a_reply_that_could_not_be_read_is_asked_anew_and_not_taken_from_its_file(tmp_path: Path) -> None:
    spoilt = [True]

    def rule(body: Mapping[str, Any]) -> Any:
        return "no answer" if spoilt and "score" in hear(body).form else blind(body)

    with BatchServer(rule, port=PORT) as server:
        given = command(
            server,
            tmp_path,
            "rinobench",
            "--batch",
            "openai",
            "--no-preflight",
            "--set=max_failed=1",
            "--set=alignment_calls=1",
        )
        assert main(given) == 0
        assert all("judge_failed" in one for one in told(tmp_path))
        spoilt.clear()
        assert main(["resume", str(the_run(tmp_path)), "--retry-failed", "--no-preflight"]) == 0
        assert not any("_failed" in one for one in told(tmp_path))
        nobody_paid_twice(server, tmp_path)


def files_of(run: Path) -> list[str]:
    return sorted(path.name for path in (run / "batches").iterdir())


def lost(server: BatchServer, out: Path, api: str) -> Path:
    """A run that was stopped when its only file had reached the server, and no id had come back."""
    assert main(command(server, out, "standard", "--batch", api)) == 0
    run = the_run(out)
    (run / "calls.jsonl").write_bytes(b"")
    (run / "traces.jsonl").write_bytes(b"")
    (run / "batches" / "0001.results.jsonl").unlink()
    about = run / "batches" / "0001.json"
    about.write_text(json.dumps(json.loads(about.read_text()) | {"id": ""}))
    return run


def test_a_list_of_batches_that_cannot_be_had_stops_the_run_and_no_task_fails(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with BatchServer(blind, port=PORT) as server:
        run = lost(server, tmp_path, "openai")
        server.service.troubles = {"list": [500] * 20}
        assert main(["resume", str(run), "--no-preflight"]) == 1
        assert "500: Not now" in capsys.readouterr().err
        assert not (run / "traces.jsonl").read_bytes()
        server.service.troubles = {}
        assert main(["resume", str(run), "--no-preflight"]) == 0
        nobody_paid_twice(server, tmp_path)


def test_what_a_kill_left_of_looking_into_another_batch_hides_no_file(tmp_path: Path) -> None:
    with BatchServer(blind, port=PORT) as server:
        run = lost(server, tmp_path, "anthropic")
        (run / "batches" / "0001.results.jsonl").write_text('{"custom_id": "other", "result": {}}\n')
        assert main(["resume", str(run), "--no-preflight"]) == 0
        nobody_paid_twice(server, tmp_path)
        assert len(server.service.batches) == 1


def test_a_batch_that_was_called_back_before_any_line_came_is_not_sent_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with BatchServer(blind, port=PORT, fates=lambda number, line: "missing") as server:
        told_of = server.service._told

        def cancelled(batch: Any) -> Any:
            batch.cancelled = True
            return told_of(batch)

        server.service._told = cancelled  # type: ignore[method-assign]
        assert main(command(server, tmp_path, "standard", "--batch", "openai")) == 1
        assert "was cancelled; resume asks its calls again" in capsys.readouterr().err
        assert len(server.service.batches) == 1


def test_an_answer_that_nobody_foresaw_is_no_run_that_waits_for_ever(tmp_path: Path) -> None:
    with BatchServer(blind, port=PORT, troubles={"create": ["lost"]}) as server:
        told_of = server.service._told
        server.service._told = lambda batch: told_of(batch) | {"created_at": 10**400}  # type: ignore[method-assign]
        with running(
            tmp_path / "home", "cli", *command(server, tmp_path, "standard", "--batch", "openai")
        ) as process:
            assert process.wait(PATIENCE_S) != 0


# Folders of others.


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("{", "damaged"),
        ("[1]", "0001.json"),
        ('{"number": 2, "api": "openai"}', "0001.json"),
        (
            '{"number": 7, "api": "openai", "url": "", "model": "", "token": "", "written": 0, "calls": {}}',
            "number 7",
        ),
    ],
)
def test_a_damaged_batch_file_is_named(
    text: str, why: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with BatchServer(blind, port=PORT) as server:
        assert main(command(server, tmp_path, "standard", "--batch", "openai")) == 0
        run = the_run(tmp_path)
        (run / "batches" / "0001.json").write_text(text, "utf-8")
        assert main(["resume", str(run)]) == 2
    assert "0001.json" in (said := capsys.readouterr().err) and why in said


def test_nothing_is_written_or_read_through_a_link(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with BatchServer(blind, port=PORT) as server:
        assert main(command(server, tmp_path / "runs", "standard", "--batch", "openai")) == 0
        run = the_run(tmp_path / "runs")
        results, elsewhere = run / "batches" / "0001.results.jsonl", tmp_path / "elsewhere"
        results.rename(elsewhere)
        results.symlink_to(elsewhere)
        (run / "calls.jsonl").write_bytes(b"")
        (run / "traces.jsonl").write_bytes(b"")
        assert main(["resume", str(run)]) == 2
        assert "is a link" in capsys.readouterr().err
        (run / "batches").rename(tmp_path / "moved")
        (run / "batches").symlink_to(tmp_path / "moved")
        assert main(["resume", str(run)]) == 2
        assert "batches: is a link" in capsys.readouterr().err


# The formats alone.


def test_a_message_has_what_the_system_says_apart_and_pictures_as_data() -> None:
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA", "detail": "high"}}
    body = {
        "model": "claude",
        "messages": [
            {"role": "system", "content": "Be short."},
            {"role": "user", "content": [{"type": "text", "text": "What is it?"}, picture]},
            {"role": "assistant", "content": "A pear."},
        ],
        "temperature": 1.5,
        "top_p": 0.9,
        "max_tokens": 7,
    }
    made = orjson.loads(batch_format.line("anthropic", "n", body))
    assert made == {
        "custom_id": "n",
        "params": {
            "model": "claude",
            "max_tokens": 7,
            "system": "Be short.",
            "temperature": 1.0,
            "top_p": 0.9,
            "messages": [
                {"role": "user", "content": [
                    {"type": "text", "text": "What is it?"},
                    {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}},
                ]},
                {"role": "assistant", "content": "A pear."},
            ],
        },
    }  # fmt: skip
    assert "max_tokens" in batch_format.message_of({"model": "claude", "messages": []})


def test_a_name_of_a_line_is_the_key_or_a_digest_that_no_other_file_has() -> None:
    key = "a sample/1/2/step/0/0/" + "0" * 80
    assert batch_format.custom_id("openai", "t", key) == key
    names = {batch_format.custom_id("anthropic", token, one) for token in "tu" for one in (key, key + "x")}
    assert len(names) == 4 and all(re.fullmatch(r"[A-Za-z0-9_-]{1,64}", name) for name in names)


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ({"response": {"status_code": 200, "body": 1}, "error": None}, Outcome(200, 1)),
        ({"response": {"status_code": 429, "body": 1}}, Outcome(429, 1)),
        ({"response": None, "error": {"code": "batch_expired"}}, Outcome(408, {"error": {"code": "batch_expired"}})),
        ({"response": {"status_code": True}, "error": 5}, Outcome(500, {"error": 5})),
        ({"result": {"type": "expired"}}, Outcome(408, {"error": {"message": "the request expired"}})),
        ({"result": {"type": "canceled"}}, Outcome(499, {"error": {"message": "the request canceled"}})),
        ({"result": {"type": "errored", "error": 5}}, Outcome(500, {"error": None})),
        ({"result": {"type": "errored", "error": {"error": {"type": "overloaded_error"}}}},
         Outcome(529, {"error": {"type": "overloaded_error"}})),
        ({"result": {"type": "succeeded", "message": "none"}}, Outcome(200, {"choices": []})),
    ],
)  # fmt: skip
def test_a_line_of_results_is_read(line: dict[str, Any], found: Outcome) -> None:
    assert batch_format.outcome(orjson.dumps({"custom_id": "a", **line})) == ("a", found)


@pytest.mark.parametrize("text", [b"", b"[]", b"{]", b'{"custom_id": 5}', b"[" * 100_000])
def test_what_is_no_line_of_results_is_not_read_as_one(text: bytes) -> None:
    with pytest.raises(ValueError):
        batch_format.outcome(text)


def test_a_message_that_came_back_is_read_as_a_completion() -> None:
    from lotbench.edge.models import chat_format

    message = {
        "model": "claude-x",
        "stop_reason": "max_tokens",
        "content": [{"type": "thinking", "thinking": "Hm."}, {"type": "text", "text": "A "}, {"type": "text", "text": "pear"}, 5],
        "usage": {"input_tokens": 10, "cache_read_input_tokens": 4, "cache_creation_input_tokens": 1, "output_tokens": 3},
    }  # fmt: skip
    reply = chat_format.reply(batch_format.completion(message), 0, {})
    assert reply is not None
    assert (reply.text, reply.finish, reply.reasoning, reply.model) == ("A pear", "length", "Hm.", "claude-x")
    assert (reply.usage.input_tokens, reply.usage.cached_input_tokens, reply.usage.output_tokens) == (
        15,
        4,
        3,
    )


def test_golden_table_of_what_goes_wrong_with_batch_files(seen: Seen) -> None:
    """What the tests above came to; run them all (`-m ""`) to write it anew."""
    rows = dict.fromkeys(met for met, _ in seen)
    made = "".join(
        f"| {met} | {seen.get((met, 'openai'), '-')} | {seen.get((met, 'anthropic'), '-')} |\n"
        for met in rows
    )
    page = PAGE.read_text("utf-8")
    head = "| what is met | OpenAI's API | Anthropic's API |\n| --- | --- | --- |\n"
    if os.environ.get("LOTBENCH_GOLDEN") == "write" and len(seen) >= 40:
        PAGE.write_text(PLACE.sub(lambda _: head + made, page), "utf-8")
    found = PLACE.search(PAGE.read_text("utf-8"))
    assert found
    cells = {line.split(" | ")[0][2:]: line.strip("| \n").split(" | ") for line in found[0].splitlines()[2:]}
    for (met, api), cell in seen.items():
        assert cells[met][1 + APIS.index(api)] == cell, "docs/integrations.md is out of date"
