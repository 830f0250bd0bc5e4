"""The state of an episode: small plain JSON, joined by the same rules in a node as in the graph."""

import json
from typing import Any, get_type_hints

from hypothesis import given
from hypothesis import strategies as st
from langgraph.graph import END, START, StateGraph

from lotbench.harness.state import REDUCED, EpisodeState, joined, start
from tests.play import NO, candidate, judge, oracle, play


def test_an_episode_begins_with_every_declared_key() -> None:
    assert start("s", 2, {"a": 1}).keys() == EpisodeState.__annotations__.keys()
    begun = start("s", 2, {"a": 1})
    assert (begun["round"], begun["outcome"], begun["arrived"], begun["memory"]) == (1, None, True, {"a": 1})


def test_the_declared_reducers_are_the_ones_that_join() -> None:
    hints = get_type_hints(EpisodeState, include_extras=True)
    declared = {name: hint.__metadata__[0] for name, hint in hints.items() if hasattr(hint, "__metadata__")}
    assert declared == REDUCED


COUNTS = st.dictionaries(st.sampled_from(["calls", "input_tokens", "output_tokens"]), st.integers(0, 99))
UPDATES = st.fixed_dictionaries(
    {},
    optional={
        "turn": st.dictionaries(st.text(max_size=3), st.integers(), max_size=2),
        "history": st.lists(st.just({"guess": "x"}), max_size=2),
        "steps": st.lists(st.just({"step": "check"}), max_size=2),
        "usage": COUNTS,
        "outcome": st.sampled_from([None, "solved"]),
    },
)


@given(st.lists(UPDATES, min_size=1, max_size=3))
def test_updates_are_joined_as_langgraph_joins_them(updates: list[dict[str, Any]]) -> None:
    graph = StateGraph(EpisodeState)
    last = START
    for number, update in enumerate(updates):
        graph.add_node(str(number), lambda state, update=update: update)  # type: ignore[misc]
        graph.add_edge(last, str(number))
        last = str(number)
    graph.add_edge(last, END)
    begun = start("s", 1)
    wanted: dict[str, Any] = dict(begun)
    for update in updates:
        wanted = joined(wanted, update)
    assert graph.compile().invoke(begun) == wanted


async def test_the_state_of_a_played_game_is_plain_json_and_small() -> None:
    game = await play(candidate(), judge(NO), max_rounds=15)
    whole = [game.trace.steps, game.trace.usage, game.trace.score.parts]
    assert json.loads(json.dumps(whole)) == json.loads(json.dumps(whole, default=str))
    assert len(json.dumps(game.trace.steps)) < 40_000


async def test_usage_is_the_sum_over_a_episodes_own_calls() -> None:
    player, checker, teller = candidate(), judge(NO), oracle()
    game = await play(player, checker, teller, max_rounds=3, judge_mode="explained")
    calls = len(player.asked) + len(checker.asked) + len(teller.asked)
    assert game.trace.usage["calls"] == calls == 3 + 3 + 2 + 2
    assert game.trace.usage["input_tokens"] > game.trace.usage["output_tokens"] > 0
