"""How an answer of a judge becomes a verdict.

`verdict` gives a Verdict or raises Unread; there is no third way, so a judge that could not be read can never be mistaken
for one that said no.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from lotbench.prompting.reply import Form, read_form
from lotbench.types import Answer, Verdict

F = TypeVar("F", bound=Form)


def verdict(answer: Answer, form: type[F], decide: Callable[[F], bool]) -> Verdict:
    """Read an answer as a verdict: the decision, and the parts that it rests on.

    Raises:
        Unread: The reply is refused, truncated, or not the form.
    """
    filled = read_form(answer.reply, form)
    return Verdict(decide(filled), filled.model_dump(mode="json"))
