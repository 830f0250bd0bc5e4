"""From kept candidates to a data set: a model proposes, a person decides, the benchmark plays what was accepted."""

import json
from pathlib import Path
from typing import Any

import pytest

from clot_training.config import Config
from clot_training.records import Candidate, Work
from clot_training.synthesize import synthesize
from lotbench import evaluate
from lotbench.benchmarks.lotbench.sample import Item
from lotbench.cli import main
from lotbench.errors import UsageError
from lotbench.site.review_page import decision, sample_card
from lotbench.storage import datasets
from tests.playing import SETTINGS
from tests.run.test_python_api import mine

SHIPPED = datasets.data_folder("", "lotbench_easy")
ITEMS: list[Item] = [item for item in datasets.samples(SHIPPED, Item) if item.language == "en"][:4]


def candidate(item: Item, **other: Any) -> Candidate:
    """A kept candidate that says what a shipped sample says of its picture."""
    fields = {
        "id": f"{item.id}:weak:0",
        "row": item.id,
        "type": "I2T",
        "language": "en",
        "group": item.id,
        "question": None,
        "messages": ({"role": "user", "content": "..."},),
        "image": (SHIPPED / item.image).as_posix(),
        "condition": None,
        "conditions": "weak",
        "position": None,
        "similarity": None,
        "text": item.response,
        "truths": ("Something else.",),
        "won": (True, True),
        "kept": True,
        "seed": 1,
        "policy": "tiny",
    }
    return Candidate.model_validate(fields | other)


def proposed(item: Item) -> str:
    """What a good model proposes about a shipped sample."""
    told = item.model_dump(include={"key_text", "caption", "explanation", "leap"})
    point = {name: f"the {name}" for name in ("part", "likeness", "effect")}
    clues = "\n".join(f"{n}. {clue}" for n, clue in enumerate(item.clues, 1))
    guesses = {"accept": "\n".join(item.accept), "reject": "a hat | easy | no link"}
    return json.dumps(told | point | guesses | {"usable": True, "why": "Everybody knows it.", "clues": clues})


async def proposer(messages: list[dict[str, Any]]) -> str:
    """Knows the shipped samples by their responses, and fails on one of them."""
    heard = json.dumps(messages, ensure_ascii=False)
    if "connection test" in heard:
        return json.dumps({"word": "ready"})
    item = next(item for item in ITEMS if json.dumps(item.response, ensure_ascii=False)[1:-1] in heard)
    if item is ITEMS[3]:
        return proposed(item).replace(item.key_text, "words that nobody said")
    return proposed(item)


@pytest.fixture
def config(tmp_path: Path) -> Config:
    made = Config(model="m", data=("lotbench_easy",), out=str(tmp_path), synthesize={"model": "python:p"})
    path = Work(tmp_path).candidates("weak")
    path.parent.mkdir(parents=True)
    candidates = [candidate(item) for item in ITEMS]
    candidates.append(candidate(ITEMS[0], id="lost", kept=False))
    candidates.append(candidate(ITEMS[0], id="words", type="T2T", image=None, question="Why?"))
    path.write_text("".join(one.model_dump_json() + "\n" for one in candidates), encoding="utf-8")
    return made


async def test_what_a_person_accepts_becomes_a_data_set_that_plays(
    config: Config, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    import asyncio

    made = await asyncio.to_thread(synthesize, config, {"python:p": proposer})
    assert (dict(made.stages), made.accepted) == ({"kept candidates": 4, "proposed": 3}, None)
    # The review that `lotbench data review` would write: one accepted, one edited, one rejected.
    items = datasets.samples(made.proposals, Item)
    cards = [sample_card(item) for item in items]
    sent = [
        {"card": 0, "decision": "accept"},
        {"card": 1, "decision": "edit", "changes": {"caption": "Something stands somewhere, plainly seen."}},
        {"card": 2, "decision": "reject"},
    ]
    review = made.proposals.with_name("proposals.review.jsonl")
    lines = [decision(cards, one)[1] for one in sent]
    review.write_text("".join(json.dumps({**line, "by": "", "at": ""}) + "\n" for line in lines))
    done = await asyncio.to_thread(synthesize, config, {"python:p": proposer})
    assert done.stages["proposed"] == 3 and done.accepted == 2
    card = json.loads((tmp_path / "synthesize" / "card.json").read_text("utf-8"))
    assert (card["left_out"], card["dropped"]) == ({"rejected": 1}, {"quality": 1})
    chosen = datasets.samples(done.dataset, Item)
    assert [item.response for item in chosen] == [items[0].response, items[1].response]
    assert chosen[1].caption == "Something stands somewhere, plainly seen."
    assert chosen[0].writer == "tiny" and chosen[0].source.startswith(f"written to row {ITEMS[0].id}; ")
    assert main(["data", "check", str(done.dataset)]) == 0
    run = await evaluate(
        model=mine,
        roles={"judge": mine, "oracle": mine},
        data=str(done.dataset),
        repeats=1,
        settings=SETTINGS,
        out=tmp_path / "runs",
    )
    assert len(run.traces) == 2


def test_nothing_is_proposed_where_nothing_was_kept(config: Config, tmp_path: Path) -> None:
    Work(tmp_path).candidates("weak").write_text(candidate(ITEMS[0], kept=False).model_dump_json() + "\n")
    with pytest.raises(UsageError, match="no kept candidate answers one picture alone"):
        synthesize(config, {"python:p": proposer})


def test_a_damaged_review_is_named_by_line(config: Config) -> None:
    made = synthesize(config, {"python:p": proposer})
    review = made.proposals.with_name("proposals.review.jsonl")
    review.write_text('{"sample": "syn-1", "decision": "perhaps"}\n')
    with pytest.raises(UsageError, match=r"proposals.review.jsonl:1: decision"):
        synthesize(config, {"python:p": proposer})
