"""How a person's game came out, to look at and to share: shared, it gives nothing of the answer away."""

from __future__ import annotations

import io
from dataclasses import dataclass
from typing import Literal, TypeAlias

from PIL import Image, ImageDraw, ImageFont

from lotbench.benchmarks.lotbench.games import Round, read_rounds
from lotbench.edge.pictures.picture_file import decoded
from lotbench.site.host import OWN_WORD
from lotbench.types import Trace

Dot: TypeAlias = Literal["miss", "found", "none"]
SIGNS = {"miss": "⚪", "found": "🟢", "none": "▫️"}
CLUE = "💡"
SIZE = (1200, 630)
"""Of a shared picture, as pages that show links cut them."""
_PAPER, _INK, _MUTED, _GOOD, _CLUE, _MISS = "#fbf8f1", "#1c2026", "#59626e", "#1a7046", "#c98a12", "#8a929c"


@dataclass(frozen=True, slots=True)
class Result:
    """A game that is over, as dots.

    Attributes:
        dots: Each round up to the last that its player took part in, and whether clues came after it.
        solved: The round that solved it; None where none did.
        given_up: Whether its player ended it.
        own: Whether it counted by its player's own word.
    """

    dots: tuple[tuple[Dot, bool], ...]
    most: int
    solved: int | None
    given_up: bool
    failed: bool
    own: bool = False

    @property
    def words(self) -> str:
        """How it came out, in words."""
        if self.solved is not None:
            own = ", by your own word" if self.own else ""
            return f"Solved in round {self.solved} of {self.most}{own}"
        if self.failed:
            return "The game broke off"
        if self.given_up:
            return f"Given up after round {len(self.dots)}" if self.dots else "Given up at once"
        return f"Not solved in {self.most} round{'s' if self.most > 1 else ''}"

    def text(self, title: str) -> str:
        """What can be sent to others; nothing of the answer stands in it."""
        signs = "".join(SIGNS[dot] + (CLUE if clue else "") for dot, clue in self.dots)
        end = " 🏳️" if self.given_up else ""
        return f"{title}\n{self.words}\n{signs}{end}"


def result(trace: Trace, most: int) -> Result:
    """How a game came out; the rounds after its player gave up are left out."""
    rounds = [one for one in read_rounds(trace.steps) if one.status]
    played = len(rounds)
    while played and rounds[played - 1].status == "refused":
        played -= 1
    given_up = played < len(rounds)
    dots = tuple((_dot(one), bool(one.clues or one.frame)) for one in rounds[:played])
    solved = next((one.number for one in rounds if _dot(one) == "found"), None)
    if trace.outcome != "solved":
        solved = None
    own = any(OWN_WORD in one.texts.values() for at in rounds for one in at.opinions if one.accepted)
    return Result(dots, most, solved, given_up, trace.outcome.endswith("_failed"), own)


def _dot(one: Round) -> Dot:
    read = [opinion.accepted for opinion in one.opinions if opinion.accepted is not None]
    if one.filling is None or not read:
        return "none"
    return "found" if read[-1] else "miss"


def card(made: Result, title: str, scene: bytes | None) -> bytes:
    """The result as a PNG picture, with the scene if it may be shown beside it; no word of the sample is in it."""
    canvas = Image.new("RGB", SIZE, _PAPER)
    draw = ImageDraw.Draw(canvas)
    left = 60
    if scene is not None:
        shown = decoded(scene)
        shown.thumbnail((SIZE[1] - 120, SIZE[1] - 120))
        canvas.paste(shown, (60, (SIZE[1] - shown.height) // 2))
        left = 60 + shown.width + 50
    draw.text((left, 150), title, _MUTED, ImageFont.load_default(30))
    _wrapped(draw, made.words, (left, 200), SIZE[0] - 60 - left)
    _draw_dots(draw, made, left)
    draw.text((left, SIZE[1] - 130), "lotbench", _INK, ImageFont.load_default(34))
    body = io.BytesIO()
    canvas.save(body, "PNG", optimize=True)
    return body.getvalue()


def _wrapped(draw: ImageDraw.ImageDraw, text: str, place: tuple[int, int], width: int) -> None:
    """Large words, over as many lines as they need."""
    font, line, (left, top) = ImageFont.load_default(54), "", place
    for word in text.split():
        longer = f"{line} {word}".strip()
        if line and draw.textlength(longer, font) > width:
            draw.text((left, top), line, _INK, font)
            line, top = word, top + 64
        else:
            line = longer
    draw.text((left, top), line, _INK, font)


def _draw_dots(draw: ImageDraw.ImageDraw, made: Result, left: int) -> None:
    """Eight rounds a line: a ring for a miss, a full dot for the solve, a small mark where a clue came."""
    for at in range(made.most):
        x, y = left + at % 8 * 62, 380 + at // 8 * 62
        dot, clue = made.dots[at] if at < len(made.dots) else (None, False)
        box = (x, y, x + 40, y + 40)
        if dot == "found":
            draw.ellipse(box, _GOOD)
        elif dot == "miss":
            draw.ellipse(box, _MISS)
        else:
            draw.ellipse(box, outline=_MISS, width=3)
        if clue:
            draw.regular_polygon((x + 51, y + 20, 7), 4, rotation=45, fill=_CLUE)
