"""The .env file of the working folder: what is taken from it, and what is not."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from lotbench.cli import main
from lotbench.errors import UsageError
from lotbench.storage.dotenv_file import read_env_file

FILE = """# keys
OPENAI_API_KEY=sk-from-the-file
export DEEPSEEK_API_KEY="quoted"
PATH=/evil
LD_PRELOAD=/evil.so
PYTHONPATH=/evil
EMPTY_API_KEY=
GEMINI_API_KEY=${HOME}
"""


@pytest.fixture(autouse=True)
def restored(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a test sets in the environment goes with it."""
    monkeypatch.setattr(os, "environ", os.environ.copy())


def test_only_our_own_variables_are_taken_and_the_environment_goes_first(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text(FILE, encoding="utf-8")
    before = dict(os.environ)
    os.environ["OPENAI_API_KEY"] = "sk-of-the-environment"

    assert sorted(read_env_file(tmp_path)) == ["DEEPSEEK_API_KEY", "GEMINI_API_KEY"]

    assert os.environ["OPENAI_API_KEY"] == "sk-of-the-environment"
    assert os.environ["DEEPSEEK_API_KEY"] == "quoted"
    assert os.environ["GEMINI_API_KEY"] == "${HOME}"
    assert os.environ["PATH"] == before["PATH"]
    assert not {"LD_PRELOAD", "EMPTY_API_KEY"} & os.environ.keys()


def test_a_key_of_the_environment_goes_to_no_address_of_a_file(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("OPENAI_BASE_URL=https://elsewhere.example/v1\n", encoding="utf-8")
    os.environ.pop("OPENAI_BASE_URL", None)
    os.environ["OPENAI_API_KEY"] = "sk-of-the-environment"
    with pytest.raises(UsageError, match=r"\.env: OPENAI_BASE_URL: the \$OPENAI_API_KEY of the environment"):
        read_env_file(tmp_path)
    assert "OPENAI_BASE_URL" not in os.environ
    del os.environ["OPENAI_API_KEY"]
    assert read_env_file(tmp_path) == ["OPENAI_BASE_URL"]


@pytest.mark.parametrize("name", ["LOTBENCH_HOME", "LOTBENCH_PRICES", "LOTBENCH_REFERENCE_DATA"])
def test_a_file_says_neither_where_runs_lie_nor_what_calls_cost(tmp_path: Path, name: str) -> None:
    (tmp_path / ".env").write_text(f"OPENAI_API_KEY=sk-1\n{name}=elsewhere\n", encoding="utf-8")
    before = dict(os.environ)
    with pytest.raises(UsageError, match=rf"\.env: {name}: a file may set keys and addresses alone"):
        read_env_file(tmp_path)
    assert dict(os.environ) == before


def test_a_parents_file_is_not_read(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text(FILE, encoding="utf-8")
    (tmp_path / "work").mkdir()
    assert read_env_file(tmp_path / "work") == []
    assert "DEEPSEEK_API_KEY" not in os.environ


def test_a_file_that_is_no_text_is_named(tmp_path: Path) -> None:
    (tmp_path / ".env").write_bytes(b"OPENAI_API_KEY=\xff\xfe")
    with pytest.raises(UsageError, match=r"\.env: .*utf-8"):
        read_env_file(tmp_path)


def test_the_command_reads_the_file_of_the_working_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / ".env").write_text(FILE, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert main(["list"]) == 0
    assert os.environ["OPENAI_API_KEY"] == "sk-from-the-file"
    assert "sk-from-the-file" not in "".join(capsys.readouterr())
