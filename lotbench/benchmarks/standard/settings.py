"""The settings of standard evaluation.

`configs/paper/standard.toml` sets each as the paper literally says, where the paper says it.
"""

from collections.abc import Mapping
from typing import Annotated, Literal, TypeAlias, get_args

from pydantic import Field

from lotbench.benchmarks.standard.oogiri.problems import Kind, Problem
from lotbench.config.arm import SCORES_ONLY, SETS_ARM
from lotbench.config.model_names import Names
from lotbench.errors import UsageError
from lotbench.harness.episode import Episode
from lotbench.types import FrozenModel

KINDS: Mapping[str, tuple[Kind, ...]] = {
    "all": ("2t1", "3t1", "4t1", "5t2", "rank"),
    "choice": ("2t1", "3t1", "4t1", "5t2"),
    **{kind: (kind,) for kind in get_args(Kind)},
}


class Settings(FrozenModel):
    """What is asked, of which rows, in which way, and how rankings are scored (Sec. 4, 6.1, 7.1)."""

    kind: Annotated[Literal["all", "choice", "2t1", "3t1", "4t1", "5t2", "rank", "generate"], SETS_ARM] = (
        "all"
    )
    """all: the paper's choices and ranking; generate: free responses, for people to vote on."""
    arm: Literal["image", "caption", "blind"] = "image"
    """What the candidate sees of a picture: itself, its caption, or nothing."""
    framework: Annotated[Literal["direct", "cot", "cot_sc", "ddcot", "plot"], SETS_ARM] = "direct"
    """How the candidate thinks (Fig. 9)."""
    votes: int = Field(default=5, gt=0, le=1000)
    """Draws of cot_sc."""
    vote_temperature: float = Field(default=0.7, ge=0, le=2)
    """Temperature of the draws of cot_sc."""
    write_temperature: float = Field(default=1.0, ge=0, le=2)
    """Temperature of free responses."""
    captions: Literal["captioner", "rows"] | None = None
    """Who captions pictures: a model, or the rows. By default the captioner if one is named."""
    rewrites: Literal["rewriter", "rows"] | None = None
    """The rewritten response: a model's, or a little liked one to the same picture. By default the rewriter's
    if one is named."""
    rewriting: Literal["plain", "paraphrase"] = "plain"
    """What the rewriter is told: to leave out the wit, or only to rewrite (the paper's)."""
    unrelated: Literal["response", "caption"] = "response"
    """The unrelated option: a response to another picture, or its caption (the paper's)."""
    part: Annotated[Literal["all", "held_out"], SETS_ARM] = "all"
    """Which rows problems are made of."""
    share: float = Field(default=0.05, gt=0, lt=1)
    """The share of pictures and questions that is held out."""
    split_seed: int = 0
    """Seed of the split, as in training."""
    per_prompt: int = Field(default=1, gt=0, le=10_000)
    """Problems of each kind for a picture or question, at most."""
    top_ratings: float = Field(default=0.01, gt=0, le=1)
    """The top share of rated responses to a picture that counts as right."""
    top_likes: float = Field(default=0.1, gt=0, le=1)
    """The top share of liked responses that counts as right."""
    min_likes: int = Field(default=5, ge=0)
    """Likes that a right response needs."""
    errors: float = Field(default=2.0, ge=0)
    """Standard errors by which two ratings must differ to be ranked."""
    factor: float = Field(default=2.0, ge=1)
    """The factor by which two counts of likes must differ to be ranked."""
    gain: Annotated[Literal["linear", "exponential"], SCORES_ONLY] = "linear"
    """Gain of NDCG: the relevance, or 2^rel - 1."""

    @property
    def lacks(self) -> list[str]:
        """A sentence if the rows are held out by another split than the default: a lucky one could be looked for."""
        default = self.part == "all" or (self.share, self.split_seed) == (0.05, 0)
        return [] if default else ["the samples were chosen by share or split_seed"]

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """The kinds of problems to build."""
        return KINDS[self.kind]


_CHOOSING = ("part", "share", "split_seed", "top_ratings", "top_likes", "min_likes", "errors", "factor")
CHOICES = {name: Settings.model_fields[name].default for name in _CHOOSING}
"""The default of each setting that chooses rows, or the problems made of them."""
ProblemEpisode: TypeAlias = Episode[Problem, Settings]
"""An episode of standard evaluation: its sample is a `Problem`."""


def cast(settings: Settings, names: Names, seed: int) -> tuple[Settings, Names]:
    """Return the settings, with `captions` and `rewrites` decided by the models that are named, and the names unchanged.

    Raises:
        UsageError: A setting needs a model that is not named.
    """
    captions = settings.captions or ("captioner" if names.get("captioner") else "rows")
    rewrites = settings.rewrites or ("rewriter" if names.get("rewriter") else "rows")
    for setting, role in (("captions", captions), ("rewrites", rewrites)):
        if role != "rows" and not names.get(role):
            raise UsageError(f"{setting}={role} needs a model: give --role {role}=MODEL")
    return settings.model_copy(update={"captions": captions, "rewrites": rewrites}), names
