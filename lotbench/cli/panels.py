"""`lotbench data panel`: a panel of judges from a leaderboard, by rule, as a dated file."""

from __future__ import annotations

import argparse
import hashlib
import re
from pathlib import Path

from lotbench.config import judge_panel
from lotbench.edge.files import atomic_write
from lotbench.errors import UsageError

RULES = {"v1": judge_panel.Rules(per_organisation=None, siblings=True), "v2": judge_panel.Rules()}


def panel(parsed: argparse.Namespace) -> int:
    """Carry out `lotbench data panel`."""
    path = Path(parsed.path)
    raw = _read(path)
    found = re.search(r"(20\d\d)-?(\d\d)-?(\d\d)", path.name)
    date = parsed.date or (found and "-".join(found.groups()))
    if not date:
        raise UsageError(f"{path}: its name has no date: give --date YYYY-MM-DD")
    out = Path(parsed.out or f"panel-{date}.toml")
    if out.exists():
        raise UsageError(f"{out} is there already, and runs may have used it: give another name with --out")
    base = RULES[parsed.rules]
    rules = judge_panel.Rules(
        parsed.size, base.per_organisation, base.siblings, _reasons(parsed.pin), _reasons(parsed.ban)
    )
    choices = judge_panel.choose(judge_panel.leaderboard(raw.decode("utf-8-sig"), path), rules)
    source = f"{path.name}, sha256 {hashlib.sha256(raw).hexdigest()[:16]}, rules of {parsed.rules}"
    text = judge_panel.to_toml(out.stem, date, source, choices)
    made = judge_panel.checked(text, out)
    atomic_write.write(out, text)
    for choice in choices:
        if choice.taken:
            print(f"{choice.standing.model:40} {choice.why}")
    print(f"{out}: panel {made.id}, {len(made.judge)} judges; {len(made.passed)} passed over, with reasons")
    return 0


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from None


def _reasons(pairs: list[str]) -> dict[str, str]:
    """`ROW=WHY` pairs; a row without a reason is refused."""
    made = {}
    for pair in pairs:
        row, _, why = pair.partition("=")
        if not why.strip():
            raise UsageError(f"{pair!r}: expected ROW=WHY, the reason why")
        made[row.strip()] = why.strip()
    return made
