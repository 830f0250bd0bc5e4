"""What the smokes of these examples share: a model of 40 thousand parameters, judges by rule, a curve of characters.

The model knows some words and has random weights; the judges need no model, so that a smoke runs without a key.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from lotbench.benchmarks.lotbench.sample import Item
from lotbench.benchmarks.lotbench.words import same
from lotbench.storage.datasets import data_folder, samples
from lotbench.types import Reply, Request

TEMPLATE = "{% for m in messages %}{{ m['content'] }} <eos> {% endfor %}"
CANDIDATE = re.compile(r'^CANDIDATE: "(.*?)"$', re.MULTILINE)
"""Where a verdict's prompt has the guess."""


def model(folder: Path, words: Iterable[str]) -> str:
    """Write a Llama with random weights that speaks these words; returns its folder."""
    import torch
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    known = ["<pad>", "<eos>", "<unk>", *sorted(set(words))]
    raw = Tokenizer(models.WordLevel({word: place for place, word in enumerate(known)}, unk_token="<unk>"))
    raw.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=raw, pad_token="<pad>", eos_token="<eos>", unk_token="<unk>", chat_template=TEMPLATE
    )
    tokenizer.save_pretrained(folder)
    torch.manual_seed(0)
    shape = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4}
    config = LlamaConfig(
        vocab_size=len(known), max_position_embeddings=4096, eos_token_id=1, pad_token_id=0, **shape
    )
    LlamaForCausalLM(config).save_pretrained(folder)
    return str(folder)


class Judge:
    """Says yes or no to every criterion by a rule.

    Args:
        samples: The samples, by id.
        weak: Accept whatever repeats a word of the caption; else what the sample's own lists call right.
    """

    takes_requests = True

    def __init__(self, samples: Mapping[str, Any], *, weak: bool) -> None:
        self.__name__ = "weak" if weak else "lists"
        self.samples, self.weak = samples, weak

    async def __call__(self, request: Request) -> Reply:
        """Fill the form of a verdict."""
        text = "\n".join(str(part) for message in request.messages for part in message.parts)
        guess = CANDIDATE.findall(text)[-1:]
        sample = self.samples[request.key.sample]
        yes = bool(guess) and (echoes if self.weak else right)(sample, guess[0])
        fields: Any = (request.schema or {}).get("properties", {})
        form = {name: yes if field.get("type") == "boolean" else "by rule" for name, field in fields.items()}
        return Reply(json.dumps(form), self.__name__)


async def nobody(request: Request) -> Reply:
    """The oracle of a game without questions."""
    return Reply("nobody asks", "nobody")


nobody.takes_requests = True  # type: ignore[attr-defined]


def english(data: str, most: int | None) -> dict[str, Any]:
    """The first English samples of a data set of the game, by id."""
    read = [one for one in samples(data_folder(data, "lotbench"), Item) if one.language == "en"]
    return {one.id: one for one in read[:most]}


def right(sample: Any, guess: str) -> bool:
    """Whether the sample's own lists call a guess right."""
    return same(guess) in {same(text) for text in (sample.key_text, *sample.accept)}


def echoes(sample: Any, guess: str) -> bool:
    """Whether a guess repeats a longer word of the caption."""
    return not nouns(sample.caption).isdisjoint(re.findall(r"\w+", guess.casefold()))


def nouns(caption: str) -> set[str]:
    """The longer words of a caption."""
    return {word for word in re.findall(r"\w+", caption.casefold()) if len(word) > 5}


def logged(trainer: Any, figure: str, out: Path) -> list[dict[str, Any]]:
    """What a trainer logged of the steps that have this figure; written to curve.jsonl too."""
    lines = [line for line in trainer.state.log_history if figure in line]
    (out / "curve.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return lines


def curve(name: str, values: Sequence[float], high: float) -> str:
    """Means of up to ten pieces of a series, a bar each."""
    size = max(1, -(-len(values) // 10))
    lines = [name]
    for start in range(0, len(values), size):
        piece = values[start : start + size]
        mean = sum(piece) / len(piece)
        bar = "#" * round(30 * max(0.0, mean) / high)
        lines.append(f"{start + 1:4}-{start + len(piece):<4} {mean:6.3f} {bar}")
    return "\n".join(lines)
