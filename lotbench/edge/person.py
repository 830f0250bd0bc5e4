"""A person at the terminal, as a model: the same messages, the same rules, the same records."""

from __future__ import annotations

import asyncio
import sys
import time

from lotbench.errors import Unescapable, UsageError
from lotbench.types import Reply, Request


class PersonModel:
    """Shows what a model would be sent and takes a line of text as its reply; one person, one call at a time."""

    def __init__(self) -> None:
        if not sys.stdin.isatty():
            raise UsageError("human: a person needs a terminal to play in")
        self._turn = asyncio.Lock()
        self._shown: set[str] = set()

    async def __call__(self, request: Request) -> Reply:
        """Ask the person; what was shown once (the rules) is not shown again.

        Raises:
            Unescapable: Nobody is there any more.
        """
        async with self._turn:
            started = time.monotonic()
            for message in request.messages:
                text = "".join(part if isinstance(part, str) else "[picture]" for part in message.parts)
                if message.speaker != "system" or text not in self._shown:
                    sys.stdout.write(f"\n{text}\n\n")
                self._shown.add(text)
            try:
                line = await asyncio.to_thread(input, "> ")
            except EOFError:
                raise Unescapable("human: the terminal was closed; the run can be resumed") from None
            return Reply(line, "human", seconds=round(time.monotonic() - started, 3))
