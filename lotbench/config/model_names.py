"""Model names: parsing, and which ids belong to one model or family.

Forms of a name, in this order: `hf:BASE+ADAPTER` (optionally `:4bit` or `:8bit`), `local`, `file:`, `human` or
`human:WHO`, `python:`, `langchain:PROVIDER:NAME`, `NAME@http(s)://...`, `provider/name`, else a model of OpenAI. An
unknown provider is an error that lists the known ones.
"""

import os
import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Literal, TypeAlias, cast
from urllib.parse import urlsplit

from lotbench.config.makers import SERVED_BY, makers
from lotbench.errors import UsageError, among

Kind: TypeAlias = Literal["api", "hf", "local", "file", "human", "python", "langchain"]
Quantize: TypeAlias = Literal["none", "8bit", "4bit"]


@dataclass(frozen=True, slots=True)
class Provider:
    """The URL of a provider's OpenAI-compatible API, and the environment variable that holds its key (None: no key)."""

    url: str
    key: str | None


PROVIDERS = {
    "openai": Provider("https://api.openai.com/v1", "OPENAI_API_KEY"),
    "openrouter": Provider("https://openrouter.ai/api/v1", "OPENROUTER_API_KEY"),
    "deepseek": Provider("https://api.deepseek.com/v1", "DEEPSEEK_API_KEY"),
    "gemini": Provider("https://generativelanguage.googleapis.com/v1beta/openai", "GEMINI_API_KEY"),
    "anthropic": Provider("https://api.anthropic.com/v1", "ANTHROPIC_API_KEY"),
    "dashscope": Provider("https://dashscope.aliyuncs.com/compatible-mode/v1", "DASHSCOPE_API_KEY"),
    "ollama": Provider("http://127.0.0.1:11434/v1", None),
    "vllm": Provider("http://127.0.0.1:8000/v1", None),
}

MAKERS = ("openai", "anthropic", "deepseek", "google_genai", "mistralai", "openrouter", "xai")
"""Providers of LangChain that serve one public model under an id."""
ADDRESS_VARIABLES = {"mistralai": ("MISTRAL",), "google_genai": ("GOOGLE", "GOOGLE_GEMINI", "GOOGLE_VERTEX")}
"""How the variables for a provider's address begin, if not with its name."""

_URL = re.compile(r"^(?P<model>.+)@(?P<url>https?://\S+)$")
_DATE = re.compile(r"[-@](?:20\d{2}-?\d{2}-?\d{2}|20\d{2}-\d{2}|\d{2}-20\d{2}|\d{2}-\d{2}|\d{4}|0\d{2})$")
_VARIANT = re.compile(
    r"(?:-(?:high|medium|low|minimal|none|xhigh|thinking|reasoning|reasoner|latest|preview|beta|exp|instruct|chat)|:[a-z]+)$"
)

_OWN_NAMES = ("python:", "human:")
_WORD = re.compile(r"(?:(?:azure|chat|code|llm|model|my|open|text)[-_.])*+([a-z]{2,})(?![a-z])")
"""The first word of a model's name behind words that many families have."""

_MARK = re.compile(r"#[0-9a-f]{8}(?:@python)?$")
_NO_SCHEME = re.compile(r"^(.+)@([\w.-]+:\d+)(?:/v1)?/?$")
"""An address with a port and without a scheme."""


@dataclass(frozen=True, slots=True)
class ModelName:
    """A parsed model name.

    Attributes:
        text: The whole name.
        model: The model id, base model or path.
        adapter: A peft adapter, for `hf:`.
        quantize: The quantization of the weights, for `hf:`.
        url: The base URL of the API, from an environment variable if one is set; empty if none is needed, or if the
            provider's package knows it.
        key: The environment variable that holds the key; None if no key is needed.
        provider: The provider of an API model or LangChain model; `url` for `NAME@URL`.
    """

    text: str
    kind: Kind
    model: str
    adapter: str = ""
    url: str = ""
    key: str | None = None
    provider: str = ""
    quantize: Quantize = "none"


Names: TypeAlias = Mapping[str, tuple[ModelName, ...]]
"""The models of each role, by index."""
Servers: TypeAlias = Mapping[str, str] | None
"""The addresses that a run recorded, by the name of the model, in place of those in the environment; None for a new run."""


