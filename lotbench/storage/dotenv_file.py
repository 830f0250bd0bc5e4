"""The `.env` file of the working folder: keys and addresses, for who does not keep them in the environment.

Only the working folder's own file is read, never one of a parent or of a data set, and only variables that
lotbench itself looks at: a file that came along with somebody's repository must not steer this process, nor have a key
of the environment sent to an address of its own.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from lotbench.errors import UsageError

OURS = re.compile(r"[A-Z0-9_]+_API_KEY|OPENAI_BASE_URL|LOTBENCH_SERVE_KEY")


def read_env_file(folder: Path) -> list[str]:
    """Set the variables of `.env` that the environment does not have.

    Returns:
        The names of those that were set.

    Raises:
        UsageError: The file is no text, names an address for a key that it does not hold, or sets another variable of
            ours: where runs and prices lie is for who starts the process to say.
    """
    path = folder / ".env"
    if not path.is_file():
        return []
    # Imported when there is something to read: every command passes here.
    from dotenv import dotenv_values

    try:
        variables = dotenv_values(path, interpolate=False, encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: {error}") from None
    others = [name for name in variables if not OURS.fullmatch(name)]
    if foreign := sorted(name for name in others if name.startswith("LOTBENCH_")):
        raise UsageError(
            f"{path}: {foreign[0]}: a file may set keys and addresses alone; set it in the environment"
        )
    own = {name: value for name, value in variables.items() if value and name not in others}
    new = [name for name in own if name not in os.environ]
    if "OPENAI_BASE_URL" in new and os.environ.get("OPENAI_API_KEY"):
        raise UsageError(
            f"{path}: OPENAI_BASE_URL: the $OPENAI_API_KEY of the environment would go to an address out of a file; "
            "put both into the file, or both into the environment"
        )
    os.environ.update({name: own[name] or "" for name in new})
    return new
