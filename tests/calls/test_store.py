"""The store: an entry depends on all that it depends on, and is whole or not there."""

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lotbench.calls.store import Store
from lotbench.checks.probes import key_of
from lotbench.config.experiment import load
from lotbench.models.registry import Models
from lotbench.run.plan import make
from lotbench.storage.home import home
from lotbench.types import Image, Key, Message, Reply, Request, Sampling, Usage

REQUEST = Request(
    key=Key("lot-0001", 0, 0, "chain", 0, 0, "0123456789abcdef"),
    model="judge@http://127.0.0.1:1/v1",
    messages=(Message("system", ("Build the chain.",)), Message("user", (Image("ab" * 32), "一只猫"))),
    schema={"title": "Chain", "type": "object"},
    sampling=Sampling(temperature=0.0, seed=7),
)
REPLY = Reply("a -> b", "judge-2026", usage=Usage(10, 5, 2), sent={"structured": "json_schema"})


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path)


def files(store: Store) -> list[Path]:
    return [path for path in store.root.rglob("*") if path.is_file()]


def test_what_was_kept_comes_out(store: Store) -> None:
    store.put(REQUEST, REPLY)
    assert store.get(REQUEST, "judge-2026") == REPLY
    assert Store(store.root.parent).get(REQUEST, "judge-2026") == REPLY


@pytest.mark.parametrize(
    "change",
    [
        {"messages": (Message("user", ("Other words.",)),)},
        {"messages": (REQUEST.messages[0], Message("user", (Image("cd" * 32), "一只猫")))},
        {"schema": {"title": "Chain"}},
        {"schema": None},
        {"sampling": Sampling(temperature=0.7, seed=7)},
        {"sampling": Sampling(temperature=0.0, seed=8)},
        {"key": replace(REQUEST.key, step="steps")},
    ],
)
def test_an_entry_depends_on_all_of_the_request(store: Store, change: dict[str, Any]) -> None:
    store.put(REQUEST, REPLY)
    assert store.get(replace(REQUEST, **change), "judge-2026") is None


@pytest.mark.parametrize("url", ["", "http://127.0.0.1:1/v1", "http://127.0.0.1:2/v1"])
def test_an_entry_and_a_check_depend_on_the_address_of_the_environment(
    store: Store, monkeypatch: pytest.MonkeyPatch, url: str
) -> None:
    def asked(url: str) -> tuple[str, Any]:
        monkeypatch.setenv("OPENAI_BASE_URL", url)
        plan = make(load(None, flags={"model": "gpt-4o-mini", "roles.judge": ["gpt-4o-mini"]}))
        judge = Models(plan.pictures, plan.limits, {}).role_models(plan.names)["judge"][0]
        return judge.address, key_of(plan, "judge", [0], plan.settings, {"judge": [[REPLY.model]]})

    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    address, check = asked(url)
    other_address, other_check = asked("http://127.0.0.1:3/v1")
    store.put(REQUEST, REPLY, address)

    assert store.get(REQUEST, REPLY.model, address) == REPLY
    assert store.get(REQUEST, REPLY.model, other_address) is None
    assert address == url and (not url or store.get(REQUEST, REPLY.model) is None)
    assert check is not None and check != other_check
    assert asked(url) == (address, check)


def test_an_entry_depends_on_the_model_that_answered_and_not_on_its_name(store: Store) -> None:
    store.put(REQUEST, REPLY)
    assert store.get(REQUEST, "judge-2027") is None
    assert store.get(replace(REQUEST, model="judge"), "judge-2026") == REPLY


def test_a_fresh_store_gives_nothing_and_keeps_what_comes(store: Store) -> None:
    fresh = Store(store.root.parent, fresh=True)
    store.put(REQUEST, replace(REPLY, text="old"))
    assert fresh.get(REQUEST, "judge-2026") is None
    fresh.put(REQUEST, REPLY)
    assert store.get(REQUEST, "judge-2026") == REPLY


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"reply": {}}', b'{"reply": 3}', b"\xff", b"null"])
def test_a_damaged_entry_is_none(store: Store, content: bytes) -> None:
    store.put(REQUEST, REPLY)
    (path,) = files(store)
    path.write_bytes(content)
    assert store.get(REQUEST, "judge-2026") is None
    store.put(REQUEST, REPLY)
    assert store.get(REQUEST, "judge-2026") == REPLY


def test_an_entry_is_written_whole_or_not_at_all(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*args: Any, **kwargs: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    store.put(REQUEST, REPLY)

    assert files(store) == []
    assert store.get(REQUEST, "judge-2026") is None


def test_a_store_that_cannot_be_written_costs_a_call_and_no_more(tmp_path: Path) -> None:
    (tmp_path / "store").write_text("a file where the folder should be", encoding="utf-8")
    store = Store(tmp_path)
    store.put(REQUEST, REPLY)
    assert store.get(REQUEST, "judge-2026") is None


def test_home_is_the_variable_or_the_cache_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("LOTBENCH_HOME", str(tmp_path))
    assert home() == tmp_path
    monkeypatch.setenv("LOTBENCH_HOME", "")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert home() == tmp_path / ".cache" / "lotbench"
