"""Reader of the official keyword list, with v2's category of each keyword and its similarity to the category."""

from collections.abc import Mapping, Sequence

from pydantic import ValidationError

from lotbench.benchmarks.liveideabench.sample import Item
from lotbench.errors import DataError, at, faults_of, refuse_faults
from lotbench.harness.published import Source

UNKNOWN = "without a category"
"""The category of a keyword without one in the official file."""


def published(source: Source) -> list[Item]:
    """Return the official keywords, from the folder of kws.csv and keyword_classifications.csv.

    Raises:
        DataError: A file cannot be read or lacks a column, a similarity is not a number, or a keyword is no sample.
    """
    words = [row["Keyword"].strip() for _, row in source.table({"Keyword"}, "kws.csv")]
    try:
        return items([word for word in words if word], categories(source))
    except ValidationError as error:
        raise DataError([f"{source.path / 'kws.csv'}: {fault}" for fault in faults_of(error)]) from None


def categories(source: Source) -> dict[str, tuple[str, float]]:
    """Return the category of each keyword, and how similar they are, from keyword_classifications.csv; empty without it.

    Raises:
        DataError: The file cannot be read or lacks a column, or a similarity is not a number.
    """
    name = "keyword_classifications.csv"
    by_word: dict[str, tuple[str, float]] = {}
    faults = []
    columns = {"keyword", "category", "similarity_score"}
    for line, row in source.table(columns, name) if source.has(name) else ():
        try:
            by_word[row["keyword"].strip()] = (row["category"].strip(), float(row["similarity_score"]))
        except ValueError as error:
            faults.append(at(source.path / name, line, "similarity_score") + f": {error}")
    refuse_faults(faults)
    return by_word


def items(words: Sequence[str], by_word: Mapping[str, tuple[str, float]]) -> list[Item]:
    """Return one sample for each keyword, in order.

    Args:
        words: The keywords.
        by_word: The category and the similarity of a keyword; a keyword that it lacks gets the category UNKNOWN.
    """
    return [
        Item(
            id=f"official-{number:04}",
            language="en",
            keyword=word,
            category=by_word.get(word, ("", None))[0] or UNKNOWN,
            similarity=round(by_word[word][1], 6) if word in by_word else None,
        )
        for number, word in enumerate(words, 1)
    ]
