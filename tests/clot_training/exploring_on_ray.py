"""Exploring on Ray; test_explore.py runs it in a process of its own: Ray may end the process that it lost a part of."""

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from clot_training.exploring import explore as step
from clot_training.exploring import vocabulary
from clot_training.records import Work
from tests.clot_training.test_explore import lines, random_run
from tests.leaping import HashPolicy, SeenPolicy, bare, plain, split_words
from tests.tiny import saved_llama


@pytest.fixture(autouse=True)
def untagged(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vocabulary, "content_words", split_words)


@pytest.fixture(scope="module")
def cluster() -> Iterator[None]:
    """Ray on this machine, with room for three workers."""
    import ray

    ray.init(num_cpus=4, logging_level=logging.WARNING, include_dashboard=False, log_to_driver=False)
    yield
    ray.shutdown()


@pytest.mark.slow
def test_one_and_three_ray_workers_write_the_file_of_the_local_engine(tmp_path: Path, cluster: None) -> None:
    run = random_run(tmp_path / "local")
    step.explore(run, HashPolicy)
    whole = Work(Path(run.out)).candidates("random").read_bytes()
    for workers in (1, 3):
        run = random_run(tmp_path / str(workers), engine="ray", workers=workers)
        step.explore(run, SeenPolicy)
        assert Work(Path(run.out)).candidates("random").read_bytes() == whole
        processes = list((Path(run.out) / "processes").iterdir())
        assert (len(processes) == 1) == (workers == 1)
    path = Work(Path(run.out)).candidates("random")
    path.write_bytes(whole[: len(whole) // 3])
    step.explore(run, HashPolicy)
    assert path.read_bytes() == whole


@pytest.mark.slow
def test_a_real_model_writes_one_file_here_and_on_two_workers(tmp_path: Path, cluster: None) -> None:
    saved_llama(tmp_path / "base")
    written = []
    # Each worker imports torch, which takes 10 s.
    for engine in ("local", "ray"):
        run = random_run(tmp_path / engine, plain(4), engine=engine, workers=2, max_tokens=8)
        run = run.model_copy(update={"model": str(tmp_path / "base")})
        step.explore(run, bare)
        written.append(Work(Path(run.out)).candidates("random").read_bytes())
    assert written[0] == written[1]
    found = lines(run)
    assert len({one.text for one in found}) > len(found) / 2
    assert {len(one.won) for one in found if one.why is None} == {2}


@pytest.mark.slow
def test_ray_is_begun_and_ended_where_nobody_else_has(tmp_path: Path) -> None:
    import ray

    ray.shutdown()
    run = random_run(tmp_path, plain(2), engine="ray")
    step.explore(run, HashPolicy)
    assert lines(run)
    assert not ray.is_initialized()
