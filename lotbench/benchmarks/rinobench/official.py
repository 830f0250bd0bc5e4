"""Reader of the official RINoBench rows: adds ids, and leaves out fields that lotbench does not use."""

from collections.abc import Mapping
from typing import Any

from lotbench.benchmarks.rinobench.sample import Item
from lotbench.harness.published import Source

WRITER = "gpt-oss-120b"
"""The model that wrote the official ideas and gold justifications (Sec. 4.1.1)."""
IDEA = ("problem_statement", "objective", "solution_approach")
WORK = ("title", "abstract", "year")


def published(source: Source) -> list[Item]:
    """Return the ideas of the official train.json or test.json, with ids for ideas (`test-0001`) and works (`w1`).

    Raises:
        DataError: The file is not a list, or rows are not ideas; the error names the number and the field of each such row.
    """
    return source.items(lambda name, row: item(row, name))


def item(row: object, name: str) -> Item:
    """Return an official row as a sample, its works named w1, w2, ...

    Args:
        row: `{"research_idea", "related_works", "novelty_score", "novelty_reasoning", ...}`; `id`, `writer`, `gold_writers`,
            `block` and `source` are kept if a row of one's own has them.
        name: The id of a row that has none.

    Raises:
        ValidationError: The row is not an idea.
    """
    fields: Mapping[str, Any] = row if isinstance(row, Mapping) else {}
    idea, works = fields.get("research_idea"), fields.get("related_works")
    return Item.model_validate(
        {
            "id": str(fields.get("id") or name),
            "research_idea": _chosen(idea, IDEA),
            "related_works": [
                {"id": f"w{number}", **_chosen(work, WORK)} for number, work in enumerate(works, 1)
            ]
            if isinstance(works, list)
            else works,
            "novelty_score": fields.get("novelty_score"),
            "novelty_reasoning": fields.get("novelty_reasoning"),
            "writer": fields.get("writer") or WRITER,
            "gold_writers": fields.get("gold_writers") or [WRITER],
            "block": fields.get("block") or "",
            "source": str(fields.get("source") or "RINoBench"),
        }
    )


def _chosen(table: object, names: tuple[str, ...]) -> dict[str, Any]:
    """Return the named fields of a row that are not null; empty if the row is no table."""
    fields: Mapping[str, Any] = table if isinstance(table, Mapping) else {}
    return {name: fields[name] for name in names if fields.get(name) is not None}
