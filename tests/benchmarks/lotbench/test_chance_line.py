"""The chance line that reports print: expected from a judge check, or not known."""

import math
from pathlib import Path

import pytest

from lotbench.benchmarks.lotbench.chance import chains_sd
from lotbench.benchmarks.lotbench.score import expected
from lotbench.benchmarks.lotbench.settings import Settings
from lotbench.config.model_names import parse
from lotbench.errors import UsageError
from tests.playing import play
from tests.server import FakeServer

CHOSEN = Settings()


@pytest.mark.parametrize(("fpr", "score"), [(0.01, 0.051), (0.03, 0.141), (0.05, 0.220)])
def test_expected_scores_are_those_of_the_audit(fpr: float, score: float) -> None:
    found = expected(fpr, fpr, CHOSEN)
    assert found["creativity_score"] == pytest.approx(score, abs=1e-3)
    assert found["creativity_score"] == pytest.approx(
        sum(fpr * (1 - fpr) ** k * math.exp(-0.2 * k) for k in range(15))
    )
    assert found["solve_rate"] == pytest.approx(1 - (1 - fpr) ** 15)
    assert found["mean_rounds"] == pytest.approx(sum((1 - fpr) ** k for k in range(15)))
    assert found["creativity_score_cap"] == pytest.approx(
        found["creativity_score"] + (1 - fpr) ** 15 * math.exp(-3)  # type: ignore[operator]
    )


@pytest.mark.parametrize(("stop", "score", "rounds"), [(0.0, 0.0, 15.0), (1.0, 1.0, 1.0)])
def test_judges_that_never_or_always_err(stop: float, score: float, rounds: float) -> None:
    found = expected(stop, None, CHOSEN)
    assert (found["creativity_score"], found["mean_rounds"]) == (score, rounds)
    assert found["creativity_score_unconfirmed"] is None


def test_the_first_judge_alone_has_its_own_rate() -> None:
    found = expected(0.01, 0.05, CHOSEN)
    assert found["creativity_score_unconfirmed"] == pytest.approx(0.220, abs=1e-3)


async def test_without_a_check_of_the_judge_the_chance_line_is_not_known(tmp_path: Path) -> None:
    with FakeServer() as server:
        run = await play(server, tmp_path)
    assert [score["baselines"] for score in run.summary["scores"].values()] == [{"chance": None}] * 5
    assert "some wrong guesses): not known before a judge-check." in run.report.read_text("utf-8")


def test_the_placebo_of_before_is_no_model_of_openai() -> None:
    with pytest.raises(UsageError, match="placebo: it plays no more"):
        parse("placebo")


def test_new_chains_move_a_score_as_far_as_what_they_accept_moves_it() -> None:
    """Whoever speaks is accepted at .2 by one chain and at .4 by the other, so the score of a sample is one of two."""
    ends = [expected(stop, None, CHOSEN)["creativity_score"] for stop in (0.2, 0.4)]
    found = chains_sd([[[0.2, 0.2], [0.4, 0.4]]] * 3, 0.6, 50, CHOSEN)
    assert found == pytest.approx(abs(ends[0] - ends[1]) / math.sqrt(2 * 50))  # type: ignore[operator]
    # Of a player that is right so often that it has the score: chains differ on wrong guesses alone.
    accepted = [[[1.0, 0.0], [1.0, 0.1]]] * 4
    weak, strong = (chains_sd(accepted, score, 50, CHOSEN) for score in (0.2, 0.9))
    assert 0 < strong < weak
    assert chains_sd([[[0.9, 0.0]] * 3], 0.5, 50, CHOSEN) == pytest.approx(0.0)
