"""The arguments of a justification and their grounds: extraction, then a check by id (Sec. 4.2.2).

One prompt extracts the arguments of gold and candidate; the gold's are extracted once per idea and judge, for all
runs. The schema of a check has one field for each id, so a reply that omits or invents an id is not readable.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache, partial
from typing import Annotated, Any, Literal, TypeAlias, Unpack

from pydantic import ConfigDict, Field, create_model

from lotbench.benchmarks.rinobench.candidate import says_something
from lotbench.benchmarks.rinobench.settings import IdeaEpisode
from lotbench.benchmarks.rinobench.works import show_works
from lotbench.harness.episode import AnyEpisode, Place
from lotbench.prompting.prompt import Value
from lotbench.prompting.reply import Form, YesNo, prose, read_form
from lotbench.types import JSON, Answer

KINDS = ("known", "novelty")
"""Known aspects say what exists already, novelty aspects what is new (Fig. 3)."""
Arguments: TypeAlias = Mapping[str, Mapping[str, str]]
"""The arguments of a justification by kind, each text by its id."""
ARGUMENT = 400


class Strict(Form):
    """The base of the schemas that refuse a reply with unknown fields."""

    model_config = ConfigDict(extra="forbid")


@cache
def extraction(limit: int) -> type[Form]:
    """Return the schema of a reply with the arguments of a justification: at most `limit` known and `limit` novelty ones."""
    texts = list[Annotated[str, prose(ARGUMENT)]]
    field: Any = (texts, Field(json_schema_extra={"maxItems": limit}))
    return create_model("Extraction", __base__=Form, known=field, novelty=field)


async def extract(
    episode: AnyEpisode, justification: str, limit: int, *, gold: bool = False, prefix: str = ""
) -> Arguments:
    """Ask the judge for the arguments of a justification and return them by kind and id.

    Args:
        episode: The episode.
        justification: The text.
        limit: The maximum number of arguments of a kind.
        gold: Whether the text is a gold justification, whose arguments are asked for once for all runs.
        prefix: The beginning of the ids.

    Raises:
        EpisodeFailed: The judge did not reply, or its reply could not be read.
    """
    return await episode.require(
        "judge",
        "gold_arguments" if gold else "claims",
        episode.prompt("extract"),
        extraction(limit),
        {"justification": justification, "limit": str(limit)},
        read=partial(read_arguments, limit=limit, prefix=prefix),
        shared=gold,
    )


def read_arguments(answer: Answer, limit: int, prefix: str = "") -> dict[str, dict[str, str]]:
    """Return the arguments in a reply by kind and id, k1.. or n1.. after the prefix; empty and repeated texts are dropped.

    Raises:
        Unread: The reply does not fit the schema.
    """
    form = read_form(answer.reply, extraction(limit)).model_dump()
    return {
        kind: {
            f"{prefix}{kind[0]}{number}": text
            for number, text in enumerate(
                dict.fromkeys(filter(says_something, map(str.strip, form[kind]))), 1
            )
        }
        for kind in KINDS
    }


@cache
def checking(
    known: tuple[str, ...], novelty: tuple[str, ...], gold: tuple[str, ...], works: tuple[str, ...]
) -> type[Form]:
    """Return the schema of a reply that checks claims: for each a reason, the gold arguments it matches, and its grounds.

    Args:
        known: Ids of the claims about existing work, grounded by related works.
        novelty: Ids of the claims about novelty, grounded by the idea.
        gold: Ids of the gold arguments. A claim can match only those of its own kind.
        works: Ids of the related works.
    """
    fields: dict[str, Any] = {}
    for claim in (*known, *novelty):
        fields[f"{claim}_reason"] = (Annotated[str, prose(240)], ...)
        if matches := tuple(name for name in gold if name[1] == claim[0]):
            fields[f"{claim}_gold"] = (_ids(matches), ...)
        fields[f"{claim}_works" if claim in known else f"{claim}_in_idea"] = (
            (_ids(works), ...) if claim in known else (YesNo, ...)
        )
    return create_model("Checking", __base__=Strict, **fields)


async def check(
    episode: IdeaEpisode, kinds: Sequence[str], gold: Arguments, claims: Arguments, **place: Unpack[Place]
) -> Mapping[str, Any]:
    """Ask the judge which gold arguments each claim matches and whether it is grounded; return the checks by claim id.

    Args:
        episode: The episode.
        kinds: The kinds of claims that are checked together, one or both.
        gold: The arguments of the gold justification.
        claims: The arguments of the justification to check.
        **place: Further fields of the question; see `Episode.require`.

    Raises:
        EpisodeFailed: The judge did not reply, or its reply could not be read.
    """
    sample, joint = episode.sample, len(kinds) > 1
    values: dict[str, Value] = {}
    for kind in kinds:
        values[f"{kind}_gold"] = _listed(gold[kind])
        values[f"{kind}_claims"] = _listed(claims[kind])
    if "known" in kinds:
        values["works"] = show_works(sample.related_works, episode.settings.works_chars).text
    if "novelty" in kinds:
        values["idea"] = sample.research_idea.text()
    result = await episode.require(
        "judge",
        "ground" if joint else f"ground_{kinds[0]}",
        episode.prompt("ground_joint" if joint else f"ground_{kinds[0]}"),
        _form(episode, kinds, gold, claims),
        values,
        read=lambda answer: {"claims": read_check(episode, answer, kinds, gold, claims)},
        **place,
    )
    return dict(result["claims"])


def read_check(
    episode: IdeaEpisode, answer: Answer, kinds: Sequence[str], gold: Arguments, claims: Arguments
) -> dict[str, JSON]:
    """Return the check of each claim in a reply, by claim id; it has the fields of `answered.Check`.

    Raises:
        Unread: The reply does not fit the schema, for instance because an id is missing or invented.
    """
    form = read_form(answer.reply, _form(episode, kinds, gold, claims)).model_dump()
    return {claim: _flags(form, claim) for kind in kinds for claim in claims[kind]}


def _flags(form: Mapping[str, Any], claim: str) -> dict[str, JSON]:
    works = list(dict.fromkeys(form.get(f"{claim}_works", ())))
    return {
        "gold": list(dict.fromkeys(form.get(f"{claim}_gold", ()))),
        "grounded": bool(form.get(f"{claim}_in_idea", works)),
        "works": works,
        "reason": form[f"{claim}_reason"],
    }


def _form(episode: IdeaEpisode, kinds: Sequence[str], gold: Arguments, claims: Arguments) -> type[Form]:
    ids = {kind: tuple(claims[kind]) if kind in kinds else () for kind in KINDS}
    golds = tuple(name for kind in kinds for name in gold[kind])
    works = tuple(work.id for work in episode.sample.related_works) if ids["known"] else ()
    return checking(ids["known"], ids["novelty"], golds, works)


def _ids(names: Iterable[str]) -> Any:
    """Return the type of a list of these ids; its schema lists them, so that a strict server writes no other id."""
    options = tuple(names)
    return Annotated[list[Literal[options]], Field(json_schema_extra={"maxItems": len(options)})]  # type: ignore[valid-type]


def _listed(arguments: Mapping[str, str]) -> str:
    return "\n".join(f"{name}: {text}" for name, text in arguments.items()) or "(none)"
