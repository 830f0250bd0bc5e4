"""`lotbench data panel`: a panel of judges from a leaderboard, by rule, as a dated file."""

from __future__ import annotations

import argparse
import hashlib
import re
from dataclasses import replace
from pathlib import Path

from lotbench.config import judge_panel
from lotbench.edge.calls.prices import read_table
from lotbench.edge.files import atomic_write
from lotbench.edge.files.datasets import shipped
from lotbench.errors import UsageError


def panel(parsed: argparse.Namespace) -> int:
    """Carry out `lotbench data panel`."""
    path = Path(parsed.path)
    raw = _read(path)
    found = re.search(r"(20\d\d)-?(\d\d)-?(\d\d)", path.name)
    date = parsed.date or (found and "-".join(found.groups()))
    if not date:
        raise UsageError(f"{path}: its name has no date: give --date YYYY-MM-DD")
    out = Path(parsed.out) if parsed.out else None
    if out is not None and out.exists():
        raise UsageError(f"{out} is there already, and runs may have used it: give another name with --out")
    listed = read_table(parsed.prices).usd_per_million if parsed.prices else None
    rules = replace(
        judge_panel.RULES[parsed.rules],
        size=parsed.size,
        pins=_reasons(parsed.pin),
        bans=_reasons(parsed.ban),
        prices=listed,
    )
    choices = judge_panel.choose(judge_panel.leaderboard(raw.decode("utf-8-sig"), path), rules)
    source = f"{path.name}, sha256 {hashlib.sha256(raw).hexdigest()[:16]}, rules of {parsed.rules}"
    about = {"date": date, "source": source, "rules": parsed.rules}
    name = out.stem if out else f"panel-{date}"
    text = judge_panel.to_toml(name, about, choices, _known(), rules)
    made = judge_panel.checked(text, out or Path(f"{name}.toml"))
    if out is None:
        print(text, end="")
        return 0
    atomic_write.write(out, text)
    for judge in made.judge:
        cost = (
            "" if judge.usd_per_million is None else " ${0:g} in, ${2:g} out".format(*judge.usd_per_million)
        )
        print(f"{judge.row:40} {judge.model:50}{cost} {judge.why}")
    print(f"{out}: panel {made.id}, {len(made.judge)} judges; {len(made.passed)} passed over, with reasons")
    return 0


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from None


def _known() -> dict[str, str]:
    """The names under which the rows of the shipped panels are asked."""
    panels = [judge_panel.load(file) for file in sorted(shipped("configs", "panels").glob("*.toml"))]
    rows = [(one.row, one.model) for made in panels for one in made.judge]
    rows += [(one.row, one.model) for made in panels for one in made.passed]
    return {row: model for row, model in rows if model}


def _reasons(pairs: list[str]) -> dict[str, str]:
    """`ROW=WHY` pairs; a row without a reason is refused."""
    made = {}
    for pair in pairs:
        row, _, why = pair.partition("=")
        if not why.strip():
            raise UsageError(f"{pair!r}: expected ROW=WHY, the reason why")
        made[row.strip()] = why.strip()
    return made
