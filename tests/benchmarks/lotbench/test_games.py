"""A game is read from its steps in one place: what counts of a round, and what is told of it."""

from lotbench.benchmarks.lotbench.games import CausalChain, game, read_chains, read_rounds
from lotbench.benchmarks.lotbench.replay import replay
from lotbench.harness.episode import remark
from lotbench.site.game_rounds import thought
from lotbench.site.run_summary import episode_row
from tests.games import answer, ask, check, lost, respond, trace, unread

SAMPLE = {"id": "s", "caption": "A fish.", "response": "A drum.", "key_text": "drum"}
VOTED = trace(
    "s",
    1,
    "unsolved",
    [respond(1, "harp"), respond(1, "horn"), respond(1, "horn"), respond(1, "horn"), check(1, False)],
)
"""Two of three draws say horn, which is what was judged (cot_sc)."""


def test_of_several_draws_the_one_that_was_judged_is_told_everywhere() -> None:
    assert "fills in    horn" in replay(SAMPLE, VOTED).text
    assert thought(VOTED, {}).leaps[0].round.guess == "horn"
    assert episode_row(VOTED).answer == "horn"


def test_a_round_says_all_that_came_of_it() -> None:
    steps = [
        respond(1, status="unparsed"),
        respond(1, "horn", mismatch=True),
        unread(1),
        check(1, True),
        check(1, False, step="confirm"),
        ask(1, leak=True),
        answer(1, None),
        remark("reveal", 1, {"clues": ["It is loud."]}),
        remark("decompose", 2, {"notes": "", "status": "ok"}),
    ]
    first, second = read_rounds(steps)
    assert (first.guess, first.status, first.language_mismatch) == ("horn", "ok", True)
    assert [one.accepted for one in first.opinions] == [None, True, False]
    assert (first.decision, first.asked) == ("overturned", "ok")
    assert (first.question, first.leak) == ("Is it alive?", True)
    assert (first.answered, first.answer, first.clues) == (True, None, ("It is loud.",))
    assert (second.status, second.decision, second.asked, second.answered) == ("", "none", None, False)
    assert game(trace("s", 1, "candidate_failed", steps)).unsolved_through == 1


def test_a_round_that_was_not_filled_in_is_not_told() -> None:
    steps = [*lost(1), remark("decompose", 2, {"notes": "", "status": "ok"})]
    told = replay(SAMPLE, trace("s", 1, "candidate_failed", steps))
    assert "round 2" not in told.text and told.text.endswith("candidate_failed, no score")
    assert told.table["steps"] == steps


def test_steps_that_say_nothing_are_read_as_nothing() -> None:
    assert read_rounds([{"step": "respond"}, {"step": "check", "round": 1, "value": None}])[0].check is None
    assert read_chains([{"step": "chain", "value": {"chain": None}}]) == ()


def test_the_last_chain_of_each_judge_is_its_chain() -> None:
    steps = [
        remark("chain", 0, {"chain": "a -> b", "judge": 1}),
        remark("chain_check", 0, {"accepted": False, "expected": True, "judge": 1}),
        remark("chain", 0, {"chain": "a -> c", "judge": 1}),
        remark("chain_accepted", 1, {"judge": 1, "accepted": False, "builds": 4}),
    ]
    assert read_chains(steps) == (CausalChain(1, "a -> c", False),)
