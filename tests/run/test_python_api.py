"""lotbench as a notebook uses it: own models as callables and chat models, runs read back, errors that say where."""

import asyncio
import io
import json
import socket
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from langchain_core.language_models.chat_models import SimpleChatModel
from langchain_core.messages import BaseMessage

import lotbench
from lotbench import evaluate, evaluate_sync, load_run
from lotbench.calls.journal import read_journal
from lotbench.errors import TooManyFailures, Unescapable, Unreachable, UsageError
from lotbench.run.evaluate import resume
from lotbench.run.session import Session, synchronously
from tests.playing import SETTINGS, outcomes, steps
from tests.rules import game_rule, hear

RULE = game_rule(solve=0.4)


def said(messages: list[dict[str, Any]]) -> str:
    answer = RULE({"model": "mine", "messages": messages})
    return answer if isinstance(answer, str) else json.dumps(answer, ensure_ascii=False)


def connection_test(messages: list[dict[str, Any]]) -> bool:
    return "word" in hear({"model": "mine", "messages": messages}).form


async def mine(messages: list[dict[str, Any]]) -> str:
    """Bring your own model: one async callable."""
    return said(messages)


class Chat(SimpleChatModel):
    """A LangChain chat model that follows the rule of the game."""

    @property
    def _llm_type(self) -> str:
        return "ruled"

    def _call(
        self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **more: Any
    ) -> str:
        return said([{"content": message.content} for message in messages])


def small(out: Path, **other: Any) -> dict[str, Any]:
    """Two samples, one episode each, three rounds, everybody played by the callable."""
    given: dict[str, Any] = {"model": mine, "roles": {"judge": mine, "oracle": mine}, "out": out}
    return given | {"limit": 2, "repeats": 1, "settings": SETTINGS} | other


async def test_awaited_and_sync_come_to_the_same_and_a_plain_function_may_return_a_dictionary(
    tmp_path: Path,
) -> None:
    def plain(messages: list[dict[str, Any]]) -> Any:
        answer = said(messages)
        return json.loads(answer) if answer.startswith("{") else answer

    plain.__name__ = "mine"
    run = await evaluate(**small(tmp_path / "one"))
    twin = evaluate_sync(**small(tmp_path / "two", model=plain, roles={"judge": plain, "oracle": plain}))
    assert outcomes(run) == outcomes(twin)
    assert run.score() == twin.score()
    assert run.config.model == "python:mine"


async def test_a_chat_model_of_langchain_judges(tmp_path: Path) -> None:
    judged = small(tmp_path, roles={"judge": Chat(), "oracle": mine})
    # It may be billed, and so may replies without token counts.
    with pytest.raises(UsageError, match="no price for python:Chat"):
        await evaluate(**judged, cost_limit=1.0)
    run = await evaluate(**judged)
    assert run.summary["usage"]["cost_usd"] is None
    assert run.config.roles["judge"] == ("python:Chat",)
    entries = [entry for entry in read_journal(run.path / "calls.jsonl") if entry.role == "judge"]
    assert {entry.reply.model.partition("#")[0] for entry in entries} == {"Chat"}
    assert {"solved", "unsolved"} >= set(outcomes(run).values())
    assert steps(run, "check")


async def test_a_callable_that_raises_ends_its_episode_as_candidate_failed(tmp_path: Path) -> None:
    async def breaks(messages: list[dict[str, Any]]) -> str:
        if connection_test(messages):
            return said(messages)
        raise ValueError("no more ideas")

    run = await evaluate(**small(tmp_path, model=breaks, max_failed=1.0))
    assert set(outcomes(run).values()) == {"candidate_failed"}
    assert all("no more ideas (test_python_api.py, line " in (trace.why or "") for trace in run.traces)
    assert not any(trace.arrived for trace in run.traces)


async def test_too_many_failures_say_which_run_and_it_can_be_resumed(tmp_path: Path) -> None:
    broken = True

    async def flaky(messages: list[dict[str, Any]]) -> str:
        if broken and not connection_test(messages):
            raise ConnectionError("gone")
        return said(messages)

    with pytest.raises(TooManyFailures) as stopped:
        await evaluate(**small(tmp_path, model=flaky))
    where = stopped.value.run
    assert where is not None
    assert load_run(where).config.model == "python:flaky"
    broken = False
    run = await resume(where, own={"python:flaky": flaky, "python:mine": mine})
    assert {"solved", "unsolved"} >= set(outcomes(run).values())
    assert outcomes(run) == outcomes(await evaluate(**small(tmp_path / "whole")))


