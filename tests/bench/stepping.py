"""A thousand games at once in one process, each stepped to its end: CPU a turn, memory, seconds.

    python -m tests.bench.stepping --games 1000

Judge and oracle are scripted, so that what is measured is the environment: graph, journal, traces. The imports and the
opening are paid once and are shown apart; CPU a turn is of everything after that, the scripts among it.
"""

import argparse
import asyncio
import resource
import tempfile
import time
from collections import Counter
from collections.abc import Mapping
from typing import Any

from tests.rules import game_rule
from tests.stepping import policy

RULE = game_rule(solve=0.0)


async def scripted(messages: list[dict[str, Any]]) -> str:
    """A judge that accepts nothing, and an oracle: by the form that is asked for."""
    return policy(messages, RULE)


def _megabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


async def stepped(count: int, **settings: Any) -> Mapping[str, Any]:
    """Open the environment and play so many games at once; what it took, by name."""
    began = time.process_time()
    import lotbench

    with tempfile.TemporaryDirectory() as out:
        async with lotbench.games(
            judge=scripted, oracle=scripted, out=out, check=False, settings=settings
        ) as games:
            opened, clock, before = time.process_time(), time.monotonic(), _megabytes()
            names, turns, outcomes = list(games.samples), 0, Counter[str]()
            ready = [await games.new(names[number % len(names)]) for number in range(count)]

            async def play(game: Any) -> None:
                nonlocal turns
                number = 0
                while (wanted := game.observation) is not None:
                    number += 1
                    said = "A hat {}" if wanted.wants == "guess" else "Is it about hat {}?"
                    await game.step(wanted.answer(said.format(number)))
                    turns += 1
                outcomes[game.trace.outcome] += 1

            await asyncio.gather(*map(play, ready))
    return {
        "games": count,
        "turns": turns,
        "outcomes": dict(outcomes),
        "opening_cpu_s": round(opened - began, 2),
        "cpu_ms_a_turn": round((time.process_time() - opened) / turns * 1000, 2),
        "seconds": round(time.monotonic() - clock, 1),
        "mb_opened": round(before),
        "mb_peak": round(_megabytes()),
    }


def main() -> None:
    """Measure, and print what it took."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--games", type=int, default=1000)
    for name, value in asyncio.run(stepped(parser.parse_args().games)).items():
        print(f"{name}: {value}")


if __name__ == "__main__":
    main()
