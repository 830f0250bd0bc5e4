"""The daily game as one file with its pictures, which works from a disk and from any host, without a server and without a key.

The page judges guesses by the word lists of the samples. Lists, clues and answers are masked, so that they cannot be read at
a glance. A player who searches the page can find the answer, so the game measures nothing.
"""

import base64
import io
import json
from itertools import cycle
from pathlib import Path
from typing import Any

from lotbench.benchmarks.lotbench.player_view import around_blank
from lotbench.config.experiment import Config
from lotbench.errors import file_errors
from lotbench.run.plan import Plan
from lotbench.site import facts, host, nouns
from lotbench.site.page import screen
from lotbench.site.people_runs import FIRST, daily_order, planned
from lotbench.storage import atomic_write
from lotbench.storage.pictures.picture_file import decoded

ROUNDS = 6
PICTURE_PX = 768


def export(config: Config, place: Path) -> tuple[int, Path]:
    """Write the daily games as one page, and return their number and the path of the page.

    Args:
        config: The data set and its languages.
        place: The file (`.html`), or a folder in which it is `index.html`.

    Raises:
        UsageError: The file cannot be written.
    """
    file = place if place.suffix == ".html" else place / "index.html"
    plan = planned(config)
    by_id = {item.id: item for item in plan.chosen}
    items = [by_id[name] for name in daily_order(by_id)]
    with file_errors(f"--export {place}"):
        file.parent.mkdir(parents=True, exist_ok=True)
        games = [_game(item) | {"picture": _picture(plan, item.id)} for item in items]
        page = screen("daily", rounds=ROUNDS, games=_told(games))
        atomic_write.write(file, page.body)
    return len(items), file


def _told(games: list[dict[str, Any]]) -> str:
    """Return the data of the page as JSON."""
    listed = {"plain": sorted(nouns.plain()), "nouns": [*nouns.table().values()]}
    told = {"first": FIRST.isoformat(), "rounds": ROUNDS, "games": games, **listed}
    return json.dumps(told, separators=(",", ":"))


def _game(item: Any) -> dict[str, Any]:
    """Return a sample as data for the page: the joke with its blank, and masked all that tells the answer."""
    right, wrong = host.lists(item)
    others = nouns.other_rows(item.key_text, right)
    questions = facts.best_questions(item.key_text, ())
    answers = [(question, host.answer(item, question)) for question in questions]
    texts = {
        "right": list(right),
        "wrong": list(wrong),
        "others": [at for at, row in enumerate(nouns.table()) if row in others],
        "answers": answers,
        "answered": {text: facts.mentioned(text) for text in [*questions, *item.clues]},
        "clues": item.clues,
        "response": item.response,
        "why": item.explanation,
    }
    joke = {"id": item.id, "joke": around_blank(item), "scene": item.caption}
    return {**joke, "told": masked(item.id, json.dumps(texts))}


def masked(key: str, text: str) -> str:
    """Return a text that cannot be read at a glance: XOR with `key`, in base64; daily.js undoes it."""
    pairs = zip(text.encode(), cycle(key.encode()), strict=False)
    return base64.b64encode(bytes(byte ^ other for byte, other in pairs)).decode()


def _picture(plan: Plan, sample: str) -> str:
    """Return the picture of a sample as an address that holds it."""
    image = decoded(plan.pictures.path(sample).read_bytes())
    image.thumbnail((PICTURE_PX, PICTURE_PX))
    body = io.BytesIO()
    image.convert("RGB").save(body, "WEBP", quality=72)
    return f"data:image/webp;base64,{base64.b64encode(body.getvalue()).decode()}"
