"""Reading takes time that grows as the text does: no text of others makes a pattern or a reader try all pairs of places."""

import ast
import gc
import importlib
import math
import pkgutil
import re
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache, partial
from importlib.resources import files
from re import _constants as op  # type: ignore[attr-defined]
from re import _parser  # type: ignore[attr-defined]
from typing import Any

import pytest

from lotbench.benchmarks.hicbench.candidate import tokens
from lotbench.benchmarks.liveideabench.candidate import length
from lotbench.benchmarks.lotbench.responses import response
from lotbench.benchmarks.lotbench.words import guess
from lotbench.errors import Unread
from lotbench.prompting.normal_form import normal
from lotbench.site.game_rounds import nodes
from tests import fuzzing

USES = ("search", "match", "fullmatch", "sub", "findall", "finditer", "split")
LETTERS = " \n\ta1_-.,:;中<>{\"'(*/|`[]=&#!?。"
SIZES = (10_000, 100_000, 1_000_000)
MOST = 15
"""Times as long for ten times the letters."""
NOISE_S, GIVEN_S, MEASURED_S = 0.1, 3, 0.03
"""Seconds below which nothing is compared; after which reading is given up; for which the first size is read at least."""
Text = tuple[str, str]
"""What a text begins with, and what it repeats."""


def value(node: ast.expr, names: dict[str, Any]) -> Any:
    """What an expression is, as far as the names of its module tell."""
    with suppress(Exception):
        return eval(compile(ast.Expression(node), "", "eval"), names)


def used(module: str, text: str) -> Iterator[tuple[re.Pattern[str], str]]:
    """The patterns of a module: those that a call names or writes, with the call's use, and all that it compiles."""
    names = vars(importlib.import_module(module))
    yield from (
        (one, "") for one in names.values() if isinstance(one, re.Pattern) and isinstance(one.pattern, str)
    )
    for call in ast.walk(ast.parse(text)):
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr in USES:
            written = ast.unparse(call.func.value) == "re"
            found = value(call.args[0] if written else call.func.value, names)
            if written and isinstance(found, str):
                given = [
                    value(one, names) for one in (*call.args[1:], *(word.value for word in call.keywords))
                ]
                found = re.compile(found, next((one for one in given if isinstance(one, re.RegexFlag)), 0))
            if isinstance(found, re.Pattern):
                yield found, call.func.attr


@cache
def patterns() -> dict[str, tuple[re.Pattern[str], Callable[[str], object]]]:
    """Each pattern of the package by its module and text, with how it is used; one that is handed on, as if to search."""
    uses: dict[re.Pattern[str], tuple[str, set[str]]] = {}
    for package in ("lotbench", "clot_training", "graphs"):
        for found in pkgutil.walk_packages(importlib.import_module(package).__path__, f"{package}."):
            folder, _, name = found.name.rpartition(".")
            place = files(folder) / (f"{name}/__init__.py" if found.ispkg else f"{name}.py")
            if not re.search(r"\bre\.", text := place.read_text("utf-8")) or name == "__main__":
                continue
            with suppress(ModuleNotFoundError):  # of an extra that is not installed
                for pattern, use in used(found.name, text):
                    uses.setdefault(pattern, (found.name, set()))[1].update({use} - {""})
    return {
        f"{module}: {pattern.pattern[:70]} ({use})": (pattern, called(pattern, use))
        for pattern, (module, calls) in uses.items()
        for use in calls or {"search"}
    }


def called(pattern: re.Pattern[str], use: str) -> Callable[[str], object]:
    if use == "sub":
        return partial(pattern.sub, "")
    if use == "finditer":
        return lambda text: sum(1 for _ in pattern.finditer(text))
    return getattr(pattern, use)  # type: ignore[no-any-return]


def begun(pattern: re.Pattern[str]) -> dict[str, list[str]]:
    """What may stand before each repeat without an end, and what it repeats."""
    made: dict[str, list[str]] = {"": []}

    def run_episodes(items: Any, before: str) -> str:
        for kind, given in items:
            if kind in (op.MAX_REPEAT, op.MIN_REPEAT, op.POSSESSIVE_REPEAT):
                least, most, inner = given
                one = run_episodes(inner, before)[len(before) :]
                if most > 500:
                    made.setdefault(before, []).append(one)
                before += one * max(least, 0)
            elif kind is op.BRANCH:
                before, *_ = [run_episodes(inner, before) for inner in given[1]]
            elif kind is op.SUBPATTERN:
                before = run_episodes(given[3], before)
            elif kind is op.ATOMIC_GROUP:
                before = run_episodes(given, before)
            else:
                before += letter(kind, given)
        return before

    run_episodes(_parser.parse(pattern.pattern, pattern.flags), "")
    return made


def letter(kind: Any, given: Any) -> str:
    """A letter that a part of a pattern takes."""
    if kind is op.LITERAL:
        return chr(given)
    if kind is op.ANY:
        return "x"
    if kind is op.IN and given[0][0] is not op.NEGATE:
        what, first = given[0]
        spoken = {
            op.CATEGORY_SPACE: " ",
            op.CATEGORY_DIGIT: "1",
            op.CATEGORY_WORD: "a",
            op.CATEGORY_NOT_WORD: "-",
        }
        return spoken.get(first, "x") if what is op.CATEGORY else chr(first[0] if what is op.RANGE else first)
    return "x" if kind is op.IN else ""


