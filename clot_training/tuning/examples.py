"""Instructions as a training set: read from their files one at a time, and put together into batches.

Only the place and the length of each instruction are held in memory. The collator labels the tokens of the response
and of the mark that ends it; the loss sees nothing else.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import PIL.Image
import PIL.ImageOps

from clot_training.data.roles import batched
from clot_training.records import Chat, Instruction
from lotbench.edge.models.transformers.loading import Loaded, rendered
from lotbench.edge.pictures.picture_file import opened
from lotbench.types import Image, Message

IGNORED = -100
"""The label of a token that the loss does not see."""
COUNTED_TOGETHER = 256
MAX_PX = 1024
"""The longer side of a picture, in pixels; never upscaled."""


class Examples:
    """A training set as the trainer wants it, over files of instructions.

    Args:
        files: JSON Lines.
        loaded: Whose tokens are counted.
        max_tokens: Longer instructions are left out; the tokens of pictures come on top.

    Attributes:
        lengths: Tokens of each instruction, the response included.
        left_out: How many instructions were left out, by reason: too long, or with a picture for a model
            that reads text only.
    """

    def __init__(self, files: Sequence[Path], loaded: Loaded, max_tokens: int) -> None:
        self._files = tuple(files)
        self._places = array("q")
        self.lengths = array("q")
        self.left_out: Counter[str] = Counter()
        chats = _Chats(loaded)
        for chunk in batched(_located(self._files), COUNTED_TOGETHER):
            self._add(chunk, chats, max_tokens)

    def _add(self, chunk: list[tuple[int, int, bytes]], chats: _Chats, max_tokens: int) -> None:
        loaded = chats.loaded
        found = [(file, place, Instruction.model_validate_json(line)) for file, place, line in chunk]
        readable = [one for one in found if loaded.sees or one[2].image is None]
        if blind := len(found) - len(readable):
            self.left_out["picture"] += blind
        if not readable:
            return
        texts = ["".join(chats.text(instruction)) for _, _, instruction in readable]
        counted = loaded.tokenizer(texts, add_special_tokens=False)["input_ids"]
        for (file, place, _), tokens in zip(readable, counted, strict=True):
            if len(tokens) > max_tokens:
                self.left_out["too long"] += 1
            else:
                self._places.extend((file, place))
                self.lengths.append(len(tokens))

    def __len__(self) -> int:
        return len(self.lengths)

    def __getitem__(self, number: int) -> Instruction:
        file, place = self._places[2 * number : 2 * number + 2]
        with self._files[file].open("rb") as lines:
            lines.seek(place)
            return Instruction.model_validate_json(lines.readline())


class _Chats:
    """Instructions as the chat template of a model writes them."""

    def __init__(self, loaded: Loaded) -> None:
        self.loaded = loaded
        self._end = _end(loaded)

    def text(self, one: Instruction) -> tuple[str, str]:
        """What comes before the response, and the response with the mark that ends it."""
        return rendered(self.loaded, spoken(one.messages)), one.response + self._end


class Collator:
    """Makes instructions into tensors with labels.

    Args:
        loaded: Whose tokens and chat template are used; padded on the right.
    """

    def __init__(self, loaded: Loaded) -> None:
        self._loaded = loaded
        self._chats = _Chats(loaded)

    def __call__(self, batch: Sequence[Instruction]) -> dict[str, Any]:
        """Tensors of a batch: what the model takes, and `labels` (rows, tokens)."""
        texts = [self._chats.text(one) for one in batch]
        inputs = self._inputs([prompt + response for prompt, response in texts], batch)
        labels = inputs["input_ids"].clone()
        ends = inputs["attention_mask"].sum(dim=1).tolist()
        for row, (end, (prompt, response)) in enumerate(zip(ends, texts, strict=True)):
            labels[row, : end - len(written(self._loaded, prompt, response))] = IGNORED
            labels[row, end:] = IGNORED
        return {**inputs, "labels": labels}

    def _inputs(self, texts: list[str], batch: Sequence[Instruction]) -> Any:
        how: dict[str, Any] = {"padding": True, "add_special_tokens": False, "return_tensors": "pt"}
        if not self._loaded.sees:
            return self._loaded.tokenizer(texts, **how)
        opening = self._loaded.tokenizer.bos_token
        # Some vision models leave the opening token to their processor, and some write it in the template.
        how["add_special_tokens"] = opening is None or not texts[0].startswith(opening)
        pictures = [[picture(one.image)] if one.image else [] for one in batch]
        return self._loaded.processor(text=texts, images=pictures if any(pictures) else None, **how)


def written(loaded: Loaded, before: str, after: str) -> list[int]:
    """The tokens that a text adds to what stands before it; where one spans the seam, it is added."""
    start, whole = loaded.tokenizer([before, before + after], add_special_tokens=False)["input_ids"]
    same = next((n for n, (a, b) in enumerate(zip(start, whole, strict=False)) if a != b), len(start))
    return list(whole[same:])


def spoken(chat: Chat) -> tuple[Message, ...]:
    """A chat as messages; a picture is named by its path, which is all that a template needs to place it."""
    return tuple(Message(turn["role"], _parts(turn["content"])) for turn in chat)


def picture(path: str, longest: int = MAX_PX) -> Any:
    """A picture as a pillow image, upright and in RGB, scaled down to `longest` pixels on its longer side."""
    with opened(Path(path)) as found:
        upright = PIL.ImageOps.exif_transpose(found).convert("RGB")
    upright.thumbnail((longest, longest), PIL.Image.Resampling.LANCZOS)
    return upright


def _parts(content: Any) -> tuple[str | Image, ...]:
    if isinstance(content, str):
        return (content,)
    return tuple(Image(part["image"]) if part["type"] == "image" else part["text"] for part in content)


def _end(loaded: Loaded) -> str:
    """What a chat template puts after a reply, without the space behind it; else the token that ends a text."""
    marker = "MARK"
    content: Any = [{"type": "text", "text": marker}] if loaded.sees else marker
    chat = [{"role": "user", "content": content}, {"role": "assistant", "content": content}]
    written = str(loaded.processor.apply_chat_template(chat, tokenize=False))
    return written.rpartition(marker)[2].rstrip() or loaded.tokenizer.eos_token


def _located(files: Sequence[Path]) -> Iterator[tuple[int, int, bytes]]:
    """Every line with the number of its file and its place there in bytes."""
    for number, file in enumerate(files):
        with file.open("rb") as lines:
            place = 0
            for line in lines:
                if line.strip():
                    yield number, place, line
                place += len(line)
