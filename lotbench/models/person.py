"""People as models, at the terminal or at a page: the same messages, the same rules, the same records."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from lotbench.errors import Unescapable, UsageError
from lotbench.prompting.person_form import Field, filled, interview, read_field
from lotbench.report.markdown import visible
from lotbench.types import Reply, Request

GAVE_UP, SKIPPED = "The player gave up.", "The player had nothing to say here."
"""What a journal has of a request that a person declines: a refusal in their words."""


class PersonModel:
    """Asks the person at the terminal in plain words; one person, one call at a time.

    Args:
        picture: The file of a sample's picture.
    """

    def __init__(self, picture: Callable[[str], Path] | None = None) -> None:
        if not sys.stdin.isatty():
            raise UsageError("human: a person needs a terminal to play in")
        self._picture = picture
        self._turn = asyncio.Lock()
        self._shown: set[str] = set()

    async def __call__(self, request: Request) -> Reply:
        """Ask the person; what was shown once (the rules) is not shown again.

        Raises:
            Unescapable: Nobody is there any more.
        """
        async with self._turn:
            started = time.monotonic()
            form = interview(request)
            if form.rules not in self._shown:
                self._shown.add(form.rules)
                print(visible(f"\n{form.rules}"))
            print()
            if form.pictures:
                print(f"picture: {self._picture(request.key.sample) if self._picture else 'not shown here'}")
            for label, text in form.told:
                print(visible(f"{label}: {text}" if label else text))
            try:
                answers = {field.name: await asyncio.to_thread(_ask, field) for field in form.fields}
            except EOFError:
                raise Unescapable("human: the terminal was closed; the run can be resumed") from None
            return Reply(
                filled(request, answers), request.model, seconds=round(time.monotonic() - started, 3)
            )


class PageModel:
    """A person at a page, or at a table of the terminal: a request waits until an answer to it is sent.

    Attributes:
        asked: The request that waits.
        version: Moves whenever there is something new to show.
        answered: How many requests the person has answered.
    """

    takes_requests = True

    def __init__(self) -> None:
        self.asked: Request | None = None
        self.version = 0
        self.answered = 0
        self._turn = asyncio.Lock()
        self._reply: asyncio.Future[tuple[str, str | None]]
        self._given_up: set[tuple[str, int]] = set()
        self._since = 0.0

    async def __call__(self, request: Request) -> Reply:
        """Wait for the person's answer; of an episode that was given up there is none, and nobody is asked."""
        async with self._turn:
            if _episode(request) in self._given_up:
                return Reply("", request.model, refusal=GAVE_UP)
            self._since = time.monotonic()
            self._reply = asyncio.get_running_loop().create_future()
            self.asked = request
            self.version += 1
            try:
                text, refusal = await self._reply
            finally:
                self.asked = None
                self.version += 1
            seconds = round(time.monotonic() - self._since, 3)
            return Reply(text, request.model, refusal=refusal, seconds=seconds)

    def shown(self) -> None:
        """Count the time of an answer from here: its request has waited behind another page."""
        self._since = time.monotonic()

    def answer(self, version: int, fields: Mapping[str, object]) -> None:
        """Take the answer to the request that was shown.

        Raises:
            UsageError: Nothing is asked, something else is by now, or the answer does not fit.
        """
        self._settle(filled(self._waiting(version), fields), None)

    def skip(self, version: int) -> None:
        """Decline the request that was shown; raises UsageError as `answer` does."""
        self._waiting(version)
        self._settle("", SKIPPED)

    def give_up(self, version: int) -> None:
        """Decline the request that was shown and all that follow in its episode; raises UsageError as `answer` does."""
        request = self._waiting(version)
        self.ends(request.key.sample, request.key.repeat)
        self._settle("", GAVE_UP)

    def ends(self, sample: str, repeat: int) -> None:
        """Decline all requests that follow in an episode."""
        self._given_up.add((sample, repeat))

    def _waiting(self, version: int) -> Request:
        if self.asked is None or version != self.version or self._reply.done():
            raise UsageError("this was answered already: load the page again")
        return self.asked

    def _settle(self, text: str, refusal: str | None) -> None:
        self._reply.set_result((text, refusal))
        # At once: whoever looks before the episode goes on would see the same request again.
        self.asked = None
        self.answered += 1


def _episode(request: Request) -> tuple[str, int]:
    return request.key.sample, request.key.repeat


def _ask(field: Field) -> str:
    """Return one field at the terminal, until it can be read."""
    hint = {"yes_no": " (yes or no)", "choice": f" ({', '.join(field.choices)})", "number": " (a number)"}
    name = "guess" if field.name == "guess" else field.name.replace("_", " ")
    about = f"{name}{hint.get(field.kind, '')}{': ' + field.about if field.about else ''}"
    while True:
        print(about)
        line = input("> ")
        try:
            read_field(field, line)
        except UsageError as error:
            print(error)
        else:
            return line
