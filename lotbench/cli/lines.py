"""Lines of the terminal: text wrapped at spaces beneath its label, and commands that can be copied."""

from __future__ import annotations

import shutil
import textwrap

from lotbench.report.markdown import visible

LABEL = 8
"""The columns of a label."""
PIPE = 1_000_000
"""The width of a pipe, in which nothing is wrapped."""


def wrapped(text: str, label: str = "", indent: int = LABEL) -> str:
    """Return a text, beneath a label, as lines of the terminal's width that are broken at spaces only."""
    made = textwrap.TextWrapper(
        shutil.get_terminal_size((PIPE, 24)).columns,
        initial_indent=label.ljust(indent),
        subsequent_indent=" " * indent,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return "\n".join(made.fill(line) for line in visible(text).split("\n"))


def command(text: str) -> str:
    """Return a command to copy: one line, or a line for each flag if the terminal is too narrow."""
    width = shutil.get_terminal_size((PIPE, 24)).columns
    text = " " * LABEL + visible(text)
    return text if len(text) <= width else text.replace(" --", f" \\\n{' ' * (LABEL + 2)}--")
