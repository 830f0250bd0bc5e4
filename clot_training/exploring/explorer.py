"""A worker of exploration: turns a batch of samples into candidates.

All draws are made or seeded in the batch, so the result depends on the batch alone.
"""

from collections.abc import Callable, Sequence
from functools import cache, partial
from random import Random
from typing import TYPE_CHECKING, TypeAlias

from pydantic import BaseModel

from clot_training.config import Config
from clot_training.data import templates
from clot_training.exploring import conditions
from clot_training.exploring.conditions import Condition
from clot_training.exploring.scorer import Scorer, compared_part
from clot_training.exploring.vocabulary import Vocabulary
from clot_training.records import Candidate, Prompt
from lotbench.benchmarks.standard.oogiri import Row

if TYPE_CHECKING:
    from clot_training.exploring.policy import TransformersPolicy

MakePolicy: TypeAlias = "Callable[[Config], TransformersPolicy]"
"""A function that loads the model that writes and selects, in the process that uses it."""


class Task(BaseModel, frozen=True):
    """A row to explore, with the keywords drawn for it; `truths` are the responses of people to compare with."""

    row: Row
    truths: tuple[str, ...]
    keywords: tuple[int, ...]
    """The indices of the drawn keywords in the vocabulary of the row's language."""


Batch: TypeAlias = tuple[Task, ...]


class Explorer:
    """A worker of exploration: a function from a batch to its candidates. Encoders are loaded when first needed.

    Args:
        config: The configuration.
        vocabulary: The keywords by language.
        make_policy: Loads the model that writes and selects.
    """

    def __init__(self, config: Config, vocabulary: Vocabulary, make_policy: MakePolicy) -> None:
        self._config = config
        self._settings = config.explore
        self._vocabulary = vocabulary
        self._scorer = cache(partial(Scorer, config=config, vocabulary=vocabulary))
        self._policy = make_policy(config)

    def __call__(self, batch: Batch) -> list[Candidate]:
        """Return the candidates of a batch, one for each row and condition, after comparing them with people's."""
        condition_lists = self._conditions(batch)
        requests = [
            (task, place, condition)
            for task, choices in zip(batch, condition_lists, strict=True)
            for place, condition in enumerate(choices)
        ]
        prompts = [self._prompt(*request) for request in requests]
        texts = [" ".join(text.split()) for text in self._policy.generate(prompts)]
        candidates = [
            self._candidate(*request, prompt, text)
            for request, prompt, text in zip(requests, prompts, texts, strict=True)
        ]
        return self._select(_without_doubles(candidates))

    def _conditions(self, batch: Batch) -> list[list[Condition]]:
        if self._settings.conditions == "random":
            return [conditions.random(task.keywords, self._settings) for task in batch]
        by_row = {task.row.id: [Condition(None)] for task in batch if not task.keywords}
        compared = [task for task in batch if task.keywords]
        for kind in dict.fromkeys(compared_part(task.row) for task in compared):
            alike = [task for task in compared if compared_part(task.row) == kind]
            scorer = self._scorer(kind)
            for task, sample in zip(alike, scorer.samples([task.row for task in alike]), strict=True):
                words = scorer.keywords(task.row.language)
                by_row[task.row.id] = conditions.weak(task.keywords, words, sample, self._settings)
        return [by_row[task.row.id] for task in batch]

    def _word(self, task: Task, condition: Condition) -> str | None:
        return None if condition.keyword is None else self._vocabulary[task.row.language][condition.keyword]

    def _prompt(self, task: Task, place: int, condition: Condition) -> Prompt:
        rng = Random(f"{self._config.seed}:{task.row.id}:{self._settings.conditions}:{place}")
        seed = rng.getrandbits(31)
        chat = templates.generation(task.row, self._word(task, condition), rng)
        return Prompt(chat, task.row.image, seed)

    def _candidate(
        self, task: Task, place: int, condition: Condition, prompt: Prompt, text: str
    ) -> Candidate:
        row = task.row
        copied = text in {" ".join(truth.split()) for truth in task.truths}
        return Candidate(
            **row.model_dump(include={"type", "language", "group", "question", "image"}),
            id=f"{row.id}:{self._settings.conditions}:{place}",
            row=row.id,
            messages=prompt.messages,
            condition=self._word(task, condition),
            conditions=self._settings.conditions,
            position=condition.position,
            similarity=None if condition.similarity is None else round(condition.similarity, 6),
            text=text,
            truths=task.truths,
            won=(),
            kept=False,
            why="empty" if not text else "copy" if copied else None,
            seed=prompt.seed,
            policy=self._policy.id,
        )

    def _select(self, candidates: list[Candidate]) -> list[Candidate]:
        """Return the candidates, with `won` and `kept` filled in for those that are compared with people's responses."""
        compared = [candidate for candidate in candidates if candidate.why is None]
        trials = [(candidate, first) for candidate in compared for first in self._orders(candidate)]
        options = [
            (candidate.text, *candidate.truths) if first else (*candidate.truths, candidate.text)
            for candidate, first in trials
        ]
        prompts = [
            Prompt(
                templates.choice("selection", candidate, texts, self._seeded(candidate, "wording")),
                candidate.image,
                self._seeded(candidate, "select").getrandbits(31),
            )
            for (candidate, _), texts in zip(trials, options, strict=True)
        ]
        labels = [templates.LETTERS[: len(texts)] for texts in options]
        chosen = self._policy.select(prompts, labels) if prompts else []
        won: dict[str, list[bool]] = {}
        for (candidate, first), place in zip(trials, chosen, strict=True):
            won.setdefault(candidate.id, []).append(place == (0 if first else len(candidate.truths)))
        return [
            candidate.model_copy(update={"won": tuple(won[candidate.id]), "kept": all(won[candidate.id])})
            if candidate.id in won
            else candidate
            for candidate in candidates
        ]

    def _orders(self, candidate: Candidate) -> tuple[bool, ...]:
        """Return in which orders a candidate is compared with people's responses, by the setting `keep_rule`.

        True puts the candidate before these responses, False after them.
        """
        if self._settings.keep_rule == "both_orders":
            return (True, False)
        return (self._seeded(candidate, "order").choice((True, False)),)

    def _seeded(self, candidate: Candidate, purpose: str) -> Random:
        return Random(f"{self._config.seed}:{candidate.id}:{purpose}")


def _without_doubles(candidates: Sequence[Candidate]) -> list[Candidate]:
    """Return the candidates; `why` becomes `double` where an earlier candidate of the same row has the same text.

    A candidate that has a `why` already keeps it.
    """
    seen_texts: set[tuple[str, str]] = set()
    result = []
    for candidate in candidates:
        double = candidate.why is None and (candidate.row, candidate.text) in seen_texts
        seen_texts.add((candidate.row, candidate.text))
        result.append(candidate.model_copy(update={"why": "double"}) if double else candidate)
    return result
