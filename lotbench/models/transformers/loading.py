"""Loading of transformers models: weights, tokenizer and chat template from the hub or a local folder.

torch is optional and slow to import, so it is imported only where a model is loaded. On a CPU weights are float32:
bfloat16 was five times slower without CPU instructions for it. bitsandbytes computes in the same type.
"""

import hashlib
import logging
import os
import re
import signal
import sys
import threading
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from pickle import UnpicklingError
from typing import Any, Literal

from lotbench.errors import Unescapable, UsageError, install_hint
from lotbench.regular_file import is_file, read_text
from lotbench.report.markdown import visible
from lotbench.types import FrozenModel, Message


class Packing(FrozenModel):
    """Options for loading weights."""

    dtype: Literal["auto", "float32", "bfloat16", "float16"] = "auto"
    """auto: bfloat16 where the GPU has it, else float32."""
    quantize: Literal["none", "8bit", "4bit"] = "none"
    """The frozen weights in 8 bits or in 4 (NF4), by bitsandbytes."""
    attn_implementation: str = ""
    """As transformers names it (`sdpa`, `flash_attention_2`); empty: its own choice."""
    trust_remote_code: bool = False
    """Run code that comes with the weights."""


PLAIN = Packing()
LONGEST_S = 10.0
"""Seconds that the patterns or the chat template in a model's files may take."""
_BASE = re.compile(r'^base_model: *"?([\w./-]+)"?$', re.MULTILINE)
MATCHED = ("{}", r"(.*\.)?({})$", r"(^|.*\.){}($|\..*)", r"(?:^|.*?\.){}\.(\d+)\.")
"""How peft matches a text of adapter_config.json against the name of a module."""


@dataclass(frozen=True, slots=True)
class Loaded:
    """A loaded model with its processor and tokenizer.

    Attributes:
        id: Base and adapter, with versions where known.
        processor: Turns texts and pictures into tensors; the tokenizer itself for text models.
        sees: Whether the model takes pictures.
        room: The maximum number of tokens of prompt and reply together.
        ends: The ids of the tokens that end a reply.
    """

    id: str
    model: Any
    processor: Any
    tokenizer: Any
    sees: bool
    room: int
    ends: tuple[int, ...]


def load(
    base: str, adapter: str | None, packing: Packing = PLAIN, *, train: Mapping[str, Any] | None = None
) -> Loaded:
    """Load a model, optionally with an adapter.

    Args:
        base: Name on the hub, or a folder in the format of transformers.
        adapter: The folder of a peft adapter, or its name on the hub.
        packing: How the weights are loaded.
        train: Further arguments of `from_pretrained` for training; None to generate.

    Raises:
        UsageError: A package is missing, or the model or its adapter cannot be loaded.
    """
    name = f"hf:{base}+{adapter}" if adapter else f"hf:{base}"
    needed = ["torch", "transformers", "accelerate", *(["peft"] if adapter else [])]
    needed += [] if packing.quantize == "none" else ["bitsandbytes"]
    if missing := [package for package in needed if find_spec(package) is None]:
        raise UsageError(f"{name} needs {', '.join(missing)}: {install_hint('train')}")
    prepare_libraries()
    with loading(name):
        _check_folders(base, adapter or "")
        return _load(base, adapter, packing, train)


def prepare_libraries() -> None:
    """Set what torch and bitsandbytes read when they are imported."""
    # Spinning OpenMP threads slow a busy CPU down tenfold.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    os.environ.setdefault("GOMP_SPINCOUNT", "0")
    # It warns about a faster kernel of the hub, which it does not need.
    logging.getLogger("bitsandbytes.backends.cpu.ops").setLevel(logging.ERROR)


def takes_pictures(base: str) -> bool:
    """Return whether a model takes pictures, by its configuration and without its weights.

    Raises:
        UsageError: The configuration cannot be read.
    """
    if find_spec("transformers") is None:
        return True
    with loading(f"hf:{base}"):
        _check_folders(base)
        from transformers import AutoConfig

        # Given, as in `_load`: transformers would otherwise ask at the terminal whether to run code of the model.
        return _sees(AutoConfig.from_pretrained(base, trust_remote_code=False))


def _check_folders(*places: str) -> None:
    """Check that a folder exists for each name that looks like a path and not like a name on the hub.

    Raises:
        ValueError: There is no such folder.
    """
    for place in places:
        if (place.startswith((".", "/", "~")) or place.count("/") > 1) and not Path(place).is_dir():
            raise ValueError(f"{place}: there is no such folder")


@contextmanager
def loading(name: str) -> Iterator[None]:
    """Turn any exception inside the block into a UsageError that names the model.

    Raises:
        UsageError: The model cannot be loaded.
    """
    try:
        yield
    except UsageError:
        raise
    except UnpicklingError as error:
        raise UsageError(
            f"{name} cannot be loaded: its weights would run code: safetensors have none"
        ) from error
    except Exception as error:
        first = str(error).strip().split("\n")[0]
        plain = isinstance(error, ImportError | OSError | RuntimeError | ValueError)
        kind = "" if plain else f"{type(error).__name__}: "
        raise UsageError(f"{name} cannot be loaded: {kind}{first}") from error


