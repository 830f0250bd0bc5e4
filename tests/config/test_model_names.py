"""Model names: every form of them, and which ids are one model."""

import csv
import string
from itertools import product
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lotbench.config.model_names import (
    PROVIDERS,
    ModelName,
    address,
    base_model,
    identity,
    kin,
    parse,
    related,
    slug,
)
from lotbench.errors import UsageError

URL, OWN = "https://api.openai.com/v1", "http://127.0.0.1:8000/v1"
FORMS = {
    # name: kind, model, adapter, url, key, provider
    "gpt-4o-mini": ("api", "gpt-4o-mini", "", URL, "OPENAI_API_KEY", "openai"),
    "ollama/qwen3:8b": ("api", "qwen3:8b", "", "http://127.0.0.1:11434/v1", None, "ollama"),
    f"meta-llama/L3@{OWN}": ("api", "meta-llama/L3", "", OWN, "LOTBENCH_API_KEY", "url"),
    "local": ("local", ""),
    "local:/weights/a@b.gguf": ("local", "/weights/a@b.gguf"),
    "hf:Qwen/Qwen3-0.6B": ("hf", "Qwen/Qwen3-0.6B"),
    "hf:Qwen/Qwen3-0.6B+out/a+b": ("hf", "Qwen/Qwen3-0.6B", "out/a+b"),
    "file:runs/one/calls.jsonl": ("file", "runs/one/calls.jsonl"),
    "human": ("human", "human"),
    "python:my_model": ("python", "my_model"),
}


@pytest.mark.parametrize("name", FORMS)
def test_every_form_is_read(name: str) -> None:
    assert parse(name) == ModelName(name, *FORMS[name])  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "kind", "model", "url"),
    [
        # The forms with a word in front come first, whatever follows them.
        ("hf:org/name@http://h/v1", "hf", "org/name@http://h/v1", ""),
        ("file:replies@http://h/v1", "file", "replies@http://h/v1", ""),
        ("local:m@http://h/v1", "local", "m@http://h/v1", ""),
        # Then an address at the end, before any provider is looked for.
        ("local@http://h/v1", "api", "local", "http://h/v1"),
        ("human@http://h/v1", "api", "human", "http://h/v1"),
        ("openai/gpt-4o@https://proxy.example/v1/", "api", "openai/gpt-4o", "https://proxy.example/v1"),
        ("nobody/m@http://h/v1", "api", "nobody/m", "http://h/v1"),
        ("claude@20240620@http://h:1/v1", "api", "claude@20240620", "http://h:1/v1"),
        ("m@http://[::1]:8000/v1", "api", "m", "http://[::1]:8000/v1"),
        # Only then a provider.
        ("openai/gpt-4o", "api", "gpt-4o", "https://api.openai.com/v1"),
        ("  gpt-4o\n", "api", "gpt-4o", "https://api.openai.com/v1"),
    ],
)
def test_a_name_is_read_from_left_to_right(name: str, kind: str, model: str, url: str) -> None:
    found = parse(name)
    assert (found.kind, found.model, found.url) == (kind, model, url)


@pytest.mark.parametrize(
    ("variable", "name"),
    [
        ("OPENAI_BASE_URL", "gpt-4o"), ("OPENAI_API_BASE", "langchain:openai:gpt-4o"),
        ("ANTHROPIC_BASE_URL", "langchain:anthropic:claude"), ("MISTRAL_BASE_URL", "langchain:mistralai:large"),
        ("GOOGLE_GEMINI_BASE_URL", "langchain:google_genai:flash"),
    ],
)  # fmt: skip
def test_an_address_of_the_environment_belongs_to_the_identity(
    monkeypatch: pytest.MonkeyPatch, variable: str, name: str
) -> None:
    assert address(parse(name)) == ""
    monkeypatch.setenv(variable, f"{OWN}/")
    assert address(parse(name)) == address(parse(f"gpt-4o@{OWN}")) == OWN
    assert address(parse("deepseek/m")) == address(parse("langchain:xai:m")) == ""


def test_what_anyone_may_serve_under_an_id_is_not_the_model_of_a_provider() -> None:
    names = ("gpt-4o", "langchain:ollama:gpt-4o", "langchain:groq:gpt-4o", "python:gpt-4o")
    assert len({identity(parse(name), "gpt-4o") for name in names}) == len(names)


@pytest.mark.parametrize("provider", PROVIDERS)
def test_each_provider_has_an_address_and_the_variable_of_its_key(provider: str) -> None:
    found = parse(f"{provider}/some/model")
    assert (found.model, found.provider, found.kind) == ("some/model", provider, "api")
    assert found.url == PROVIDERS[provider].url
    assert found.url.startswith("https://" if found.key else "http://127.0.0.1")
    assert found.key is None or found.key == f"{provider.upper()}_API_KEY"


def test_an_unknown_provider_is_an_error_that_lists_the_known_ones() -> None:
    with pytest.raises(UsageError) as caught:
        parse("mistral/large")
    assert "'mistral'" in str(caught.value)
    assert all(provider in str(caught.value) for provider in PROVIDERS)
    assert "NAME@http://host:port/v1" in str(caught.value)


