"""Games built of contests that never were: votes, the puzzle, review, and every reason."""

import json
import tracemalloc
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from scipy import stats

from lotbench.benchmarks.lotbench.construction.responses import Rules, Voted, best, liked
from lotbench.benchmarks.lotbench.sample import Item
from lotbench.benchmarks.standard.oogiri import Row
from lotbench.cli import main
from lotbench.config.experiment import Limits
from lotbench.errors import DataError, LimitReached
from lotbench.run.construct_lotbench import BuiltGames, _read_votes, _scenes, build
from lotbench.run.construction import Dropped, Order
from lotbench.storage import datasets
from tests.fakes import RuleModel, text_of

PUZZLE = {
    "usable": True,
    "why": "Everybody knows it.",
    "caption": "A whale sits at a desk in an office.",
    "key_text": "a bigger tank",
    "explanation": "Because the whale works in an office, its desk is to it what a tank is, so it asks for more room.",
    "part": "the whale at a desk",
    "likeness": "a desk is to it what a tank is",
    "effect": "an employee who is too large asks for more room",
    "leap": "role swap",
    "clues": "1. Think of pay rises.\n2. It is about room.\n3. Where do such animals live in a zoo?\n- Glass and water.",
    "accept": "a larger aquarium\na wider pool",
    "reject": "a raise | easy | no link to the animal\na harpoon | hard | keeps the sea, loses the office",
}


def contest(name: str, *captions: tuple[str, tuple[int, int, int]], **fields: Any) -> list[dict[str, Any]]:
    """Rows of one picture."""
    return [
        {
            "id": f"{name}-{number}",
            "type": "I2T",
            "language": "en",
            "group": name,
            "image": f"images/{name}.png",
            "text": text,
            "writer": "gpt-4o",
            "ratings": dict(zip(("unfunny", "somewhat", "funny"), votes, strict=True)),
        }
        | fields
        for number, (text, votes) in enumerate(captions)
    ]


WHALE = contest(
    "whale",
    ("They promised me a bigger tank by Monday.", (10, 20, 70)),
    ("They promised me a bigger tank by Monday!", (12, 20, 68)),
    ("My wife says that I bring the sea home with me.", (20, 40, 40)),
    ("Who ordered the plankton for the meeting?", (30, 40, 30)),
    ("A raise would be nice.", (60, 30, 10)),
    ("Nobody saw this one.", (0, 0, 3)),
    (" ".join(["long"] * 30), (0, 0, 100)),
)


