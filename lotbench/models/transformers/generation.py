"""Batched generation with a transformers model.

The library samples a whole batch with one temperature and one random stream. Here it takes the argmax, and a logits
processor samples each row by itself: a batch may mix sampling parameters, and a seed gives the same reply in any batch.
"""

import copy
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from lotbench.errors import CallFailed
from lotbench.models.transformers.loading import Loaded
from lotbench.types import JSON, Finish, Reply, Sampling, Usage

REPLY_TOKENS = 1024
"""The maximum tokens of a reply if neither request nor model sets a limit."""

Written: TypeAlias = tuple[list[int], Finish]
"""The token ids of a reply, and its finish reason."""


@dataclass(frozen=True, slots=True)
class PreparedRequest:
    """A request in the form that the model takes: text from the chat template, pillow images, sampling parameters."""

    text: str
    pictures: tuple[Any, ...]
    sampling: Sampling


def answer(loaded: Loaded, batch: Sequence[PreparedRequest], halt: threading.Event) -> list[Reply]:
    """Answer a batch of requests that have the same number of pictures; setting `halt` ends it at the next token.

    Returns:
        The replies in the order of the requests; an empty one with finish reason `length` if a prompt fills the context.

    Raises:
        CallFailed: Out of memory.
    """
    import torch

    started = time.monotonic()
    batch = tuple(batch)
    tensors = inputs(loaded, batch)
    prompts = _lengths(tensors)
    fitting = [row for row, length in enumerate(prompts) if length < loaded.room]
    if fitting and len(fitting) < len(batch):
        tensors = inputs(loaded, [batch[row] for row in fitting])
    try:
        rows = _generate(loaded, [batch[row].sampling for row in fitting], tensors, halt) if fitting else []
    except torch.OutOfMemoryError as error:
        raise CallFailed(f"{loaded.id}: out of memory with {len(fitting)} requests at once") from error
    written = dict(zip(fitting, rows, strict=True))
    seconds = round(time.monotonic() - started, 3)
    return [
        _reply(loaded, request.sampling, prompt, written.get(row, ([], "length")), seconds)
        for row, (request, prompt) in enumerate(zip(batch, prompts, strict=True))
    ]


def inputs(loaded: Loaded, batch: Sequence[PreparedRequest]) -> Any:
    """Return the tensors of a batch by name (`input_ids` [requests, tokens], ...), on the model's device.

    A model that was loaded to generate pads prompts on the left.
    """
    texts = [request.text for request in batch]
    if loaded.sees:
        # Some vision models add the opening token in the processor, others in the template.
        opening = loaded.tokenizer.bos_token
        opened = opening is not None and texts[0].startswith(opening)
        pictures = [list(request.pictures) for request in batch] if batch[0].pictures else None
        tensors = loaded.processor(
            text=texts, images=pictures, padding=True, add_special_tokens=not opened, return_tensors="pt"
        )
    else:
        tensors = loaded.tokenizer(texts, padding=True, add_special_tokens=False, return_tensors="pt")
    model = loaded.model
    return {
        name: value.to(model.device, model.dtype if value.is_floating_point() else None)
        for name, value in tensors.items()
    }


def _lengths(tensors: Any) -> list[int]:
    """Return the number of tokens of each prompt, without padding."""
    return [int(length) for length in tensors["attention_mask"].sum(dim=1)]


def _generate(
    loaded: Loaded, samplings: Sequence[Sampling], tensors: Any, halt: threading.Event
) -> list[Written]:
    """Return the generated tokens and the finish reason of each request, in order."""
    model = loaded.model
    own = model.generation_config
    begin = tensors["input_ids"].shape[1]
    limits = [
        min(sampling.max_tokens or own.max_new_tokens or REPLY_TOKENS, loaded.room - prompt)
        for sampling, prompt in zip(samplings, _lengths(tensors), strict=True)
    ]
    out = model.generate(
        **tensors,
        generation_config=_generation_config(loaded, max(limits)),
        logits_processor=[Draws(samplings, own, model.device)],
        stopping_criteria=[Until([begin + limit for limit in limits], halt)],
    )
    rows = out[:, begin:].tolist()
    return [_cut(row[:limit], loaded.ends) for row, limit in zip(rows, limits, strict=True)]


