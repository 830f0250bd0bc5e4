"""Training objectives: what an example is, how examples become a batch, and a batch a loss.

`tune.objective` names one of OBJECTIVES; another is one more class and one more entry here. An objective is made
when the adapter is in the model and before anything is trained, so it can keep what it compares with: the
reference model is the model with its adapter off (`model.disable_adapter()`), or with a frozen copy of the
adapter that the stage began from.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from clot_training.config import Tune
from clot_training.records import Instruction
from clot_training.tuning.examples import Chats, Collator, ExampleReader
from lotbench.edge.models.transformers.loading import Loaded
from lotbench.errors import UsageError


@dataclass(frozen=True, slots=True)
class Stage:
    """What an objective is made for.

    Attributes:
        loaded: The base model with its tokenizer or processor.
        model: The same with a trainable adapter in it.
        adapter: What that adapter began from; None for a new one.
        settings: Of the stage.
    """

    loaded: Loaded
    model: Any
    adapter: Path | None
    settings: Tune


class Objective(ExampleReader, Protocol):
    """How lines of a training file become a loss."""

    def batch(self, examples: Sequence[Any]) -> dict[str, Any]:
        """Tensors of a few examples: whatever `loss` wants, by name."""
        ...

    def loss(self, model: Any, batch: Mapping[str, Any]) -> Any:
        """The loss of a batch, a tensor of one number.

        A batch with `labels` comes with `num_items_in_batch`, the labelled tokens of the whole optimizer step
        in all processes, wherever the model knows what to do with it: the loss is then a sum divided by that
        number. Of any other batch it is a mean, and accumulated batches are averaged.
        """
        ...


class Supervised:
    """Cross-entropy on the tokens of the response and of the mark that ends it."""

    def __init__(self, stage: Stage) -> None:
        self._chats = Chats(stage.loaded)
        self._collate = Collator(stage.loaded)

    def read(self, line: bytes) -> Instruction:
        """An instruction."""
        return Instruction.model_validate_json(line)

    def texts(self, example: Instruction) -> Sequence[str]:
        """The instruction with its response."""
        return ("".join(self._chats.text(example)),)

    def batch(self, examples: Sequence[Instruction]) -> dict[str, Any]:
        """What the model takes, and `labels`."""
        return self._collate(examples)

    def loss(self, model: Any, batch: Mapping[str, Any]) -> Any:
        """The model's own, which sees `labels`."""
        return model(**batch)["loss"]


OBJECTIVES: dict[str, Callable[[Stage], Objective]] = {"supervised": Supervised}
"""What makes an objective, by the name that `tune.objective` has for it."""


def named(name: str) -> Callable[[Stage], Objective]:
    """What makes the objective of that name.

    Raises:
        UsageError: There is none.
    """
    if name not in OBJECTIVES:
        raise UsageError(f"tune.objective: {name!r} is none of {', '.join(sorted(OBJECTIVES))}")
    return OBJECTIVES[name]
