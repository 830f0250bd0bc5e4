"""The calls of recorded games, and who plays them; light, because every variant of the engine bench imports it."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeAlias

Body: TypeAlias = "dict[str, Any]"
REPEATS = 3
"""Games on one sample, as in a real run: what belongs to the sample is asked once for all of them."""


def players(url: str) -> dict[str, Any]:
    """The arguments of `evaluate` that let one server play every role."""
    return {"model": f"c@{url}", "roles": {"judge": f"j@{url}", "oracle": f"o@{url}"}}


def scripts(path: Path) -> list[list[Body]]:
    """The recorded games; a picture is one string however often it is sent, as in a program that holds it."""
    table = json.loads(path.read_text(encoding="utf-8"))
    games: list[list[Body]] = table["games"]
    for part in pictures_of(games):
        part["url"] = table["pictures"][int(part["url"])]
    return games


def pictures_of(games: Sequence[Sequence[Body]]) -> list[dict[str, str]]:
    """The part of each body that names a picture, in order."""
    return [
        part["image_url"]
        for game in games
        for body in game
        for message in body["messages"]
        if isinstance(message["content"], list)
        for part in message["content"]
        if part["type"] == "image_url"
    ]
