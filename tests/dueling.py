"""Players of planted skill: each says a word, as often as it is skilled, by which its judge knows a right guess."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lotbench.types import Request
from tests.rules import Rule, Said, chance, game_rule, hear

MARK = "quintessential"


def skilled(skills: Mapping[str, float], *, by_sample: bool = False) -> Rule:
    """A rule for all roles: by model name, the chance that a guess is right; whoever is not named is never right.

    With `by_sample` it is the chance that a model knows a sample, on which all its guesses are right or none is.
    """
    game = game_rule(solve=0.0, accepts=lambda text: MARK in text)

    def rule(asked: Request | Mapping[str, Any]) -> Said:
        heard, said = hear(asked), game(asked)
        skill = skills.get(heard.model, 0.0)
        if not isinstance(said, Mapping) or "filling" not in heard.form:
            return said
        frame = [line for line in heard.text.splitlines() if "<MASK>" in line][-1]
        of = (frame,) if by_sample else (heard.text, heard.seed)
        right = chance("skill", heard.model, *of) < skill
        return {**said, "filling": f"{MARK} {said['filling']}"} if right else said

    return rule
