"""Blocks of RINoBench: two ideas beside the same two lists, so that neither an idea nor a list tells the class alone."""

from random import Random

from lotbench.benchmarks.rinobench.sample import LABELS, Item
from lotbench.benchmarks.rinobench.validation import probes

WORDS = ("moss", "tide", "glass", "wheel", "salt", "lamp", "rope", "seed", "cloud", "brick", "horn", "wool")
PAIRS = [(x, y) for x in LABELS for y in LABELS if x < y]


def text(rng: Random) -> str:
    return " ".join(rng.choice(WORDS) for _ in range(30))


def block(number: int, x: int, y: int, bold: str = "") -> list[Item]:
    """Idea A is of class x beside W1 and of y beside W2, B the other way round; an idea may say `bold` words."""
    rng = Random(number)
    ideas = [
        {
            "problem_statement": f"{text(rng)} {name}{number}",
            "objective": f"{text(rng)} {bold}",
            "solution_approach": text(rng),
        }
        for name in ("a", "b")
    ]
    lists = [
        [{"id": f"w{n}", "title": f"Work {name} {n} of {number}", "abstract": text(rng)} for n in range(1, 4)]
        for name in ("W1", "W2")
    ]
    places = ((0, 0, x), (0, 1, y), (1, 0, y), (1, 1, x))
    return [
        Item.model_validate(
            {
                "id": f"b{number}-{at}",
                "block": f"b{number}",
                "research_idea": ideas[one],
                "related_works": lists[works],
                "novelty_score": gold,
                "novelty_reasoning": "Looking is known. Leaping is new.",
            }
        )
        for at, (one, works, gold) in enumerate(places)
    ]


def blocks(count: int = 30, bold: bool = False) -> list[Item]:
    """Blocks in which every class is equally often the gold; the bold ones say so in their ideas."""
    pairs = [PAIRS[number % len(PAIRS)] for number in range(count)]
    return [
        item
        for number, (x, y) in enumerate(pairs)
        for item in block(number, x, y, f"bold{x} daring{y}" if bold else "")
    ]


def test_a_judge_is_tried_on_the_justification_of_another_block_not_on_one_of_the_same_idea() -> None:
    rows = blocks(3)
    tried, _ = probes(
        "judge", [], {one.id: one.model_copy(update={"novelty_reasoning": one.id}) for one in rows}
    )
    other = [(one.sample, str(one.turn["reasoning"])) for one in tried if one.id.endswith("/other")]
    assert len(other) == 12
    assert all(sample.split("-")[0] != said.split("-")[0] for sample, said in other)
    assert probes("judge", [], {one.id: one for one in rows[:4]})[0][1].id.endswith("/self")
