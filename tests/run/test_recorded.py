"""A run is read with what its folder carries, whatever became of settings, fields and data sets since."""

import asyncio
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lotbench import benchmarks
from lotbench.cli import main
from lotbench.config.experiment import load
from lotbench.run.evaluate import evaluate, resume
from lotbench.run.plan import make
from lotbench.run.recorded import freeze
from lotbench.storage import datasets
from lotbench.storage.run_folder import Folder
from tests.recorded import FOLDER, RUNS, copied, cut_off, episodes, own, players, summary

LOTBENCH = "20261122-0826-lotbench-python-candidate-aa37"
MOVED = {"lotbench": "lotbench_easy", "rinobench": "rinobench_easy"}
"""Data sets that have another name than when the runs were recorded."""
LIVEIDEA = "20261122-0826-liveideabench-python-candidate-2359"
STANDARD = "20261122-0826-standard-python-candidate-4418"


@pytest.fixture
def shelf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The data sets that come with lotbench, as copies that a test may change."""
    place = Path(shutil.copytree(datasets.shipped("data"), tmp_path / "data"))
    shipped = datasets.shipped

    def moved(*parts: str) -> Path:
        path = place.joinpath(*parts[1:]) if parts[0] == "data" else shipped(*parts)
        if not path.exists():
            shipped(*parts, "gone")
        return path

    monkeypatch.setattr(datasets, "shipped", moved)
    return place


def rows(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "samples.jsonl").read_text("utf-8").splitlines()]


def put(folder: Path, table: list[dict[str, Any]]) -> None:
    (folder / "samples.jsonl").write_text("".join(json.dumps(row) + "\n" for row in table), "utf-8")


@pytest.mark.parametrize("url", ["", "http://Proxy.example:8080/v1/"])
def test_run_json_names_each_server_that_is_no_public_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, url: str
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", url)
    roles = {"roles.judge": ["ollama/llama"], "roles.oracle": ["gemini/flash"]}
    with Folder(tmp_path) as place:
        freeze(make(load(None, (), {"model": "gpt-4o-mini", "limit": 1, **roles})), place)
    servers = json.loads((tmp_path / "run.json").read_text("utf-8"))["servers"]
    proxy = {"gpt-4o-mini": "http://proxy.example:8080/v1"} if url else {}
    assert servers == {"ollama/llama": "http://127.0.0.1:11434/v1", **proxy}


def renamed(data: Path) -> None:
    """The set goes on under another name, and other samples with the same names of pictures take its own."""
    data.rename(data.with_name(f"{data.name}_easy"))
    shutil.copytree(data.with_name(f"{data.name}_easy"), data)
    table = [row | {"id": f"new-{row['id']}"} for row in rows(data)]
    put(data, table[len(table) // 2 :])


def grown(data: Path) -> None:
    table = rows(data)
    put(data, [table[-1] | {"id": "put-first"}, *table])


def gone(data: Path) -> None:
    shutil.rmtree(data)


def data_of(name: str) -> str:
    """Where the data set of a recorded run is now."""
    named = str(json.loads((FOLDER / name / "run.json").read_text("utf-8"))["experiment"]["data"])
    return MOVED.get(named, named)


def said(run: Path, capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    capsys.readouterr()
    assert main([*arguments, str(run)]) == 2
    return capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "change"),
    [
        *((name, renamed) for name in RUNS),
        *((name, how) for name in (LOTBENCH, LIVEIDEA, STANDARD) for how in (grown, gone)),
    ],
)
def test_scoring_and_replay_want_no_data_set(
    name: str, change: Callable[[Path], None], tmp_path: Path, shelf: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    change(shelf / data_of(name))
    run = copied(name, tmp_path)
    assert main(["score", str(run)]) == 0
    assert summary(run) == summary(FOLDER / name)
    assert episodes(run) == episodes(FOLDER / name)
    capsys.readouterr()
    assert main(["replay", str(run)]) == 0
    assert capsys.readouterr().out


def test_a_replay_of_a_sample_that_the_run_lacks_names_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = copied(LOTBENCH, tmp_path)
    (run / "samples.jsonl").write_text("", "utf-8")
    assert main(["replay", str(run)]) == 2
    assert "samples.jsonl: has no sample lot-" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["report", "compare"])
@pytest.mark.parametrize(
    ("name", "at", "field", "value"),
    [(LOTBENCH, 0, "guess", ["a"]), (LIVEIDEA, 1, "characters", {}), (STANDARD, -1, "answers", [["a"]])],
)
def test_a_trace_of_another_shape_is_named(
    name: str,
    at: int,
    field: str,
    value: object,
    command: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    run, other = copied(name, tmp_path), copied(name, tmp_path / "b").rename(tmp_path / "other")
    first, *others = (run / "traces.jsonl").read_text("utf-8").splitlines(keepends=True)
    table = json.loads(first)
    del table["crc"]
    (table["score"]["parts"] if at < 0 else table["steps"][at]["value"])[field] = value
    (run / "traces.jsonl").write_text("".join([json.dumps(table) + "\n", *others]), "utf-8")
    assert main([command, str(run), *[str(other)] * (command == "compare")]) == 2
    told = "traces.jsonl: a trace has another shape than its benchmark writes (TypeError in "
    assert told in capsys.readouterr().err


TODAY: dict[str, dict[str, Any]] = {
    "lotbench": {
        "data": "lotbench_easy",
        "samples": ("lot-0001", "lot-0003", "lot-0070"),
        "settings": {"arm": "caption", "max_rounds": 5},
    },
    "liveideabench": {"samples": ("kw-001", "kw-030", "kw-200"), "settings": {"ideas": 2}},
}


@pytest.fixture(scope="module", params=TODAY)
def begun(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    name = request.param
    cast: dict[str, Any] = {**players(name), **TODAY[name], "repeats": 1, "max_failed": 1.0}
    with pytest.MonkeyPatch.context() as patch:
        # What a fast test does without, see `clean_environment`: the report would load torch.
        patch.setattr("lotbench.calls.embeddings.find_spec", lambda package: None)
        return name, asyncio.run(evaluate(name, out=tmp_path_factory.mktemp("whole"), **cast)).path


@pytest.mark.parametrize("change", [renamed, grown, gone])
def test_a_run_begun_today_goes_on_whatever_becomes_of_its_data_set(
    begun: tuple[str, Path], change: Callable[[Path], None], tmp_path: Path, shelf: Path
) -> None:
    benchmark, whole = begun
    run = Path(shutil.copytree(whole, tmp_path / "cut"))
    cut_off(run)
    change(shelf / MOVED.get(benchmark, benchmark))
    asyncio.run(resume(run, own=own(benchmark)))
    assert episodes(run) == episodes(whole)
    assert summary(run)["scores"] == summary(whole)["scores"]
    assert keys(run) <= keys(whole)


def keys(run: Path) -> set[str]:
    """The calls of a run, without those of the connection test."""
    table = [json.loads(line)["key"] for line in (run / "calls.jsonl").read_text("utf-8").splitlines()]
    return {json.dumps(key) for key in table if "preflight" not in json.dumps(key)}


def call_with_a_picture(run: Path, capsys: pytest.CaptureFixture[str]) -> str:
    key = next(
        step["call"]
        for episode in episodes(run)
        for step in episode["steps"]
        if step["role"] == "candidate" and step["step"] == "respond"
    )
    capsys.readouterr()
    assert main(["show", str(run), "--call", str(key)]) == 0
    return capsys.readouterr().out


@pytest.mark.parametrize("change", [renamed, gone])
def test_what_was_sent_is_shown_whatever_becomes_of_the_data_set(
    change: Any, tmp_path: Path, shelf: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = copied(LOTBENCH, tmp_path)
    before = call_with_a_picture(run, capsys)
    change(shelf / "lotbench_easy")
    assert "[picture " in before
    assert call_with_a_picture(run, capsys) == before


def test_a_sample_changed_in_the_run_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = copied(LOTBENCH, tmp_path)
    table = rows(run)
    table[0]["explanation"] = "another"
    put(run, table)
    assert "changed since the run began: data, samples.jsonl\n" in said(run, capsys, "score")


def test_a_changed_prompt_refuses_and_a_changed_pack_elsewhere_does_not(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pack = Path(
        shutil.copytree(Path(benchmarks.__file__).parent / "rinobench" / "prompts", tmp_path / "pack")
    )
    cast: dict[str, Any] = {
        **players("rinobench"),
        "data": "rinobench_easy",
        "samples": ("rin-001",),
        "prompts": str(pack),
    }
    run = asyncio.run(evaluate("rinobench", out=tmp_path / "runs", **cast)).path
    for path in pack.glob("en/*.txt"):
        path.write_text(path.read_text("utf-8") + "Be quick.\n", "utf-8")
    assert main(["score", str(run)]) == 0
    prompt = run / "prompts" / "en" / "respond.txt"
    prompt.write_text(prompt.read_text("utf-8") + "Be quick.\n", "utf-8")
    assert "changed since the run began: prompts, prompts.en/respond.txt\n" in said(run, capsys, "score")
