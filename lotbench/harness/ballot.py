"""Ballots with free responses of several models, and the count of votes (LoTbench, Sec. 7.1.1, Fig. 13).

A ballot hides the models: responses are shuffled for each prompt, and a separate key has the names. It shows all
responses to a prompt at once, or pairs; votes on pairs are rated by the model of Bradley and Terry.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from random import Random
from string import ascii_uppercase
from typing import Any, TypeAlias

import numpy as np
from pydantic import BaseModel, Field, FiniteFloat

from lotbench.config.experiment import digest
from lotbench.metrics.bradley_terry import Rating, Votes, ratings
from lotbench.metrics.intervals import Floats, bounded, divided
from lotbench.types import FrozenModel, Trace

Key: TypeAlias = dict[str, dict[str, str]]
"""The model of each response, by item and letter."""


class Response(FrozenModel):
    """One response on a ballot."""

    letter: str
    text: str


class Item(FrozenModel):
    """A line of the ballot file: a prompt with all responses, or with a pair of them.

    `image` is relative to the folder of `data`. `id` is the sample's id; for a pair it names the pair, and `prompt` the sample.
    """

    id: str
    prompt: str | None = None
    type: str
    language: str
    question: str | None = None
    image: str | None = None
    data: str
    responses: tuple[Response, ...]

    @property
    def fingerprint(self) -> str:
        """The beginning of a digest of the item, which differs between ballots: their responses or letters are others."""
        return digest(self)[:12]


class Scored(FrozenModel):
    """The score of a model's run: the name of the metric, and its value (None if it has none)."""

    metric: str
    value: FiniteFloat | None


class Names(BaseModel, frozen=True, extra="allow"):
    """The key file of a ballot: the model of each response, by item and letter, and the scores of the runs, by model."""

    models: dict[str, dict[str, str]]
    scores: dict[str, Scored] = {}


class Vote(FrozenModel):
    """A line of a votes file: the letters that one person chose for one item; choosing none is a vote too.

    `item` is what `Item.fingerprint` was on the ballot; "" if the vote was not given on lotbench's page.
    """

    id: str
    voter: str = Field(min_length=1)
    letters: tuple[str, ...]
    item: str = ""


class Task(BaseModel, frozen=True, extra="ignore"):
    """The part of a sample that people see before they vote; shares of the votes are counted by `type`.

    `image` is the path of the picture, relative to the data set.
    """

    type: str
    language: str
    question: str | None = None
    image: str | None = None


@dataclass(frozen=True, slots=True)
class Ballot:
    """How free responses of a benchmark are put to the vote.

    Attributes:
        how: The command that starts a run of free responses.
        responses: Returns the responses by sample, from a run's traces, the fields of its samples and its settings; None if
            the settings ask for no free responses.
        prompt: Returns the part of a sample that people see, from its fields.
    """

    how: str
    responses: Callable[[Sequence[Trace], Mapping[str, Mapping[str, Any]], Any], Mapping[str, str] | None]
    prompt: Callable[[Mapping[str, Any]], Task]


def ballot(
    written: Mapping[str, Mapping[str, str]],
    prompts: Mapping[str, Task],
    data: str,
    seed: int,
    *,
    pairs: bool = False,
) -> tuple[list[Item], Key]:
    """Return the items of a ballot and its key; leave out prompts with fewer than two responses.

    Args:
        written: The response to each prompt id, by model.
        prompts: The prompts by id.
        data: The data set with the pictures.
        seed: The seed of the order of responses.
        pairs: Whether each pair of models makes an item; pairs with equal responses are left out.
    """
    items, key = [], {}
    for name, task in prompts.items():
        models = sorted(model for model, responses in written.items() if name in responses)
        groups = map(list, combinations(models, 2)) if pairs else [models]
        for number, group in enumerate(groups, 1):
            if len({written[model][name] for model in group}) < 2 and (pairs or len(group) < 2):
                continue
            of = f"{name}/{number}" if pairs else name
            Random(f"{seed}:{of}:0:ballot").shuffle(group)
            key[of] = dict(zip(ascii_uppercase, group, strict=False))
            responses = tuple(
                Response(letter=letter, text=written[model][name]) for letter, model in key[of].items()
            )
            shown = {field: getattr(task, field) for field in Task.model_fields}
            items.append(Item(id=of, prompt=name if pairs else None, data=data, responses=responses, **shown))
    return items, key


def key_faults(items: Sequence[Item], key: Key) -> list[str]:
    """Return a fault for each item that does not fit the key.

    An item fits if it has responses and the key has the same letters for it; on a ballot of pairs, these must be two.
    """
    paired = any(item.prompt for item in items)
    return [
        f"models.{item.id}: is not of this ballot"
        for item in items
        if set(key.get(item.id, ())) != {response.letter for response in item.responses}
        or len(item.responses) < 1
        or (paired and len(key[item.id]) != 2)
    ]


