"""Facts about the key texts of the easy samples, by which the host of a game without a key answers questions.

They stand in `data/lotbench_easy/facts.toml`, with questions to offer. A question is split at "or" into parts. A part is
true if all its words with content ask for facts that are true, and false if one of them asks for a false one; else nothing is
said.
"""

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any, Literal, TypeAlias

from lotbench.benchmarks.lotbench import words
from lotbench.regular_file import read_text
from lotbench.storage.datasets import shipped

Way: TypeAlias = Literal["is", "head", "linked", "purpose"]
"""What a question asks of a fact.

Whether the key text `is` it (as `head`, only up to the first noun), is `linked` with it, or has it as its `purpose`.
"""
KINDS = ("person", "object", "activity", "animal", "food", "event", "place")
"""The facts of which a key text has one at most."""
LONGEST = 150
"""The longest question that is read, in characters; the game takes no longer one."""
_OPENING = re.compile(
    r"(?P<verb>is|are|was|were|does|do|did|can|could|would|will|has|have|might|may)(?:nt)? (?P<subject>it|they|(?<=is )this|he|she"
    r"|(?:the|this) (?:answer|blank|thing|person|word|phrase|(?:missing|hidden) \w+)|people|one|you|we)(?P<no> not)? (?P<rest>.+)"
)
_STATEMENT = re.compile(
    r"(?P<hedge>(?:(?:maybe|perhaps|probably|i think|i guess),? )*+)"
    r"(?:(?P<subject>it|they|you|we)(?: (?P<verb>is|are|was|were|can|could|has|have)|['’]s|['’]re|s(?= (?:an?|the|some|not)\b)) )?"
    r"(?P<rest>(?P<some>some(?:thing|one|body) )?.+)",
    re.IGNORECASE,
)
"""A statement on the answer: "it's an animal", "you can eat it", "maybe an animal", "something you wear"."""
_EMPTY = re.compile(
    r"\b(?:kind|type|sort|form|piece|example|name|word|term|phrase|member)s? (?:of|for) (?:an? |the )?| at all\b"
)


@dataclass(frozen=True, slots=True)
class Phrase:
    """What a phrase of a question asks for: a fact, and its own `word` if it has a sign in the file, else "".

    A word with a star is a `kind` of the fact: what has to do with the fact says nothing of it.
    """

    fact: str
    word: str
    kind: bool
    size: int


@dataclass(frozen=True)
class Facts:
    """The facts about one key text.

    Attributes:
        itself: What it is.
        near: What it has to do with.
        unsure: What cannot be said for sure.
    """

    itself: frozenset[str]
    near: frozenset[str]
    unsure: frozenset[str]

    def holds(self, phrase: Phrase, way: Way, of_verb: bool = False) -> bool | None:
        """Return whether a fact is true; None if that cannot be said. `of_verb`: it is asked by a verb, not after a preposition."""
        fact, verbs = phrase.fact, _grammar("verbs")
        if way in ("is", "head"):
            fact = phrase.word or fact
            if fact in self.itself or (way == "head" and fact in self.near & _grammar("qualities")):
                return True
            return None if fact in self.unsure | (self.near & verbs) else False
        if phrase.kind or phrase.word in self.itself | self.near:
            return True if phrase.word in self.itself | self.near else None
        if fact in self.itself or (fact in self.near and way == "linked" and not (of_verb and fact in verbs)):
            return None if phrase.word else True
        return None if fact in self.unsure | self.near else False


def may_ask(text: str) -> bool:
    """Return whether a text in the place of a guess may be a question: "is it red" may, "did the dishes" may not."""
    marked = words.CJK.search(text) or text.rstrip().endswith("?")
    return bool(marked or _OPENING.fullmatch(words.same(text)))


def as_question(text: str) -> str:
    """Return the question that a statement on the answer amounts to: "Is it an animal?" for "maybe an animal"; another text as it is."""
    said = _STATEMENT.fullmatch(text.rstrip(" .?")) if len(text) <= LONGEST else None
    if said is None or not (said["hedge"] or said["subject"] or said["some"]):
        return text
    subject = (said["subject"] or "it").lower()
    verb = said["verb"] or ("are" if subject == "they" else "is")
    return f"{verb.capitalize()} {subject} {said['rest']}?"


def about(key: str) -> Facts | None:
    """Return the facts about a key text; None if there are none."""
    return _facts().get(key)


