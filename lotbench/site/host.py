"""The host: a judge and oracle without a model, which judges guesses by a sample's word lists and answers by facts.

The lists have few guesses. On a guess that is neither there nor in the caption the host gives no verdict, and the player
decides. It answers questions that the facts of the easy samples decide (`facts`), and offers some of them.
"""

import json
import re
import tomllib
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from difflib import SequenceMatcher
from functools import cache, lru_cache
from typing import Any, TypeAlias

from lotbench.benchmarks.lotbench import words
from lotbench.benchmarks.lotbench.sample import Item
from lotbench.models.python_models import NAMED
from lotbench.regular_file import read_text
from lotbench.site import facts, nouns
from lotbench.storage.datasets import shipped
from lotbench.storage.jsonl import rows
from lotbench.types import Reply, Request

Decide: TypeAlias = Callable[[Item, str], Awaitable[tuple[bool, str] | None]]
"""Asks the player whether a guess counts that is on no list of the sample.

The arguments are the sample and the guess; the result has the reason, too. None means that the player did not decide; the guess does not count then.
"""
HOST = "python:lists"
"""The host's model name in the configuration of a run."""
OWN_WORD = "The player says so."
"""The reason in the record of a verdict that the player gave."""
SEEN = "The player saw the answer and says no."
"""The reason in the record of a guess that the player took back when the answer was shown."""
ALIKE = 0.88
"""The similarity of letters (`alike`) from which two phrases count as the same phrase with a typing error."""
SAME = 0.995
"""The similarity of two phrases of the same stems."""
MORE = 2
"""The maximum number of further words in a guess that contains a phrase of the lists."""
_QUOTED = re.compile(r"^[^\n:：\"“]+[:：]\s*[\"“](.*)[\"”]\s*$", re.MULTILINE)
"""A line of a prompt with a label, a colon and a quoted text; the last such line has the guess or the question."""
SUGGESTED = 3
"""The maximum number of questions that the host offers at a time."""


@lru_cache(maxsize=256)
def lists(sample: Item) -> tuple[Mapping[str, str], Mapping[str, str]]:
    """Return the guesses that count and those that do not, with the reasons.

    They are the sample's, the labelled ones of the judge set, and those that were written for the host.
    """
    right = dict.fromkeys(sample.accept, "It is on the list of what counts.")
    wrong = dict.fromkeys(sample.near, "It is near, but it makes another joke.")
    wrong |= {rejected.text: rejected.why for rejected in sample.reject}
    for guess, counts in _guesses().get(sample.id, {}).items() if facts.about(sample.key_text) else ():
        if guess not in right.keys() | wrong.keys():
            side, word = (right, "counts") if counts else (wrong, "misses")
            side[guess] = f"It is on the list of what {word}."
    return {sample.key_text: "It is the very words.", **right}, wrong


@cache
def _guesses() -> Mapping[str, Mapping[str, bool]]:
    """Return the guesses of guesses.toml and those of the judge set whose labels agree, by the ids of the easy samples."""
    written = tomllib.loads(read_text(shipped("data", "lotbench_easy", "guesses.toml")))
    guesses = {
        sample: dict.fromkeys(wrong.split(", "), False) | dict.fromkeys(right.split(", "), True)
        for sample, (right, wrong) in written.items()
    }
    for _, row in rows(shipped("data", "judge_sets", "daeso.jsonl"), dict):
        if not row["contested"]:
            guesses.setdefault(row["sample"], {})[row["guess"]] = row["label"]
    return guesses


def verdict(sample: Item, guess: str) -> tuple[bool | None, str]:
    """Return whether a guess counts by its sample's lists, and the reason; None and "" if it is on no list.

    A guess on no list does not count if the caption has it word for word, or if the facts call it another kind of thing.
    """
    # A guess has at most 120 characters; to compare the letters of longer texts takes quadratic time.
    guess = guess[:200]
    right, refused = lists(sample)
    texts = [
        (text, counts, why) for counts, of in ((False, refused), (True, right)) for text, why in of.items()
    ]
    best, counts, why = max((alike(guess, text), counts, why) for text, counts, why in texts)
    # A waiter is no slip of water.
    if best >= (SAME if nouns.is_noun(guess) else ALIKE):
        return counts, why
    # A milk bath is a bath: a phrase with the last word of the guess goes before the others.
    last = [*_stems(guess)][-1:]
    given = stems(guess)
    held = [one for one in texts if (own := stems(one[0])) <= given and len(given - own) <= MORE]
    if held:
        text, counts, why = max(held, key=lambda one: (stems(one[0]).issuperset(last), not one[1]))
        return counts, f"It has “{text}” in it." if counts else why
    if words.overlap(guess, sample.caption) == "shortens":
        return False, "That is in the picture already."
    other = nouns.is_other_kind(sample.key_text, guess, right)
    return (False, "That is another kind of thing.") if other else (None, "")


