"""The desk: every call passes journal, budget, rate and store in that order, and a shared one passes once."""

import asyncio
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from lotbench.calls.budget import Bucket, Budget
from lotbench.calls.caller import Caller, RoleModel, sampling
from lotbench.calls.journal import Journal
from lotbench.calls.prices import Price, picture_tokens
from lotbench.calls.store import Store
from lotbench.config.experiment import Limits, RoleSampling
from lotbench.errors import CallFailed, LimitReached, LotbenchError
from lotbench.types import Image, Message, Question, Reply, Request, Sampling, Usage

SCHEMA = {"type": "object", "properties": {"chain": {"type": "string"}}, "required": ["chain"]}
GOOD = Reply('{"chain": "a -> b"}', "judge-2026", usage=Usage(100, 0, 10))


def of_length(tokens: int) -> Reply:
    return Reply("{}", "m", usage=Usage(0, 0, tokens))


SHORT, LONG = of_length(30), of_length(4000)


class Model:
    """Says its replies in order and keeps what it was asked; an exception among them is raised."""

    def __init__(self, *replies: Any, latency: float = 0.0) -> None:
        self.replies = list(replies)
        self.asked: list[Request] = []
        self.latency = latency

    async def __call__(self, request: Request) -> Reply:
        self.asked.append(request)
        await asyncio.sleep(self.latency)
        said = self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]
        if isinstance(said, Exception):
            raise said
        return said


def run_episodes(sample: str = "lot-0001", repeat: int = 1) -> Any:
    return SimpleNamespace(sample=SimpleNamespace(id=sample), repeat=repeat)


def asking(text: str = "Why?", **more: Any) -> Question:
    return Question("judge", more.pop("step", "chain"), (Message("user", (text,)),), SCHEMA, **more)


class Room:
    """A desk with all that stands around it, in a folder."""

    def __init__(self, place: Path, *models: Model, limits: Limits | None = None, seed: int = 0) -> None:
        self.journal = Journal(place / "calls.jsonl")
        self.budget = Budget(limits or Limits())
        self.store = Store(place / "home")
        models = tuple(
            RoleModel(f"judge-{n}", model, Price(1.0, 0.5, 2.0), Bucket(None), Bucket(None))
            for n, model in enumerate(models)
        )
        drawn = {"judge": (Sampling(temperature=0.0, max_tokens=300), True)}
        self.desk = Caller({"judge": models}, drawn, self.journal, self.store, self.budget, seed=seed)

    @property
    def lines(self) -> list[str]:
        """Role, step and source of each line of the journal."""
        from lotbench.calls.journal import read_journal

        return [f"{entry.key.step} {entry.index} {entry.source}" for entry in read_journal(self.journal.path)]


@pytest.fixture
def room(tmp_path: Path) -> Iterator[Any]:
    made: list[Room] = []

    def build(*models: Model, **more: Any) -> Room:
        made.append(Room(tmp_path, *models, **more))
        return made[-1]

    yield build
    for one in made:
        one.journal._file.close()


async def at_once(place: Room, many: int) -> list[Any]:
    """What comes of so many calls that are made side by side."""
    asked = (place.desk.ask(run_episodes(), asking(draw=draw)) for draw in range(many))
    return await asyncio.gather(*asked, return_exceptions=True)


async def test_a_reply_is_journaled_and_counted(room: Any) -> None:
    model = Model(GOOD)
    place = room(model)
    answer = await place.desk.ask(run_episodes(), asking())
    assert answer.reply == GOOD
    assert place.journal.get(answer.key).reply == GOOD
    assert place.lines == ["chain 0 call"]
    assert place.budget.tokens == 110
    assert place.budget.cost == pytest.approx((100 * 1.0 + 10 * 2.0) / 1e6)
    assert place.desk.stats.calls == 1 and not place.desk.stats.open
    assert place.desk.stats.cost == place.budget.cost
    assert model.asked[0].messages == asking().messages