# Each page of a player asks this of all key texts for each question so far.
@lru_cache(maxsize=20_000)
def truth(key: str, question: str) -> bool | None:
    """Return what the facts about a key text say of a question; None if they do not decide it.

    A question is in English, or one of the file's in Chinese, which is answered as in English.
    """
    facts, asked = _facts().get(key), words.same(question)
    asked = _in_english().get(asked, asked)
    opening = _OPENING.fullmatch(asked)
    # Each "no" in a question is a call within a call.
    if (
        facts is None
        or opening is None
        or len(asked) > LONGEST
        or any(word in asked for word in _grammar("scene"))
    ):
        return None
    is_it, anybody = opening["verb"] in _grammar("is"), opening["subject"] in _grammar("anybody")
    way: Way = "is" if anybody or opening["verb"] in _grammar("can") else "head" if is_it else "linked"
    has = {name for name in ("idle", "somebody", "trade") if not _grammar(name).isdisjoint(asked.split())}
    acts = "alive" in facts.itself and not (is_it or anybody or "idle" in has)
    somebody = "person" in facts.itself | facts.unsure and "somebody" in has
    of_living = (acts or somebody) and "trade" not in has
    first, *others = _EMPTY.sub("", opening["rest"]).split(" or ")
    # "in kitchens or bathrooms": what links the first links the second.
    linked = re.match(rf".*\b(?:{'|'.join(_grammar('link'))})\b ", first)
    parts = [first, *(f"{linked[0]}{part}" if linked else part for part in others)]
    truths = [_of_part(facts, part.split(), way, of_living) for part in parts]
    said = True if True in truths else None if None in truths else False
    return said if said is None else said != bool(opening["no"])


def best_questions(key: str, asked: Sequence[str]) -> list[str]:
    """Return the questions of the file that the facts about a key text answer; empty if there are no facts.

    Of the key texts that agree with the answers to `asked`, the first question splits off nearest to a half. Of questions that
    split off as many, those with a Yes are first.
    """
    answers = _answers(1 if words.CJK.search(key) else 0)
    known = {question: said for question, said in answers.get(key, {}).items() if said is not None}
    heard = {question: said for question in asked if (said := truth(key, question)) is not None}
    possible = [
        row
        for other, row in answers.items()
        if all(truth(other, question) in (None, said) for question, said in heard.items())
    ]

    def unevenness(question: str) -> tuple[int, bool]:
        column = [row[question] for row in possible]
        return abs(column.count(True) - column.count(False)), not known[question]

    return sorted(known, key=unevenness)


def mentioned(text: str) -> list[str]:
    """Return the questions of the file that a true text answers: those for whose facts it has words.

    If it names one of the `KINDS` first ("It is a place"), it answers the questions for all of them.
    """
    chinese = bool(words.CJK.search(text))
    tokens = _words_zh().findall(text) if chinese else words.same(text).split()
    named = [phrase.fact for at in range(len(tokens)) if (phrase := _phrase(tokens[at : at + 4]))]
    said = words.same(text)
    named += [fact for fact, row in _table()["clues"].items() if any(one in said for one in row.split(", "))]
    named += KINDS if named and named[0] in KINDS else ()
    return [texts[chinese] for fact, texts in _table()["asks"].items() if fact in named]


@cache
def _answers(language: int) -> Mapping[str, Mapping[str, bool | None]]:
    """Return the answers to the file's questions in a language (0: English, 1: Chinese), by key text."""
    questions = [texts[language] for texts in _table()["asks"].values()]
    keys = [key for key in _facts() if bool(words.CJK.search(key)) == bool(language)]
    return {key: {question: truth(key, question) for question in questions} for key in keys}


def _both(truths: list[bool | None]) -> bool | None:
    return False if False in truths else None if None in truths or not truths else True


