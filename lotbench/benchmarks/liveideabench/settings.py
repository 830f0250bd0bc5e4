"""The settings of LiveIdeaBench, and the differences between its two versions.

`version` switches prompts, judged dimensions, grades and the handling of refusals together, so v1 and v2 are never
mixed. Each other rule that the papers leave open has its own setting.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Annotated, Literal, TypeAlias

from pydantic import Field

from lotbench.benchmarks.liveideabench.sample import Item
from lotbench.config.arm import SCORES_ONLY, SETS_ARM
from lotbench.config.judge_panel import panel_id
from lotbench.config.model_names import ModelName, Names, kin
from lotbench.errors import UsageError
from lotbench.harness.episode import Episode
from lotbench.types import FrozenModel

JUDGES = 3
"""How many judges an idea has (v2, Methods: Judge LLM panel formation)."""


@dataclass(frozen=True, slots=True)
class Version:
    """The rules in which the two versions of the benchmark differ.

    Attributes:
        dimensions: The dimensions in which each judge scores an idea, 1 to 10.
        grades: The score of each letter of fluency.
        fallback: Whether the candidate is asked again, as an academic task, after it refused a keyword.
    """

    dimensions: tuple[str, ...]
    grades: Mapping[str, float]
    fallback: bool


VERSIONS = {
    "v1": Version(
        dimensions=("originality", "feasibility"),
        grades={"A": 10.0, "B": 20 / 3, "C": 10 / 3, "D": 0.0},
        fallback=False,
    ),
    "v2": Version(
        dimensions=("originality", "feasibility", "clarity"),
        grades={"A": 10.0, "B": 7.0, "C": 4.0, "D": 1.0},
        fallback=True,
    ),
}


class Settings(FrozenModel):
    """How ideas are asked for, judged and scored (v1, Methods; v2, Methods)."""

    version: Literal["v1", "v2"] = "v2"
    """Which paper: prompts, dimensions, grades of fluency and refusals, all together."""
    panel: str = ""
    """The id of the panel file that the judges are from; `--panel` fills it in, and no other judges may have it."""
    ideas: Annotated[int, SETS_ARM] = Field(default=2, gt=0, le=20)
    """Ideas asked for on each keyword."""
    judges: int = Field(default=JUDGES, gt=0, le=20)
    """Judges of each idea; fewer if the panel has fewer."""
    exclude: Literal["siblings", "self"] = "siblings"
    """Who may not judge: the candidate and every variant of its base model, or the candidate alone (the paper's)."""
    target_words: Annotated[int, SETS_ARM] = Field(default=100, gt=0, le=10_000)
    """The length of an idea that the candidate is told."""
    max_words: Annotated[int, SETS_ARM] = Field(default=200, gt=0, le=10_000)
    """An idea with more words is excluded and counted."""
    max_characters: Annotated[int, SETS_ARM] = Field(default=400, gt=0, le=10_000)
    """An idea with more CJK characters is excluded; in mixed text both shares add up."""
    final_marker: Annotated[str, SETS_ARM] = ""
    """What the candidate writes before its idea ('**Final Idea:**'), for models that think aloud."""
    no_final: Literal["truncated", "judge_all"] = "truncated"
    """A reply without the marker is cut off, or judged as a whole (the paper's)."""
    refusals: Literal["score", "drop"] = "score"
    """A refusal is judged like any answer (the papers'), or left out if it is short and nothing else."""
    fluency_orders: Literal["both", "one"] = "both"
    """Whether each pair is compared in both orders, or in one (the paper's)."""
    flexibility_unit: Annotated[Literal["keyword", "row"], SCORES_ONLY] = "keyword"
    """What the 30th percentile is taken over; row, a single verdict, is the public code's."""
    encoder: Annotated[str, SCORES_ONLY] = "minilm"
    """What embeds the ideas of several models, to compare them."""

    @property
    def arm(self) -> str:
        """The variant that a report names with every score."""
        return self.version

    @property
    def rules(self) -> Version:
        """The rules of the version."""
        return VERSIONS[self.version]


KeywordEpisode: TypeAlias = Episode[Item, Settings]
"""An episode of LiveIdeaBench: its sample is an `Item`."""


def cast(settings: Settings, names: Names, seed: int) -> tuple[Settings, Names]:
    """Return the settings and the models of a run by role, with a panel in an order that depends on seed and candidate.

    The panel has neither the candidate nor, as `exclude` says, models of its maker. The setting `judges` is lowered to the size
    of the panel. The setting `panel` is emptied if it is not the id of the named judges. Judges are sorted by a digest with
    their names, so the order in which they were named does not matter.

    Raises:
        UsageError: No judge is left.
    """
    candidate = names["candidate"][0]
    own_id = panel_id(settings.panel.rpartition("@")[0], (judge.text for judge in names["judge"]))
    judges = [judge for judge in names["judge"] if not _excluded(settings.exclude, candidate, judge)]
    if not judges:
        listed = ", ".join(judge.text for judge in names["judge"])
        raise UsageError(
            f"judge: {candidate.text} or a sibling of it is all there is ({listed}): name another"
        )
    judges.sort(key=lambda judge: sha256(f"{seed}:{candidate.text}:{judge.text}".encode()).digest())
    panel = settings.panel if settings.panel == own_id else ""
    chosen = settings.model_copy(update={"judges": min(settings.judges, len(judges)), "panel": panel})
    return chosen, {**names, "judge": tuple(judges)}


def lacks(settings: Settings) -> list[str]:
    """Return a sentence for each of two requirements that these settings do not meet.

    Each idea needs three judges, and the judges must come from a panel file.
    """
    reasons = []
    if settings.judges < JUDGES:
        reasons.append(f"each idea has {settings.judges} of the {JUDGES} judges that the benchmark asks for")
    if not settings.panel:
        reasons.append("the judges are from no panel file (--panel): results compare only within one panel")
    return reasons


def _excluded(rule: str, candidate: ModelName, judge: ModelName) -> bool:
    """Return whether a judge may not judge the candidate under the setting `exclude`; a person always may."""
    if rule == "siblings":
        return kin(candidate, judge)
    return "human" not in (candidate.kind, judge.kind) and _bare(candidate) == _bare(judge)


def _bare(name: ModelName) -> str:
    return name.model.lower().rsplit("/", 1)[-1]