async def test_what_the_journal_has_costs_nothing(room: Any) -> None:
    await room(Model(GOOD)).desk.ask(run_episodes(), asking())
    model = Model(AssertionError("asked again"))
    second = room(model, limits=Limits(token_limit=0))
    answer = await second.desk.ask(run_episodes(), asking())
    assert answer.reply == GOOD
    assert model.asked == [] and second.budget.tokens == 0
    assert second.desk.role_models["judge"][0].model_id == "judge-2026"


async def test_a_key_asked_for_twice_is_a_bug(room: Any) -> None:
    place = room(Model(GOOD))
    await place.desk.ask(run_episodes(), asking())
    with pytest.raises(LotbenchError, match="asked twice"):
        await place.desk.ask(run_episodes(), asking())


async def test_what_failed_may_be_asked_again(room: Any) -> None:
    place = room(Model(CallFailed("500"), GOOD))
    with pytest.raises(CallFailed):
        await place.desk.ask(run_episodes(), asking())
    assert place.lines == [] and place.budget.tokens == 0 and not place.desk.stats.open
    assert (await place.desk.ask(run_episodes(), asking())).reply == GOOD


async def test_a_call_that_would_pass_the_limit_is_not_made(room: Any) -> None:
    model = Model(GOOD)
    place = room(model, limits=Limits(token_limit=200))
    with pytest.raises(LimitReached):
        await place.desk.ask(run_episodes(), asking())
    assert model.asked == [] and place.lines == []


async def test_a_call_that_waited_for_its_rate_beyond_the_time_limit_is_not_made(room: Any) -> None:
    """All calls in flight waited, and were made and paid for minutes after it."""

    class Slow:
        async def take(self, amount: float, patience: Any) -> None:
            now.append(now[-1] + 40)

    now, model = [0.0], Model(GOOD)
    place = room(model, limits=Limits(time_limit=60))
    place.budget.clock, place.budget.started = lambda: now[-1], 0.0
    place.desk.role_models["judge"][0].requests = Slow()
    await place.desk.ask(run_episodes(), asking())
    with pytest.raises(LimitReached, match="time limit of 60 s"):
        await place.desk.ask(run_episodes(), asking(draw=1))
    assert len(model.asked) == 1 and place.budget._held_tokens == 0


async def test_the_first_reply_says_what_the_next_may_take(room: Any) -> None:
    """300 tokens were believed in for twenty replies of 4,000, and a limit of 10,000 was overspent by 2,000."""
    place = room(Model(LONG), limits=Limits(token_limit=10_000))
    with pytest.raises(LimitReached):
        for draw in range(5):
            await place.desk.ask(run_episodes(), asking(draw=draw))
    assert (place.budget.tokens, place.budget.overspent) == (8000, "")


@pytest.mark.parametrize(
    ("name", "replies", "made"),
    [
        # Sixty-four of 4,000 tokens were in flight before the first told its length.
        ("judge-0", [LONG], (2, 8000)),
        # A 400 came first, and $6.07 of a limit of $1.50 were spent.
        ("judge-0", [CallFailed("400"), LONG], (3, 8000)),
        # Three failures let three go at once, not the other sixty-one: $7.79 were spent of $1.20.
        ("judge-0", [CallFailed("400")] * 3 + [of_length(8000)], (6, 24_000)),
        # A request that is refused says nothing of the length of replies.
        ("judge-0", [Reply("", "", "content_filter"), LONG], (3, 8000)),
        # A Python object is not told `max_tokens`: after two short replies 485,000 tokens were spent of 100,000.
        ("python:mine", [SHORT, SHORT, of_length(8000)], (3, 8060)),
    ],
)
async def test_calls_under_a_limit_wait_for_the_first_that_tells_its_length_and_those_of_an_object_go_one_by_one(
    room: Any, name: str, replies: list[Any], made: tuple[int, int]
) -> None:
    model = Model(*replies, latency=0.01)
    place = room(model, limits=Limits(token_limit=10_000))
    place.desk.role_models["judge"][0].name = name
    done = await at_once(place, 64)
    assert (len(model.asked), place.budget.tokens) == made
    assert sum(isinstance(one, LimitReached) for one in done) == 64 - made[0]


