"""The candidate's answer to a problem: the schema of the reply, which has letters of options, and its reader.

A letter names a place in the order in which the options were shown; the trace stores the index of the option there.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache
from random import Random
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, ValidationError, create_model

from lotbench.benchmarks.standard.oogiri.problems import Problem
from lotbench.benchmarks.standard.settings import ProblemEpisode
from lotbench.errors import Unread
from lotbench.prompting.frameworks import REASONING
from lotbench.prompting.reply import Form, prose, read_form, visible
from lotbench.types import Reply

LETTERS = "ABCDE"
PLACES = ("first", "second", "third", "fourth", "fifth")
# All quantifiers are possessive, so that long runs of punctuation do not backtrack.
_LETTER = re.compile(r"\W*+(?:(?:option|选项|選択肢)\W*+)?([A-E])(?:\W.*)?", re.IGNORECASE | re.DOTALL)
_LETTERS = re.compile(r"\W*+[A-E](?:(?:\W|\band\b)++[A-E])*+\W*+")
_BEGINS = re.compile(r"\W*([A-E])\s*[.:)、．：）]")


class Notes(Form):
    """The candidate's notes before its answer: small questions with their answers (framework `ddcot`)."""

    notes: Annotated[str, prose(1200, "the small questions, each with its answer, and what follows")]


class Caption(Form):
    """The captioner's reply."""

    caption: Annotated[str, prose(400, "what can be seen, in one sentence")]


class Rewrite(Form):
    """The rewriter's reply."""

    rewrite: Annotated[str, prose(400, "the same content in other words")]


class Written(Form):
    """The candidate's reply with a response of its own (kind `generate`)."""

    response: Annotated[str, prose(300)]


def _letter(value: object) -> object:
    """Return the letter in a field ('b', '(B)', 'B. a response') as a capital, and any other value unchanged."""
    match = _LETTER.fullmatch(value) if isinstance(value, str) else None
    return match[1].upper() if match else value


@cache
def choosing(options: int, picks: int, reasoned: bool) -> type[Form]:
    """Return the schema of a reply that chooses or ranks options: one field for the letter of each option to name.

    Args:
        options: How many options there are.
        picks: How many of them an answer names.
        reasoned: Whether a field for reasoning comes first.
    """
    letter: Any = Annotated[Literal[tuple(LETTERS[:options])], BeforeValidator(_letter)]
    fields: dict[str, Any] = {"reasoning": (Annotated[str, REASONING], ...)} if reasoned else {}
    fields |= {name: (letter, ...) for name in names(picks)}
    name = "Ranking" if picks == options else "Choice"
    form: type[Form] = create_model(name, __base__=Form, **fields)
    return form


def names(picks: int) -> tuple[str, ...]:
    """Return the names of the fields of a reply (`choosing`) that names this many options."""
    return ("answer",) if picks == 1 else PLACES[:picks]


def shuffled_order(episode: ProblemEpisode, problem: Problem) -> list[int]:
    """Return the indices of the options in the order in which they are shown, drawn from seed, problem and repeat."""
    purpose = f"{episode.seed}:{problem.id}:{episode.repeat}:options"
    return Random(purpose).sample(range(len(problem.options)), len(problem.options))


def written(reply: Reply, form: type[Form], order: Sequence[int]) -> tuple[list[int], dict[str, Any]]:
    """Return the indices of the options that a reply names, in its order, and the fields of the reply.

    Args:
        reply: The candidate's reply.
        form: The schema from `choosing`.
        order: The order in which the options were shown.

    Raises:
        Unread: The reply does not fit the schema, or names an option twice.
    """
    try:
        fields = read_form(reply, form).model_dump()
    except Unread as error:
        bare = _bare(visible(reply), form) if error.kind == "unparsed" else None
        if bare is None:
            raise
        fields = bare
    letters = [fields[name] for name in fields if name != "reasoning"]
    if len(set(letters)) < len(letters):
        raise Unread("unparsed", "an option is named twice")
    return [order[LETTERS.index(letter)] for letter in letters], fields


def _bare(text: str, form: type[Form]) -> dict[str, Any] | None:
    """Return the fields of a reply that is letters alone ("B > A > C"), or lines that each begin with a letter.

    None for any other reply, and if the schema has reasoning.
    """
    fields = list(form.model_fields)
    letters = re.findall("[A-E]", text) if _LETTERS.fullmatch(text) else []
    if not letters:
        begun = [_BEGINS.match(line) for line in text.splitlines() if line.strip()]
        letters = [match[1] for match in begun if match] if all(begun) else []
    if "reasoning" in fields or len(letters) != len(fields):
        return None
    try:
        return form.model_validate(dict(zip(fields, letters, strict=True))).model_dump()
    except ValidationError:
        return None


def agreed(answers: Sequence[Sequence[int] | None], ranking: bool) -> list[int] | None:
    """Return one answer that combines several draws: the most frequent choice, or the ranking by mean rank (Borda).

    In a tie, the choice or the order of the earliest readable draw is taken.

    Args:
        answers: The indices of the options that each draw names; None for a draw that could not be read.
        ranking: Whether the answers are rankings.

    Returns:
        The indices of the options; None if no draw could be read.
    """
    read_ones = [list(answer) for answer in answers if answer is not None]
    if not read_ones:
        return None
    if ranking:
        return sorted(read_ones[0], key=lambda option: sum(answer.index(option) for answer in read_ones))
    counts: Mapping[frozenset[int], int] = Counter(map(frozenset, read_ones))
    return max(read_ones, key=lambda answer: counts[frozenset(answer)])
