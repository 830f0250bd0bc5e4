"""Findings about weak samples, from the texts of a data set and from its pictures.

A sample that gives its key text away measures reading, not creativity, which is a grave finding. A finding that a
person must decide on (a guess in another language) is a note.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from lotbench.benchmarks.lotbench import words
from lotbench.benchmarks.lotbench.sample import Item
from lotbench.benchmarks.lotbench.settings import Settings
from lotbench.errors import Unread
from lotbench.harness.data_findings import Finding

LEAST_WORDS = {"en": 3, "zh": 4}
"""The smallest number of words (Chinese: characters) that a response must have beside the mask, by language."""
CAUSE = {
    "en": re.compile(
        r"\b(?:because|since|so|therefore|thus|hence|why|as a result|for that reason|lead(?:s|ing)? to"
        r"|caus(?:e|es|ed|ing)|which makes)\b",
        re.IGNORECASE,
    ),
    "zh": re.compile("因为|由于|所以|于是|因此|因而|导致|使得|以致|以至|难怪"),
}
_EMPTY = frozenset(Path(__file__).with_name("function_words.txt").read_text("utf-8").split())
"""Words without a meaning of their own; many key texts of several words contain some."""
_EMPTY_ZH = frozenset("的了着是在有和与就都也还又不没个一这那他她它们人上下里")
_HAN_RUN = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff]+")
_HAN = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff]")
_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")


def lints(items: Sequence[Item], settings: Settings, metadata: Mapping[str, Sequence[str]]) -> list[Finding]:
    """Return all findings, sample by sample.

    `metadata` has the names of the metadata entries in the samples' picture files, by sample id.
    """
    findings: list[Finding] = []
    for item in items:
        for lint in LINTS:
            findings.extend(lint(item))
        if entries := metadata.get(item.id):
            findings.append(Finding(item.id, "image", f"holds metadata: {', '.join(entries)}"))
    return findings


def texts(item: Item) -> Iterator[tuple[str, str]]:
    """Yield the field and the text of all that the candidate may read: caption, response without key text, clues."""
    start, end = item.span
    yield "caption", item.caption
    yield "response", f"{item.response[:start]} {item.response[end:]}"
    for number, clue in enumerate(item.clues):
        yield f"clues.{number}", clue


def guesses(item: Item) -> Iterator[tuple[str, str]]:
    """Yield the field and the text of each guess that a sample lists: key text, accepted and rejected guesses."""
    yield "key_text", item.key_text
    for number, text in enumerate(item.accept):
        yield f"accept.{number}", text
    for number, rejected in enumerate(item.reject):
        yield f"reject.{number}", rejected.text


def given_away(item: Item) -> Iterator[Finding]:
    """Yield a finding for each word stem or pair of Chinese characters of the key text in a text that the candidate reads."""
    for field, text in texts(item):
        for word in pairs(item.key_text) & pairs(text):
            yield Finding(item.id, field, f"has {word!r} of the key text {item.key_text!r}")
        for stem in sorted(stems(item.key_text) & stems(text)):
            yield Finding(item.id, field, f"has the stem {stem!r} of the key text {item.key_text!r}")


def accepted_in_clue(item: Item) -> Iterator[Finding]:
    """Yield a finding for each clue that contains an accepted guess, since a candidate wins by copying it."""
    for number, clue in enumerate(item.clues):
        for guess in item.accept:
            if words.leaks(clue, [guess]):
                yield Finding(item.id, f"clues.{number}", f"says the accepted guess {guess!r}")


def no_cause(item: Item) -> Iterator[Finding]:
    """Yield a finding for an explanation without a word of cause, since it states no causal chain (Sec. 5.3)."""
    if not CAUSE[item.language].search(item.explanation):
        yield Finding(item.id, "explanation", "names no cause (because, so, ...; 因为、所以、于是……)")


def nothing_left(item: Item) -> Iterator[Finding]:
    """Yield a finding if the response has too few words beside the mask to guess from; see LEAST_WORDS."""
    start, end = item.span
    rest = f"{item.response[:start]} {item.response[end:]}"
    count = len((_HAN if item.language == "zh" else _WORD).findall(rest))
    if count < LEAST_WORDS[item.language]:
        unit = "characters" if item.language == "zh" else "words"
        yield Finding(
            item.id, "response", f"the mask leaves {count} {unit}, fewer than {LEAST_WORDS[item.language]}"
        )


def twins(item: Item) -> Iterator[Finding]:
    """Yield a finding for each listed guess that equals an earlier one of the sample in normal form (`words.same`)."""
    seen_at: dict[str, str] = {}
    for field, text in guesses(item):
        if (first := seen_at.setdefault(words.same(text), field)) != field:
            yield Finding(item.id, field, f"{text!r} is the same as {first}")


def no_guess(item: Item) -> Iterator[Finding]:
    """Yield a finding for each listed guess that the game would refuse or change, and a note for another language."""
    limits = Settings()
    for field, text in guesses(item):
        try:
            phrase = words.guess(text, item.frame, limits.max_words, limits.max_characters)
        except Unread as error:
            yield Finding(item.id, field, f"{text!r} is no guess: {error.reason}")
            continue
        if words.same(phrase) != words.same(text):
            yield Finding(item.id, field, f"{text!r} would be read as {phrase!r}")
        if words.other_language(text, item.language):
            yield Finding(item.id, field, f"{text!r} is not in the sample's language", grave=False)


def likeness_in_effect(item: Item) -> Iterator[Finding]:
    """Yield a note for each word that likeness and effect of a creative point share.

    A guess that fails one of the two then also fails the other, and judges disagree.
    """
    points = {f"points.{number}.point": other.point for number, other in enumerate(item.points)}
    for field, point in {"point": item.point, **points}.items():
        if point is not None:
            likeness, effect = point.likeness, point.effect
            for word in sorted(stems(likeness) & stems(effect) | pairs(likeness) & pairs(effect)):
                yield Finding(item.id, f"{field}.effect", f"has {word!r} of the likeness", grave=False)


LINTS: tuple[Callable[[Item], Iterable[Finding]], ...] = (
    given_away,
    accepted_in_clue,
    no_cause,
    nothing_left,
    twins,
    no_guess,
    likeness_in_effect,
)


def stems(text: str) -> frozenset[str]:
    """Return the stems of a text's words, without Chinese words and words that have no meaning of their own."""
    tokens = (word.lower().replace("’", "'").removesuffix("'s") for word in _WORD.findall(text))
    return frozenset(words.stem(word) for word in tokens if word not in _EMPTY and not _HAN.search(word))


def pairs(text: str) -> frozenset[str]:
    """Return each pair of adjacent Chinese characters in a text, except pairs with a character that only joins words.

    Single characters are not compared: half of the words with a given character mean something else.
    """
    return frozenset(
        run[place : place + 2]
        for run in _HAN_RUN.findall(text)
        for place in range(len(run) - 1)
        if not _EMPTY_ZH & set(run[place : place + 2])
    )
