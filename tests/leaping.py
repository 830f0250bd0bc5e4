"""What tests of training share: small Oogiri data sets, a run's configuration, and a policy without a model."""

import json
import os
import time
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

from clot_training.config import Config
from clot_training.data.keywords import Words
from clot_training.records import Prompt
from lotbench.config.experiment import validate

TEXT = "otter piano glue queue moustache elevator pudding tax bishop drum sofa onion comet sock ladder"
WORDS = TEXT.split()


def row(number: int, group: str, **fields: Any) -> dict[str, Any]:
    """A T2T row; its text has words of its own."""
    words = " ".join(WORDS[(number * step + step) % len(WORDS)] for step in (1, 2, 4))
    made = {"id": f"r{number}", "type": "T2T", "language": "en", "group": group, "text": f"{words} {number}"}
    return {**made, "question": f"why {group}?", "star": number, **fields}


def data_set(folder: Path, rows: Sequence[dict[str, Any]]) -> Path:
    """A data set of these rows, in the folder `data`."""
    made = folder / "data"
    made.mkdir(parents=True, exist_ok=True)
    (made / "samples.jsonl").write_text("".join(json.dumps(one, ensure_ascii=False) + "\n" for one in rows))
    return made


def plain(groups: int = 12, each: int = 5) -> list[dict[str, Any]]:
    """T2T rows of some groups, with likes that differ."""
    return [row(group * each + n, f"g{group}") for group in range(groups) for n in range(each)]


def config(folder: Path, data: Path, **fields: Any) -> Config:
    """A run on a data set, with its work folder beside it."""
    return validate(Config, {"model": "none", "data": (str(data),), "out": str(folder / "out"), **fields})


def split_words(texts: Sequence[str], language: str) -> list[Words]:
    """Stands in for the taggers: the longer words of a text."""
    return [tuple(dict.fromkeys(word for word in text.split() if word.isalpha())) for text in texts]


class HashPolicy:
    """Writes and selects by the digest of what it is asked: the same in every process, unlike for others."""

    id = "hash"

    def __init__(self, config: Config | None = None) -> None:
        self.generated: list[Prompt] = []
        self.selected: list[Prompt] = []

    def generate(self, prompts: Sequence[Prompt]) -> list[str]:
        """A text that says nothing, and its prompt's digest."""
        self.generated += prompts
        return [f"leap {_digest(prompt)}" for prompt in prompts]

    def select(self, prompts: Sequence[Prompt], labels: Sequence[Sequence[str]]) -> list[int]:
        """Any option."""
        self.selected += prompts
        return [int(_digest(prompt), 16) % len(row) for prompt, row in zip(prompts, labels, strict=True)]


class SeenPolicy(HashPolicy):
    """A HashPolicy that takes its time, and leaves its process's number in the work folder."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self._seen = Path(config.out) / "processes" / str(os.getpid())

    def generate(self, prompts: Sequence[Prompt]) -> list[str]:
        time.sleep(0.2)
        self._seen.parent.mkdir(parents=True, exist_ok=True)
        self._seen.touch()
        return super().generate(prompts)


def bare(config: Config) -> Any:
    """The base model of a run, without an adapter."""
    from clot_training.exploring.policy import transformers_policy

    return transformers_policy(config, None)


def _digest(prompt: Prompt) -> str:
    return sha256(json.dumps([prompt.messages, prompt.seed]).encode()).hexdigest()[:8]
