"""The daily game as a folder of files: no server, no key; it works from a disk and from any host.

The page judges by the lists of the samples, which it has as hashes; texts are masked until they are wanted. Who looks for
the answer in it finds it: it is a game among friends, and no measurement.
"""

from __future__ import annotations

import base64
import io
import json
import re
import unicodedata
from collections.abc import Iterable
from itertools import cycle
from pathlib import Path
from typing import Any

from lotbench.config.experiment import Config
from lotbench.errors import UsageError
from lotbench.run.plan import Plan
from lotbench.site.page import screen
from lotbench.site.people_runs import FIRST, daily_order, planned
from lotbench.storage import atomic_write
from lotbench.storage.pictures.picture_file import decoded

ROUNDS = 6
PICTURE_PX = 900
SHORTEST = 5
"""Letters from which a slip of one letter is forgiven."""
_SAYS_NOTHING = frozenset(
    ("a", "an", "the", "to", "of", "some", "my", "your", "his", "her", "its", "our", "their")
)
_ENDINGS = re.compile(r"(?<=\w{3})(?:ing|ers?|ed|es|s)$")


def export(config: Config, folder: Path) -> tuple[int, Path]:
    """Write the game into a folder; returns how many games it has, and its page.

    Raises:
        UsageError: The folder cannot be written to.
    """
    plan = planned(config)
    by_id = {item.id: item for item in plan.chosen}
    items = [by_id[name] for name in daily_order(by_id)]
    try:
        (folder / "pictures").mkdir(parents=True, exist_ok=True)
        for number, item in enumerate(items):
            (folder / "pictures" / f"{number}.jpg").write_bytes(_picture(plan, item.id))
        games = [_game(item) for item in items]
        games_json = json.dumps(
            {"first": FIRST.isoformat(), "rounds": ROUNDS, "games": games}, separators=(",", ":")
        )
        page = screen("daily", rounds=ROUNDS, games=games_json)
        atomic_write.write(folder / "index.html", page.body)
    except OSError as error:
        raise UsageError(f"--export {folder}: {error.strerror}") from None
    return len(items), folder / "index.html"


def _game(item: Any) -> dict[str, Any]:
    """Return a sample as the page has it: the frame in the open, hashes of what counts and what does not, the rest masked."""
    right = [rough(text) for text in (item.key_text, *item.accept)]
    wrong = [rough(text) for text in (*item.near, *(rejected.text for rejected in item.reject))]
    before, _, after = item.frame.partition("<MASK>")
    slips = {short for text in right for short in misspelt(text)}
    texts = {"clues": item.clues, "response": item.response, "key": item.key_text, "why": item.explanation}
    return {
        "id": item.id,
        "joke": [before, after],
        "scene": item.caption,
        "right": _hashed(item.id, right),
        "slips": _hashed(item.id, slips),
        "wrong": _hashed(item.id, wrong),
        "told": masked(item.id, json.dumps(texts)),
    }


def _hashed(salt: str, texts: Iterable[str]) -> str:
    return " ".join(sorted({hash_text(salt, text) for text in texts}))


def rough(text: str) -> str:
    """Return the form in which the page compares phrases: no case, articles or punctuation, and no endings (daily.js)."""
    plain = re.sub(r"[^\w\s]", "", re.sub(r"[-‐‑–—_]", " ", unicodedata.normalize("NFKC", text).lower()))
    return " ".join(_ENDINGS.sub("", word) for word in plain.split() if word not in _SAYS_NOTHING)


def misspelt(text: str) -> list[str]:
    """Return a phrase with any one letter left out: two that share one differ by a letter (daily.js)."""
    return [text[:at] + text[at + 1 :] for at in range(len(text))] if len(text) >= SHORTEST else []


def hash_text(salt: str, text: str) -> str:
    """Return a hash of a phrase, twice FNV-1a of 32 bits (daily.js)."""
    digits = ""
    for seed in (0x811C9DC5, 0x01000193):
        value = seed
        for byte in f"{salt}:{text}".encode():
            value = (value ^ byte) * 16777619 & 0xFFFFFFFF
        digits += f"{value:08x}"
    return digits


def masked(salt: str, text: str) -> str:
    """Return a text that cannot be read at a glance (daily.js)."""
    key = cycle(hash_text(salt, "mask").encode())
    return base64.b64encode(
        bytes(byte ^ other for byte, other in zip(text.encode(), key, strict=False))
    ).decode()


def _picture(plan: Plan, sample: str) -> bytes:
    image = decoded(plan.pictures.path(sample).read_bytes())
    image.thumbnail((PICTURE_PX, PICTURE_PX))
    body = io.BytesIO()
    image.convert("RGB").save(body, "JPEG", quality=82, optimize=True)
    return body.getvalue()
