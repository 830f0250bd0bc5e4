"""What the command line says of a name that it does not know, and of flags that are called otherwise."""

from __future__ import annotations

import re
from pathlib import Path
from unittest.mock import Mock

import pytest

from lotbench.cli import main
from lotbench.cli.parser import parser
from lotbench.storage import datasets
from tests.pages import parsers


@pytest.mark.parametrize(
    ("command", "told"),
    [
        ("evalute", "there is no evalute; did you mean evaluate?"),
        ("evaluate --modle x", "no flag --modle; did you mean --model?"),
        ("evaluate --modle=x", "no flag --modle; did you mean --model?"),
        ("evaluate lotbnch --model human", "did you mean lotbench?"),
        ("evaluate --model human --set max_round=3", "did you mean max_rounds?"),
        ("evaluate --model human --set sede=3", "settings.sede: unknown key"),
        ("evaluate --model human --data lotbench_eazy", "did you mean lotbench_easy?"),
        ("report 20261122-1744-lotbench-ace-1b2", "did you mean 20261122-1744-lotbench-ace-1b2b?"),
        ("score latest --out runs", "no flag --out; it is --runs here"),
        ("report latest --out x.csv", "the report is written into the folder of the run"),
        ("report latest --format html", "report.html and report.md are written into"),
        ("compare a b --to c", "no flag --to; it is --out here"),
        ("evaluate --model human --arm caption", "no flag --arm: it is a setting, --set arm=caption"),
        ("export latest --format csv", "the file's name says it, --out NAME.csv"),
        ("evaluate --model m@127.0.0.1:8000", "begins with http://: m@http://127.0.0.1:8000/v1"),
        (
            "evaluate --model human --config paper/lotbnch",
            "no such file; did you mean paper/lotbench? There are: ",
        ),
        ("evaluate --model human --data lotbench_easy --sample lot-9", "did you mean lot-0009?"),
        ("evaluate --model opena/gpt-4o", "unknown provider 'opena'; did you mean openai? There are: "),
        ("evaluate gpt-4o-mini", "(a model goes after --model)"),
        ("show latest", "is a run: lotbench replay latest tells a game of it"),
        ("show latest", "latest: runs/20261122-1744-lotbench-ace-1b2b"),
        ("replay latst", "did you mean latest?"),
        ("play", "a person needs a terminal"),
        (
            "evaluate --model local --limit 1",
            "local reads text only: to play without pictures, --set arm=caption",
        ),
        ("evaluate --model local --limit 1", "OPENAI_API_KEY is not set"),
        ("evaluate --model local --limit 1", "lotbench evaluate --config try"),
        ("evaluate --fresch", "usage: lotbench evaluate --help"),
        ("view --port 80808", "'80808' is no port: 0 (a free one) to 65535"),
        ("play --browser --port -5", "is no port"),
        ("data review x --port http", "'http' is no port"),
    ],
)
def test_what_may_be_meant_is_said(
    command: str,
    told: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    place = tmp_path / "runs" / "20261122-1744-lotbench-ace-1b2b"
    place.mkdir(parents=True)
    (place / "run.json").write_text("{}", encoding="utf-8")
    try:
        code: object = main(command.split())
    except SystemExit as ended:
        code = ended.code
    assert code == 2
    assert told in capsys.readouterr().err


def test_out_is_where_results_are_put_in_every_command() -> None:
    """What a command only reads of runs is looked for in --runs."""
    flags = {
        f"{one.prog}": action.help
        for one in parsers(parser())
        for action in one._actions
        if "--out" in action.option_strings
    }
    assert not {name for name in flags if name.split()[1] in ("resume", "score", "report", "replay", "show")}
    assert flags and not any("runs_folder" in (about or "") for about in flags.values())


@pytest.mark.parametrize(
    "command",
    [
        f"evaluate --config {'x' * 300}",
        f"evaluate --data {'x' * 300}",
        f"show {'x' * 300}",
        "data import oogiri-go FILE OUT",
    ],
)
def test_a_file_that_cannot_be_used_is_named(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "FILE").touch()
    words = [str(tmp_path / word) if word in ("FILE", "OUT") else word for word in command.split()]
    assert main(words) == 2
    assert re.match(r"lotbench: .*(x{300}|FILE)", capsys.readouterr().err)


def test_an_error_of_the_system_without_a_file_is_a_bug(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(datasets, "data_sets", Mock(side_effect=OSError(5, "odd")))
    with pytest.raises(OSError, match="odd"):
        main(["data", "list"])
