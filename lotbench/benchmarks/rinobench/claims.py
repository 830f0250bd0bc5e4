"""The arguments of a justification and their grounds: extraction, then a check by id (Sec. 4.2.2).

One prompt extracts the arguments of gold and candidate; the gold's are extracted once per idea and judge, for all
runs. The schema of a check has one field for each id, so a reply that omits or invents an id is not readable.
"""

from collections.abc import Iterable, Mapping
from functools import cache, partial
from typing import Annotated, Any, Literal, TypeAlias, Unpack

from pydantic import Field, create_model

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
ARGUMENT, MOST_ARGUMENTS = 400, 200
"""The maximum length of an argument in characters, and the maximum number of arguments of a kind in a reply that is read."""


class Strict(Form, extra="forbid"):
    """The base of the schemas that refuse a reply with unknown fields."""


@cache
def extraction(limit: int) -> type[Form]:
    """Return the schema of a reply with the arguments of a justification: at most `limit` known and `limit` novelty ones.

    Up to MOST_ARGUMENTS are read, since not every server keeps to a schema.
    """
    texts = list[Annotated[str, prose(ARGUMENT)]]
    field: Any = (texts, Field(max_length=MOST_ARGUMENTS, json_schema_extra={"maxItems": limit}))
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
    texts = {kind: dict.fromkeys(filter(says_something, map(str.strip, form[kind]))) for kind in KINDS}
    return {
        kind: {f"{prefix}{kind[0]}{number}": text for number, text in enumerate(texts[kind], 1)}
        for kind in KINDS
    }


@cache
def checking(claims: tuple[str, ...], gold: tuple[str, ...], works: tuple[str, ...]) -> type[Form]:
    """Return the schema of a reply that checks claims of one kind: for each a reason, the gold arguments it matches, and its grounds.

    Args:
        claims: Ids of the claims.
        gold: Ids of the gold arguments of their kind.
        works: Ids of the related works, which ground known claims; empty for claims about novelty, which the idea grounds.
    """
    fields: dict[str, Any] = {}
    matches = _ids(gold) if gold else None
    for claim in claims:
        fields[f"{claim}_reason"] = (Annotated[str, prose(240)], ...)
        if matches:
            fields[f"{claim}_gold"] = (matches, ...)
        fields[f"{claim}_works" if works else f"{claim}_in_idea"] = (_ids(works) if works else YesNo, ...)
    return create_model("Checking", __base__=Strict, **fields)


async def check(
    episode: IdeaEpisode, kind: str, gold: Arguments, claims: Arguments, **place: Unpack[Place]
) -> Mapping[str, Any]:
    """Ask the judge which gold arguments each claim of a kind matches and whether it is grounded.

    Args:
        episode: The episode.
        kind: The kind of claims to check.
        gold: The arguments of the gold justification.
        claims: The arguments of the justification to check.
        **place: Further fields of the question; see `Episode.require`.

    Returns:
        The check of each claim, by claim id; it has the fields of `answered.Check`.

    Raises:
        EpisodeFailed: The judge did not reply, or its reply could not be read.
    """
    sample, works = episode.sample, tuple[str, ...]()
    values: dict[str, Value] = {f"{kind}_gold": _listed(gold[kind]), f"{kind}_claims": _listed(claims[kind])}
    if kind == "known":
        values["works"] = show_works(sample.related_works, episode.settings.works_chars)[0]
        works = tuple(work.id for work in sample.related_works)
    else:
        values["idea"] = sample.research_idea.text()
    form = checking(tuple(claims[kind]), tuple(gold[kind]), works)

    def read(answer: Answer) -> dict[str, JSON]:
        fields = read_form(answer.reply, form).model_dump()
        return {"claims": {claim: _flags(fields, claim) for claim in claims[kind]}}

    step = f"ground_{kind}"
    result = await episode.require("judge", step, episode.prompt(step), form, values, read=read, **place)
    return dict(result["claims"])


def _flags(form: Mapping[str, Any], claim: str) -> dict[str, JSON]:
    works = list(dict.fromkeys(form.get(f"{claim}_works", ())))
    return {
        "gold": list(dict.fromkeys(form.get(f"{claim}_gold", ()))),
        "grounded": bool(form.get(f"{claim}_in_idea", works)),
        "works": works,
        "reason": form[f"{claim}_reason"],
    }


def _ids(names: Iterable[str]) -> Any:
    """Return the type of a list of these ids; its schema lists them, so that a strict server writes no other id."""
    options = tuple(names)
    return Annotated[list[Literal[options]], Field(json_schema_extra={"maxItems": len(options)})]  # type: ignore[valid-type]


def _listed(arguments: Mapping[str, str]) -> str:
    return "\n".join(f"{name}: {text}" for name, text in arguments.items()) or "(none)"
