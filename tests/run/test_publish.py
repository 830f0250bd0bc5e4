"""What may be published of a run on samples that nobody else has: its summary, and the digest of the data set."""

import asyncio
from pathlib import Path

import pytest

from lotbench.cli import main
from lotbench.run.loading import Run
from tests.judging import data_set, shipped
from tests.playing import play
from tests.rules import game_rule
from tests.server import FakeServer

ITEMS = shipped(4)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return data_set(tmp_path / "held-out", ITEMS)


async def played(data: Path, out: Path) -> Run:
    with FakeServer(game_rule(solve=0.3)) as server:
        return await play(server, out, data=str(data), limit=None, repeats=2, settings={"max_rounds": 6})


async def test_a_summary_has_no_text_of_a_sample(data: Path, tmp_path: Path) -> None:
    run = await played(data, tmp_path / "runs")
    summary = (run.path / "summary.json").read_text("utf-8")
    for item in ITEMS:
        told = [item.id, item.image, item.caption, item.response, item.explanation, *item.clues]
        assert not [one for one in told if one in summary], item.id


def test_the_digest_of_a_data_set_is_the_one_that_runs_name(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = asyncio.run(played(data, tmp_path / "runs"))
    capsys.readouterr()
    assert main(["evaluate", "--data", str(data), "--model", "human", "--dry-run"]) == 0
    assert f"digest {run.digests['data']}" in capsys.readouterr().out
    text = (data / "samples.jsonl").read_text("utf-8")
    (data / "samples.jsonl").write_text(text.replace("toaster", "oven"), "utf-8")
    assert main(["evaluate", "--data", str(data), "--model", "human", "--dry-run"]) == 0
    assert run.digests["data"] not in capsys.readouterr().out
