"""Games on a ballot: first attempts as whole responses, pairs of them, and whether votes go with scores."""

import json
from pathlib import Path
from typing import Any

import pytest

from lotbench.benchmarks.lotbench.ballot import prompt, responses
from lotbench.cli import main
from lotbench.harness.ballot import Item
from lotbench.run.evaluate import evaluate_sync
from lotbench.types import Request
from tests.fakes import RuleModel
from tests.play import GARBAGE, NO, SAMPLE, YES, candidate, judge, oracle, play

FIELDS = {SAMPLE.id: SAMPLE.model_dump(mode="json")}


class Player(RuleModel):
    """Says one thing in every game, and asks one question."""

    takes_requests = True

    def __init__(self, name: str, said: str) -> None:
        whole = f"Nobody {said} today."
        super().__init__(
            lambda request: {"guess": said, "response": whole, "question": "Is it loud?"}, model_id=name
        )
        self.__name__ = name


def lenient(request: Request) -> Any:
    """A judge who accepts what holds the word gold, and lets every chain pass."""
    heard = "\n".join(part for one in request.messages for part in one.parts if isinstance(part, str))
    good = "gold" in heard.rpartition("GUESS")[2] or "chain" in request.key.step
    fields = (request.schema or {}).get("properties", {})
    return {name: good if field.get("type") == "boolean" else "a chain" for name, field in fields.items()}


def run(name: str, said: str, out: Path, **settings: Any) -> str:
    referee = RuleModel(lenient, model_id="referee")
    referee.takes_requests, referee.__name__ = True, "referee"  # type: ignore[attr-defined]
    made = evaluate_sync(
        "lotbench",
        model=Player(name, said),
        roles={"judge": referee, "oracle": referee},
        out=out,
        check=False,
        samples=[f"lot-{n}" for n in (1003, 1014, 1015, 1016, 1029, 1030)],
        repeats=1,
        settings={"max_rounds": 1, "confirm": "never", "chain": "per_call"} | settings,
    )
    return str(made.path)


async def test_the_first_attempt_goes_on_the_ballot_whole() -> None:
    game = await play(candidate("bell", "egg timer"), judge(NO, YES), oracle("Yes"), max_rounds=3)
    assert game.outcome == "solved"
    assert responses([game.trace], FIELDS, None) == {
        SAMPLE.id: SAMPLE.response.replace("alarm clock", "bell")
    }


async def test_a_response_to_no_frame_stands_as_it_was_written() -> None:
    said = "Somebody wound up the neighbour's fish."
    game = await play(candidate(said), judge(NO), frame="hidden", max_rounds=1)
    assert responses([game.trace], FIELDS, None) == {SAMPLE.id: said}


async def test_who_filled_nothing_in_at_first_is_not_on_the_ballot() -> None:
    game = await play(candidate(GARBAGE, GARBAGE, "bell"), judge(NO), oracle("Yes"), max_rounds=2)
    assert responses([game.trace], FIELDS, None) == {}


def test_people_see_the_picture_and_nothing_of_the_sample_s_own_response() -> None:
    scene = prompt(FIELDS[SAMPLE.id])
    assert (scene.image, scene.question, scene.type) == ("lot-1.png", None, "I2T")


def test_from_games_of_two_models_and_two_arms_to_ratings_beside_scores(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    runs = [
        run("ada", "gold", tmp_path),
        run("bob", "tin", tmp_path),
        run("bob", "lead", tmp_path, frame="hidden"),
    ]
    out, given = tmp_path / "pairs.jsonl", tmp_path / "votes.jsonl"
    assert main(["ballot", "make", *runs, "--pairs", "--out", str(out)]) == 0
    assert "6 of 6 prompts in 18 pairs, 3 models" in capsys.readouterr().out
    assert "python:" not in out.read_text()
    items = [Item.model_validate_json(line) for line in out.read_text().splitlines()]
    golden = [[one.letter for one in item.responses if "gold" in one.text] for item in items]
    lines = [
        {"id": item.id, "voter": "me", "letters": mine} for item, mine in zip(items, golden, strict=True)
    ]
    given.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    assert main(["ballot", "count", str(out), str(given)]) == 0
    printed = capsys.readouterr().out
    assert printed.splitlines()[2].startswith("python:ada ") and "creativity_score 1.000" in printed
    assert "python:bob (image+caption, max_rounds=1, frame=hidden" in printed
