"""The placebo as a model: it fills in forms from lines that the plan composed of other samples, and reads nothing."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache

from lotbench.errors import CallFailed
from lotbench.harness.judge_validation import PlaceboLines
from lotbench.types import Reply, Request


class PlaceboModel:
    """Answers by the place of a question in its walk alone, so that a walk taken again says the same.

    Args:
        lines: What it says in a walk, by sample and repeat.
    """

    takes_requests = True

    def __init__(self, lines: Callable[[str, int], PlaceboLines]) -> None:
        self._lines = cache(lines)

    async def __call__(self, request: Request) -> Reply:
        """The next line for each field of the form; asked again, the one after it.

        Raises:
            CallFailed: The form has a field that it has no lines for.
        """
        key = request.key
        lines = self._lines(key.sample, key.repeat)
        fields = (request.schema or {}).get("properties")
        if not isinstance(fields, dict) or not fields.keys() <= lines.keys():
            raise CallFailed(f"placebo: nothing to say to {key.step}")
        turn = key.round - 1 + key.attempt
        said = {name: lines[name][turn % len(lines[name])] for name in fields}
        return Reply(json.dumps(said, ensure_ascii=False), "placebo")
