"""Removed commands and flags, and what to do instead; the parser prints these lines and exits with code 2."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Literal


@cache
def instead(of: Literal["commands", "flags"]) -> Mapping[str, str]:
    """Return what to do instead of each removed command or flag, by name."""
    lines: Mapping[str, str] = tomllib.loads(Path(__file__).with_name("removed.toml").read_text("utf-8"))[of]
    return lines
