"""A model is what an address serves under an id, and run.json says which address that was."""

from pathlib import Path

import pytest

from lotbench.calls.journal import Entry, Totals
from lotbench.cli import main
from lotbench.config.experiment import Limits
from lotbench.config.model_names import identity, parse
from lotbench.harness.judge_validation import judged_by
from lotbench.report import trust
from lotbench.report.leaderboard import differing
from lotbench.run.loading import Run, load_run, planned
from lotbench.run.results import _twins, entry
from lotbench.types import Key, Reply
from tests.server import FakeServer


def played(out: Path, players: FakeServer, judge: FakeServer, monkeypatch: pytest.MonkeyPatch) -> Run:
    """A run whose judge has a name of OpenAI and answers at another address."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-1")
    monkeypatch.setenv("OPENAI_BASE_URL", judge.url)
    who = [f"--model=m@{players.url}", f"--oracle=o@{players.url}", "--judge=gpt-4o-mini"]
    how = ["--limit=1", "--repeats=1", "--set=max_rounds=2", "--set=arm=caption", f"--out={out}"]
    assert main(["evaluate", *who, *how]) == 0
    return load_run("latest", out)


def test_the_address_of_a_judge_is_the_one_in_run_json(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with FakeServer() as players, FakeServer() as here, FakeServer() as there:
        run = played(tmp_path / "here", players, here, monkeypatch)
        other = played(tmp_path / "there", players, there, monkeypatch)
        asked = here.log()["finished"]
        monkeypatch.delenv("OPENAI_BASE_URL")
        assert identity(planned(run, Limits()).names["judge"][0]) == f"gpt-4o-mini@{here.url}"
        assert main(["resume", str(run.path)]) == 2
        assert here.log()["finished"] == asked
    said = f"gpt-4o-mini: the run began at {here.url}, the environment names the provider's own address"
    assert said in capsys.readouterr().err
    [line] = [line for line in differing(entry(run), entry(other)) if line.startswith("roles.judge")]
    assert here.url in line and there.url in line


def test_an_id_like_the_configured_name_is_compared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with FakeServer() as players:
        with FakeServer(suffix="") as judge:
            run = played(tmp_path / "said", players, judge, monkeypatch)
        with FakeServer(suffix="-evil", port=judge.port) as judge:
            other = played(tmp_path / "evil", players, judge, monkeypatch)
    names = [f"gpt-4o-mini{suffix}@{judge.url}" for suffix in ("", "-evil")]
    assert differing(entry(run), entry(other)) == ["judge: " + " and ".join(names)]


def test_two_models_whose_server_names_none_are_two() -> None:
    totals = Totals()
    for at, name in enumerate(("small@http://host/v1", "big@http://host/v1")):
        key = Key("lot-0001", 1, 1, "judge", 0, at, "0123456789abcdef")
        totals.add(Entry(key, "judge", at, name, "call", 0.0, Reply("Yes", "")))
    assert totals.ids() == {"judge": [["small@http://host/v1"], ["big@http://host/v1"]]}


def test_an_alias_and_a_dated_name_are_one_judge() -> None:
    totals, names = Totals(), {"judge": (parse("gpt-4o-mini"), parse("openrouter/openai/gpt-4o-mini"))}
    for at, name in enumerate(names["judge"]):
        key = Key("lot-0001", 1, 1, "judge", 0, at, "0123456789abcdef")
        answered = ("gpt-4.1-mini-2024-07-18", "openai/gpt-4-1-mini")[at]
        totals.add(Entry(key, "judge", at, name.text, "call", 0.0, Reply("Yes", answered)))
    said = "gpt-4o-mini and openrouter/openai/gpt-4o-mini are one model (gpt-4-1-mini)"
    assert _twins(totals, names) == [said] and trust.in_short([said]) == ("few judges",)


def test_a_check_of_a_server_with_one_id_for_all_counts_for_the_name_that_was_asked() -> None:
    """A judge that says yes to everything was trusted by the check of another one behind the same proxy."""
    checked, lying, honest = (parse(f"{name}@http://host/v1") for name in ("good", "yes", "m"))
    assert judged_by([["m"]], [checked], [0]) != judged_by([["m"]], [lying], [0])
    assert judged_by([["m"]], [honest], [0]) == {"models": ["m"], "addresses": ["http://host/v1"]}
