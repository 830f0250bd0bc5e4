"""People as models, at the terminal or on a page, with the same messages and records as other models."""

import asyncio
import sys
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from contextvars import copy_context
from functools import partial
from pathlib import Path
from typing import TypeVar, cast

from lotbench.errors import Unescapable, UsageError
from lotbench.prompting.person_form import Field, filled, interview, read_field
from lotbench.report.markdown import visible
from lotbench.types import Reply, Request

T = TypeVar("T")

GAVE_UP, SKIPPED = "The player gave up.", "The player had nothing to say here."
"""The `refusal` of the replies to requests that a person declines."""


async def in_daemon_thread(read: Callable[[], T]) -> T:
    """Run `read` in a thread that does not keep an interrupted program alive, and return its result or raise its error."""
    done: Future[tuple[T | None, BaseException | None]] = Future()
    # From here on the future cannot be cancelled, so the thread can always set a result.
    done.set_running_or_notify_cancel()
    context = copy_context()

    def run() -> None:
        try:
            done.set_result((context.run(read), None))
        except BaseException as error:  # noqa: BLE001 - it is raised where the result is awaited
            done.set_result((None, error))

    threading.Thread(target=run, daemon=True).start()
    answer, error = await asyncio.wrap_future(done)
    if error is not None:
        raise error
    return cast(T, answer)


class PersonModel:
    """A person at the terminal, who is asked one request at a time.

    Args:
        picture: Maps a sample id to the path of its picture, which is printed; None if no path is shown.

    Raises:
        UsageError: Standard input is no terminal.
    """

    def __init__(self, picture: Callable[[str], Path] | None = None) -> None:
        if not sys.stdin.isatty():
            raise UsageError("human: a person needs a terminal to play in")
        self._picture = picture
        self._turn = asyncio.Lock()
        self._shown: set[str] = set()

    async def __call__(self, request: Request) -> Reply:
        """Print a request and return the person's answer; the same rules are printed only once.

        Raises:
            Unescapable: The terminal was closed.
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
            for label, text in form.texts:
                print(visible(f"{label}: {text}" if label else text))
            try:
                values = {field.name: await in_daemon_thread(partial(_ask, field)) for field in form.fields}
            except EOFError:
                raise Unescapable("human: the terminal was closed; the run can be resumed") from None
            return Reply(filled(request, values), request.model, seconds=round(time.monotonic() - started, 3))


class PageModel:
    """A person on a page or in the terminal game: a request waits until `answer` is called.

    Attributes:
        asked: The waiting request; None if there is none.
        version: A number that increases when a request begins to wait and when its wait ends.
        begins: Called when a request begins to wait; it may answer it.
    """

    takes_requests = True

    def __init__(self) -> None:
        self.asked: Request | None = None
        self.version = 0
        self.begins: Callable[[], None] = lambda: None
        self._turn = asyncio.Lock()
        self._reply: asyncio.Future[tuple[str, str | None]]
        self._given_up: set[tuple[str, int]] = set()
        self._since = 0.0

    async def __call__(self, request: Request) -> Reply:
        """Wait for the person's answer; requests of an episode that was given up are declined at once."""
        async with self._turn:
            if (request.key.sample, request.key.repeat) in self._given_up:
                return Reply("", request.model, refusal=GAVE_UP)
            self._since = time.monotonic()
            self._reply = asyncio.get_running_loop().create_future()
            self.asked = request
            self.version += 1
            try:
                self.begins()
                text, refusal = await self._reply
            finally:
                self.asked = None
                self.version += 1
            seconds = round(time.monotonic() - self._since, 3)
            return Reply(text, request.model, refusal=refusal, seconds=seconds)

    def resume_clock(self) -> None:
        """Count the seconds of the waiting request from now on, since the person could not see it before."""
        self._since = time.monotonic()

    def answer(self, version: int, fields: Mapping[str, object]) -> None:
        """Answer the waiting request.

        Args:
            version: The `version` at which the person saw the request.
            fields: The person's entries by field name.

        Raises:
            UsageError: No request waits, another one waits by now, or a field is invalid.
        """
        self._settle(filled(self.waiting(version), fields), None)

    def skip(self, version: int) -> None:
        """Decline the waiting request; raises UsageError as `answer` does."""
        self.waiting(version)
        self._settle("", SKIPPED)

    def give_up(self, version: int) -> None:
        """Decline the waiting request and all later ones of its episode; raises UsageError as `answer` does."""
        request = self.waiting(version)
        self.ends(request.key.sample, request.key.repeat)
        self._settle("", GAVE_UP)

    def ends(self, sample: str, repeat: int) -> None:
        """Decline all later requests of an episode, given by sample id and repeat."""
        self._given_up.add((sample, repeat))

    def waiting(self, version: int) -> Request:
        """Return the waiting request; raises UsageError if none waits or another one than at `version`."""
        if self.asked is None or version != self.version or self._reply.done():
            raise UsageError("this was answered already: load the page again")
        return self.asked

    def _settle(self, text: str, refusal: str | None) -> None:
        self._reply.set_result((text, refusal))
        # Cleared at once, so that nobody sees an answered request as waiting.
        self.asked = None


def _ask(field: Field) -> str:
    """Ask for one field at the terminal until the input is valid, and return it."""
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