async def test_a_reply_of_an_earlier_session_is_remembered_by_its_model(room: Any) -> None:
    model = Model(GOOD)
    model.remember = (heard := []).append  # type: ignore[attr-defined]
    await room(model).desk.ask(run_episodes(), asking())
    assert heard == []
    await room(model).desk.ask(run_episodes(), asking())
    assert heard == [GOOD] and len(model.asked) == 1


async def test_a_count_beyond_the_length_of_a_reply_does_not_hold_up_the_next_calls(room: Any) -> None:
    place = room(Model(Reply("{}", "m", usage=Usage(5, 0, 9 * 10**9))))
    place.desk.role_models["judge"][0].tokens = bucket = Bucket(60_000.0)
    await place.desk.ask(run_episodes(), asking())
    assert 9_000 < bucket._level < 10_000


async def test_calls_wait_for_what_those_in_flight_give_back(room: Any) -> None:
    """The mean of the replies so far was set aside, and a limit of 100,000 tokens was overspent by 498,714."""
    short, long = (Reply("{}", "m", usage=Usage(5, 0, length)) for length in (30, 290))
    model = Model(short, long, latency=0.001)
    place = room(model, limits=Limits(token_limit=10_000))
    done = await at_once(place, 64)
    assert {type(one) for one in done if isinstance(one, Exception)} == {LimitReached}
    assert 9_400 < place.budget.tokens <= 10_000 and place.budget._held_tokens == 0


async def test_calls_of_a_kind_do_not_fail_one_after_the_other(room: Any) -> None:
    model = Model(CallFailed("500"), latency=0.1)
    place, began = room(model, limits=Limits(token_limit=1_000_000)), time.monotonic()
    assert {type(one) for one in await at_once(place, 40)} == {CallFailed}
    assert len(model.asked) == 40 and time.monotonic() - began < 2


async def test_what_pictures_count_at_a_server_is_learned(room: Any) -> None:
    """A server counted 25,501 tokens for a picture that was held to take 1,800, and 3.2 times a limit were used."""
    place = room(
        Model(Reply("{}", "m", usage=Usage(25_000, 0, 5)), latency=0.001), limits=Limits(token_limit=100_000)
    )
    seen = [
        Question("judge", "check", (Message("user", (Image("ab"), "Why?")),), SCHEMA, draw=draw)
        for draw in range(40)
    ]
    await asyncio.gather(*(place.desk.ask(run_episodes(), each) for each in seen), return_exceptions=True)
    assert 75_000 < place.budget.tokens <= 100_000


async def test_a_call_that_is_interrupted_counts_what_it_can_use(room: Any) -> None:
    """Runs that were interrupted and resumed used thrice their limit."""
    place = room(Model(GOOD, latency=9))
    place.desk.role_models["judge"][0].billed = True
    call = asyncio.create_task(place.desk.ask(run_episodes(), asking()))
    await asyncio.sleep(0.05)
    call.cancel()
    await asyncio.wait([call])
    assert place.budget.tokens > 300 and place.budget._held_tokens == 0


async def test_reasoning_without_a_count_is_assumed(room: Any) -> None:
    """Replies of 18 kB of reasoning alone counted nothing, and a limit was never met."""
    place = room(Model(Reply("", "m", reasoning="Hm. " * 900, seconds=1.0, usage=Usage(5, 0, 0))))
    place.desk.role_models["judge"][0].billed = True
    await place.desk.ask(run_episodes(), asking())
    assert place.budget.tokens > 300


async def test_calls_in_flight_are_set_aside(room: Any) -> None:
    """The first took 400 tokens, so a limit of 1,500 lets two more of 400 through at once."""
    model = Model(Reply(GOOD.text, "judge-2026", usage=Usage(100, 0, 300)), latency=0.01)
    place = room(model, limits=Limits(token_limit=1500))
    done = await at_once(place, 5)
    assert len(model.asked) == 3
    assert [type(one).__name__ for one in done].count("LimitReached") == 2
    assert place.budget.tokens == 1200


