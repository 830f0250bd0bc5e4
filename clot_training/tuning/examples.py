"""Examples as a training set: read from their files one at a time, and put together into batches.

Nothing but the place and the length of each example is held in memory. What an example is, the objective says.
Instructions are trained on by the response alone: the collator labels the tokens of the response and of the mark that ends it, and nothing else; text and
pictures go the same way.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, Protocol

import PIL.Image
import PIL.ImageOps

from clot_training.data.roles import batched
from clot_training.records import Chat
from lotbench.edge.models.transformers.loading import Loaded, rendered
from lotbench.edge.pictures.picture_file import opened
from lotbench.types import Image, Message

IGNORED = -100
"""The label of a token that the loss does not see."""
COUNTED_TOGETHER = 256
MAX_PX = 1024
"""The longer side of a picture, in pixels; never upscaled."""


class ExampleReader(Protocol):
    """What knows the lines of a training file, as each objective does of its own."""

    def read(self, line: bytes) -> Any:
        """The example of a line: what `image` it shows (a path or None), and what else the objective wants of it.

        Raises:
            ValidationError: The line is no such example.
        """
        ...

    def texts(self, example: Any) -> Sequence[str]:
        """Each text that the model will see of an example, prompt and completion; the longest is its length."""
        ...


class Answered(Protocol):
    """A prompt with a response to it, as an instruction is one and a pair is two."""

    @property
    def messages(self) -> Chat:
        """The prompt."""
        ...

    @property
    def image(self) -> str | None:
        """The path of the picture that it shows, if it shows one."""
        ...

    @property
    def response(self) -> str:
        """What is to be said."""
        ...


class Examples:
    """A training set as the trainer wants it, over files of examples.

    Args:
        files: JSON Lines.
        reader: The objective, which knows what a line is.
        loaded: Whose tokens are counted.
        max_tokens: Longer examples are left out; the tokens of pictures come on top.

    Attributes:
        lengths: Tokens of the longest text of each example, the response included.
        left_out: How many examples were left out, by reason: too long, or with a picture for a model
            that reads text only.
    """

    def __init__(self, files: Sequence[Path], reader: ExampleReader, loaded: Loaded, max_tokens: int) -> None:
        self._files = tuple(files)
        self._reader = reader
        self._places = array("q")
        self.lengths = array("q")
        self.left_out: Counter[str] = Counter()
        for chunk in batched(_located(self._files), COUNTED_TOGETHER):
            self._add(chunk, loaded, max_tokens)

    def _add(self, chunk: list[tuple[int, int, bytes]], loaded: Loaded, max_tokens: int) -> None:
        examples = [(file, place, self._reader.read(line)) for file, place, line in chunk]
        readable = [example for example in examples if loaded.sees or example[2].image is None]
        if blind := len(examples) - len(readable):
            self.left_out["picture"] += blind
        if not readable:
            return
        texts = [self._reader.texts(example) for _, _, example in readable]
        tokens = iter(loaded.tokenizer([*chain(*texts)], add_special_tokens=False)["input_ids"])
        for (file, place, _), ones in zip(readable, texts, strict=True):
            length = max(len(next(tokens)) for _ in ones)
            if length > max_tokens:
                self.left_out["too long"] += 1
            else:
                self._places.extend((file, place))
                self.lengths.append(length)

    def __len__(self) -> int:
        return len(self.lengths)

    def __getitem__(self, number: int) -> Any:
        file, place = self._places[2 * number : 2 * number + 2]
        with self._files[file].open("rb") as lines:
            lines.seek(place)
            return self._reader.read(lines.readline())


class Chats:
    """Prompts and responses as the chat template of a model writes them."""

    def __init__(self, loaded: Loaded) -> None:
        self._loaded = loaded
        self._end = _end(loaded)

    def text(self, example: Answered) -> tuple[str, str]:
        """What comes before the response, and the response with the mark that ends it."""
        return rendered(self._loaded, spoken(example.messages)), example.response + self._end


class Collator:
    """Makes a batch of prompts with their responses into tensors with labels.

    Args:
        loaded: Whose tokens and chat template are used; padded on the right.
    """

    def __init__(self, loaded: Loaded) -> None:
        self._loaded = loaded
        self._chats = Chats(loaded)

    def __call__(self, batch: Sequence[Answered]) -> dict[str, Any]:
        """Tensors of a batch: what the model takes, and `labels` (rows, tokens)."""
        texts = [self._chats.text(one) for one in batch]
        inputs = self._inputs([prompt + response for prompt, response in texts], batch)
        labels = inputs["input_ids"].clone()
        ends = inputs["attention_mask"].sum(dim=1).tolist()
        for row, (end, (prompt, response)) in enumerate(zip(ends, texts, strict=True)):
            labels[row, : end - len(written(self._loaded, prompt, response))] = IGNORED
            labels[row, end:] = IGNORED
        return {**inputs, "labels": labels}

    def _inputs(self, texts: list[str], batch: Sequence[Answered]) -> Any:
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
