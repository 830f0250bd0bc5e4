"""Training objectives: what an example is, how examples become a batch, and a batch a loss.

`tune.objective` names one of OBJECTIVES; another is one more class and one more entry here. An objective is made
when the adapter is in the model and before anything is trained, so it can keep what it compares with: the
reference model is the model with its adapter off (`model.disable_adapter()`), or with a frozen copy of the
adapter that the stage began from.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from inspect import signature
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import torch

from clot_training.config import Tune
from clot_training.data.roles import batched
from clot_training.records import Chat, Instruction, Pair
from clot_training.tuning import ranked
from clot_training.tuning.beginnings import after
from clot_training.tuning.examples import IGNORED, Chats, Collator, ExampleReader
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

    def measured(self, examples: Iterable[Any]) -> Mapping[str, Any]:
        """What tune.json says of the tuned model on examples, beside the loss of the steps; nothing if empty."""
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

    def measured(self, examples: Iterable[Instruction]) -> Mapping[str, Any]:
        """Nothing."""
        return {}


class SupervisedTogether(Supervised):
    """The same loss, with a prompt that several instructions of a batch have read once; text only."""

    def loss(self, model: Any, batch: Mapping[str, Any]) -> Any:
        """The sum over labelled tokens, divided by how many there are in the whole optimizer step."""
        if "pixel_values" in batch:
            return super().loss(model, batch)
        ids, there, labels = batch["input_ids"], batch["attention_mask"], batch["labels"]
        prompts: dict[tuple[int, ...], list[int]] = defaultdict(list)
        for row, end in enumerate((labels >= 0).int().argmax(dim=1).tolist()):
            prompts[tuple(ids[row, :end].tolist())].append(row)
        total = 0.0
        for prompt, rows in prompts.items():
            told = labels[rows, len(prompt) :]
            logits = after(model, prompt, ids[rows, len(prompt) :], there[rows, len(prompt) :])
            total += torch.nn.functional.cross_entropy(
                logits.flatten(0, 1).float(), told.flatten(), reduction="sum"
            )
        return total / batch.get("num_items_in_batch", (labels >= 0).sum())


class Response(NamedTuple):
    """One side of a pair."""

    messages: Chat
    image: str | None
    response: str


class Preference(NamedTuple):
    """A pair as it is trained on; `sample` is what pairs have in common that go right or wrong together.

    `seen` are the digests of what of it a model may have seen before.
    """

    sample: str
    image: str | None
    chosen: Response
    rejected: Response
    seen: tuple[str, ...]


class Preferred:
    """DPO: the chosen answer is to gain more likelihood over the reference than the rejected one (Rafailov et al. 2023, Eq. 7).

    A batch has the chosen answers in its first half and the rejected ones in its second. Dropout is off: policy and
    reference are to differ by what was learnt alone.
    """

    def __init__(self, stage: Stage) -> None:
        self._beta = stage.settings.beta
        self._chats = Chats(stage.loaded)
        self._collate = Collator(stage.loaded)
        self._model = stage.model
        self._together = stage.settings.batch_size
        self._spare = "logits_to_keep" in signature(stage.loaded.model.forward).parameters
        for module in stage.model.modules():
            if isinstance(module, torch.nn.Dropout):
                module.p = 0.0
        # A new adapter adds nothing yet, so that the model without it is what it began as.
        self._began = None if stage.adapter is None else _copied(stage.model)

    def read(self, line: bytes) -> Preference:
        """A pair."""
        pair = Pair.model_validate_json(line)
        image = pair.images[0] if pair.images else None
        chosen, rejected = (
            Response(_shown(pair.prompt, image), image, str(side[0]["content"]))
            for side in (pair.chosen, pair.rejected)
        )
        return Preference(pair.sample, image, chosen, rejected, pair.seen)

    def texts(self, example: Preference) -> Sequence[str]:
        """The prompt with either answer."""
        return tuple("".join(self._chats.text(side)) for side in (example.chosen, example.rejected))

    def batch(self, examples: Sequence[Preference]) -> dict[str, Any]:
        """What the model takes, and `answers`: which tokens are an answer's or the mark's that ends it."""
        rows = [*(one.chosen for one in examples), *(one.rejected for one in examples)]
        batch = self._collate(rows)
        # Not as labels: the model would compute a loss of its own, and the trainer count its tokens.
        answers = batch.pop("labels") != IGNORED
        return {**batch, "answers": answers}

    def loss(self, model: Any, batch: Mapping[str, Any]) -> Any:
        """The mean of -log sigmoid(beta x (log ratio of the chosen - log ratio of the rejected)) (Eq. 7)."""
        chosen, rejected = (self._likely(model, batch) - self._reference(batch)).chunk(2)
        return -torch.nn.functional.logsigmoid(self._beta * (chosen - rejected)).mean()

    def measured(self, examples: Iterable[Preference]) -> Mapping[str, Any]:
        """Loss, margin and share ranked right, of the model as it is and of the reference."""
        model, device = self._model, self._model.device
        training = model.training
        model.eval()
        found = []
        with torch.no_grad():
            for some in batched(examples, self._together):
                batch = {name: tensor.to(device) for name, tensor in self.batch(some).items()}
                after, before = self._likely(model, batch), self._reference(batch)
                sides = torch.stack([*before.chunk(2), *after.chunk(2)]).T.tolist()
                found += [ranked.Ranked(one.sample, *each) for one, each in zip(some, sides, strict=True)]
        model.train(training)
        return ranked.told(found, self._beta)

    def _reference(self, batch: Mapping[str, Any]) -> Any:
        """The log-probability of each answer under the reference; the adapter under training is as it was afterwards."""
        with torch.no_grad():
            if self._began is not None:
                began = partial(torch.func.functional_call, self._model, self._began, ())
                return self._likely(lambda **inputs: began(inputs), batch)
            with self._model.disable_adapter():
                return self._likely(self._model, batch)

    def _likely(self, model: Callable[..., Any], batch: Mapping[str, Any]) -> Any:
        return _log_probabilities(model, batch, spare=self._spare)


def _copied(model: Any) -> dict[str, Any]:
    """What is trained of a model, as it is now."""
    return {name: one.detach().clone() for name, one in model.named_parameters() if one.requires_grad}


def _shown(prompt: Chat, image: str | None) -> Chat:
    """A prompt with the picture in its place, as instructions have it."""
    return tuple(
        turn
        if isinstance(turn["content"], str)
        else {**turn, "content": [_part(part, image) for part in turn["content"]]}
        for turn in prompt
    )


def _part(part: Mapping[str, Any], image: str | None) -> Mapping[str, Any]:
    return {"type": "image", "image": image} if part["type"] == "image" else part


def _log_probabilities(model: Callable[..., Any], batch: Mapping[str, Any], *, spare: bool) -> Any:
    """The log-probability of each row's answer, (rows,): the sum over its tokens, given all before them.

    Where the model can `spare` them, logits are computed from the place before the first answer on: of a whole batch of
    prompts, over a large vocabulary, they would take gigabytes.
    """
    inputs = {name: tensor for name, tensor in batch.items() if name != "answers"}
    ids, answers = batch["input_ids"], batch["answers"]
    first = max(0, int(answers.any(0).nonzero()[0]) - 1) if spare else 0
    if spare:
        inputs["logits_to_keep"] = ids.shape[1] - first
    counted = answers[:, first + 1 :]
    logits = model(**inputs)["logits"][:, :-1][counted].float()
    each = logits.log_softmax(-1).gather(-1, ids[:, first + 1 :][counted][:, None])[:, 0]
    return each.new_zeros(len(ids)).index_add(0, counted.nonzero()[:, 0], each)


OBJECTIVES: dict[str, Callable[[Stage], Objective]] = {
    "supervised": Supervised,
    "supervised-together": SupervisedTogether,
    "dpo": Preferred,
}
"""What makes an objective, by the name that `tune.objective` has for it."""


def named(name: str) -> Callable[[Stage], Objective]:
    """What makes the objective of that name.

    Raises:
        UsageError: There is none.
    """
    if name not in OBJECTIVES:
        raise UsageError(f"tune.objective: {name!r} is none of {', '.join(sorted(OBJECTIVES))}")
    return OBJECTIVES[name]
