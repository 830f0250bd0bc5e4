"""False stops: how many never-solving games a judge ends that wrongly accepts 3 fillings in 100.

Plays the check of real games, with the game's own questions and the game's own reading of the answers; only
the judges are made up. Every filling is wrong, so every stop is a false one.

    python -m tests.bench.false_stops [--games 2000] [--fpr 0.03]
"""

from __future__ import annotations

import argparse
import asyncio
import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from lotbench.config.experiment import Config, Experiment, Limits
from lotbench.harness.benchmark import Context, take
from lotbench.harness.state import Walk, joined, start
from lotbench.run import plan
from lotbench.types import Answer, Key, Question, Reply
from tests.rules import chance

ROUNDS = 15


@dataclass(frozen=True)
class World:
    """Judges that err on wrong fillings.

    Attributes:
        confirm: The setting of the game.
        both: The chance that the second judge says yes, given that the first wrongly did.
    """

    name: str
    confirm: str
    both: Callable[[float], float]


# The correlations are the least, the median and the greatest of 72 pairs of models on people's labels (docs/judges.md).
WORLDS = (
    World("no confirmation", "never", lambda fpr: 1.0),
    World("second judge, independent errors", "other_judge", lambda fpr: fpr),
    World("second judge, correlated by .09", "other_judge", lambda fpr: fpr + 0.09 * (1 - fpr)),
    World("second judge, correlated by .27", "other_judge", lambda fpr: fpr + 0.27 * (1 - fpr)),
    World("second judge, correlated by .49", "other_judge", lambda fpr: fpr + 0.49 * (1 - fpr)),
    World("second judge, errors tied to the filling", "other_judge", lambda fpr: 1.0),
)


def expected(world: World, fpr: float) -> float:
    """The share of games that are stopped: one minus that no round of 15 is."""
    return 1 - (1 - fpr * world.both(fpr)) ** ROUNDS


def answer(question: Question, game: int, world: World, fpr: float) -> Answer:
    """What a judge of that world says to a question of that game."""
    limit = fpr if question.step == "check" else world.both(fpr)
    yes = chance(world.name, game, question.round, question.step) < limit
    said = {name: "..." for name in ("point_reason", "function_reason")}
    text = json.dumps({**said, "same_creative_point": yes, "same_function": yes})
    key = Key("any", game, question.round, question.step, question.draw, question.attempt, "")
    return Answer(question, key, Reply(text, "planted"))


async def stopped(made: plan.Plan, world: World, game: int, fpr: float) -> bool:
    """Play one game in which no filling is right; whether it was stopped."""

    async def ask(walk: Walk, question: Question) -> Answer:
        return answer(question, game, world, fpr)

    context = Context(made.benchmark, made.view, ask)
    sample = made.chosen[game % len(made.chosen)].id
    state: Mapping[str, Any] = dict(start(sample, game, ""))
    for round in range(1, ROUNDS + 1):
        turn = {"filling": f"no such thing {round}", "status": "ok"}
        state = {**state, "round": round, "turn": turn}
        state = joined(state, await take("check", state, context))
        if state["outcome"] is not None:
            return bool(state["outcome"] == "solved")
        state = {**state, "history": [*state["history"], state["turn"]]}
    return False


def share(world: World, games: int, fpr: float) -> float:
    """The share of games that were stopped."""
    settings = {"judge_mode": "explained", "confirm": world.confirm, "max_rounds": ROUNDS}
    roles = {"judge": ("one@http://127.0.0.1/v1", "two@http://127.0.0.1/v1")}
    experiment = Experiment(model="human", roles=roles, settings=settings)
    made = plan.make(Config(experiment=experiment, limits=Limits()))

    async def played() -> int:
        return sum([await stopped(made, world, game, fpr) for game in range(games)])

    return asyncio.run(played()) / games


def main() -> None:
    """Print the share of false stops in each world, played and expected."""
    options = argparse.ArgumentParser(description="False stops of never-solving games.")
    options.add_argument("--games", type=int, default=2000)
    options.add_argument("--fpr", type=float, default=0.03)
    given = options.parse_args()
    print(f"{given.games} games of {ROUNDS} rounds without a right filling; the judge's FPR is {given.fpr:g}")
    print(f"{'':42} {'played':>8} {'expected':>9}")
    for world in WORLDS:
        truth = expected(world, given.fpr)
        error = math.sqrt(truth * (1 - truth) / given.games)
        print(f"{world.name:42} {share(world, given.games, given.fpr):8.1%} {truth:9.1%} +- {error:.1%}")


if __name__ == "__main__":
    main()
