"""Instructions as rows for TRL's trainer: prompt, completion and, for vision models, pictures.

Rows are written into the stage's folder line by line and read by every process, so memory does not grow with their number.
Pictures are given by path and opened when their batch is made.
"""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache, partial
from itertools import chain
from pathlib import Path
from random import Random
from typing import Any

import PIL.Image
import PIL.ImageOps

from clot_training.config import Config
from clot_training.data.roles import batched
from clot_training.records import Chat, Instruction, read_records
from lotbench.models.transformers.loading import Loaded, limited, rendered
from lotbench.storage import atomic_write
from lotbench.storage.pictures.picture_file import opened
from lotbench.types import Image, Message

COUNTED_TOGETHER = 256


def write(config: Config, files: Iterable[Path], loaded: Loaded, out: Path) -> dict[str, Any]:
    """Write the instructions as training rows into train.jsonl, a part into eval.jsonl if the trainer evaluates.

    Args:
        config: The configuration.
        files: Files of instructions.
        loaded: The model, for its chat template, its tokenizer and its maximum length.
        out: The folder of the stage.

    Returns:
        The counts, which are also in examples.json: `examples`, their `tokens` (pictures included), `evaluated` rows if
        any, and `left_out` by reason: too long, or with a picture for a text model.
    """
    trainer = config.tune.trainer
    room = min(trainer["max_length"] or loaded.room, loaded.room)
    counts, left_out = Counter[str](), Counter[str]()
    share = config.tune.eval_share if trainer.get("eval_strategy", "no") != "no" else 0.0
    held = (out / "eval.jsonl").open("w", encoding="utf-8")

    def usable_rows() -> Iterator[str]:
        instructions = chain.from_iterable(read_records(file, Instruction) for file in files)
        for chunk in batched(instructions, COUNTED_TOGETHER):
            readable = [instruction for instruction in chunk if loaded.sees or instruction.image is None]
            left_out["picture"] += len(chunk) - len(readable)
            lengths = _lengths(loaded, readable, config.weights.max_pixels)
            for instruction, length in zip(readable, lengths, strict=True):
                if length > room:
                    left_out["too long"] += 1
                elif Random(f"{config.seed}:{instruction.group}:eval").uniform(0, 1) < share:
                    held.write(_line(instruction, loaded.sees))
                    counts["evaluated"] += 1
                else:
                    counts.update(examples=1, tokens=length)
                    yield _line(instruction, loaded.sees)

    with held:
        atomic_write.write(out / "train.jsonl", usable_rows())
    summary = {**counts, "examples": counts["examples"], "left_out": +left_out}
    atomic_write.write(out / "examples.json", json.dumps(summary) + "\n")
    return summary


def dataset(path: Path, sees: bool, max_pixels: int) -> Any:
    """Return the rows of a file as a data set for TRL's trainer, with pictures if the model `sees`; None without rows."""
    import datasets

    if not path.exists() or not path.stat().st_size:
        return None
    text = datasets.Value("string")
    turns = [{"role": text, "content": text}]
    columns = {"prompt": turns, "completion": turns} | ({"images": [text]} if sees else {})
    rows = datasets.Dataset.from_json(
        str(path), cache_dir=str(path.parent / "cache"), features=datasets.Features(columns)
    )
    return rows.with_transform(partial(_with_pictures, max_pixels)) if sees else rows


def _with_pictures(max_pixels: int, batch: Mapping[str, Any]) -> dict[str, Any]:
    return {**batch, "images": [[picture(path, max_pixels) for path in row] for row in batch["images"]]}


def _line(example: Instruction, sees: bool) -> str:
    row: dict[str, Any] = {
        "prompt": [{"role": turn["role"], "content": _text(turn["content"])} for turn in example.messages],
        "completion": [{"role": "assistant", "content": example.response}],
    }
    if sees:
        row["images"] = [example.image] if example.image else []
    return json.dumps(row, ensure_ascii=False) + "\n"


def _lengths(loaded: Loaded, chunk: Sequence[Instruction], max_pixels: int) -> list[int]:
    """Return the number of tokens of each instruction, response and picture included."""
    if not chunk:
        return []
    from trl.data_utils import prepare_multimodal_messages

    talks = [[*each.messages, {"role": "assistant", "content": each.response}] for each in chunk]
    chats = map(prepare_multimodal_messages, talks) if loaded.sees else talks
    with limited(f"{loaded.id}: its chat template"):
        texts = [loaded.processor.apply_chat_template(talk, tokenize=False) for talk in chats]
    counted = map(len, loaded.tokenizer(texts, add_special_tokens=False)["input_ids"])
    return [
        tokens + (_picture_tokens(loaded, _scaled(instruction.image, max_pixels)) if instruction.image else 0)
        for tokens, instruction in zip(counted, chunk, strict=True)
    ]


@cache
def _picture_tokens(loaded: Loaded, size: tuple[int, int]) -> int:
    """Return how many tokens a picture of this size (width, height) has beyond its placeholder in the chat template."""
    text = rendered(loaded, [Message("user", (Image("blank"),))])
    batch = loaded.processor(text=[text], images=[[PIL.Image.new("RGB", size)]], add_special_tokens=False)
    return len(batch["input_ids"][0]) - len(loaded.tokenizer(text, add_special_tokens=False)["input_ids"])


def written(loaded: Loaded, before: str, after: str) -> list[int]:
    """Return the ids of the tokens of `after` when it follows `before`; a token across the boundary is included."""
    start, whole = loaded.tokenizer([before, before + after], add_special_tokens=False)["input_ids"]
    same = next((n for n, (a, b) in enumerate(zip(start, whole, strict=False)) if a != b), len(start))
    return list(whole[same:])


def spoken(chat: Chat) -> tuple[Message, ...]:
    """Return a chat as lotbench's messages for a chat template; an `Image` has the path in place of the sha256."""
    return tuple(Message(turn["role"], _parts(turn["content"])) for turn in chat)


@lru_cache(maxsize=64)
def picture(path: str, max_pixels: int) -> Any:
    """Return a picture as an upright RGB image of at most `max_pixels` pixels; recent ones are cached."""
    with opened(Path(path)) as image:
        upright = PIL.ImageOps.exif_transpose(image).convert("RGB")
    return upright.resize(_fitting(upright.size, max_pixels), PIL.Image.Resampling.LANCZOS)


def _scaled(path: str, max_pixels: int) -> tuple[int, int]:
    """Return the (width, height) that `picture` gives a picture, without reading its pixels."""
    with opened(Path(path)) as image:
        turned = image.getexif().get(0x0112, 1) in (5, 6, 7, 8)
        return _fitting(image.size[::-1] if turned else image.size, max_pixels)


def _fitting(size: tuple[int, int], max_pixels: int) -> tuple[int, int]:
    factor = min(1.0, (max_pixels / (size[0] * size[1])) ** 0.5)
    return max(1, int(size[0] * factor)), max(1, int(size[1] * factor))


def _text(content: Any) -> str:
    """Return the text of a message without its picture, which TRL puts before the text."""
    return content if isinstance(content, str) else "".join(part.get("text", "") for part in content)


def _parts(content: Any) -> tuple[str | Image, ...]:
    if isinstance(content, str):
        return (content,)
    return tuple(Image(part["image"]) if part["type"] == "image" else part["text"] for part in content)
