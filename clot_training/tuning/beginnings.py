"""Sequences that begin alike, with what they share read once: the same odds and gradients for a part of the work."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
import transformers


def beginning(model: Any, ids: Any) -> Any:
    """What a model keeps of a beginning that it has read; `ids` is [1, tokens]."""
    cache = transformers.DynamicCache(config=model.config)
    model(input_ids=ids, past_key_values=cache, use_cache=True, logits_to_keep=1)
    return cache


def after(model: Any, prompt: Sequence[int], ids: Any, there: Any) -> Any:
    """The logits for each token of rows that go on from one prompt; [rows, tokens, vocabulary].

    Args:
        model: The model.
        prompt: Its tokens, two at least.
        ids: What follows in each row, [rows, tokens].
        there: 1 where it is no padding, [rows, tokens].
    """
    start = ids.new_tensor([prompt])
    cache = beginning(model, start[:, :-1])
    cache.batch_repeat_interleave(len(ids))
    mask = torch.cat([torch.ones_like(start).expand(len(ids), -1), there], dim=1)
    fed = torch.cat([start[:, -1:].expand(len(ids), 1), ids], dim=1)
    out = model(input_ids=fed, attention_mask=mask, past_key_values=cache, use_cache=True)
    return out.logits[:, :-1]
