"""Replies for many games at once, where games of one sample share their beginning, and that beginning is read once.

The rules and the scene are most of a game's tokens: reading them once for a group of games instead of once for each
turn of each is what makes playing on a CPU bearable.
"""

from __future__ import annotations

import copy
import threading
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from clot_training.playing.talk import Talk
from clot_training.tuning.beginnings import beginning
from lotbench.edge.models.transformers.generation import generated
from lotbench.edge.models.transformers.loading import Loaded
from lotbench.errors import UsageError
from lotbench.types import Finish, Sampling


def replies(
    loaded: Loaded,
    talks: Sequence[Talk],
    samplings: Sequence[Sampling],
    read: dict[tuple[int, ...], Any] | None = None,
) -> list[tuple[list[int], Finish]]:
    """The tokens that each game's model says next, and how it ended; each has to have heard something.

    Args:
        loaded: The model.
        talks: The games.
        samplings: How each reply is drawn.
        read: What the model keeps of beginnings that it has read before, for as long as its weights stay.

    Raises:
        UsageError: A game leaves the model no room.
    """
    shared: dict[tuple[int, ...], list[int]] = defaultdict(list)
    for place, talk in enumerate(talks):
        room = loaded.room - len(talk.prompt) - len(talk.completion)
        if room < (samplings[place].max_tokens or 1):
            raise UsageError(f"{loaded.id}: a game does not fit into its {loaded.room} tokens: fewer rounds")
        shared[tuple(talk.prompt)].append(place)
    found: dict[int, tuple[list[int], Finish]] = {}
    for prompt, places in shared.items():
        tails = [talks[place].completion for place in places]
        drawn = _together(loaded, prompt, tails, [samplings[place] for place in places], read)
        found |= zip(places, drawn, strict=True)
    return [found[place] for place in range(len(talks))]


@contextmanager
def at_rest(loaded: Loaded, model: Any) -> Iterator[Loaded]:
    """The model as it is while it plays: nothing dropped, no habit of drawing; and as it was again afterwards.

    What its makers advise, such as a penalty on what was said before, would draw from other odds than are learned from.
    """
    inner = model.get_base_model() if hasattr(model, "get_base_model") else model
    training, own = model.training, inner.generation_config
    model.eval()
    inner.generation_config = type(own)()
    try:
        yield replace(loaded, model=model)
    finally:
        inner.generation_config = own
        model.train(training)


def _together(
    loaded: Loaded,
    prompt: tuple[int, ...],
    tails: Sequence[list[int]],
    samplings: Sequence[Sampling],
    read: dict[tuple[int, ...], Any] | None,
) -> list[tuple[list[int], Finish]]:
    import torch

    model, pad, known = loaded.model, loaded.tokenizer.pad_token_id, {} if read is None else read
    *first, last = prompt
    with torch.no_grad():
        if prompt not in known:
            known[prompt] = beginning(model, torch.tensor([first], device=model.device))
        cache = copy.deepcopy(known[prompt])
        cache.batch_repeat_interleave(len(tails))
        longest = max(map(len, tails))
        rows = [first + [pad] * (longest - len(tail)) + [last, *tail] for tail in tails]
        there = [[1] * len(first) + [0] * (longest - len(tail)) + [1] * (len(tail) + 1) for tail in tails]
        tensors = {
            "input_ids": torch.tensor(rows, device=model.device),
            "attention_mask": torch.tensor(there, device=model.device),
            "past_key_values": cache,
        }
        return generated(loaded, samplings, tensors, threading.Event())
