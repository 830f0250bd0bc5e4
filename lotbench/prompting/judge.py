"""A question to a judge: a prompt, the form of the answer, and how the filled form becomes a verdict.

`read` gives a Verdict or raises JudgeError; there is no third way, so a judge that could not be read can
never be mistaken for one that said no.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from lotbench.errors import JudgeError, Unread
from lotbench.prompting.prompt import Prompt, Value
from lotbench.prompting.reply import Form, read_form, schema, shape
from lotbench.types import Answer, Question, Verdict

F = TypeVar("F", bound=Form)


@dataclass(frozen=True, slots=True)
class JudgeQuestion(Generic[F]):
    """One kind of question to a judge: of which role, for which step, to be answered in which form.

    `decide` says whether a filled form accepts.
    """

    role: str
    step: str
    form: type[F]
    decide: Callable[[F], bool]

    def ask(
        self, prompt: Prompt, *, round: int, seat: int = 0, attempt: int = 0, **values: Value
    ) -> Question:
        """The question; the prompt shows the form in its field `{{shape}}`."""
        return Question(
            role=self.role,
            step=self.step,
            messages=prompt.messages(shape=shape(self.form), **values),
            schema=schema(self.form),
            seat=seat,
            round=round,
            attempt=attempt,
        )

    def read(self, answer: Answer) -> Verdict:
        """Read the answer as a verdict.

        Raises:
            JudgeError: The reply is refused, truncated, or not the form.
        """
        return verdict(answer, self.form, self.decide)


def verdict(answer: Answer, form: type[F], decide: Callable[[F], bool]) -> Verdict:
    """Read an answer as a verdict: the decision, and the parts that it rests on.

    Raises:
        JudgeError: The reply is refused, truncated, or not the form.
    """
    try:
        filled = read_form(answer.reply, form)
    except Unread as error:
        raise JudgeError(error.kind, error.reason) from None
    return Verdict(decide(filled), filled.model_dump(mode="json"))