def parse(name: str, servers: Servers = None) -> ModelName:
    """Return a parsed model name.

    Args:
        name: The name.
        servers: The recorded addresses of a run that exists.

    Raises:
        UsageError: The name or a part of it is empty, the provider is unknown, or the address is invalid; or the name has
            a character that steers a terminal or that is no UTF-8.
    """
    name = name.strip()
    if not name:
        raise UsageError("a model name is empty")
    if any(unicodedata.category(character) in ("Cc", "Cf", "Cs") for character in name):
        raise UsageError(f"{name!r}: a model name has control characters, or bytes that are no UTF-8")
    if name == "placebo":
        raise UsageError(
            "placebo: it plays no more; the chance line follows from a judge-check (docs/judges.md)"
        )
    if bare := _NO_SCHEME.match(name):
        raise UsageError(f"{name!r}: an address begins with http://: {bare[1]}@http://{bare[2]}/v1")
    model_name = _parsed(name, servers)
    if not model_name.model and model_name.kind != "local":
        raise UsageError(f"{name!r}: the name of the model itself is missing")
    return model_name


def _parsed(name: str, servers: Servers) -> ModelName:
    kind, colon, rest = name.partition(":")
    if colon and kind in ("python", "file"):
        return ModelName(name, cast(Kind, kind), rest)
    if colon and kind == "langchain":
        provider, _, model = rest.partition(":")
        ends = ("API_BASE", "API_URL", "BASE_URL")
        starts = (provider.upper(), *ADDRESS_VARIABLES.get(provider, ()))
        url = _url_elsewhere(name, servers, provider, *(f"{start}_{end}" for start in starts for end in ends))
        return ModelName(name, "langchain", model, url=url, provider=provider)
    if name == "human" or name.startswith("human:"):
        return ModelName(name, "human", name[6:].strip() if ":" in name else name)
    if name == "local" or name.startswith("local:"):
        return ModelName(name, "local", name.partition(":")[2])
    if name.startswith("hf:"):
        whole, _, packed = name[3:].rpartition(":")
        quantize: Quantize = "4bit" if packed == "4bit" else "8bit" if packed == "8bit" else "none"
        base, _, adapter = (name[3:] if quantize == "none" else whole).partition("+")
        return ModelName(name, "hf", base, adapter, quantize=quantize)
    if match := _URL.match(name):
        url = checked_url(f"{match['model']}@...", match["url"].rstrip("/"), "$LOTBENCH_API_KEY")
        return ModelName(name, "api", match["model"], url=url, key="LOTBENCH_API_KEY", provider="url")
    provider, slash, model = name.partition("/")
    if not slash:
        provider, model = "openai", name
    if provider not in PROVIDERS:
        known = among(provider, PROVIDERS)
        raise UsageError(f"{name!r}: unknown provider {provider!r}{known}, or NAME@http://host:port/v1")
    server = PROVIDERS[provider]
    url = _url_elsewhere(name, servers, provider, "OPENAI_BASE_URL") if provider == "openai" else ""
    return ModelName(name, "api", model, url=url or server.url, key=server.key, provider=provider)


def _url_elsewhere(name: str, servers: Servers, provider: str, *variables: str) -> str:
    """Return the recorded address of a name; without a record, that in the first variable that is set; else "".

    Raises:
        UsageError: The address is invalid.
    """
    if servers is not None:
        url = servers.get(name, "")
        return checked_url("run.json: servers", url, f"${provider.upper()}_API_KEY") if url else ""
    for variable in variables:
        if url := os.environ.get(variable, "").strip():
            return checked_url(f"${variable}", url, f"${provider.upper()}_API_KEY")
    return ""


def without_address(name: str) -> str:
    """Return a model's name, or a returned id, which may be any text, without the address of its server."""
    match = _URL.match(name)
    return match["model"] if match else name