def faults(votes: Sequence[Vote], key: Key) -> dict[int, str]:
    """Return the fault of each faulty vote, by its index: an item or letter that is unknown, or a letter or vote given twice."""
    problems: dict[int, str] = {}
    seen: set[tuple[str, str]] = set()
    for index, vote in enumerate(votes):
        if vote.id not in key:
            problems[index] = f"id: no prompt {vote.id!r} on the ballot"
        elif unknown := [letter for letter in vote.letters if letter not in key[vote.id]]:
            problems[index] = f"letters: no response {', '.join(unknown)} to {vote.id}"
        elif len(set(vote.letters)) < len(vote.letters):
            problems[index] = "letters: one comes twice"
        elif (vote.voter, vote.id) in seen:
            problems[index] = f"voter: {vote.voter!r} has voted on {vote.id} already"
        seen.add((vote.voter, vote.id))
    return problems


def foreign(items: Sequence[Item], votes: Sequence[Vote]) -> list[int]:
    """Return the indexes of the votes that were given on another ballot."""
    fingerprints = {item.id: item.fingerprint for item in items}
    return [at for at, vote in enumerate(votes) if vote.item not in ("", fingerprints.get(vote.id))]


def shares(
    items: Sequence[Item], key: Key, votes: Sequence[Vote]
) -> list[tuple[str, str, int, float, float | None, float | None]]:
    """Return each model's share of the votes by type of prompt, and the mean over types (Avg. in LoTbench, Fig. 13).

    Votes on prompts that not all models answered are left out.

    Returns:
        Rows of type (`all` for the mean), model, votes, share, and the ends of its 95 % interval over items; within a type
        sorted by descending share. Types without votes have no rows.
    """
    models = sorted({model for letters in key.values() for model in letters.values()})
    items = [item for item in items if len(key[item.id]) == len(models)]
    by_item = {item.id: np.zeros(len(models)) for item in items}
    for vote in votes:
        for letter in vote.letters if vote.id in by_item else ():
            by_item[vote.id][models.index(key[vote.id][letter])] += 1
    types = sorted({item.type for item in items if by_item[item.id].any()})
    rows = []
    for name, of in (*((type_, [type_]) for type_ in types), *([("all", types)] if types else [])):
        counts = np.array(
            [[by_item[item.id] * (item.type == type_) for type_ in of] for item in items if item.type in of]
        )
        type_rows = []
        for place, model in enumerate(models):
            share = partial(_share, place=place)
            low, high = bounded(counts, share)
            sums = counts.sum(axis=0)
            type_rows.append((name, model, int(sums[:, place].sum()), float(share(sums)), low, high))
        rows += sorted(type_rows, key=lambda row: -row[3])
    return rows


def rated(items: Sequence[Item], key: Key, votes: Sequence[Vote]) -> dict[str, Rating]:
    """Return the rating of each model from votes on pairs, best first, with intervals over voters and prompts.

    Choosing both or neither of a pair counts as a tie.
    """
    models = sorted({model for letters in key.values() for model in letters.values()})
    prompt_of = {item.id: item.prompt or item.id for item in items}
    pairs, chosen = [], []
    for vote in votes:
        first, second = key[vote.id].values()
        picked = {key[vote.id][letter] for letter in vote.letters}
        pairs.append((models.index(first), models.index(second)))
        chosen.append(0.5 if len(picked) != 1 else float(first in picked))
    voted = Votes(
        voter=np.unique([vote.voter for vote in votes], return_inverse=True)[1],
        prompt=np.unique([prompt_of[vote.id] for vote in votes], return_inverse=True)[1],
        pair=np.array(pairs, dtype=int).reshape(-1, 2),
        chosen=np.array(chosen),
        players=len(models),
    )
    by_model = dict(zip(models, ratings(voted), strict=True))
    return dict(sorted(by_model.items(), key=lambda entry: -(entry[1].value or 0.0)))


def ranked(items: Sequence[Item], votes: Sequence[Vote]) -> list[dict[str, Any]]:
    """Return the responses of a ballot as rows for models to rank, with votes as likes (`star`) and without models' names.

    Among pairs the votes of a response add up. If a text was shown in more pairs than others, since two models wrote it, its
    votes are scaled down.
    """
    texts = {(item.id, response.letter): response.text for item in items for response in item.responses}
    # Who chooses the same text of two models chooses it once.
    chosen = Counter(
        pair
        for vote in votes
        for pair in {(vote.id, texts.get((vote.id, letter))) for letter in vote.letters}
    )
    rows: dict[str, dict[str, dict[str, Any]]] = {}
    shown = Counter[tuple[str, str]]()
    for item in items:
        prompt = item.prompt or item.id
        of_prompt = rows.setdefault(prompt, {})
        for text in dict.fromkeys(response.text for response in item.responses):
            shown[prompt, text] += 1
            task = {field: getattr(item, field) for field in Task.model_fields}
            new = {"id": f"{prompt}-{len(of_prompt) + 1}", "group": prompt, **task, "text": text, "star": 0}
            of_prompt.setdefault(text, new)["star"] += chosen[item.id, text]
    for prompt, of_prompt in rows.items():
        least = min(shown[prompt, text] for text in of_prompt)
        for text, row in of_prompt.items():
            row["star"] = round(row["star"] * least / shown[prompt, text])
    return [row for of_prompt in rows.values() for row in of_prompt.values()]


def _share(sums: Floats, place: int) -> Floats:
    """Return one model's share of the votes, [...], as the mean over types; NaN if a type has no votes.

    `sums` counts the votes, [..., types, models]; `place` is the index of the model.
    """
    return np.asarray(divided(sums[..., place], sums.sum(axis=-1)).mean(axis=-1))
