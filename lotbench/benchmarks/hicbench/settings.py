"""The settings of HIC-Bench: one for each rule that the paper and its code leave open or state differently.

`configs/paper/hicbench.toml` sets each as the paper literally says.
"""

from collections.abc import Mapping
from typing import Annotated, Literal, Self, TypeAlias

from pydantic import Field, model_validator

from lotbench.benchmarks.hicbench.sample import Item
from lotbench.config.arm import SCORES_ONLY, SETS_ARM, ScoresOnly
from lotbench.harness.episode import Episode
from lotbench.types import FrozenModel


class Settings(FrozenModel):
    """How answers are drawn, judged and counted (Sec. 3, 4; App. A-D)."""

    strategy: Annotated[Literal["scp", "cot", "rag", "rcp"], SETS_ARM] = "scp"
    """The prompt: strict, strict with thinking step by step, strict with knowledge, relaxed (App. A.1)."""
    rag_source: Annotated[Literal["knowledge", "principle"], SETS_ARM] = "knowledge"
    """What rag gives the candidate: the knowledge text, or the principle's few words (the paper's code)."""
    answers: Annotated[int, SETS_ARM] = Field(default=10, ge=1, le=100)
    """Answers to one task."""
    answer_tokens: Annotated[int, SETS_ARM] = Field(default=70, gt=0, le=100_000)
    """How long an answer may be; the prompt asks for it."""
    answer_cap: Annotated[Literal["whole", "cut"], SETS_ARM] = "whole"
    """A longer answer is judged whole, or its first answer_tokens words and marks (the paper's)."""
    keywords: bool = False
    """Whether a model names the keywords of each answer for kwPrec; `--role keywords=NAME` turns it on."""
    exclude_self: bool = True
    """Whether a judge that is the candidate or its sibling leaves the panel."""
    judges: int | None = Field(default=None, ge=1)
    """How many judges must be left after exclude_self; by default any number."""
    panel_rule: Annotated[Literal["mean_of_rates", "mean_then_threshold"], SCORES_ONLY] = "mean_of_rates"
    """How judges make one ratio: the mean of each judge's, or from mean scores (the paper's)."""
    classes: Annotated[Literal["exclusive", "overlapping"], ScoresOnly(unless="dhp")] = "exclusive"
    """Whether a hallucinated answer can still be an IH (Algorithm 1); decides on the examples of dhp too."""
    w1: Annotated[float, SCORES_ONLY] = Field(default=0.6, ge=0, le=1)
    """The weight of IH in IFS; w2 is 1 - w1 (Eq. 3)."""
    flexibility: Annotated[Literal["less_sampling", "variance"], SCORES_ONLY] = "less_sampling"
    """The variance of originality over tasks, less what drawing so few answers adds, or as it is (the paper's)."""
    encoder: Annotated[str, SCORES_ONLY] = "minilm"
    """What embeds answers: minilm, a sentence-transformers name or folder, or NAME#pooler."""
    flips: Annotated[int, SCORES_ONLY] = Field(default=10_000, ge=100, le=1_000_000)
    """Sign flips of the permutation test between runs (App. B.3)."""
    dhp: Annotated[bool, SETS_ARM] = False
    """Whether the prompt shows examples of the answers so far (App. D)."""
    dhp_policy: Annotated[Literal["algorithm1", "text"], SETS_ARM] = "algorithm1"
    """Whether the examples begin empty (Algorithm 1), or with people's (Sec. 4.4)."""
    dhp_judge: Literal["separate", "panel"] = "separate"
    """Who chooses the examples: a judge of its own, --role dhp_judge=NAME, or the panel that scores (the
    paper's)."""
    examples: Mapping[Literal["positive", "negative"], str] = Field(default_factory=dict)
    """The examples that policy text begins with: {"positive": "...", "negative": "..."}."""
    order: Literal["shuffled", "data"] = "shuffled"
    """The order of tasks in dhp: a seeded shuffle for each repeat, or that of the data set (the paper's)."""

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if self.dhp and (self.dhp_policy == "text") != bool(self.examples):
            raise ValueError("examples: are what dhp_policy=text begins with, and nothing else does")
        return self


TaskEpisode: TypeAlias = Episode[Item, Settings]
"""An episode of HIC-Bench: its sample is an `Item`."""
