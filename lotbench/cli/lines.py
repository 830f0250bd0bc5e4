"""Lines of the terminal: text wrapped at spaces beneath its label, and commands that can be copied."""

import shutil
import textwrap

from lotbench.report.markdown import visible

LABEL = 8
"""The columns of a label."""
PIPE = 1_000_000
"""The width of a pipe, in which nothing is wrapped."""


def wrapped(text: str, label: str = "") -> str:
    """Return a text, beside a label, as lines of the terminal's width that are broken at spaces only."""
    columns = shutil.get_terminal_size((PIPE, 24)).columns
    made = textwrap.TextWrapper(columns, break_long_words=False, break_on_hyphens=False)
    lines = visible(label.ljust(LABEL if label else 0) + text).split("\n")
    for at, line in enumerate(lines):
        made.subsequent_indent = " " * (LABEL if label else len(line) - len(line.lstrip()))
        lines[at] = made.fill(line)
    return "\n".join(lines)


def command(text: str, label: str = "") -> str:
    """Return a command to copy, beside a label, in one line that only the terminal breaks."""
    return label.ljust(LABEL) + visible(text)
