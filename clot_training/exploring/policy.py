"""The tuned model as a policy: it writes responses in batches, and selects options by the likelihood of their labels.

Generation is that of `lotbench evaluate`, with a random stream for each prompt. The reply depends on the prompt's tokens,
its seed and the weights, and not on the other prompts of the batch, except by rounding. Padding changes the last bits of
matrix products, which may change a draw, more often in bfloat16 on GPUs. Resumed runs therefore form the same batches.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from clot_training.config import Config, Weights
from clot_training.records import Prompt
from clot_training.tuning.examples import picture, spoken, written
from clot_training.tuning.weights import folder
from lotbench.errors import UsageError
from lotbench.models.transformers.generation import PreparedRequest, answer, inputs
from lotbench.models.transformers.loading import load, rendered
from lotbench.types import Sampling

PLAIN = Weights()


def transformers_policy(config: Config, adapter: Path | None) -> TransformersPolicy:
    """Return the base model of a run, with this adapter unless it is None, and the sampling of `explore`."""
    settings = config.explore
    drawn = Sampling(temperature=settings.temperature, top_p=settings.top_p, max_tokens=settings.max_tokens)
    path = str(adapter) if adapter else None
    return TransformersPolicy(folder(config.model), path, sampling=drawn, weights=config.weights)


class TransformersPolicy:
    """A base model, optionally with an adapter, for explore and report.

    Args:
        base: Name on the hub, or a folder in the format of transformers.
        adapter: The adapter's folder; None uses the base alone.
        sampling: The sampling parameters; its seed is not used, since each prompt has its own.
        weights: How the model is loaded.

    Raises:
        UsageError: A package is missing, or the model or its adapter cannot be loaded.

    Attributes:
        id: The names of base and adapter with their versions.
    """

    def __init__(
        self, base: str, adapter: str | None = None, *, sampling: Sampling, weights: Weights = PLAIN
    ) -> None:
        self._loaded = load(base, adapter, weights)
        self._max_pixels = weights.max_pixels
        self._sampling = sampling
        self.id = self._loaded.id

    def generate(self, prompts: Sequence[Prompt]) -> list[str]:
        """Return one response to each prompt, drawn with its seed."""
        responses: dict[int, str] = {}
        for places in _alike(prompts):
            batch = [self._prepare(prompts[place]) for place in places]
            for place, reply in zip(places, answer(self._loaded, batch, threading.Event()), strict=True):
                responses[place] = reply.text.strip()
        return [responses[place] for place in range(len(prompts))]

    def select(self, prompts: Sequence[Prompt], labels: Sequence[Sequence[str]]) -> list[int]:
        """Return for each prompt the index of the label whose first token most likely begins the reply.

        Raises:
            UsageError: Two labels of a prompt begin with the same token.
        """
        return [max(range(len(row)), key=row.__getitem__) for row in self.odds(prompts, labels)]

    def odds(self, prompts: Sequence[Prompt], labels: Sequence[Sequence[str]]) -> list[list[float]]:
        """Return for each prompt the log-likelihood, for each label, that the reply begins with the label's first token.

        Raises:
            UsageError: Two labels of a prompt begin with the same token.
        """
        log_odds: list[list[float]] = [[] for _ in prompts]
        for places in _alike(prompts):
            batch = [self._prepare(prompts[place]) for place in places]
            for place, request, row in zip(places, batch, self._first(batch), strict=True):
                log_odds[place] = row[self._tokens(request.text, labels[place])].tolist()
        return log_odds

    def _prepare(self, prompt: Prompt) -> PreparedRequest:
        if prompt.image and not self._loaded.sees:
            raise UsageError(f"{self.id} reads text only, and a prompt has the picture {prompt.image}")
        pictures = (picture(prompt.image, self._max_pixels),) if prompt.image else ()
        sampling = replace(self._sampling, seed=prompt.seed)
        return PreparedRequest(rendered(self._loaded, spoken(prompt.messages)), pictures, sampling)

    def _first(self, batch: Sequence[PreparedRequest]) -> Any:
        """Return the log-probabilities of the first token of each reply, [prompts, vocabulary]."""
        out = self._loaded.model.generate(
            **inputs(self._loaded, batch),
            max_new_tokens=1,
            do_sample=False,
            pad_token_id=self._loaded.tokenizer.pad_token_id,
            output_logits=True,
            return_dict_in_generate=True,
        )
        return out.logits[0].float().log_softmax(dim=-1)

    def _tokens(self, prompt: str, labels: Sequence[str]) -> list[int]:
        begins = [written(self._loaded, prompt, label)[0] for label in labels]
        if len(set(begins)) < len(begins):
            raise UsageError(f"{self.id}: its tokens do not set the labels {', '.join(labels)} apart")
        return begins


def _alike(prompts: Sequence[Prompt]) -> list[list[int]]:
    """Return the indices of prompts that can share a batch: those with a picture, and those without."""
    seeing = [place for place, prompt in enumerate(prompts) if prompt.image]
    blind = [place for place, prompt in enumerate(prompts) if not prompt.image]
    return [places for places in (seeing, blind) if places]