def _generation_config(loaded: Loaded, tokens: int) -> Any:
    """Return the model's generation config, changed to take the argmax and to generate at most `tokens` tokens."""
    config = copy.deepcopy(loaded.model.generation_config)
    config.do_sample, config.num_beams = False, 1
    config.temperature = config.top_p = config.top_k = config.max_length = None
    config.max_new_tokens = tokens
    config.eos_token_id, config.pad_token_id = list(loaded.ends), loaded.tokenizer.pad_token_id
    return config


def _cut(tokens: list[int], ends: Sequence[int]) -> Written:
    """Return the tokens up to and including the first end token, and `stop`; all tokens and `length` if there is none."""
    for place, token in enumerate(tokens):
        if token in ends:
            return tokens[: place + 1], "stop"
    return tokens, "length"


def _reply(loaded: Loaded, sampling: Sampling, prompt: int, written: Written, seconds: float) -> Reply:
    tokens, finish = written
    settings = {name: getattr(sampling, name) for name in ("temperature", "top_p", "seed", "max_tokens")}
    sent: dict[str, JSON] = {name: value for name, value in settings.items() if value is not None}
    return Reply(
        text=loaded.tokenizer.decode(tokens, skip_special_tokens=True),
        model=loaded.id,
        finish=finish,
        usage=Usage(input_tokens=prompt, output_tokens=len(tokens)),
        seconds=seconds,
        sent=sent | {"structured": "text"},
    )


class Draws:
    """A logits processor that samples each row with its own temperature, top_p and random stream.

    The argmax of the scores that it returns is the sample. For token i with probability p_i and a draw e_i from Exp(1),
    p_i / e_i is the largest of these ratios with probability p_i. Missing parameters are taken from `own`, the model's
    generation config.
    """

    def __init__(self, samplings: Sequence[Sampling], own: Any, device: Any) -> None:
        import torch

        temperature, top_p = (own.temperature or 1.0, own.top_p or 1.0) if own.do_sample else (0.0, 1.0)
        self._rows: list[tuple[float, float, Any]] = []
        for sampling in samplings:
            stream = torch.Generator(device)
            stream.manual_seed(stream.seed() if sampling.seed is None else sampling.seed)
            own_temperature = temperature if sampling.temperature is None else sampling.temperature
            own_top_p = top_p if sampling.top_p is None else sampling.top_p
            self._rows.append((own_temperature, own_top_p, stream))

    def __call__(self, input_ids: Any, scores: Any) -> Any:
        """Return an array of the shape of `scores`, [rows, vocabulary]; its argmax in each row is the sampled token."""
        import torch

        return torch.stack([_raced(row, *how) for row, how in zip(scores, self._rows, strict=True)])


def _raced(scores: Any, temperature: float, top_p: float, stream: Any) -> Any:
    """Return log-probabilities with sampling noise for the scores [vocabulary] of one row; at temperature 0 the scores."""
    if temperature == 0:
        return scores
    logs = (scores.float() / temperature).log_softmax(dim=-1)
    if top_p < 1:
        ranked, order = logs.exp().sort(descending=True)
        logs[order[ranked.cumsum(dim=-1) - ranked > top_p]] = float("-inf")
    noise = logs.new_empty(logs.shape).exponential_(generator=stream)
    return logs - noise.clamp_min(1e-30).log()


class Until:
    """A stopping criterion: ends each row at its own length, padded prompt included, and all if `halt` is set."""

    def __init__(self, lengths: Sequence[int], halt: threading.Event) -> None:
        self._lengths = lengths
        self._halt = halt

    def __call__(self, input_ids: Any, scores: Any, **more: Any) -> Any:
        """Return for each row whether it is done: booleans [rows]."""
        now = input_ids.shape[1]
        return input_ids.new_tensor([self._halt.is_set() or now >= end for end in self._lengths]).bool()
