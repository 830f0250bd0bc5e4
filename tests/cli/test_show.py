"""`lotbench show` prints the prompts of a benchmark as a configuration has them."""

import subprocess
import sys
from pathlib import Path

import pytest

from lotbench.cli import main
from tests.pages import ROOT

PRESETS = sorted(path.stem for path in (ROOT / "configs/paper").glob("*.toml") if path.stem != "clot")


@pytest.mark.parametrize("preset", PRESETS)
def test_the_prompts_of_a_preset_are_shown(preset: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", "--config", f"paper/{preset}"]) == 0
    assert "=== respond, to the candidate" in capsys.readouterr().out


def test_settings_of_a_file_are_those_of_prompts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "mine.toml"
    file.write_text('benchmark = "hicbench"\n[settings]\nstrategy = "rag"\nanswer_tokens = 33\n', "utf-8")
    assert main(["show", "--config", str(file)]) == 0
    shown = capsys.readouterr().out
    assert "no more than 33 tokens" in shown and "Facts: A nitrogen atom" in shown
    assert main(["show", "hicbench", "--config", str(file), "--set", "answer_tokens=44"]) == 0
    assert "no more than 44 tokens" in capsys.readouterr().out


ENTRY = """
import logging, sys, warnings
from lotbench.cli import main
sys.argv = ["lotbench", "list"]
main()
for name in ("a_library", "lotbench.models"):
    warnings.warn_explicit(f"warning of {name}", UserWarning, "file.py", 1, module=name)
    logging.getLogger(name).warning("log of " + name)
"""


@pytest.mark.parametrize(
    ("flags", "shown"),
    [
        ([], {"warning of lotbench.models", "log of lotbench.models"}),
        (
            ["-Wdefault"],
            {f"{kind} of {name}" for kind in ("warning", "log") for name in ("a_library", "lotbench.models")},
        ),
    ],
)
def test_libraries_are_quiet_on_the_console_and_we_are_not(flags: list[str], shown: set[str]) -> None:
    done = subprocess.run([sys.executable, *flags, "-c", ENTRY], capture_output=True, text=True, check=True)
    said = {line.rpartition(": ")[2] for line in done.stderr.splitlines() if " of " in line}
    assert {line for line in said if line.startswith(("warning of", "log of"))} == shown
