"""Run folders and files that somebody else wrote: refused by file and field, never with a traceback."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lotbench.cli import main
from lotbench.errors import RunFolderError
from lotbench.run.folder_shapes import later, read_checks
from lotbench.site.runs import Gallery
from tests.recorded import copied, recorded

DEEP = "[" * 100_000


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return copied(recorded("hicbench"), tmp_path)


def changed(file: Path, change: Callable[[dict[str, Any]], object]) -> None:
    table = json.loads(file.read_text("utf-8"))
    change(table)
    file.write_text(json.dumps(table), "utf-8")


OTHER = "of another lotbench, this one reads 2"
RUN_JSON: dict[str, tuple[Callable[[dict[str, Any]], object], str]] = {
    "no digests": (lambda table: table.pop("digests"), "run.json: digests: Field required"),
    "digests of a list": (lambda table: table.update(digests=[1]), "run.json: digests: "),
    "no data's digest": (
        lambda table: table["digests"].pop("data"),
        "run.json: digests.data: Field required",
    ),
    "no experiment": (lambda table: table.pop("experiment"), "run.json: experiment: Field required"),
    "limits that are none": (lambda table: table.update(limits=3), "run.json: limits: "),
    "the schema of lotbench 0.1": (lambda table: table.update(schema=1), f"run.json: schema 1 {OTHER}"),
    "a later schema": (lambda table: table.update(schema=3), f"run.json: schema 3 {OTHER}"),
    "no schema that there is": (lambda table: table.update(schema="x"), "run.json: schema 'x' of another "),
    "a later version": (lambda table: table.update(version="99"), "was begun with version 99 of hicbench"),
    "a version that is no text": (lambda table: table.update(version=99), "run.json: version: "),
}
SUMMARY: dict[str, tuple[Callable[[dict[str, Any]], object], str]] = {
    "scores of a list": (lambda table: table.update(scores=[1]), "summary.json: scores: "),
    "a score that is a number": (lambda table: table["scores"].update(ifs=0.5), "summary.json: scores.ifs: "),
    "a value that is a text": (
        lambda table: table["scores"]["ifs"].update(value="high"),
        "summary.json: scores.ifs.value: ",
    ),
    "models of a text": (lambda table: table.update(models="ember"), "summary.json: models: "),
    "reasons that are a text": (lambda table: table.update(reasons="none"), "summary.json: reasons: "),
    "a later schema": (lambda table: table.update(schema=3), f"summary.json: schema 3 {OTHER}"),
}


@pytest.mark.parametrize("name", RUN_JSON)
@pytest.mark.parametrize("command", ["score", "resume"])
def test_a_run_json_that_cannot_be_gone_by_is_refused_by_field(
    name: str, command: str, run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    change, said = RUN_JSON[name]
    changed(run / "run.json", change)
    assert main([command, str(run)]) == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize("name", SUMMARY)
def test_a_summary_that_cannot_be_gone_by_hides_no_other_run(
    name: str, run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = Path(shutil.copytree(run, run.parent / "20260101-0000-other"))
    change, said = SUMMARY[name]
    changed(run / "summary.json", change)
    page = Gallery(run.parent).get("index.html").body.decode()
    assert f'href="run/{other.name}.html"' in page and f'href="run/{run.name}.html"' not in page
    assert said.split(": ")[-2] in page
    assert main(["report", str(run)]) == 2
    assert said in capsys.readouterr().err


def test_what_is_nested_too_deep_is_refused_in_a_line(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (run / "summary.json").write_text('{"scores": ' + DEEP, "utf-8")
    assert main(["report", str(run)]) == 2
    assert "summary.json: damaged: recursion limit exceeded" in capsys.readouterr().err
    (tmp_path / "deep.toml").write_text(f"settings = {DEEP}", "utf-8")
    assert main(["evaluate", "--config", str(tmp_path / "deep.toml"), "--dry-run"]) == 2
    assert "deep.toml: nested too deep" in capsys.readouterr().err
    assert main(["evaluate", "--model", "human", "--set", f"max_rounds={DEEP}"]) == 2
    assert "max_rounds" in capsys.readouterr().err
    (tmp_path / "deep.json").write_text(DEEP, "utf-8")
    given = [f"--model=file:{tmp_path / 'deep.json'}", "--judge=a@http://127.0.0.1:9/v1"]
    assert main(["evaluate", "hicbench", *given, "--out", str(tmp_path / "made")]) == 2
    assert "deep.json:1: neither a line of calls.jsonl" in capsys.readouterr().err


@pytest.mark.parametrize("line", ["3", "[]", "{", '{"row": 1}', DEEP])
def test_labels_in_a_folder_that_are_none_are_refused_by_line(
    line: str, run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (run / "labels.jsonl").write_text(line + "\n", "utf-8")
    assert main(["report", str(run)]) == 2
    assert "labels.jsonl:1: " in capsys.readouterr().err


@pytest.mark.parametrize("line", ["3", '{"prompt": "no id"}', "{"])
def test_samples_in_a_folder_that_are_none_are_refused_by_line(
    line: str, run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = run / "samples.jsonl"
    file.write_text(line + "\n" + file.read_text("utf-8"), "utf-8")
    for command in ("score", "report", "resume"):
        assert main([command, str(run)]) == 2, command
        assert "samples.jsonl:1: " in capsys.readouterr().err


@pytest.mark.parametrize(
    ("version", "known", "is_later"),
    [
        ("2", "2", False), ("1", "2", False), ("3", "2", True), ("10", "9", True), ("1.4", "1.10", False),
        ("", "2", False), ("9" * 5000, "2", True),
    ],
)  # fmt: skip
def test_a_later_version(version: str, known: str, is_later: bool) -> None:
    assert later(version, known) is is_later


@pytest.mark.parametrize(
    "text",
    [
        '{"schema": 2}',
        '{"schema": 2, "records": 5}',
        '{"schema": 2, "records": [5]}',
        '{"schema": 2, "records": [{}]}',
        '{"schema": 2, "records": [{"key": {"models": 5}}]}',
    ],
)
def test_checks_of_judges_that_are_none_are_named(text: str, tmp_path: Path) -> None:
    """A report of such a run ended in a KeyError."""
    (tmp_path / "judge.json").write_text(text)
    with pytest.raises(RunFolderError, match=r"judge\.json: records"):
        read_checks(tmp_path)


RATE = {"value": 0.1, "low": 0.0, "high": 0.2, "hits": 1, "n": 10}
STRATUM = {"accepted": True, "size": 2, "labelled": 1, "true": 1}
CHECK: dict[str, Any] = {
    "key": {"role": "judge", "models": ["m"]},
    "names": ["m"],
    "set": {"data": "d", "shipped": True, "limit": None},
    "groups": {"all": {"fpr": RATE, "fnr": RATE, "kappa": RATE}},
    "unreadable": 0,
    "of": 10,
    "field": [{"run": "r", "played": "p", "strata": [STRATUM], "labels": [["s", 1, 1, True]]}],
    "chains": {"samples": 1, "chains": 2, "changed": [0, 1], "accepted": [[[0.5, 0.5], [0.5, 0]]]},
}


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("groups", "all", "kappa"), "x"), (("groups", "all", "fpr", "value"), "x"),
        (("groups", "all", "fpr", "value"), float("nan")), (("groups", "all", "fpr", "high"), 10**30),
        (("groups", "all", "fnr", "n"), None), (("unreadable",), "x"), (("of",), -1), (("set",), []),
        (("field", 0, "strata", 0, "true"), 2), (("field", 0, "strata", 0, "size"), 10**400),
        (("field", 0, "labels", 0), [1]), (("field", 0, "people"), [RATE]), (("chains", "changed"), [1]),
        (("chains", "accepted"), [[[0.5, 0.5]], [[0.5, 0.5]] * 2]), (("key", "criterion"), []),
    ],
)  # fmt: skip
def test_a_checks_number_that_is_none_is_named(path: tuple[Any, ...], value: object, tmp_path: Path) -> None:
    """A report of such a run ended in a TypeError."""
    table: Any = json.loads(json.dumps({"schema": 2, "records": [CHECK]}))
    (tmp_path / "judge.json").write_text(json.dumps(table))
    assert read_checks(tmp_path)
    place = table["records"][0]
    for name in path[:-1]:
        place = place[name]
    place[path[-1]] = value
    (tmp_path / "judge.json").write_text(json.dumps(table))
    with pytest.raises(RunFolderError, match=r"judge\.json"):
        read_checks(tmp_path)
