"""Reasoning frameworks for the candidate: how it is told to reason before it answers (LoTbench, Sec. 7.4, Fig. 9)."""

from dataclasses import dataclass
from functools import cache
from typing import Annotated, TypeVar, cast

from pydantic import create_model

from lotbench.prompting.reply import Form, prose

F = TypeVar("F", bound=Form)
REASONING = prose(1200, "step by step")


class Reasoned(Form):
    """A form with reasoning before the answer."""

    reasoning: Annotated[str, REASONING]


@cache
def reasoned(form: type[F]) -> type[F]:
    """Return a form with a field for reasoning, followed by the fields of this form."""
    return cast("type[F]", create_model(f"Reasoned{form.__name__}", __base__=(form, Reasoned)))


@dataclass(frozen=True, slots=True)
class Framework:
    """A reasoning framework.

    Attributes:
        method: The section of the prompt file `lines` that tells the candidate how to reason.
        reasoned: Whether the answer's form has a field for reasoning before the others.
        votes: Whether several answers are drawn and the most frequent one counts.
        notes: Whether the candidate writes notes in a call of their own first.
    """

    method: str
    reasoned: bool = False
    votes: bool = False
    notes: bool = False

    def form(self, plain: type[F]) -> type[F]:
        """Return the form of an answer, with a reasoning field if the framework has one."""
        return reasoned(plain) if self.reasoned else plain


FRAMEWORKS = {
    "direct": Framework("method_direct"),
    "cot": Framework("method_cot", reasoned=True),
    "cot_sc": Framework("method_cot", reasoned=True, votes=True),
    "ddcot": Framework("method_ddcot", notes=True),
    "plot": Framework("method_plot"),
}
