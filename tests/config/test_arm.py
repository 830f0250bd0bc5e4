"""What sets an arm apart is part of its name, and nothing else is."""

from typing import Annotated, Literal

import pytest
from pydantic import BaseModel, Field

from lotbench import benchmarks
from lotbench.config.arm import SETS_ARM, arm


class Plain(BaseModel):
    frame: Annotated[Literal["shown", "hidden"], SETS_ARM] = "shown"
    encore: Annotated[bool, SETS_ARM] = Field(default=False)
    alpha: float = 0.2


class Armed(Plain):
    arm: str = "image+caption"


@pytest.mark.parametrize(
    ("settings", "name"),
    [
        (Plain(), None),
        (Plain(alpha=0.5), None),
        (Plain(frame="hidden"), "frame=hidden"),
        (Armed(), "image+caption"),
        (Armed(arm="caption", frame="hidden", encore=True), "caption, frame=hidden, encore=true"),
    ],
)
def test_an_arm_is_named_by_all_that_sets_it_apart(settings: BaseModel, name: str | None) -> None:
    assert arm(settings) == name


@pytest.mark.parametrize(
    ("name", "default"),
    [
        ("lotbench", "image+caption"), ("standard", "image"), ("liveideabench", "v2"), ("hicbench", None),
        ("rinobench", None),
    ],
)  # fmt: skip
def test_the_default_arm_of_each_benchmark_has_a_plain_name(name: str, default: str | None) -> None:
    assert arm(benchmarks.get(name).Settings()) == default


def test_a_run_without_justifications_is_an_arm_of_its_own() -> None:
    assert arm(benchmarks.get("rinobench").Settings(justification=False)) == "justification=false"
