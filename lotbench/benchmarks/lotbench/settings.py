"""The settings of the game, with their defaults; among them is each rule of the paper that can be read in two ways.

`configs/paper/lotbench.toml` sets them as the paper prints them.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Annotated, Literal, TypeAlias

from pydantic import Field

from lotbench.benchmarks.lotbench.sample import Item
from lotbench.config.arm import SCORES_ONLY, SETS_ARM
from lotbench.config.model_names import Names
from lotbench.errors import UsageError
from lotbench.harness.episode import Episode
from lotbench.prompting.prompt import Prompt
from lotbench.types import FrozenModel


class Settings(FrozenModel):
    """How the game is played and scored (Alg. 1, Eq. 8, App. A-D)."""

    max_rounds: Annotated[int, SETS_ARM] = Field(default=15, gt=0, le=1000)
    """N: attempts at most."""
    arm: Literal["image+caption", "caption", "image"] = "image+caption"
    """What the candidate sees of the scene."""
    frame: Annotated[Literal["shown", "earned", "hidden"], SETS_ARM] = "shown"
    """shown: the candidate fills the mask (the paper's). hidden: it writes a whole response to the scene.
    earned: as hidden, and `frame_ladder` reveals the frame."""
    frame_ladder: Annotated[Literal["half_whole", "whole"], SETS_ARM] = "half_whole"
    """What an earned frame shows at each reveal: half and then all, or all at once."""
    encore: Annotated[bool, SETS_ARM] = False
    """Whether the game goes on after a solve, for another answer by another idea."""
    conversation: Annotated[Literal["fresh", "growing"], SETS_ARM] = "fresh"
    """fresh: every request has all that is known. growing: one conversation a game."""
    ask: Annotated[bool, SETS_ARM] = True
    """Whether the candidate may ask questions."""
    clues: Annotated[bool, SETS_ARM] = True
    """Whether clues are revealed."""
    feedback: Annotated[bool, SETS_ARM] = True
    """Whether a round knows the rounds before it; without, N independent attempts."""
    clue_interval: Annotated[int, SETS_ARM] = Field(default=5, gt=0, le=1000)
    """Failed rounds between two reveals."""
    clue_reveal: Annotated[Literal["spread", "next", "grouped"], SETS_ARM] = "spread"
    """spread: all clues over the usable reveals. grouped: the same, one entry a reveal (the paper's). next: one
    a reveal."""
    framework: Annotated[Literal["direct", "cot", "cot_sc", "ddcot", "plot"], SETS_ARM] = "direct"
    """How the candidate thinks when it responds and asks (Sec. 7.4)."""
    votes: int = Field(default=5, gt=0, le=1000)
    """Draws of cot_sc."""
    max_words: Annotated[int, SETS_ARM] = Field(default=8, gt=0, le=10_000)
    """Words of a guess, at most."""
    max_characters: Annotated[int, SETS_ARM] = Field(default=16, gt=0, le=10_000)
    """CJK characters of a guess, at most."""
    max_response_words: Annotated[int, SETS_ARM] = Field(default=20, gt=0, le=10_000)
    """Words of a whole response, at most."""
    max_response_characters: Annotated[int, SETS_ARM] = Field(default=30, gt=0, le=10_000)
    """CJK characters of a whole response, at most."""
    wording: Literal["ours", "paper"] = "ours"
    """Whose prompts: ours, or those of App. A-D told again in English."""
    judged: Literal["undecided", "every"] = "undecided"
    """Which guesses the judge judges: those that words do not decide, or all (Alg. 1 line 4)."""
    judge_mode: Literal["zero_shot", "explained", "causal"] = "causal"
    """What the judge is given: neither explanation nor chain, the explanation, or both (Fig. 15 right)."""
    chain: Literal["stored", "per_call"] = "stored"
    """Whether the causal chain is built once for a sample and judge, or in each verdict (the paper's)."""
    verdict: Literal["last", "first"] = "last"
    """Whether the judge decides after its reasons, or before them (the paper's)."""
    confirm: Literal["never", "other_judge"] | None = None
    """Whether a first yes needs a second one of another judge; by default if there is another judge."""
    oracle_sees: Literal["key_text", "response", "scene"] = "scene"
    """What the oracle knows: the key text (the paper's App. C), with the response, with the caption too."""
    oracle_says: Literal["yes_no", "yes_no_unclear"] = "yes_no_unclear"
    """What the oracle may answer: Yes and No alone (the paper's), or Unclear too."""
    round_origin: Annotated[Literal[0, 1], SCORES_ONLY] = 0
    """t_r of a game solved at the first attempt."""
    unsolved: Annotated[Literal["zero", "cap"], SCORES_ONLY] = "zero"
    """What an unsolved game is worth: nothing, or exp(-alpha N) (the paper's)."""
    alpha: Annotated[float, SCORES_ONLY] = Field(default=0.2, gt=0, le=1e6)
    beta: Annotated[float, SCORES_ONLY] = Field(default=1.0, gt=0, le=1e6)

    @property
    def whole(self) -> bool:
        """Whether the candidate writes whole responses instead of guesses for the mask."""
        return self.frame != "shown"

    def worth(self, t: int) -> float:
        """Return the worth of a game solved after t failed attempts: beta exp(-alpha t) (Eq. 8)."""
        return self.beta * math.exp(-self.alpha * t)


GameEpisode: TypeAlias = Episode[Item, Settings]
"""An episode of this benchmark, with its types of sample and settings."""


def prompt(episode: GameEpisode, name: str) -> Prompt:
    """Return a prompt of the game; with `wording=paper` the paper's prompt if there is one of that name."""
    papers = episode.prompts.prompts.get("paper", {}) if episode.settings.wording == "paper" else {}
    return papers.get(name) or episode.prompt(name)


def cast(settings: Settings, names: Names, seed: int) -> tuple[Settings, Names]:
    """Return the settings with `confirm`, `ask` and `clues` decided, and the unchanged names of the models.

    `confirm` depends on the number of judges; without feedback there are no questions and no clues.

    Raises:
        UsageError: Confirmation by another judge needs two judges. A growing conversation needs feedback. The paper's
            wording covers only the paper's game.
    """
    judges = len(names.get("judge", ()))
    confirm = settings.confirm or ("other_judge" if judges > 1 else "never")
    if confirm == "other_judge" and judges < 2:
        raise UsageError("confirm=other_judge needs two judges of different models: give --judge twice")
    if settings.conversation == "growing" and not settings.feedback:
        raise UsageError("conversation=growing tells of the rounds before, feedback=false does not: take one")
    if settings.wording == "paper" and (
        settings.whole or settings.encore or settings.conversation == "growing"
    ):
        raise UsageError(
            "wording=paper has words for the paper's game alone: no frame, encore or conversation of ours"
        )
    asks = settings.ask and settings.feedback
    clues = settings.clues and settings.feedback
    return settings.model_copy(update={"confirm": confirm, "ask": asks, "clues": clues}), names


def calls(settings: Settings) -> Mapping[str, int]:
    """Return the largest number of calls of one game, by role, without repeated requests (Alg. 1).

    `chain.beyond` counts the calls for causal chains and for checks against further target responses.
    """
    rounds, asks = settings.max_rounds, settings.max_rounds - 1 if settings.ask else 0
    draws = settings.votes if settings.framework == "cot_sc" else 1
    notes = 1 if settings.framework == "ddcot" else 0
    candidate = rounds * (draws + notes) + asks * (1 + notes)
    # Every round may have a yes that is not confirmed. `chain.beyond` counts checks against further target responses.
    checks = rounds * (1 if settings.confirm == "never" else 2) + (rounds - 1 if settings.encore else 0)
    return {"candidate": candidate, "judge": checks, "oracle": asks}


def reveals(clues: Sequence[str], settings: Settings) -> list[list[str]]:
    """Return the clues of each usable reveal, in order (Alg. 1 line 9); empty if the settings reveal no clues.

    A reveal follows every `clue_interval` failed rounds; a reveal after the last round would be useless.
    """
    usable = usable_reveals(settings)
    if not (settings.clues and settings.feedback) or usable == 0:
        return []
    if settings.clue_reveal == "next":
        return [[clue] for clue in clues[:usable]] + [[] for _ in range(usable - len(clues))]
    size, extra = divmod(len(clues), usable)
    sizes = [size] * (usable - extra) + [size + 1] * extra
    starts = [sum(sizes[:i]) for i in range(usable)]
    return [list(clues[start : start + count]) for start, count in zip(starts, sizes, strict=True)]


LADDERS: Mapping[str, tuple[Literal["half", "whole"], ...]] = {
    "half_whole": ("half", "whole"),
    "whole": ("whole",),
}
"""The part of an earned frame that each reveal shows, in order, by the setting `frame_ladder`."""


def usable_reveals(settings: Settings) -> int:
    """Return the number of reveals after which there is still an attempt."""
    return (settings.max_rounds - 1) // settings.clue_interval
