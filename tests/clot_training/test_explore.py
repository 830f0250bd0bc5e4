"""Exploration: what is kept and why, and that neither a kill nor the number of workers changes a line."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from clot_training.config import Config
from clot_training.data.index import Rows
from clot_training.exploring import explore as step
from clot_training.exploring import vocabulary
from clot_training.records import Candidate, Prompt, Work, read_records
from lotbench.errors import RunFolderError, UsageError
from lotbench.storage.run_folder import Folder
from tests.leaping import HashPolicy, config, data_set, plain, row, split_words


@pytest.fixture(autouse=True)
def untagged(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vocabulary, "content_words", split_words)


def random_run(folder: Path, rows: Sequence[dict[str, Any]] | None = None, **explore: Any) -> Config:
    made = data_set(folder, rows or plain())
    shared = {"held_out": explore.pop("held_out", 0.05)}
    return config(folder, made, explore={"conditions": "random", "n": 10, **explore}, **shared)


def lines(run: Config) -> list[Candidate]:
    return list(read_records(Work(Path(run.out)).candidates(run.explore.conditions), Candidate))


class Chooser(HashPolicy):
    """Says what it is told to and selects by a rule over the options of a prompt."""

    def __init__(self, texts: Sequence[str], pick: Any) -> None:
        super().__init__()
        self.texts = texts
        self.pick = pick

    def generate(self, prompts: Sequence[Prompt]) -> list[str]:
        self.generated += prompts
        return [self.texts[place % len(self.texts)] for place, _ in enumerate(prompts)]

    def select(self, prompts: Sequence[Prompt], labels: Sequence[Sequence[str]]) -> list[int]:
        self.selected += prompts
        chosen = []
        for prompt, letters in zip(prompts, labels, strict=True):
            said = str(prompt.messages[0]["content"]).splitlines()
            options = [line[3:] for line in said if line[:3] in [f"{label}. " for label in letters]]
            assert len(options) == len(letters)
            chosen.append(self.pick(options))
        return chosen


def screened(run: Config, unsafe: str) -> set[str]:
    """Verdicts as `clot instructions` leaves them: rows with a word are unsafe, one has no verdict; their ids."""
    path = Work(Path(run.out)).screened
    path.parent.mkdir(parents=True, exist_ok=True)
    rows = [json.loads(line) for line in (run.folders()[0] / "samples.jsonl").read_text("utf-8").splitlines()]
    verdicts = {one["id"]: "unsafe" if unsafe in one["text"] else "safe" for one in rows}
    verdicts[next(name for name, verdict in verdicts.items() if verdict == "safe")] = "failed"
    lines = (
        json.dumps({"row": name, "verdict": said, "reason": "", "model": "m"})
        for name, said in verdicts.items()
    )
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return {name for name, said in verdicts.items() if said != "safe"}


def test_an_exploration_waits_for_the_screener_that_is_named(tmp_path: Path) -> None:
    run = random_run(tmp_path).model_copy(deep=True)
    run = run.model_copy(
        update={"instructions": run.instructions.model_copy(update={"screener": "python:m"})}
    )
    with pytest.raises(UsageError, match=r"screened.jsonl: not there yet; run `clot instructions` first"):
        step.explore(run, HashPolicy)


@pytest.mark.slow
def test_candidates_of_rows_that_are_screened_out_later_are_refined_on_by_nobody_and_not_gone_on_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from clot_training.tuning import refine

    run = random_run(tmp_path)
    step.explore(run, HashPolicy)
    left_out = screened(run, "otter")
    assert {one.row for one in lines(run)} & left_out
    work = Work(Path(run.out))
    assert {one.row for one in work.explorations("random")} & left_out == set()
    (work.stage1 / "adapter").mkdir(parents=True)
    (work.instructions / "manifest.json").write_text("{}", encoding="utf-8")
    monkeypatch.setattr(refine, "tune", lambda *_, **__: None)
    summary = work.explored("random") / "summary.json"
    finished = summary.rename(summary.with_suffix(".away"))
    with pytest.raises(UsageError, match="the exploration did not finish; run `clot explore` again"):
        refine.refine(run)
    finished.rename(summary)
    refine.refine(run)
    kept = (work.stage2("random") / "kept.jsonl").read_text("utf-8")
    assert kept
    assert not any(f'"{name}"' in kept for name in left_out)
    with pytest.raises(RunFolderError, match=r"other settings \(screening\)"):
        step.explore(run, HashPolicy)


def test_one_order_is_drawn_for_each_candidate(tmp_path: Path) -> None:
    run = random_run(tmp_path, keep_rule="one_order")
    policy = Chooser([f"leap {n}" for n in range(100)], lambda options: 0)
    step.explore(run, lambda _: policy)
    found = lines(run)
    assert len(policy.selected) == len(found)
    assert 0.3 < sum(one.kept for one in found) / len(found) < 0.7


def test_who_always_prefers_the_new_keeps_all_and_who_prefers_people_none(tmp_path: Path) -> None:
    for leaping, rate in ((True, 1.0), (False, 0.0)):
        run = random_run(tmp_path / str(leaping), truths=3)

        def pick(options: list[str], leaping: bool = leaping) -> int:
            assert len(options) == 4
            return next(n for n, text in enumerate(options) if text.startswith("leap") == leaping)

        summary = step.explore(run, lambda _, pick=pick: Chooser([f"leap {n}" for n in range(100)], pick))
        assert summary["keep_rate"] == rate


def test_what_says_nothing_new_is_not_compared(tmp_path: Path) -> None:
    run = random_run(tmp_path, n=15, alpha=20, beta=50, limit=1)
    truth = next(Rows(run).all()).text
    policy = Chooser(["", f" {truth}  ", "twice", "twice"], lambda options: 0)
    step.explore(run, lambda _: policy)
    assert [one.why for one in lines(run)] == ["empty", "copy", None, "double", "empty", "copy"]
    assert len(policy.selected) == 2
    assert not any(one.kept for one in lines(run) if one.why)


@pytest.mark.parametrize("cut", ["a batch", "a line", "half a line", "all"])
def test_a_run_that_goes_on_writes_the_same_file(tmp_path: Path, cut: str) -> None:
    run = random_run(tmp_path)
    step.explore(run, HashPolicy)
    path = Work(Path(run.out)).candidates("random")
    whole = path.read_bytes()
    split = whole.splitlines(keepends=True)
    per_batch = sum(one.row in {f"r{n}" for n in range(4)} for one in lines(run))
    kept = {"a batch": b"".join(split[: 3 * per_batch]), "a line": b"".join(split[: 3 * per_batch + 1])}
    kept |= {"half a line": b"".join(split[:7])[:-20], "all": whole}
    path.write_bytes(kept[cut])
    policy = HashPolicy()
    step.explore(run, lambda _: policy)
    assert path.read_bytes() == whole
    assert (len(policy.generated) < len(split)) == (cut != "half a line" or per_batch <= 6)


KILLED = """
import sys, time
from pathlib import Path
from clot_training.exploring import explore, vocabulary
from tests.leaping import HashPolicy, split_words
from tests.clot_training.test_explore import random_run