def checked_url(place: str, url: str, key: str) -> str:
    """Return the base URL of an API unchanged; refuse one that is invalid or could hold a secret, since run folders keep it.

    Args:
        place: Where the URL was given, for the error message; the URL itself may hold a secret.
        url: The address.
        key: The environment variable for the key, for the error message.

    Raises:
        UsageError: The URL has another scheme than http(s), no host, an invalid port, a user name, a query or a fragment.
    """
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    if not usable:
        raise UsageError(f"{place}: the address has no host, or a port that is none")
    if parts.username is not None or parts.query or parts.fragment:
        raise UsageError(f"{place}: an address is written down: put the key into {key}")
    return url


def address(name: ModelName) -> str:
    """Return the address that is part of the identity of a model; "" if its id alone identifies it.

    Public providers serve one model under an id, however it is named (`openai/NAME`, `NAME@https://api.openai.com/v1`).
    Other servers (`NAME@URL`, `$OPENAI_BASE_URL`, ollama, vllm) may serve any weights under an id, and so may most packages
    of LangChain (`langchain:ollama:NAME`) and Python objects. A recording is identified by its file.
    """
    if name.url:
        return "" if _same_url(name.url) in PUBLIC else _same_url(name.url)
    if name.kind == "langchain" and name.provider not in MAKERS:
        return f"langchain:{name.provider}"
    return {"file": name.text, "python": "python"}.get(name.kind, "")


def identity(name: ModelName, model_id: str = "") -> str:
    """Return the identity of a model: its returned or requested id, with its address if `address` gives one."""
    model = model_id or (name.model if name.kind in ("api", "langchain") else name.text)
    return f"{model}@{address(name)}" if address(name) else model


def _same_url(url: str) -> str:
    """Return a URL in normal form: lower-case host, no default port, no slash at the end."""
    parts = urlsplit(url)
    default = {"http": 80, "https": 443}.get(parts.scheme)
    port = f":{parts.port}" if parts.port not in (None, default) else ""
    host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
    return f"{parts.scheme}://{host}{port}{parts.path.rstrip('/')}"


PUBLIC = frozenset(_same_url(provider.url) for provider in PROVIDERS.values() if provider.key is not None)
"""The addresses of public providers; providers without a key are local servers."""


def base_model(model_id: str) -> str:
    """Return the base model of an id: without maker, date, reasoning effort and variant.

    `openai/gpt-4o-mini-2024-07-18` gives `gpt-4o-mini`; `o3-mini-high` and `o3-mini-low` both give `o3-mini`.
    """
    # Adapters, commits and quantization do not change the base model.
    base = re.sub(r"(:[48]bit)?(@[0-9a-f]{8})?$", "", model_id.lower().removeprefix("hf:").partition("+")[0])
    text = base.rsplit("/", 1)[-1].removesuffix(".gguf")
    before = None
    while before != text:
        before = text
        text = _VARIANT.sub("", _DATE.sub("", text))
    return text


def related(first: str, other: str) -> bool:
    """Return whether two model ids are of one maker or, if one's maker is not known, of one family: their first words are equal.

    A distillation has the makers of both models. Names of Python callables and of people must be equal as a whole. The mark of a
    Python object (`models.python_models.own_mark`) does not count.
    """
    first, other = _MARK.sub("", first), _MARK.sub("", other)
    if first.startswith(_OWN_NAMES) or other.startswith(_OWN_NAMES):
        return first == other
    known = makers(first), makers(other)
    return bool(known[0] & known[1]) if all(known) else _family(first) == _family(other)


@cache
def _family(model_id: str) -> str:
    """Return the first word of a model id, or the id itself if it has none."""
    name = SERVED_BY.sub("", model_id.lower().removeprefix("hf:")).partition("+")[0].rsplit("/", 1)[-1]
    return word[1] if (word := _WORD.match(name)) else name


def kin(first: ModelName, other: ModelName) -> bool:
    """Return whether two model names are equal or of one family; False if one is a person."""
    if "human" in (first.kind, other.kind):
        return False
    if "python" in (first.kind, other.kind):
        return first == other
    return first == other or (bool(first.model) and related(first.model, other.model))


def slug(name: str) -> str:
    """Return a model name for use in a folder name: without address and special characters, the last 40 characters at most."""
    short = re.sub(r"@https?://.*$", "", name)
    return re.sub(r"[^A-Za-z0-9.]+", "-", short)[-40:].strip("-.") or "model"
