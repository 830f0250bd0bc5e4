"""Work that takes longer than a page may: done in a thread of its own, and kept until what it rests on changes.

A page waits a moment for what it shows. What is not there by then is shown as it was before, or as being read; so
a run of 100,000 walks holds up nobody.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from threading import Lock, Thread
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class NotYetError(Exception):
    """The work is under way, and there is nothing from before."""


@dataclass
class _Piece(Generic[T]):
    """A piece of work: the state that it rests on, what it comes to, and what it came to before."""

    rests_on: object = None
    comes_to: Future[T] = field(default_factory=Future)
    before: T | None = None


@dataclass
class Background:
    """Pieces of work by name, one at a time: two would take as long, and twice the memory.

    Attributes:
        patience_s: Seconds that whoever asks waits; None for as long as it takes.
    """

    patience_s: float | None = None
    _pieces: dict[str, _Piece[Any]] = field(default_factory=dict)
    done: int = 0
    """Moves whenever a piece is done."""
    _lock: Lock = field(default_factory=Lock)
    _turn: Lock = field(default_factory=Lock)

    def get(self, name: str, rests_on: object, work: Callable[[], T], patience_s: float | None = None) -> T:
        """What a piece of work comes to; done anew where what it rests on is another than it was.

        Args:
            name: Of the piece.
            rests_on: What changes when it must be done anew.
            work: Does it; what it raises is kept and raised as what it comes to is.
            patience_s: At most so many seconds, where that is less than the patience of all.

        Raises:
            NotYetError: It is under way, and was never done before.
        """
        with self._lock:
            piece = self._pieces.setdefault(name, _Piece())
            idle = piece.rests_on is None or piece.comes_to.done()
            if idle and piece.rests_on != rests_on:
                piece.rests_on, piece.comes_to = rests_on, Future()
                # Not a pool: whoever ends the server does not wait for a long reading.
                Thread(target=self._do, args=(piece, piece.comes_to, work), daemon=True).start()
            wanted: Future[T] = piece.comes_to
            before: T | None = piece.before
        waits = [one for one in (self.patience_s, patience_s) if one is not None]
        try:
            return wanted.result(min(waits, default=None))
        except TimeoutError:
            if wanted.done():
                return wanted.result()
            if before is None:
                raise NotYetError(name) from None
            return before

    def keep(self, names: set[str]) -> None:
        """Forget all pieces but these, and those under way."""
        with self._lock:
            for name in self._pieces.keys() - names:
                if self._pieces[name].comes_to.done():
                    del self._pieces[name]

    def drop(self, name: str) -> None:
        """Forget a piece, unless it is under way."""
        with self._lock:
            if name in self._pieces and self._pieces[name].comes_to.done():
                del self._pieces[name]

    def _do(self, piece: _Piece[T], wanted: Future[T], work: Callable[[], T]) -> None:
        with self._turn:
            try:
                made = work()
            except Exception as error:  # noqa: BLE001 - whoever asks gets it
                wanted.set_exception(error)
            else:
                piece.before = made
                wanted.set_result(made)
            self.done += 1