def decided(packing: Packing) -> Any:
    """Return the torch dtype of the weights; `auto` is bfloat16 where the GPU has it, else float32."""
    import torch

    if packing.dtype != "auto":
        return getattr(torch, packing.dtype)
    gpu = torch.cuda.is_available() and torch.cuda.is_bf16_supported()
    return torch.bfloat16 if gpu else torch.float32


@contextmanager
def limited(what: str) -> Iterator[None]:
    """Stop the block after `LONGEST_S`, with an error that begins with `what`.

    To match a pattern or fill a template from other people's files may take forever. Only the main thread can be stopped:
    in another thread the block has no limit.

    Raises:
        UsageError: The block was stopped.
    """

    def stop(*_: object) -> None:
        raise UsageError(f"{what} takes more than {LONGEST_S:g} s")

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    handler = signal.signal(signal.SIGALRM, stop)
    # Again each second: a library may have caught the first.
    timer = signal.setitimer(signal.ITIMER_REAL, LONGEST_S, 1)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, *timer)
        signal.signal(signal.SIGALRM, handler)


def rendered(loaded: Loaded, messages: Sequence[Message]) -> str:
    """Return messages as one text, by the model's chat template.

    If the template refuses a system message, the text of that message is put in front of the first turn.

    Raises:
        Unescapable: The template refuses the messages either way.
        UsageError: The template takes too long.
    """
    turns = [_turn(message, loaded.sees) for message in messages]
    refusal: Exception | None = None
    for chat in (turns, _without_system(turns)):
        try:
            with limited(f"{loaded.id}: its chat template"):
                text = loaded.processor.apply_chat_template(chat, tokenize=False, add_generation_prompt=True)
            return str(text)
        except UsageError:
            raise
        except Exception as error:  # noqa: BLE001 - a template is a program of somebody else
            refusal = error
    raise Unescapable(f"{loaded.id}: its chat template refuses the messages: {refusal}")


def adapted(model: Any, adapter: str, *, trainable: bool = False) -> Any:
    """Return a model with a peft adapter; warn if the adapter names another base.

    Raises:
        ValueError: The adapter's matrices do not fit the model; peft alone would load a part of them.
        RuntimeError: Peft itself finds that they do not fit.
        UsageError: The patterns in its adapter_config.json take too long.
    """
    import peft

    # The user cannot fix deprecated calls between libraries.
    with warnings.catch_warnings(action="ignore", category=FutureWarning):
        # Missing keys are counted below.
        warnings.filterwarnings("ignore", "Found missing adapter keys")
        patterns = peft.PeftConfig.from_pretrained(adapter).to_dict()
        with limited(f"{adapter}: to match the patterns in its adapter_config.json"):
            _match_patterns(model, patterns)
        peft_model = peft.PeftModel.from_pretrained(model, adapter, is_trainable=trainable)
    base = " ".join(visible(str(peft_model.peft_config["default"].base_model_name_or_path or "")).split())
    there, placed = (
        sum(".lora_" in name for name in weights)
        for weights in (
            peft.load_peft_weights(adapter, device="cpu"),
            peft.get_peft_model_state_dict(peft_model, save_embedding_layers=False),
        )
    )
    if there != placed:
        raise ValueError(
            f"{adapter} is no adapter of this model, but of {base or 'another'}: {there} matrices for {placed}"
        )
    if base and Path(base).name != Path(model.name_or_path).name:
        warnings.warn(f"{adapter} was made for {base}, and is used with {model.name_or_path}", stacklevel=2)
    return peft_model


def _match_patterns(model: Any, value: object) -> None:
    """Compare every module name with the patterns in `value`, a part of a peft configuration, as peft will.

    The results are dropped: the call only shows, under `limited`, whether a pattern takes too long.
    """
    if isinstance(value, Mapping):
        value = [*value, *value.values()]
    if isinstance(value, list | set | tuple):
        for part in value:
            _match_patterns(model, part)
    elif isinstance(value, str) and re.search("[*+?{]", value):
        for form in MATCHED:
            with suppress(re.error):
                pattern = re.compile(form.replace("{}", value))
                for name, _ in model.named_modules():
                    pattern.fullmatch(name)


