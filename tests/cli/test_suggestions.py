"""What the command line says of a name that it does not know, and of flags that are called otherwise."""

import json
import re
from pathlib import Path
from unittest.mock import Mock

import pytest

from lotbench.cli import main
from lotbench.cli.parser import parser
from lotbench.storage import datasets
from tests.pages import parsers

ROWS = Path(__file__).parents[1].joinpath("cases", "suggestions.jsonl").read_text("utf-8").splitlines()
"""Commands that are refused, and what is said of each."""


@pytest.mark.parametrize("row", [json.loads(row) for row in ROWS], ids=str)
def test_what_may_be_meant_is_said(
    row: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    place = tmp_path / "runs" / "20261122-1744-lotbench-ace-1b2b"
    place.mkdir(parents=True)
    (place / "run.json").write_text("{}", encoding="utf-8")
    try:
        code: object = main(row["command"].split())
    except SystemExit as ended:
        code = ended.code
    assert code == 2
    assert row["told"] in capsys.readouterr().err


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
    [*(f"{one} {'x' * 300}" for one in ("evaluate --config", "evaluate --data", "show")), "data import oogiri-go FILE OUT"],
)  # fmt: skip
def test_an_unusable_file_is_named(command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "FILE").touch()
    words = [str(tmp_path / word) if word in ("FILE", "OUT") else word for word in command.split()]
    assert main(words) == 2
    assert re.match(r"lotbench: .*(x{300}|FILE)", capsys.readouterr().err)


def test_an_error_of_the_system_without_a_file_is_a_bug(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(datasets, "data_sets", Mock(side_effect=OSError(5, "odd")))
    with pytest.raises(OSError, match="odd"):
        main(["data", "list"])
