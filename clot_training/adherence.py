"""Whether a reply has the form that its instruction asks for: what tuning teaches first, and what can be measured.

A selection is answered by one of its options as it stands there, a ranking by all of its letters in an order,
a generation by one line that ended by itself and has the keyword in it, if there is one. Whether the line is
funny is another question.
"""

from __future__ import annotations

import re

from clot_training.records import Instruction
from lotbench.types import Reply

OPTION = re.compile(r"^([A-Z])\. .*$", re.MULTILINE)


def follows(instruction: Instruction, reply: Reply) -> bool:
    """Whether a reply to an instruction has the form asked for."""
    text = reply.text.strip()
    if reply.finish != "stop" or not text or "\n" in text:
        return False
    if instruction.kind == "generation":
        return (instruction.condition or "").casefold() in text.casefold() and not OPTION.match(text)
    options = {found[0].strip(): found[1] for found in OPTION.finditer(_asked(instruction))}
    if instruction.kind == "selection":
        return text in options
    return sorted(map(str.strip, text.split(">"))) == sorted(options.values())


def _asked(instruction: Instruction) -> str:
    """The words of an instruction."""
    content = instruction.messages[-1]["content"]
    if isinstance(content, str):
        return content
    return "\n".join(part["text"] for part in content if part["type"] == "text")