def answer(sample: Item, question: str) -> str:
    """Return the answer to a question on the key text: Yes or No if a fact or the lists decide, else Unclear."""
    decided, about = facts.truth(sample.key_text, question), facts.about(sample.key_text)
    asked = stems(question)
    right, wrong = (any(asked == stems(text) for text in of) for of in lists(sample))
    # A list may have "food" among what does not count where the answer may be food.
    if decided is None and wrong and not (about and asked & (about.near | about.unsure)):
        decided = False
    # What would count as a guess is no No.
    return "Yes" if right or decided else "Unclear" if decided is None else "No"


def suggested(sample: Item, asked: Sequence[str], clues: Iterable[str] = ()) -> Sequence[str]:
    """Return questions that the host can answer, and that neither were asked nor are answered by a Yes or a clue so far.

    The first splits best what is still possible. Three with a Yes would give the answer away together.
    """
    true = [*clues, *(question for question in asked if answer(sample, question) == "Yes")]
    past = [*asked, *(question for text in true for question in facts.mentioned(text))]
    best = [question for question in facts.best_questions(sample.key_text, past) if question not in past]
    first, last = best[: SUGGESTED - 1], best[SUGGESTED - 1 :]
    if all(answer(sample, question) == "Yes" for question in first):
        last = [question for question in last if answer(sample, question) == "No"] or last
    return [*first, *last[:1]]


def alike(text: str, other: str) -> float:
    """Return the similarity of two phrases: 1 for the same words, .995 for the same stems, else the share of common letters (0 to .99).

    A customer has the stem of customs, but is something else. The share is 0 if it is below `ALIKE` or a phrase has fewer than five characters.
    """
    first, second = words.same(text), words.same(other)
    if stems(text) == stems(other):
        return 1.0 if first == second else SAME
    # In a short word, one letter makes another word.
    if min(len(first), len(second)) < 5:
        return 0.0
    letters = SequenceMatcher(None, first, second, autojunk=False)
    # The ratio takes long; most pairs of texts are ruled out by their lengths or by which letters they have.
    if min(letters.real_quick_ratio(), letters.quick_ratio()) < ALIKE:
        return 0.0
    return min(letters.ratio(), 0.99)


@lru_cache(maxsize=8192)
def stems(text: str) -> frozenset[str]:
    """Return the stems of the content words of a text; if there are none, all its words."""
    return frozenset(_stems(text)) or frozenset(words.same(text).split())


def _stems(text: str) -> Iterable[str]:
    folded = words.same(text)
    if words.CJK.search(folded):
        return [folded]
    return [words.stem(word) for word in folded.split() if word not in nouns.PLAIN]


class Host:
    """A model that plays judge and oracle by the lists of the samples and the facts about them.

    Args:
        sample: Returns the sample with an id.
        decide: Asks the player about a guess that is on no list; if it is None, such a guess does not count.
    """

    takes_requests = True

    def __init__(self, sample: Callable[[str], Any], decide: Decide | None = None) -> None:
        self._sample = sample
        self._decide = decide

    async def __call__(self, request: Request) -> Reply:
        """Answer a request of the judge or the oracle, as JSON in the form of the request's schema."""
        fields = (request.schema or {}).get("properties", {})
        return Reply(json.dumps(await self._build_reply(request, fields), ensure_ascii=False), HOST)

    async def _build_reply(self, request: Request, fields: Any) -> dict[str, Any]:
        if request.key.step == "preflight":
            return {"word": "ready"}
        sample = self._sample(request.key.sample)
        if request.key.step == "answer":
            return {"answer": answer(sample, _quoted(request))}
        counts, why = verdict(sample, _quoted(request))
        if counts is None:
            own = await self._decide(sample, _quoted(request)) if self._decide else None
            counts, why = own or (False, "The lists do not know it.")
        return {name: counts if shape.get("type") == "boolean" else why for name, shape in fields.items()}


NAMED.add(Host)


def _quoted(request: Request) -> str:
    text = "".join(part for part in request.messages[-1].parts if isinstance(part, str))
    return str(_QUOTED.findall(text)[-1])
