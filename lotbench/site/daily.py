"""The daily game as a folder of files, which works from a disk and from any host, without a server and without a key.

The page judges guesses by the word lists of the samples, which it holds as hashes. Clues and answers are masked, so that
they cannot be read at a glance. A player who searches the page can find the answer, so the game measures nothing.
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
"""The minimum length in characters of a phrase in which one wrong letter is forgiven."""
_SAYS_NOTHING = frozenset(
    ("a", "an", "the", "to", "of", "some", "my", "your", "his", "her", "its", "our", "their")
)
_ENDINGS = re.compile(r"(?<=\w{3})(?:ing|ers?|ed|es|s)$")


def export(config: Config, folder: Path) -> tuple[int, Path]:
    """Write the daily games into a folder, and return their number and the path of the page.

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
    """Return a sample as data for the page: the joke with its blank, hashes of right and wrong guesses, masked other texts."""
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
    """Return a phrase without case, punctuation, articles and endings, for comparing; daily.js does the same."""
    plain = re.sub(r"[^\w\s]", "", re.sub(r"[-‐‑–—_]", " ", unicodedata.normalize("NFKC", text).lower()))
    return " ".join(_ENDINGS.sub("", word) for word in plain.split() if word not in _SAYS_NOTHING)


def misspelt(text: str) -> list[str]:
    """Return a phrase with each of its characters left out in turn; none for a phrase shorter than `SHORTEST`.

    Two phrases with a common result differ by one letter; daily.js does the same.
    """
    return [text[:at] + text[at + 1 :] for at in range(len(text))] if len(text) >= SHORTEST else []


def hash_text(salt: str, text: str) -> str:
    """Return a hash of a phrase with a salt: two FNV-1a hashes of 32 bits, as 16 hex digits; daily.js does the same."""
    digits = ""
    for seed in (0x811C9DC5, 0x01000193):
        value = seed
        for byte in f"{salt}:{text}".encode():
            value = (value ^ byte) * 16777619 & 0xFFFFFFFF
        digits += f"{value:08x}"
    return digits


def masked(salt: str, text: str) -> str:
    """Return a text that cannot be read at a glance: XOR with a key made from `salt`, in base64; daily.js undoes it."""
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