@pytest.mark.parametrize(
    ("name", "told"),
    [
        *((name, None) for name in ("", " ", "openai/", "hf:", "hf:+adapter", "file:", "python:", "/m")),
        *(
            (name, "control characters")
            for name in ("a\x1b[2Jb", "a\x9bb@http://h/v1", "file:\udcff", "hf:a\u202eb", "human:a\nb")
        ),
        *((f"m@http://{url}/v1", "address") for url in (":8000", "h:port", "h:70000", "[::1")),
        *(
            (f"m@http://{url}", "LOTBENCH_API_KEY")
            for url in ("me:sk-secret@h/v1", "sk-secret@h/v1", "h/v1?key=sk-secret")
        ),
    ],
)
def test_a_name_that_is_none_is_refused_steers_no_terminal_and_repeats_no_key(
    name: str, told: str | None
) -> None:
    with pytest.raises(UsageError, match=told) as caught:
        parse(name)
    assert str(caught.value).isprintable() and "sk-secret" not in str(caught.value)


@given(st.text(string.ascii_letters + string.digits + "@:/+.-# \n中é", max_size=30))
def test_any_text_is_a_name_or_a_usage_error(text: str) -> None:
    try:
        found = parse(text)
    except UsageError:
        return
    assert found.text == text.strip()
    assert parse(found.text) == found


@pytest.mark.parametrize(
    ("model_id", "base"),
    [
        ("gpt-4o-mini", "gpt-4o-mini"), ("gpt-4o-mini-2024-07-18", "gpt-4o-mini"),
        ("openai/gpt-4o-mini-2024-07-18", "gpt-4o-mini"), ("gpt-4-0613", "gpt-4"),
        ("claude-sonnet-4-20250514", "claude-sonnet-4"),
        ("claude-3-5-sonnet@20240620", "claude-3-5-sonnet"), ("mistral-large-2411", "mistral-large"),
        ("command-r-08-2024", "command-r"), ("gemini-2.5-pro-preview-05-06", "gemini-2.5-pro"),
        ("gemini-2.5-flash-preview-09-2025", "gemini-2.5-flash"),
        ("gemini-2.0-flash-001", "gemini-2.0-flash"), ("gpt-5-chat-latest", "gpt-5"),
        ("o1-preview-2024-09-12", "o1"), ("o3-mini-high", "o3-mini"), ("gpt-5-minimal", "gpt-5"),
        ("claude-opus-4-1-20250805-thinking", "claude-opus-4-1"),
        ("meta-llama/Llama-3.3-70B-Instruct:free", "llama-3.3-70b"), ("llama3.2:latest", "llama3.2"),
        ("qwen3:8b", "qwen3:8b"), ("/weights/SmolLM2-135M-Instruct.gguf", "smollm2-135m"),
    ],
)  # fmt: skip
def test_the_base_model_is_without_maker_date_effort_and_variant(model_id: str, base: str) -> None:
    assert base_model(model_id) == base


@pytest.mark.parametrize("other", ["llama3.2", "deepseek-v3"])
def test_a_distilled_model_is_related_to_both_its_families(other: str) -> None:
    assert related("deepseek-r1-distill-llama-70b", other)
    assert related(other, "deepseek-r1-distill-llama-70b")


@given(st.text(max_size=60))
def test_a_base_model_is_its_own_base_and_any_name_a_folder_name(text: str) -> None:
    assert base_model(base_model(text)) == base_model(text)
    assert slug(text).strip(string.ascii_letters + string.digits + ".-") == ""
    assert 0 < len(slug(text)) <= 40
    assert not slug(text).startswith((".", "-"))


def test_a_slug_leaves_the_address_out() -> None:
    assert slug("meta-llama/L3@http://127.0.0.1:8000/v1") == "meta-llama-L3"
    assert slug("long/" + "b" * 39) == "b" * 39


@pytest.mark.parametrize(
    ("one", "other", "alike"),
    [
        ("gpt-4o-mini", "openai/gpt-4o-mini-2024-07-18", True), ("gpt-4o", "gpt-4o-mini", True),
        ("o3-mini-high", "openrouter/openai/o3-mini-low", True), ("local", "local", True),
        ("local", "local:/some/other.gguf", False), ("human", "human", False), ("human", "gpt-4o", False),
    ],
)  # fmt: skip
def test_kin_are_one_model_or_siblings_and_people_are_nobodys(one: str, other: str, alike: bool) -> None:
    assert kin(parse(one), parse(other)) is alike
    assert kin(parse(other), parse(one)) is alike


def test_every_spelling_of_a_model_is_kin_to_its_family_and_to_no_other() -> None:
    with (Path(__file__).parents[1] / "cases" / "kinship.csv").open(encoding="utf-8", newline="") as file:
        table = [(row["family"], row["spelling"]) for row in csv.DictReader(file)]
    wrong = [
        (one, other)
        for (family, one), (of, other) in product(table, repeat=2)
        if related(one, other) is not (family == of)
    ]
    assert len(table) >= 90
    assert wrong == []
