"""The settings of RINoBench: one for each rule that the paper and its code leave open or state differently.

`configs/paper/rinobench.toml` sets each as the paper literally says.
"""

from typing import Annotated, Literal, TypeAlias

from pydantic import Field

from lotbench.benchmarks.rinobench.sample import Item
from lotbench.config.arm import SCORES_ONLY, SETS_ARM
from lotbench.config.model_names import Names
from lotbench.errors import UsageError
from lotbench.harness.episode import Episode
from lotbench.types import FrozenModel


class Settings(FrozenModel):
    """How ideas are shown, justifications taken apart and claims counted (Sec. 4.2)."""

    join: Literal["id", "position"] = "id"
    """How recorded predictions find their idea; by position only if the file has no ids."""
    justification: Annotated[bool, SETS_ARM] = True
    """Whether justifications are judged; without, no judge is needed."""
    works_chars: Annotated[int, SETS_ARM] = Field(default=60_000, gt=0, le=10_000_000)
    """Characters of related works in one prompt; longer abstracts are cut evenly and marked."""
    max_claims: int = Field(default=20, gt=0, le=50)
    """Arguments of one kind that the judge may find in one justification."""
    grounding: Literal["separate"] = "separate"
    """Known and novelty claims are checked by two prompts, each kind with the texts that can ground it."""
    alignment_steps: Literal["once", "per_idea"] = "once"
    """Whether the judge writes the evaluation steps once, or for each idea (the public script)."""
    alignment_calls: int = Field(default=5, gt=0, le=50)
    """k: alignment is the mean of so many calls."""
    alignment_temperature: float = Field(default=1.0, ge=0, le=2)
    """Of the alignment calls."""
    hallucination: Annotated[Literal["paper", "code"], SCORES_ONLY] = "paper"
    """paper: every claim that is not grounded (Eq. 3); code: only those that are not in the gold either."""


IdeaEpisode: TypeAlias = Episode[Item, Settings]
"""An episode of RINoBench: its sample is an `Item`."""


def cast(settings: Settings, names: Names, seed: int) -> tuple[Settings, Names]:
    """Return settings and model names unchanged, after a check that there is one judge if one is needed.

    Raises:
        UsageError: Justifications are to be judged and there is no judge, or there are several.
    """
    judges = len(names.get("judge", ()))
    if settings.justification and not judges:
        raise UsageError(
            "rinobench has no default judge: give --judge NAME, or --set justification=false to measure the "
            "novelty scores alone"
        )
    if judges > 1:
        raise UsageError(f"rinobench takes one judge, not {judges}")
    return settings, names
