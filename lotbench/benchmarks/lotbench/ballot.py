"""The responses of games that people vote on: a candidate's first attempt at each sample.

A first attempt follows no feedback. So votes on it measure the response, and not how much of the joke was revealed.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from lotbench.benchmarks.lotbench.games import Round, read_rounds
from lotbench.benchmarks.lotbench.sample import Item
from lotbench.harness.ballot import Ballot, Task
from lotbench.types import Trace


def prompt(fields: Mapping[str, Any]) -> Task:
    """Return the part of a sample that voters see, from the sample's fields: its picture, without caption and response."""
    return Task.model_validate({**fields, "type": "I2T"})


def responses(
    traces: Sequence[Trace], samples: Mapping[str, Mapping[str, Any]], settings: object
) -> Mapping[str, str]:
    """Return the first attempt of each sample's first game (repeat 1) as a whole response (R_1), by sample id.

    A sample is left out if that game has no readable guess in its first round.
    """
    written = {}
    for trace in traces:
        first = next((attempt for attempt in read_rounds(trace.steps) if attempt.number == 1), None)
        if trace.repeat == 1 and first is not None and first.guess and first.status == "ok":
            written[trace.sample] = _whole(first, Item.model_validate(samples[trace.sample]))
    return written


def _whole(attempt: Round, sample: Item) -> str:
    return str(attempt.guess) if attempt.whole else sample.rebuilt(str(attempt.guess))


BALLOT = Ballot("evaluate lotbench", responses, prompt)
"""The declaration of ballots on responses of this game."""