def _load(base: str, adapter: str | None, packing: Packing, train: Mapping[str, Any] | None) -> Loaded:
    import transformers

    transformers.utils.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    # Always given: transformers would otherwise ask at the terminal.
    trusted = {"trust_remote_code": packing.trust_remote_code}
    if transformers.utils.find_adapter_config_file(base):
        raise ValueError(f"it has an adapter, which is to be named, too: hf:BASE+{base}")
    config = transformers.AutoConfig.from_pretrained(base, **trusted)
    how = _arguments(packing, training=train is not None) | trusted | dict(train or {})
    sees = _sees(config)
    kind = transformers.AutoModelForImageTextToText if sees else transformers.AutoModelForCausalLM
    model = kind.from_pretrained(base, **how)
    if adapter:
        model = adapted(model, adapter)
    reads = transformers.AutoProcessor if sees else transformers.AutoTokenizer
    processor = reads.from_pretrained(base, **trusted)
    tokenizer = processor.tokenizer if sees else processor
    if not processor.chat_template:
        raise ValueError("it has no chat template, so it is not made to be talked to")
    if tokenizer.pad_token is None:
        tokenizer.pad_token = tokenizer.eos_token
    name = base
    if train is None:
        model.eval()
        # Left padding, so that all replies of a batch begin at the same position.
        tokenizer.padding_side = "left"
        name = _id(base, getattr(config, "_commit_hash", None), adapter, packing)
    return Loaded(
        id=name,
        model=model,
        processor=processor,
        tokenizer=tokenizer,
        sees=sees,
        room=getattr(config.get_text_config(), "max_position_embeddings", None) or sys.maxsize,
        ends=_ends(model.generation_config.eos_token_id, tokenizer.eos_token_id),
    )


def _arguments(packing: Packing, *, training: bool) -> dict[str, Any]:
    """Return the arguments of `from_pretrained` for number type, device, quantization and attention."""
    import torch
    import transformers

    dtype = decided(packing)
    how: dict[str, Any] = {"dtype": dtype}
    if torch.cuda.is_available() and not training:
        how["device_map"] = "auto"
    if packing.attn_implementation:
        how["attn_implementation"] = packing.attn_implementation
    if packing.quantize != "none":
        how["quantization_config"] = transformers.BitsAndBytesConfig(
            load_in_4bit=packing.quantize == "4bit",
            load_in_8bit=packing.quantize == "8bit",
            bnb_4bit_quant_type="nf4",
            bnb_4bit_use_double_quant=True,
            bnb_4bit_compute_dtype=dtype,
            # Quantized storage must have the type of the weights that it is sharded with.
            bnb_4bit_quant_storage=dtype,
        )
        if training and torch.cuda.is_available():
            how["device_map"] = {"": int(os.environ.get("LOCAL_RANK", "0"))}
    return how


def _sees(config: Any) -> bool:
    from transformers.models.auto.modeling_auto import MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES

    # The mapping alone is not enough: it has text models that share a class with vision models.
    return config.model_type in MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES and hasattr(
        config, "vision_config"
    )


def _id(base: str, commit: str | None, adapter: str | None, packing: Packing) -> str:
    """Return base and adapter, each with 8 hex digits of its version: the hub's commit, or a digest of the weights.

    Before a local base stands the model that its card names as its own base, as BASE+.
    """
    text = base if packing.quantize == "none" else f"{base}:{packing.quantize}"
    text += f"@{commit[:8]}" if commit else _digest(Path(base), "*.safetensors", "*.bin")
    card = Path(base) / "README.md"
    if is_file(card) and (made_of := _BASE.search(read_text(card))):
        text = f"{made_of[1]}+{text}"
    return text if adapter is None else f"{text}+{adapter}{_digest(Path(adapter), 'adapter_model.*')}"


def _digest(folder: Path, *patterns: str) -> str:
    """Return 8 hex digits of the weights in a local folder, after an `@`; "" if it has none."""
    digests = []
    for path in sorted(path for pattern in patterns for path in folder.glob(pattern)):
        with path.open("rb") as file:
            digests.append(hashlib.file_digest(file, "sha256").hexdigest())
    whole = digests[0] if len(digests) == 1 else hashlib.sha256("".join(digests).encode()).hexdigest()
    return f"@{whole[:8]}" if digests else ""


def _ends(*token_ids: int | Sequence[int] | None) -> tuple[int, ...]:
    """Return the distinct ids of end tokens, in ascending order; each argument is an id, several ids, or None."""
    groups = ([ids] if isinstance(ids, int) else ids or () for ids in token_ids)
    return tuple(sorted({token_id for ids in groups for token_id in ids}))


def _turn(message: Message, sees: bool) -> dict[str, Any]:
    if not sees:
        return {"role": message.speaker, "content": "".join(str(part) for part in message.parts)}
    content = [
        {"type": "text", "text": part} if isinstance(part, str) else {"type": "image"}
        for part in message.parts
    ]
    return {"role": message.speaker, "content": content}


def _without_system(turns: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the conversation with the system message put in front of its first turn."""
    chat = [dict(turn) for turn in turns if turn["role"] != "system"]
    for turn in reversed([turn for turn in turns if turn["role"] == "system"]):
        words, rest = turn["content"], chat[0]["content"]
        chat[0]["content"] = [*words, *rest] if isinstance(words, list) else f"{words}\n\n{rest}"
    return chat
