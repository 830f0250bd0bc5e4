"""Answers out of logs of inspect_ai, as recordings: each at the place where the benchmark asks for it."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from lotbench import benchmarks
from lotbench.cli import main
from lotbench.edge.files import datasets
from lotbench.run.evaluate import evaluate_sync
from lotbench.run.results import Run
from tests.fakes import RuleModel
from tests.rules import game_rule

JUDGMENT = {
    "reasoning": "It joins two known parts in a way that the related works do not have.",
    "novelty_score": 4,
}


def items(benchmark: str) -> list[Any]:
    declared = benchmarks.get(benchmark)
    return datasets.samples(datasets.data_folder("", declared.data_set), declared.Item)


def logged(number: object, epoch: int, asked: str, *answers: str, **more: Any) -> dict[str, Any]:
    """A sample as inspect logs it."""
    messages = [{"role": "user", "content": asked}]
    messages += [{"role": "assistant", "content": [{"type": "text", "text": one}]} for one in answers]
    choice = {"message": messages[-1], "stop_reason": "stop"}
    output = {
        "model": "gpt-x-2026",
        "choices": [choice],
        "usage": {"input_tokens": 7, "output_tokens": 5},
        "time": 2.5,
    }
    return {"id": number, "epoch": epoch, "input": asked, "messages": messages, "output": output} | more


def written(path: Path, samples: list[dict[str, Any]]) -> Path:
    """A log, as a zip or as JSON by its name."""
    head = {"version": 2, "status": "success", "eval": {"task": "theirs", "model": "openai/gpt-x"}}
    if path.suffix == ".json":
        path.write_text(json.dumps(head | {"samples": samples}), encoding="utf-8")
        return path
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as log:
        for one in samples:
            log.writestr(f"samples/{one['id']}_epoch_{one['epoch']}.json", json.dumps(one))
        log.writestr("header.json", json.dumps(head))
    return path


def replayed(dest: Path, judges: int, folder: Path) -> Run:
    """A run that replays a recording, with judges by rule."""
    seats = []
    for seat in range(judges):
        seats.append(RuleModel(game_rule(seed=seat), model_id=f"judge-{seat}"))
        seats[-1].__name__ = f"judge-{seat}"  # type: ignore[attr-defined]
    return evaluate_sync(
        config_file=dest / "evaluate.toml", roles={"judge": seats}, out=folder, check=False, max_failed=1.0
    )


def imported(log: Path, dest: Path, benchmark: str, *flags: str) -> None:
    assert main(["data", "import", "inspect", str(log), str(dest), "--benchmark", benchmark, *flags]) == 0


def said(run: Run, step: str, key: str) -> dict[str, list[Any]]:
    """What the steps of a name were read as, by sample and repeat."""
    return {
        f"{trace.sample}/{trace.repeat}": [one["value"][key] for one in trace.steps if one["step"] == step]
        for trace in run.traces
    }


@pytest.mark.parametrize("name", ["log.eval", "log.json"])
def test_judgments_of_ideas_find_their_idea_by_what_the_prompt_quotes(name: str, tmp_path: Path) -> None:
    ideas = items("rinobench")[:3]
    assert any(
        one.research_idea == ideas[0].research_idea for one in items("rinobench") if one.id != ideas[0].id
    )
    rows = [
        logged(
            number,
            epoch,
            "\n".join(["Rate this.", one.research_idea.told(), *(work.title for work in one.related_works)]),
            json.dumps(JUDGMENT | {"novelty_score": epoch}),
        )
        for number, one in enumerate(ideas, 1)
        for epoch in (2, 1)
    ]
    dest = tmp_path / "answers"
    imported(written(tmp_path / name, rows), dest, "rinobench")
    run = replayed(dest, 1, tmp_path / "runs")
    assert run.config.repeats == 2
    assert said(run, "respond", "novelty_score") == {
        f"{one.id}/{epoch}": [epoch] for one in ideas for epoch in (1, 2)
    }
    assert run.summary["models"]["candidate"] == ["gpt-x-2026"]


def test_answers_in_one_log_are_draws_or_turns_of_a_walk(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    task = items("hicbench")[0]
    answers = [f"Answer number {number} to the task." for number in range(4)]
    # Three turns of one conversation and one of another epoch, of which the settings ask for three.
    rows = [
        logged("x", 1, f"{task.question} Once more?", *answers[:3]),
        logged("x", 2, task.question, answers[3]),
    ]
    imported(written(tmp_path / "log.eval", rows), tmp_path / "hic", "hicbench", "--set", "answers=3")
    assert "not taken: 1 answers, more than the settings ask for" in capsys.readouterr().out
    run = replayed(tmp_path / "hic", 2, tmp_path / "runs")
    assert said(run, "respond", "answer") == {f"{task.id}/1": answers[:3]}


def test_a_keyword_is_known_as_a_word_and_the_longest_wins(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = {one.keyword: one.id for one in items("liveideabench")}
    first, second = list(words)[:2]
    rows = [
        logged(1, 1, f"Your keyword is *{first}*.", "An idea of one kind."),
        logged(1, 2, f"Your keyword is *{first}*.", "An idea of another kind."),
        logged(2, 1, f"{second}s are no keyword, nor is un{second}", "Nothing."),
        logged(3, 1, f"{first} or {second}", "Broken.", error={"message": "no more"}),
        logged(4, 1, "nothing of ours", "Nothing."),
        logged(5, 1, first, ""),
    ]
    imported(written(tmp_path / "log.json", rows), tmp_path / "ideas", "liveideabench", "--set", "ideas=2")
    told = capsys.readouterr().out
    assert "not taken: 2 samples that quote none of the data set" in told
    assert "not taken: 1 samples that broke off" in told and "not taken: 1 samples without an answer" in told
    assert "2 answers of openai/gpt-x to 1 samples of liveideabench" in told
    run = replayed(tmp_path / "ideas", 3, tmp_path / "runs")
    assert said(run, "respond", "idea") == {
        f"{words[first]}/1": ["An idea of one kind.", "An idea of another kind."]
    }


@pytest.mark.parametrize(
    ("flags", "content", "why"),
    [
        (["--benchmark", "lotbench"], None, "each round of a game hangs on the one before"),
        ([], None, "--benchmark NAME says whose samples"),
        (
            ["--benchmark", "rinobench"],
            None,
            "no sample of it is one of rinobench: 1 samples that quote none",
        ),
        (["--benchmark", "rinobench"], "[]", "eval.model: not a log of inspect_ai"),
        (
            ["--benchmark", "rinobench"],
            '{"eval": {"model": "m"}, "samples": [{"id": 1}]}',
            "samples[1]: no sample of a log",
        ),
        (["--benchmark", "rinobench"], "PK nothing", "log.json"),
    ],
)
def test_what_cannot_be_imported_is_said(
    flags: list[str], content: str | None, why: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = written(tmp_path / "log.json", [logged(1, 1, "nothing of ours", "Nothing.")])
    if content is not None:
        log.write_text(content, encoding="utf-8")
    assert main(["data", "import", "inspect", str(log), str(tmp_path / "out"), *flags]) == 2
    assert why in capsys.readouterr().err


def test_a_packed_file_that_is_too_large_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("lotbench.edge.importers.inspect_logs.MOST", 2_000)
    log = written(tmp_path / "log.eval", [logged(1, 1, "a" * 3_000, "Nothing.")])
    assert (
        main(["data", "import", "inspect", str(log), str(tmp_path / "out"), "--benchmark", "rinobench"]) == 2
    )
    assert "more than 2,000" in capsys.readouterr().err


def judgment(number: int, epoch: int, score: int) -> dict[str, Any]:
    """A judgment of an idea of ours, named by its id."""
    return logged(
        items("rinobench")[number].id, epoch, "Rate this.", json.dumps(JUDGMENT | {"novelty_score": score})
    )


def test_a_sample_that_was_taken_again_counts_once(tmp_path: Path) -> None:
    log = written(tmp_path / "log.eval", [judgment(0, 1, 2)])
    with zipfile.ZipFile(log, "a") as packed, pytest.warns(UserWarning, match="Duplicate name"):
        again = judgment(0, 1, 5)
        packed.writestr(f"samples/{again['id']}_epoch_1.json", json.dumps(again))
    imported(log, tmp_path / "out", "rinobench")
    run = replayed(tmp_path / "out", 1, tmp_path / "runs")
    assert said(run, "respond", "novelty_score") == {f"{items('rinobench')[0].id}/1": [5]}


def test_answers_to_the_prompts_of_others_are_not_trusted(tmp_path: Path) -> None:
    imported(written(tmp_path / "log.json", [judgment(0, 1, 2)]), tmp_path / "out", "rinobench")
    run = replayed(tmp_path / "out", 1, tmp_path / "runs")
    assert any("recording" in reason for reason in run.summary["reasons"])


def spoilt(log: Path, how: str) -> None:
    """Damage a log as disks, transfers and other programs do."""
    raw = bytearray(log.read_bytes())
    if how == "deflated":
        at = raw.index(b"epoch_1.json") + len(b"epoch_1.json")
        raw[at : at + 6] = b"\xff" * 6
    flag = {"locked": (8, 1), "packed": (10, 9)}.get(how)
    if flag is not None:
        place = raw.index(b"PK\x01\x02") + flag[0]
        raw[place] |= flag[1]
    log.write_bytes(raw)


@pytest.mark.parametrize("how", ["deflated", "locked", "packed"])
def test_a_damaged_zip_is_named(how: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = written(tmp_path / "log.eval", [judgment(0, 1, 2)])
    spoilt(log, how)
    assert (
        main(["data", "import", "inspect", str(log), str(tmp_path / "out"), "--benchmark", "rinobench"]) == 2
    )
    assert "log.eval: samples/" in capsys.readouterr().err


@pytest.mark.parametrize("samples", [5, {"a": 1}, "x"])
def test_samples_that_are_no_list_are_no_samples(
    samples: object, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "log.json"
    log.write_text(json.dumps({"eval": {"model": "m"}, "samples": samples}), encoding="utf-8")
    assert (
        main(["data", "import", "inspect", str(log), str(tmp_path / "out"), "--benchmark", "rinobench"]) == 2
    )
    assert "samples: not a list" in capsys.readouterr().err
