"""What scoring reads of the settings, and what an attempt is worth (Eq. 8)."""

from __future__ import annotations

import math
from typing import Protocol


class Rules(Protocol):
    """The settings that scoring reads."""

    @property
    def max_rounds(self) -> int:
        """N."""
        ...

    @property
    def round_origin(self) -> int:
        """What t is for a game solved in its first round: 0 or 1."""
        ...

    @property
    def unsolved(self) -> str:
        """`zero`: an unsolved game is worth 0; `cap`: it is worth what t = N is worth."""
        ...

    @property
    def alpha(self) -> float:
        """alpha_c of Eq. 8."""
        ...

    @property
    def beta(self) -> float:
        """beta_c of Eq. 8."""
        ...

    @property
    def confirm(self) -> str | None:
        """`never`, `other_judge` or `same_judge`."""
        ...

    @property
    def encore(self) -> bool:
        """Whether games go on after their solve."""
        ...


def worth(t: int, rules: Rules) -> float:
    """What a game is worth that t attempts failed before: beta exp(-alpha t) (Eq. 8)."""
    return rules.beta * math.exp(-rules.alpha * t)