def source(folder: Path, *rows: dict[str, Any]) -> Path:
    (folder / "rows" / "images").mkdir(parents=True, exist_ok=True)
    for name in {row["image"] for row in rows}:
        Image.new("RGB", (64, 48), (hash(name) % 200, 80, 90)).save(folder / "rows" / name)
    (folder / "rows" / "samples.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return folder / "rows"


def writer(**told: Any) -> RuleModel:
    """Writes the puzzle of the whale; `told` replaces what it says, by step."""

    def rule(request: Any) -> Any:
        step = request.key.step
        if step == "preflight":
            return {"word": "ready"}
        if step in told:
            return told[step](request) if callable(told[step]) else told[step]
        return PUZZLE

    return RuleModel(rule, model_id="writer-1")


async def built(
    folder: Path, *rows: dict[str, Any], model: RuleModel | None = None, **rules: Any
) -> BuiltGames:
    wanted = Order(
        (source(folder, *(rows or WHALE)),), folder / "out", {"writer": "python:writer"}, Rules(**rules)
    )
    return await build(wanted, {"python:writer": model or writer()})


def dropped(folder: Path) -> list[dict[str, str]]:
    return [json.loads(line) for line in (folder / "out" / "dropped.jsonl").read_text().splitlines()]


async def test_the_best_response_by_its_lower_bound_becomes_a_sample(tmp_path: Path) -> None:
    many = "".join(f"\na pool of {number} litres" for number in range(500))
    model = writer(puzzle=PUZZLE | {"accept": PUZZLE["accept"] + many})
    made = await built(tmp_path, model=model)
    said = "\n".join(text_of(request) for request in model.asked)
    assert "2.6" not in said and "votes:" not in said, "the writer is not told of votes"
    [item] = datasets.samples(made.proposals, Item)
    assert item.response == WHALE[0]["text"] and item.key_text == "a bigger tank"
    assert item.writer == "gpt-4o" and item.gold_writers == ("writer-1",) and "writer-1" in item.source
    assert item.votes and (item.votes.n, item.votes.mean) == (100, pytest.approx(2.6))
    assert item.clues == ("Think of pay rises.", "It is about room.", "Where do such animals live in a zoo?",
                          "Glass and water.")  # fmt: skip
    assert [(one.text, one.difficulty) for one in item.reject] == [("a raise", "easy"), ("a harpoon", "hard")]
    assert made.accepted is None and made.stages["proposed"] == 1
    assert len(item.accept) == 100, "each is compared with each clue"


def decide(made: BuiltGames, **decided: Any) -> Item:
    """Write down what a person decided about the one proposal; the proposal."""
    [item] = datasets.samples(made.proposals, Item)
    line = json.dumps({"sample": item.id, **decided})
    made.proposals.with_name("proposals.review.jsonl").write_text(line + "\n", "utf-8")
    return item


def voted(id: str, text: str, *votes: int) -> Voted:
    row = contest("rows", (text, (votes[0], votes[1], votes[2])))[0] | {"id": id}
    entry = _read_votes(Row.model_validate(row), Rules())
    assert entry is not None
    return entry


def test_a_response_that_no_player_could_write_is_not_chosen() -> None:
    rows = [
        voted("short", "That is not my fish.", 10, 0, 90),
        voted("long", "x " * 40, 5, 0, 95),
        voted("zh", "那不是我的鱼。", 1, 0, 99),
    ]
    assert best(rows, Rules(), "en") == rows[0]
    assert best(rows[1:], Rules(), "en") is None


def test_a_response_with_few_votes_stands_behind_a_sure_one() -> None:
    sure, lucky = voted("sure", "One thing.", 40, 40, 320), voted("lucky", "Another.", 4, 0, 28)
    assert lucky.votes.mean and sure.votes.mean and lucky.votes.mean > sure.votes.mean
    assert best([lucky, sure], Rules(), "en") == sure


def test_lower_bounds_are_those_of_scipy() -> None:
    votes = [1] * 30 + [2] * 40 + [3] * 130
    expected = sum(votes) / 200 - stats.norm.ppf(0.975) * stats.sem(votes)
    assert voted("id", "text", 30, 40, 130).votes.low == pytest.approx(expected, abs=1e-6)
    # The exact lower end for 20 events is where 20 or more are seen once in forty times.
    assert stats.poisson.sf(19, liked(20).low) == pytest.approx(0.025)
    assert liked(0).low == 0.0


async def test_what_breaks_a_rule_is_asked_for_again_with_the_reason_then_dropped(tmp_path: Path) -> None:
    wrong = PUZZLE | {"clues": "It wants a bigger tank."}
    model = writer(puzzle=lambda request: wrong if request.key.attempt == 0 else PUZZLE)
    made = await built(tmp_path, model=model)
    assert made.stages["proposed"] == 1
    again = [said for said in model.heard() if "could not be used" in said]
    assert again and "clues.0" in again[0]
    other = contest("squid", ("They promised me a bigger tank on Friday.", (10, 20, 70)))
    model = writer(puzzle=PUZZLE | {"key_text": "a submarine"})
    made = await built(tmp_path / "twice", *other, model=model)
    assert made.stages["proposed"] == 0
    [row] = dropped(tmp_path / "twice")
    assert row["stage"] == "quality" and "key_text: stands in the response 0 times" in row["reason"]


async def test_a_picture_that_cannot_be_played_or_has_few_votes_is_dropped_and_why(tmp_path: Path) -> None:
    unseen = contest("unseen", ("Nobody voted.", (1, 1, 1)))
    model = writer(
        puzzle={"usable": False, "why": "It names a mayor."}
        | {k: "-" for k in PUZZLE if k != "usable" and k != "why"}
    )
    made = await built(tmp_path, *WHALE, *unseen, model=model)
    assert {(row["stage"], row["reason"].partition(": ")[2]) for row in dropped(tmp_path)} == {
        ("votes", "no response has enough votes"),
        ("quality", "cannot be played: It names a mayor."),
    }
    assert made.stages["pictures"] == 2


async def test_a_second_build_asks_nothing_again_and_after_a_review_it_makes_the_data_set(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = writer()
    made = await built(tmp_path, model=model)
    asked = len(model.asked)
    edit = {"changes": {"leap": "scale"}, "kind": "sample", "by": "ann"}
    decide(made, decision="edit", **edit)
    made = await built(tmp_path, model=model)
    assert not model.asked[asked:]
    assert made.accepted == 1
    assert datasets.samples(made.dataset, Item)[0].leap == "scale"
    assert main(["data", "check", str(made.dataset)]) == 0
    decide(made, decision="reject", **edit)
    assert (await built(tmp_path, model=model)).accepted == 0
    assert json.loads((tmp_path / "out" / "card.json").read_text())["left_out"] == {"rejected": 1}
    decide(made, decision="edit", note="another key", by="ann")
    assert (await built(tmp_path, model=model)).accepted == 0
    decide(made, decision="perhaps", **edit)
    with pytest.raises(DataError, match=r"proposals\.review\.jsonl:1: decision"):
        await built(tmp_path, model=model)


async def test_all_models_that_answered_as_the_writer_are_named(tmp_path: Path) -> None:
    model = writer()
    model.model_id = "router-a"
    await built(tmp_path, model=model)
    more = contest("dog", ("They promised me a bigger tank by Friday.", (10, 20, 70)))
    made = await built(tmp_path, *WHALE, *more)
    writers = {item.gold_writers for item in datasets.samples(made.proposals, Item)}
    assert writers == {("router-a", "writer-1")}


async def test_two_sources_with_a_group_of_one_name_make_two_samples(tmp_path: Path) -> None:
    sources = (source(tmp_path / "a", *WHALE), source(tmp_path / "b", *WHALE))
    order = Order(sources, tmp_path / "out", {"writer": "python:writer"}, Rules())
    made = await build(order, {"python:writer": writer()})
    assert len({item.id for item in datasets.samples(made.proposals, Item)}) == 2
    with pytest.raises(DataError, match="rows: is given twice"):
        await build(replace(order, sources=sources[:1] * 2), {"python:writer": writer()})


async def test_a_time_limit_ends_the_calls_of_a_construction(tmp_path: Path) -> None:
    order = Order((source(tmp_path, *WHALE),), tmp_path / "out", {"writer": "python:writer"}, Rules())
    slow = RuleModel(lambda request: PUZZLE, latency=30)
    with pytest.raises(LimitReached):
        await build(replace(order, limits=Limits(time_limit=0.1)), {"python:writer": slow})


async def test_what_people_put_beside_the_samples_stays_and_a_rejected_sample_goes(tmp_path: Path) -> None:
    item = decide(await built(tmp_path), decision="accept")
    made = await built(tmp_path)
    plays = made.dataset / "calibration.jsonl"
    plays.write_text("a day's work\n")
    assert (await built(tmp_path)).accepted == 1
    assert plays.read_text() == "a day's work\n" and (made.dataset / item.image).is_file()
    decide(made, decision="reject")
    assert (await built(tmp_path)).accepted == 0
    kept = ["calibration.jsonl", "images.before", "samples.jsonl.before"]
    assert sorted(path.name for path in made.dataset.iterdir()) == kept


async def test_a_decision_about_one_proposal_is_none_about_another(tmp_path: Path) -> None:
    made = await built(tmp_path)
    item = decide(made, decision="accept")
    wanted = Order((tmp_path / "rows",), tmp_path / "out", {"writer": "python:other"}, Rules())
    other = writer(puzzle=PUZZLE | {"explanation": "So it asks for more room, because it is large."})
    other.model_id = "writer-2"
    for _ in range(2):
        # Again, too: what was refused once has left nothing that would let it pass.
        with pytest.raises(DataError, match=f"{item.id} has been proposed anew"):
            await build(wanted, {"python:other": other})
    assert not made.dataset.exists()


async def test_likes_and_chinese_rows_are_built_of_too(tmp_path: Path) -> None:
    rows = [
        {"id": f"zh-{n}", "type": "IT2T", "language": "zh", "group": "猫", "image": "images/cat.png",
         "question": "这只猫在想什么？", "text": text, "star": star}
        for n, (text, star) in enumerate([("再等五分钟我就去上班打卡。", 90), ("今天的会议取消了。", 40), ("没人点赞。", 1)])
    ]  # fmt: skip
    puzzle = {
        "usable": True, "why": "人人都懂。", "caption": "一只猫躺在键盘上，眯着眼睛。", "key_text": "上班打卡",
        "explanation": "因为猫躺在键盘上像人赖床，所以它也像上班族一样拖延。", "leap": "身份互换",
        "part": "躺着的猫", "likeness": "像赖床的人", "effect": "它也像上班族一样拖延",
        "clues": "想想清晨。\n与职场有关。\n赖床的人会说什么？\n机器旁边排着队。", "accept": "出门挣钱\n赶早班车",
        "reject": "吃鱼 | easy | 与赖床无关\n起床 | hard | 没有身份互换",
    }  # fmt: skip
    model = writer(puzzle=puzzle)
    made = await built(tmp_path, *rows, model=model)
    [item] = datasets.samples(made.proposals, Item)
    assert item.point and item.point.likeness == "像赖床的人"
    assert item.language == "zh" and item.votes and (item.votes.n, item.votes.mean) == (90, None)
    assert any("这只猫在想什么" in text_of(request) for request in model.asked)


async def test_a_decision_names_no_place_to_write_and_no_link_is_written_through(tmp_path: Path) -> None:
    made = await built(tmp_path)
    away = tmp_path / "away.png"
    Image.new("RGB", (3, 3), "red").save(away)
    before = away.read_bytes()
    for changes in ({"image": "../../away.png"}, {"image": str(away)}, {"id": "another"}):
        decide(made, decision="edit", changes=changes)
        assert (await built(tmp_path)).accepted == 0
        assert away.read_bytes() == before and not made.dataset.exists()
    proposed = decide(made, decision="accept")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    picture = made.proposals / proposed.image
    picture.unlink()
    picture.symlink_to(away)
    made.dataset.symlink_to(elsewhere)
    with pytest.raises(DataError, match="nothing is written through one"):
        await built(tmp_path)
    assert away.read_bytes() == before and not picture.is_symlink() and not list(elsewhere.iterdir())


def test_of_many_rows_those_are_held_that_enough_people_voted_on(tmp_path: Path) -> None:
    few = contest(
        "whale", *[(f"Response number {n} that nobody saw. {'x' * 400}", (1, 1, 1)) for n in range(1500)]
    )
    folder = source(tmp_path, *WHALE, *[row | {"id": f"few-{n}"} for n, row in enumerate(few)])
    wanted = (folder,), Rules(), list[Dropped]()
    list(_scenes(*wanted))
    tracemalloc.start()
    [scene] = _scenes(*wanted)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert scene.response == WHALE[0]["text"]
    # So many rows with their texts would be four megabytes.
    assert peak < 1.2e6
