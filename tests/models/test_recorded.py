"""Recorded replies and a person as models."""

import asyncio
import builtins
import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from lotbench.errors import CallFailed, Unescapable, UsageError
from lotbench.models.person import PersonModel
from lotbench.models.recorded import RecordedModel
from lotbench.types import Image, Message
from tests.asking import question
from tests.fakes import game_rule
from tests.playing import outcomes, play, steps
from tests.server import FakeServer


@pytest.mark.parametrize("file", ["", "calls.jsonl", "traces.jsonl"])
async def test_a_recorded_candidate_plays_the_same_game_again(tmp_path: Path, file: str) -> None:
    rule = game_rule(solve=0.1, unreadable=0.2, refuse=0.2)
    with FakeServer(rule=rule) as server:
        rules = {"repeats": 2, "settings": {"judge_mode": "explained"}}
        run = await play(server, tmp_path / "1", **rules)
        again = await play(server, tmp_path / "2", **rules, candidate=f"file:{run.path / file}")
        asked = server.log()["by_model"]
    assert outcomes(again) == outcomes(run)
    first, second = (
        [(step["status"], step["guess"]) for step in steps(one, "respond")] for one in (run, again)
    )
    assert second == first
    assert asked["candidate"] == run.summary["usage"]["by_role"]["candidate"]["calls"]


async def test_a_reply_is_found_by_its_place_whatever_the_wording(tmp_path: Path) -> None:
    with FakeServer() as server:
        run = await play(server, tmp_path, limit=1)
    model = RecordedModel(run.path / "calls.jsonl", "candidate")
    line = next(
        table
        for table in map(json.loads, (run.path / "calls.jsonl").read_text(encoding="utf-8").splitlines())
        if table["key"]["step"] == "respond"
    )
    key = replace(question().key, **{**line["key"], "digest": "another"})
    assert (await model(replace(question(), key=key))).text == line["reply"]["text"]
    # Asked again where the recording was read at once: the same reply.
    assert (await model(replace(question(), key=replace(key, attempt=1)))).text == line["reply"]["text"]
    with pytest.raises(CallFailed, match="no reply recorded for lot-9999/"):
        await model(replace(question(), key=replace(key, sample="lot-9999")))


def test_a_file_that_is_no_recording_is_named(tmp_path: Path) -> None:
    missing = tmp_path / "calls.jsonl"
    with pytest.raises(UsageError, match="No such file"):
        RecordedModel(missing, "candidate")
    for content in (b"{}\n", b"[]\n", b"\xff\n", b"3\n", b'{"steps": 3}\n', b'{"reply": {}}\n'):
        missing.write_bytes(content)
        with pytest.raises(UsageError, match=r"calls\.jsonl:1: neither a line of calls\.jsonl nor of traces"):
            RecordedModel(missing, "candidate")
    missing.write_bytes(b"")
    with pytest.raises(UsageError, match="no replies of the candidate in it"):
        RecordedModel(missing, "candidate")


class Terminal:
    """A terminal at which somebody types these lines, and what was shown there."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *lines: str) -> None:
        self.lines = list(lines)
        self.prompts: list[str] = []
        monkeypatch.setattr(sys.stdin, "isatty", lambda: True, raising=False)
        monkeypatch.setattr(builtins, "input", self._input)

    def _input(self, prompt: str) -> str:
        self.prompts.append(prompt)
        if not self.lines:
            raise EOFError
        return self.lines.pop(0)


async def test_a_person_sees_the_rules_once_and_answers_line_by_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    Terminal(monkeypatch, "a sofa", "a piano")
    model = PersonModel()
    rules = Message("system", ("The rules.",))
    asked = [
        replace(question(), messages=(rules, Message("user", (Image("ab"), f"Round {round}."))))
        for round in (1, 2)
    ]
    replies = await asyncio.gather(*(model(request) for request in asked))
    assert [reply.text for reply in replies] == ['{"guess": "a sofa"}', '{"guess": "a piano"}']
    assert {reply.model for reply in replies} == {question().model}
    shown = capsys.readouterr().out
    assert shown.count("The rules.") == 1
    assert shown.index("Round 1.") < shown.index("Round 2.")
    assert shown.count("picture: not shown here") == 2


async def test_what_a_model_wrote_steers_no_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    Terminal(monkeypatch, "a sofa")
    said = "RESPONSE: \x1b]0;owned\x07\x1b[2Jnothing \u202eto see"
    request = replace(
        question(), messages=(Message("system", ("Rules of\x1b[8m",)), Message("user", (said,)))
    )
    await PersonModel()(request)
    shown = capsys.readouterr().out
    assert "nothing" in shown and not set("\x1b\x07\u202e") & set(shown)


async def test_a_closed_terminal_stops_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    Terminal(monkeypatch)
    with pytest.raises(Unescapable, match="the terminal was closed; the run can be resumed"):
        await PersonModel()(question())


def test_a_person_needs_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.stdin, "isatty", lambda: False, raising=False)
    with pytest.raises(UsageError, match="human: a person needs a terminal to play in") as caught:
        PersonModel()
    assert caught.value.exit_code == 2


async def test_a_person_plays_a_whole_game_and_is_not_tested_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    terminal = Terminal(monkeypatch, *["a red sofa", "Is it alive?"] * 9)
    with FakeServer(rule=game_rule(solve=0)) as server:
        run = await play(
            server, tmp_path, samples=["lot-0001"], candidate="human", settings={"max_rounds": 2}
        )
    assert outcomes(run) == {"lot-0001/1": "unsolved"}
    # A repeated guess is a used round; nobody was asked to fill in the JSON of a connection test.
    assert [step["guess"] for step in steps(run, "respond")] == ["a red sofa", "a red sofa"]
    assert len(terminal.prompts) == 3
    assert "connection test" not in capsys.readouterr().out


async def test_one_call_an_index_tests_the_connection(tmp_path: Path) -> None:
    """One model in all roles is tested in each: the roles are sampled and shown pictures differently."""
    with FakeServer(keep_bodies=True) as server:
        one = f"one@{server.url}"
        run = await play(server, tmp_path, candidate=one, judge=[one, f"two@{server.url}"], oracle=one)
        tests = [body for body in server.bodies if "connection test" in json.dumps(body)]
    assert [body["model"] for body in tests].count("one") == 3
    assert [body["model"] for body in tests].count("two") == 1
    journal = (run.path / "calls.jsonl").read_text(encoding="utf-8")
    assert journal.count('"step":"preflight"') == 4
    assert run.summary["usage"]["calls"] == journal.count("\n")