async def test_the_estimate_of_a_picture_is_in_what_is_set_aside(room: Any) -> None:
    place = room(Model(GOOD), limits=Limits(token_limit=1000))
    seen = Question("judge", "check", (Message("user", (Image("ab"), "Why?")),), SCHEMA)
    with pytest.raises(LimitReached):
        await place.desk.ask(run_episodes(), seen)
    many = (picture_tokens(name) for name in ("gpt-4o-mini-2024-07-18", "openrouter/openai/gpt-4o-mini"))
    assert {*many} == {25_501} and picture_tokens("gpt-4o-mini@http://127.0.0.1:1/v1") == 25_501
    tuned = (
        "ft:gpt-4o-mini-2024-07-18:org::id",
        "langchain:openai:gpt-4o-mini",
        "gpt-4o-mini-search-preview",
    )
    assert {*map(picture_tokens, tuned)} == {25_501}
    assert picture_tokens("gpt-4o") == picture_tokens("gpt-4o-mine@http://h/v1") == 1_800


@pytest.mark.parametrize(
    ("other", "differs"),
    [
        (asking(), False),
        (asking(text="How?"), True),
        (asking(step="confirm"), True),
        (asking(round=2), True),
        (asking(draw=1), True),
        (asking(attempt=1), True),
        (asking(index=1), True),
        (asking(temperature=0.5), True),
    ],
)
def test_a_key_names_the_place_and_covers_the_request(room: Any, other: Question, differs: bool) -> None:
    desk = room(Model(GOOD), Model(GOOD)).desk
    first, second = desk.request(asking(), "lot-0001", 1), desk.request(other, "lot-0001", 1)
    assert (first.key != second.key) is differs
    assert desk.request(asking(), "lot-0002", 1).key != first.key
    assert desk.request(asking(), "lot-0001", 2).key != first.key


def test_the_seed_of_a_call_comes_from_the_run_and_its_place(room: Any) -> None:
    def seed(run: int, repeat: int = 1, **more: Any) -> int | None:
        return room(Model(GOOD), seed=run).desk.request(asking(**more), "lot-0001", repeat).sampling.seed

    assert seed(0) == seed(0)
    assert len({seed(0), seed(1), seed(0, repeat=2), seed(0, round=2), seed(0, draw=1)}) == 5
    assert 0 <= (seed(0) or 0) < 2**31
    # A shared question outlives the run.
    assert seed(0, repeat=0, shared=True) == seed(1, repeat=0, shared=True)


async def test_a_shared_question_is_asked_once_for_all_episodes(room: Any) -> None:
    model = Model(GOOD, latency=0.01)
    place = room(model)
    answers = await asyncio.gather(
        *(place.desk.ask(run_episodes(repeat=repeat), asking(shared=True)) for repeat in (1, 2, 3))
    )
    late = await place.desk.ask(run_episodes(repeat=4), asking(shared=True))
    assert len(model.asked) == 1
    assert {str(answer.key) for answer in [*answers, late]} == {str(model.asked[0].key)}
    assert model.asked[0].key.repeat == 0
    assert place.lines == ["chain 0 call"]
    await asyncio.sleep(0)
    # A task that is kept keeps the whole episode that asked first: some 60 KB for each sample.
    assert not place.desk._shared


async def test_a_shared_reply_that_is_wanted_anew_is_asked_for_once(room: Any) -> None:
    model = Model(Reply("unread", "judge-2026"), GOOD)
    place = room(model)
    first = await place.desk.ask(run_episodes(repeat=1), asking(shared=True))
    place.journal.retry(str(first.key))
    again = [await place.desk.ask(run_episodes(repeat=repeat), asking(shared=True)) for repeat in (2, 3)]
    assert [one.reply for one in again] == [GOOD, GOOD] and len(model.asked) == 2


async def test_a_shared_question_of_two_models_is_two(room: Any) -> None:
    place = room(Model(GOOD), Model(GOOD))
    await place.desk.ask(run_episodes(), asking(shared=True))
    await place.desk.ask(run_episodes(), asking(shared=True, index=1))
    assert place.lines == ["chain 0 call", "chain 1 call"]


