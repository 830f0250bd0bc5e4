"""Ideas for the tests of RINoBench, and judges of it whose every word is planted."""

from collections.abc import Mapping, Sequence
from typing import Any

from lotbench.benchmarks.rinobench.sample import Item
from tests.fakes import ScriptedModel

SUPPORT = (15, 60, 87, 81, 34)
"""Ideas of the official test split by gold score (Table 2)."""
STEPS = {"steps": ["1. Compare the arguments.", "Compare the conclusions."]}


def row(number: int = 1, gold: int = 3, works: int = 3, **fields: Any) -> dict[str, Any]:
    """An idea in the shape of the starter set."""
    return {
        "id": f"idea-{number}",
        "research_idea": {
            "problem_statement": f"Problem {number} is open.",
            "objective": "We want to solve it.",
            "solution_approach": ["We look.", "We leap."],
        },
        "related_works": [
            {"id": f"w{w}", "title": f"Work {w}", "abstract": f"Work {w} looks. It does not leap."}
            for w in range(1, works + 1)
        ],
        "novelty_score": gold,
        "novelty_reasoning": f"Looking is known from work 1. Leaping is new in idea {number}.",
        **fields,
    }


def idea(number: int = 1, gold: int = 3, works: int = 3, **fields: Any) -> Item:
    return Item.model_validate(row(number, gold, works, **fields))


def official(support: Sequence[int] = SUPPORT) -> list[dict[str, Any]]:
    """Rows in the official shape (no ids of ideas or works), their gold scores in mixed order."""
    gold = [label for label, count in enumerate(support, 1) for _ in range(count)]
    order = sorted(range(len(gold)), key=lambda place: (place * 7919) % 1009)
    rows = [row(place, gold[place]) for place in order]
    for one in rows:
        del one["id"]
        one["related_works"] = [
            {"title": work["title"], "abstract": work["abstract"], "citationCount": 7}
            for work in one["related_works"]
        ]
    return rows


def judge(
    known: Sequence[str],
    novelty: Sequence[str],
    checks: Mapping[str, Any],
    *,
    gold: Mapping[str, Sequence[str]] | None = None,
    scores: Sequence[int] = (5, 7),
    **steps: Any,
) -> ScriptedModel:
    """A judge that finds these claims, and these gold arguments, and says this of them."""
    script: dict[str, Any] = {
        "gold_arguments": [gold or {"known": ["Looking is known."], "novelty": ["Leaping is new."]}],
        "claims": [{"known": list(known), "novelty": list(novelty)}],
        "alignment_steps": [STEPS],
        "alignment": [{"reason": "alike", "score": score} for score in scores],
        **{step: [value] for step, value in checks.items()},
    }
    return ScriptedModel(model_id="judge", **{**script, **steps})


def known(claim: str, gold: Sequence[str] = (), works: Sequence[str] = ()) -> dict[str, Any]:
    """What a checker says of a known claim."""
    return {f"{claim}_reason": "because", f"{claim}_gold": list(gold), f"{claim}_works": list(works)}


def novel(claim: str, gold: Sequence[str] = (), in_idea: bool = False) -> dict[str, Any]:
    """What a checker says of a novelty claim."""
    return {f"{claim}_reason": "because", f"{claim}_gold": list(gold), f"{claim}_in_idea": in_idea}


def answer(score: Any = 3, reasoning: str = "Looking is known, leaping is new.") -> dict[str, Any]:
    return {"reasoning": reasoning, "novelty_score": score}