class Slow(HashPolicy):
    def generate(self, prompts):
        time.sleep(0.03)
        return super().generate(prompts)

vocabulary.content_words = split_words
explore.explore(random_run(Path(sys.argv[1])), Slow)
"""


@pytest.mark.slow
def test_a_run_killed_again_and_again_ends_with_the_same_file(tmp_path: Path) -> None:
    run = random_run(tmp_path / "whole")
    step.explore(run, HashPolicy)
    whole = Work(Path(run.out)).candidates("random").read_bytes()
    other = random_run(tmp_path / "killed")
    path = Work(Path(other.out)).candidates("random")
    sizes = []
    for _ in range(2):
        before = path.stat().st_size if path.exists() else 0
        process = subprocess.Popen([sys.executable, "-c", KILLED, str(tmp_path / "killed")])
        while process.poll() is None and (not path.exists() or path.stat().st_size <= before):
            time.sleep(0.01)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        sizes.append(path.stat().st_size)
    assert 0 < sizes[0] < sizes[-1] < len(whole)
    step.explore(other, HashPolicy)
    assert path.read_bytes() == whole


def test_candidates_of_other_settings_or_of_another_model_are_not_mixed(tmp_path: Path) -> None:
    class Other(HashPolicy):
        id = "other"

    step.explore(random_run(tmp_path, limit=20), HashPolicy)
    with pytest.raises(RunFolderError, match=r"other settings \(explore.n\)"):
        step.explore(random_run(tmp_path, n=12), HashPolicy)
    with pytest.raises(RunFolderError, match="more candidates"):
        step.explore(random_run(tmp_path, limit=8), HashPolicy)
    with pytest.raises(RunFolderError, match="explored with hash, not other"):
        step.explore(random_run(tmp_path), Other)
    run = random_run(tmp_path, limit=20)
    (adapter := Work(Path(run.out)).stage1 / "adapter").mkdir(parents=True)
    (adapter / "adapter_model.bin").touch()
    with pytest.raises(RunFolderError, match=r"other settings \(adapter"):
        step.explore(run, HashPolicy)


def test_without_an_adapter_the_step_before_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="run `clot tune` first"):
        step.explore(random_run(tmp_path))


def test_a_language_that_the_encoder_does_not_know_is_refused(tmp_path: Path) -> None:
    rows = [*plain(), row(900, "z1", language="zh"), row(901, "z2", language="zh")]
    run = random_run(tmp_path, rows, conditions="weak")
    with pytest.raises(UsageError, match=r"explore.encoder_languages: \d rows are in 'zh'.* made for en"):
        step.explore(run, HashPolicy)
    picture = {"type": "I2T", "question": None, "image": "x.png", "language": "ja"}
    rows = [*plain(), *(row(900 + n, f"p{n}", **picture) for n in range(3))]
    run = random_run(tmp_path / "seen", rows, conditions="weak")
    with pytest.raises(UsageError, match=r"explore.clip.languages: \d rows are in 'ja'"):
        step.explore(run, HashPolicy)


def test_without_any_keyword_the_empty_condition_is_left(tmp_path: Path) -> None:
    rows = [row(n, f"g{n}", text=f"{n}!") for n in range(4)]
    for how in ("weak", "random"):
        run = random_run(tmp_path / how, rows, conditions=how, held_out=0.01)
        assert step.explore(run, HashPolicy)["keywords"] == {"en": 0}
        assert [one.condition for one in lines(run)] == [None] * 4


def test_two_processes_do_not_explore_into_one_file(tmp_path: Path) -> None:
    run = random_run(tmp_path)
    folder = Folder(Work(Path(run.out)).explored("random"))
    with folder, pytest.raises(RunFolderError, match="another process"):
        step.explore(run, HashPolicy)
    step.explore(run, HashPolicy)


@pytest.mark.slow
def test_questions_are_compared_by_sentence_encoder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from lotbench.calls.embeddings import load_encoder

    monkeypatch.setenv("LOTBENCH_HOME", str(tmp_path / "home"))
    animals, tools = "cat dog horse cow goat rabbit", "hammer saw drill wrench nail screw"
    texts = [f"{animals} {tools}" for _ in range(8)]
    rows = [row(n, f"g{n}", text=text, question="What does my puppy eat?") for n, text in enumerate(texts)]
    run = random_run(tmp_path, rows, conditions="weak", n=12, alpha=0, beta=50, held_out=0.01)
    step.explore(run, HashPolicy)
    found = lines(run)
    asked = [one.condition for one in found if one.condition]
    assert set(asked) == set(animals.split()), "the nearer half of the words"
    encoder = load_encoder("minilm")
    for one in found[:6]:
        product = float(encoder([one.condition or ""])[0] @ encoder(["What does my puppy eat?"])[0])
        assert one.similarity == pytest.approx(product, abs=1e-4)


@pytest.mark.slow
def test_ray_writes_what_the_local_engine_writes(tmp_path: Path) -> None:
    tests = Path(__file__).with_name("exploring_on_ray.py")
    command = [sys.executable, "-m", "pytest", "-q", "-m", "slow", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [*command, f"--basetemp={tmp_path / 'ray'}", str(tests)],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    assert "3 passed" in done.stdout, done.stdout[-3000:] + done.stderr[-3000:]
    assert done.returncode == 0, done.stderr[-3000:]