async def test_a_shared_question_that_failed_is_asked_again_by_the_next_episode(room: Any) -> None:
    place = room(Model(CallFailed("500"), GOOD))
    failed = await asyncio.gather(
        *(place.desk.ask(run_episodes(repeat=repeat), asking(shared=True)) for repeat in (1, 2)),
        return_exceptions=True,
    )
    assert [type(one) for one in failed] == [CallFailed, CallFailed]
    assert (await place.desk.ask(run_episodes(repeat=3), asking(shared=True))).reply == GOOD


async def test_an_episode_that_gives_up_does_not_take_a_shared_question_with_it(room: Any) -> None:
    place = room(Model(GOOD, latency=0.01))
    one = asyncio.create_task(place.desk.ask(run_episodes(repeat=1), asking(shared=True)))
    other = asyncio.create_task(place.desk.ask(run_episodes(repeat=2), asking(shared=True)))
    await asyncio.sleep(0)
    one.cancel()
    assert (await other).reply == GOOD
    with pytest.raises(asyncio.CancelledError):
        await one


async def test_closing_gives_up_what_nobody_waits_for(room: Any) -> None:
    place = room(Model(GOOD, latency=60))
    asked = [
        asyncio.create_task(place.desk.ask(run_episodes(), asking(shared=True))),
        asyncio.create_task(place.desk.ask(run_episodes(), asking(draw=1))),
    ]
    await asyncio.sleep(0)
    asked[0].cancel()
    await place.desk.close()
    done = await asyncio.gather(*asked, return_exceptions=True)
    assert all(isinstance(one, asyncio.CancelledError) for one in done)
    assert asyncio.all_tasks() == {asyncio.current_task()}


async def test_the_store_is_asked_when_it_is_known_who_would_answer(room: Any, tmp_path: Path) -> None:
    await room(Model(GOOD)).desk.ask(run_episodes(), asking(shared=True))
    (tmp_path / "calls.jsonl").unlink()
    second = room(Model(AssertionError("asked again")), seed=9)
    second.desk.role_models["judge"][0].model_id = "judge-2026"
    answer = await second.desk.ask(run_episodes(repeat=2), asking(shared=True))
    assert answer.reply == GOOD
    assert second.lines == ["chain 0 store"]
    assert second.budget.tokens == 0
    (tmp_path / "calls.jsonl").unlink()
    third = room(Model(GOOD))
    third.desk.role_models["judge"][0].model_id = "judge-2027"
    await third.desk.ask(run_episodes(), asking(shared=True))
    assert third.lines == ["chain 0 call"]


async def test_a_question_that_is_not_shared_knows_no_store(room: Any, tmp_path: Path) -> None:
    await room(Model(GOOD)).desk.ask(run_episodes(), asking())
    assert list((tmp_path / "home").rglob("*.json")) == []


@pytest.mark.parametrize(
    ("reply", "kept"),
    [
        (GOOD, True),
        (Reply('```json\n{"chain": "a", "more": 1}\n```', "j"), True),
        (Reply('<think>so</think>{"chain": "a"}', "j"), True),
        (Reply("I'm sorry, but I can't help with that.", "j"), False),
        (Reply('{"chain": "a -> ', "j", "length"), False),
        (Reply("", "j", refusal="no"), False),
        (Reply('{"other": "a"}', "j"), False),
        (Reply('<think>so {"chain": "a"}', "j"), False),
    ],
)
async def test_a_reply_that_nobody_can_read_is_not_kept_for_other_runs(
    room: Any, tmp_path: Path, reply: Reply, kept: bool
) -> None:
    place = room(Model(reply))
    await place.desk.ask(run_episodes(), asking(shared=True))
    assert place.lines == ["chain 0 call"]
    assert len(list((tmp_path / "home").rglob("*.json"))) == kept


def test_a_role_is_sampled_as_the_benchmark_says_unless_the_experiment_says_otherwise() -> None:
    default = Sampling(temperature=0.0, max_tokens=100)
    assert sampling(default, None, True) == (default, True)
    assert sampling(default, RoleSampling(), False) == (default, False)
    assert sampling(default, RoleSampling(temperature=0.7, seed=False), True) == (
        Sampling(temperature=0.7, max_tokens=100),
        False,
    )
    assert sampling(default, RoleSampling(seed=True), False) == (default, True)