@pytest.mark.parametrize("sync", [True, False])
async def test_an_error_carries_its_run(tmp_path: Path, sync: bool) -> None:
    async def mute(messages: list[dict[str, Any]]) -> Any:
        return None

    with pytest.raises(Unescapable, match="NoneType") as stopped:
        if sync:
            evaluate_sync(**small(tmp_path, model=mute))
        else:
            await evaluate(**small(tmp_path, model=mute))
    assert stopped.value.run is not None
    assert stopped.value.run.parent == tmp_path
    assert load_run(stopped.value.run).summary["scores"]


async def test_a_cancelled_run_waits_for_its_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A second Ctrl-C left the report to a thread that wrote it without the folder's lock."""
    begun, ended = threading.Event(), threading.Event()

    def slow(session: Session) -> None:
        begun.set()
        time.sleep(0.3)
        ended.set()

    monkeypatch.setattr(Session, "finish", slow)
    running = asyncio.ensure_future(evaluate(**small(tmp_path)))
    await asyncio.to_thread(begun.wait, 30)
    for task in asyncio.all_tasks() - {asyncio.current_task()}:
        task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert ended.is_set()


async def test_what_does_not_fit_is_refused_before_there_is_a_folder(tmp_path: Path) -> None:
    for wrong, told in (
        ({"settings": {"rounds": 2}}, "rounds"), ({"model": ""}, "model"), ({"roles": {"jury": mine}}, "jury"),
        ({"modl": "red"}, "^unknown argument 'modl'; did you mean model. There are: benchmark, "),
        ({"max_rounds": 0}, "^max_rounds is a setting of lotbench: settings={'max_rounds': 0}"),
        ({"judge": mine}, r"^judge is a role of lotbench: roles=\{'judge': \.\.\.\}"),
        ({"concurrency": 0}, r"^an argument of evaluate: limits\.concurrency: "),
    ):  # fmt: skip
        with pytest.raises(UsageError, match=told) as refused:
            await evaluate(**small(tmp_path / "runs", **wrong))
        assert refused.value.run is None
    assert not (tmp_path / "runs").exists()


def test_the_api_says_what_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    assert {"evaluate", "evaluate_sync", "load_run"} <= set(dir(lotbench))
    help(evaluate_sync)
    told = capsys.readouterr().out
    assert "evaluate_sync(benchmark: 'str' = 'lotbench', *, model: 'Player' = ''" in told
    assert "config_file: A TOML file" in told and "limit=None" in told and "concurrency=20" in told


def test_a_run_shows_itself_in_a_line(tmp_path: Path) -> None:
    run = evaluate_sync(**small(tmp_path))
    assert f"{run.path}: python:mine  creativity_score {run.score():.2f} (" in repr(run)
    assert "2/2 solved" in repr(run) and repr(run).endswith(" few samples, judge not checked>")
    hostile = replace(run, config=run.config.model_copy(update={"model": "\x1b[2J<b>"}))
    assert "\n" not in repr(run) and "\x1b" not in repr(hostile) and "<b>" not in hostile._repr_html_()
    assert "<td>solve_rate</td>" in run._repr_html_() and str(run.path) not in run._repr_html_()
    assert "not ended" in repr(replace(run, summary={}))
    assert set(run.scores_frame()["metric"]) == set(run.summary["scores"])
    trace = run.traces[1]
    assert str(run.replay(trace.sample)).splitlines()[0].startswith(f"{trace.sample}, repeat 1")
    with pytest.raises(UsageError, match="no finished task of sample lot-0"):
        run.replay("lot-0")


class Bot:
    def chat(self, messages: list[dict[str, Any]]) -> str:
        return said(messages)


def test_a_method_in_two_roles_is_one_model(tmp_path: Path) -> None:
    bot = Bot()
    run = evaluate_sync(**small(tmp_path, model=bot.chat, roles={"judge": bot.chat, "oracle": Bot().chat}))
    assert run.config.roles == {"judge": ("python:chat",), "oracle": ("python:chat-oracle-0",)}
    assert "the candidate and the judge are of one family of models" in run.summary["reasons"]


def test_an_error_is_one_line_in_a_notebook_and_says_how_to_go_on(tmp_path: Path) -> None:
    stopped = TooManyFailures("3 tasks failed")
    assert stopped._render_traceback_() == ["TooManyFailures: 3 tasks failed"]
    stopped.run = tmp_path
    assert stopped._render_traceback_()[1] == f'go on: run = await lotbench.resume("{tmp_path}")'


def test_a_score_that_there_is_not_is_refused_by_name(tmp_path: Path) -> None:
    run = evaluate_sync(**small(tmp_path))
    with pytest.raises(UsageError, match=r"no score 'solve_rat'.*did you mean solve_rate\?"):
        run.score("solve_rat")
    with pytest.raises(UsageError, match="the run has not ended"):
        replace(run, summary={}).score("solve_rate")