def _of_part(facts: Facts, tokens: list[str], way: Way, of_living: bool) -> bool | None:
    """Return the truth of a part of a question, which asks at first what `way` says.

    `of_living`: It asks what a person or an animal does or is like, of which the facts know little.
    """
    truths: list[bool | None] = []
    at = 0
    while at < len(tokens):
        token, after = tokens[at], tokens[at + 1 :]
        before = next((one for one in reversed(tokens[:at]) if one not in ("a", "an", "the")), "")
        phrase = _phrase(tokens[at : at + 4])
        anybody = token in _grammar("anybody") and way != "head" and before not in ("with", "about")
        if phrase and not anybody and (phrase.size > 1 or token not in _grammar("link")):
            at += phrase.size
            modifies = way == "head" and bool(_phrase(tokens[at : at + 4]))
            of_verb = before not in _grammar("link") or before in ("that", "which", "who", "to")
            said = facts.holds(phrase, "linked" if modifies else way, of_verb)
            sure = facts.itself if said and of_verb else _grammar("kinds" if modifies else "limbs")
            told = not of_living or (way == "head" and not modifies) or (said and not of_verb)
            truths.append(said if told or phrase.fact in sure else None)
            way = "linked" if way == "head" and not modifies else way
            continue
        if token in _grammar("no"):
            rest = _of_part(facts, after, "is" if after[:1] in (["a"], ["an"]) else way, of_living)
            return _both([*truths, None if rest is None else not rest])
        if token in _grammar("cut"):
            return _both([*truths, None])
        known = any(token in _grammar(name) for name in _table()["grammar"])
        if not known and words.stem(token) not in map(words.stem, facts.itself | facts.near):
            truths.append(None)
        way = _way_after(token, before, after, way)
        at += 1
    return _both(truths)


def _way_after(token: str, before: str, after: list[str], way: Way) -> Way:
    """Return what a part of a question asks from a word without a fact on."""
    if token in _grammar("can"):
        return "is"
    if token in _grammar("link"):
        return "purpose" if token in ("for", "to") and before in ("used", "use") else "linked"
    if token == "and" and after[:1] in (["a"], ["an"]):
        return "head"
    if token in ("something", "anything") and after:
        # "something children enjoy" has a subject and a verb, "something edible" has not.
        noun = _phrase(after[:4])
        clause = after[0] in ("a", "an", "the", *_grammar("anybody"))
        return "linked" if clause or (noun and (noun.word or len(after) > noun.size)) else way
    return way


def _phrase(tokens: list[str]) -> Phrase | None:
    """Return the longest phrase at the beginning of some words that asks for a fact; None if there is none."""
    for size in range(len(tokens), 0, -1):
        text = " ".join(tokens[:size])
        if phrase := _phrases().get(text) or _phrases().get(_stems(text)):
            return phrase
    return None


@cache
def _phrases() -> Mapping[str, Phrase]:
    """Return the phrases that ask for a fact, by their words and by the stems of these."""
    phrases = {}
    for fact, row in _table()["words"].items():
        for text in row.split(", "):
            word, same = text.lstrip("*+"), words.same(text)
            phrases[same] = Phrase(fact, word if text != word else "", text[0] == "*", len(same.split()))
    return {_stems(text): phrase for text, phrase in phrases.items()} | phrases


@cache
def _in_english() -> Mapping[str, str]:
    """Return the file's questions in Chinese, and some in English, each with the same in plain English."""
    asks = {chinese: english for english, chinese in _table()["asks"].values()} | _table()["rephrased"]
    return {words.same(said): words.same(english) for said, english in asks.items()}


@cache
def _words_zh() -> re.Pattern[str]:
    """Return a pattern of the words of a Chinese text: the longest that ask for a fact, else characters."""
    known = filter(words.CJK.search, _phrases())
    return re.compile("|".join(sorted(known, key=len, reverse=True)) + "|.")


@cache
def _table() -> Mapping[str, Any]:
    return tomllib.loads(read_text(shipped("data", "lotbench_easy", "facts.toml")))


@cache
def _grammar(name: str) -> frozenset[str]:
    return frozenset(_table()["grammar"][name].split())


@cache
def _facts() -> Mapping[str, Facts]:
    """Return the facts by key text, with what follows from them."""
    rows = {key: [set(part.split()) for part in row.split("|")] for key, row in _table()["key_texts"].items()}
    for itself, _, unsure in rows.values():
        for fact in (waiting := list(itself)):
            waiting += [other for other in _table()["implies"].get(fact, "").split() if other not in waiting]
        itself |= {*waiting}
        unsure |= {other for fact in itself for other in _table()["blurs"].get(fact, "").split()}
    return {key: Facts(*map(frozenset, row)) for key, row in rows.items()}


def _stems(text: str) -> str:
    return " ".join(map(words.stem, text.split()))