def texts(pattern: re.Pattern[str]) -> list[Text]:
    """Texts that hold a pattern up: each beginning, and each letter or part many times after it."""
    parts = begun(pattern)
    befores = list(parts)[:: 1 + len(parts) // 12]
    units = {*LETTERS, *(one for before in befores for one in (before, *parts[before])), *befores} - {""}
    return [(before, unit) for before in befores for unit in sorted(units)]


def made(text: Text, size: int) -> str:
    return text[0] + text[1] * (size // len(text[1])) + "\0"


class Held(Exception):
    """Reading was given up after `GIVEN_S`."""


def seconds(read: Callable[[str], object], text: str, at_least: float = 0.0) -> float:
    """CPU seconds of one reading, the mean of as many as take so long together; infinite if it is given up."""
    started, readings = time.process_time(), 0
    signal.setitimer(signal.ITIMER_PROF, GIVEN_S)
    try:
        while readings == 0 or time.process_time() - started < at_least:
            with suppress(Unread):
                read(text)
            readings += 1
    except Held:
        return math.inf
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    return (time.process_time() - started) / readings


def fastest(read: Callable[[str], object], text: str) -> float:
    """Wall seconds of the fastest of three short readings, which a busy machine cannot all interrupt."""
    signal.setitimer(signal.ITIMER_PROF, GIVEN_S)
    took = math.inf
    with suppress(Held):
        for _ in range(3):
            started = time.perf_counter()
            with suppress(Unread):
                read(text)
            took = min(took, time.perf_counter() - started)
    signal.setitimer(signal.ITIMER_PROF, 0)
    return took


def holdup(read: Callable[[str], object], among: list[Text]) -> str:
    """Why one of some texts holds a reader up: ten times as much of it takes more than `MOST` times as long; else nothing."""
    slow: dict[Text, float] = {}
    for one in among:
        slow[one] = fastest(read, made(one, 2_000))
        if slow[one] == math.inf:
            return f"2,000 letters of {one}"
    worst = sorted(slow, key=slow.__getitem__)[-2:]
    for size in SIZES[1:]:
        for one in worst:
            slow[one] = taken = seconds(read, made(one, size))
            if taken == math.inf:
                return f"{size:,} letters of {one}"
            if taken > NOISE_S:
                # Held against the first size, however large: the further apart, the less does a busy machine matter.
                first = seconds(read, made(one, SIZES[0]), MEASURED_S)
                if taken > first * MOST ** math.log10(size / SIZES[0]):
                    return f"{size:,} letters of {one}: {taken:.3f} s after {first:.4f} s"
        # A million letters take their time: those of the slower text alone.
        worst = [max(worst, key=slow.__getitem__)]
    return ""


READERS: dict[str, Callable[[str], object]] = {
    **{name: lambda text, name=name: fuzzing.TARGETS[name](text.encode()) for name in ("reply", "phrase", "completion")},
    "response": lambda text: response(text, 40, 80),
    "repeats the frame": lambda text: guess("My neighbour keeps a" + text + "tank", fuzzing.FRAME, 8, 16),
    "length": length,
    "tokens": tokens,
    "nodes": nodes,
    "normal": lambda text: normal("NFKC", text),
}  # fmt: skip
UNITS = (
    *LETTERS, "<think>", "</think>", "<think></thought>", "```", "``` ", '{"a":', "1. ", "\\u", "还是", "告诉我", "and ",
    "\u0301\u0323", "\u0323\uff9e",
)  # fmt: skip


pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def undisturbed() -> Iterator[None]:
    def stop(*_: object) -> None:
        raise Held

    before = signal.signal(signal.SIGPROF, stop)
    gc.disable()
    yield
    gc.enable()
    signal.signal(signal.SIGPROF, before)


def test_every_pattern_of_the_package_is_linear() -> None:
    assert len(patterns()) > 60
    held = {
        # Twice: another process may have held up the first.
        name: holdup(use, texts(pattern)) and holdup(use, texts(pattern))
        for name, (pattern, use) in patterns().items()
    }
    assert {name: why for name, why in held.items() if why} == {}


@pytest.mark.parametrize("name", READERS)
def test_every_reader_of_replies_is_linear(name: str) -> None:
    among = [(before, unit) for before in ("", "```json", '{"reason": "') for unit in UNITS]
    assert (holdup(READERS[name], among) and holdup(READERS[name], among)) == ""


def test_a_reader_that_a_megabyte_alone_holds_up_is_found() -> None:
    assert holdup(lambda text: sum(range(len(text) ** 2 // 100_000)), [("", "a")]).startswith("1,000,000")


@pytest.mark.parametrize("pattern", ["a*a*b", "(?:a+)+b", r"```\s*(.*?)\s*```", r"<(a)>.*?</\1>", r"\s*>"])
def test_a_pattern_that_tries_all_pairs_of_places_is_found(pattern: str) -> None:
    compiled = re.compile(pattern, re.DOTALL)
    assert holdup(compiled.search, texts(compiled))