async def test_a_judge_that_leaves_fields_out_is_told_which_there_are(tmp_path: Path) -> None:
    def judge(messages: list[dict[str, Any]]) -> Any:
        return {"same_creative_point": True} if "same_function" in str(messages[0]) else said(messages)

    told = (
        r"intervened_chain: Field required; by default a judge returns intervened_chain, .*docs/recipes\.md"
    )
    with pytest.raises(TooManyFailures, match=told):
        await evaluate(**small(tmp_path, roles={"judge": judge, "oracle": mine}))


async def test_where_nothing_listens_a_run_ends_at_once_and_leaves_no_folder_unless_one_answered(
    tmp_path: Path,
) -> None:
    nobody = f"nobody@http://127.0.0.1:{free_port()}/v1"
    started = time.monotonic()
    with pytest.raises(Unreachable, match=r"no connection to .*: is the server running") as stopped:
        await evaluate(**small(tmp_path / "runs", model=nobody, roles={"judge": nobody, "oracle": nobody}))
    assert time.monotonic() - started < 60
    assert stopped.value.run is None and not list((tmp_path / "runs").iterdir())
    with pytest.raises(Unreachable) as stopped:
        await evaluate(**small(tmp_path, roles={"judge": mine, "oracle": nobody}))
    assert stopped.value.run is not None and (stopped.value.run / "run.json").is_file()


def free_port() -> int:
    """A port on which nothing listens."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
    return port


def test_the_api_is_six_names() -> None:
    assert lotbench.__all__ == ["compare", "evaluate", "evaluate_sync", "games", "load_run", "resume"]
    assert all(callable(getattr(lotbench, name)) for name in lotbench.__all__)
    with pytest.raises(AttributeError, match="no attribute 'judge_everything'"):
        lotbench.judge_everything  # noqa: B018


def test_the_notebook_runs_from_first_cell_to_last(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = Path(lotbench.__file__).parents[1] / "examples" / "notebook.ipynb"
    cells = [cell for cell in json.loads(file.read_text("utf-8"))["cells"] if cell["cell_type"] == "code"]
    monkeypatch.chdir(tmp_path)
    known: dict[str, Any] = {}
    for cell in cells:
        exec("".join(cell["source"]), known)
    keen, slow = known["runs"]
    assert keen.score() > slow.score() > 0.0
    table = keen.to_frame()
    assert list(table["outcome"]) == ["solved"] * 8 and "snowboarding" in set(table["guess"])
    head = str(table).splitlines()[0].split()
    assert (head[:2], head[-2:]) == (["sample", "guess"], ["parts.attempts", "score"])
    assert len(slow.steps_frame()) == sum(len(trace.steps) for trace in slow.traces)
    assert list(known["compared"].to_frame()["model"]) == ["python:keen", "python:slow"]
    compared = known["compared"]
    stored = json.dumps([cell["outputs"] for cell in cells], ensure_ascii=False)
    said = [
        compared.said[0],
        f"[{keen.score()}, {slow.score()}]",
        str(slow.replay("lot-0002")).splitlines()[-1],
    ]
    assert [text for text in said if text not in stored] == [], "jupyter nbconvert --execute --inplace"
    assert sum(bool(cell["outputs"]) for cell in cells) == len(cells) - 3, "all but the functions"
    assert repr(keen.traces[0]) == "<lot-0034, repeat 1: solved, score 1.0, 2 steps>"
    assert compared.said[0] in repr(compared) and len(repr(compared)) < 300
    assert "<td>python:keen</td>" in compared._repr_html_()


class Screen(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_terminal_or_a_log_shows_the_progress_unless_it_is_turned_off(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for progress, stream in [(shown, make()) for shown in (True, False) for make in (Screen, io.StringIO)]:
        monkeypatch.setattr("sys.stderr", stream)
        evaluate_sync(**small(tmp_path, progress=progress))
        assert ("2/2 games" in stream.getvalue()) is progress
        *_, model, score, played, told = stream.getvalue().splitlines() or [""] * 4
        assert told.endswith("/report.html") is Path(told[8:]).is_file() is progress
        assert model.endswith("model   python:mine") is score.endswith("interval over 2 samples") is progress
        assert played.startswith("played  2/2 solved, 1.5 rounds a game, ") is progress


async def thread() -> int:
    return threading.get_ident()


def test_work_runs_in_this_thread_so_that_ctrl_c_reaches_it() -> None:
    assert synchronously(thread()) == threading.get_ident()


async def test_inside_a_running_loop_work_has_a_thread_of_its_own() -> None:
    assert synchronously(thread()) != threading.get_ident()
