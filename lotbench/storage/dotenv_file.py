"""The `.env` file of the working folder, which may hold keys and addresses.

Only the file of the working folder itself is read, and only variables that lotbench uses. A file that came with a
cloned repository must not control this process, and must not send a key of the environment to another address.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from lotbench.errors import UsageError

OURS = re.compile(r"[A-Z0-9_]+_API_KEY|OPENAI_BASE_URL|LOTBENCH_SERVE_KEY")


def read_env_file(folder: Path) -> list[str]:
    """Set the variables of `.env` that the environment does not have, and return their names.

    Raises:
        UsageError: The file is not text, sets an address for a key that stands only in the environment, or sets a LOTBENCH_
            variable that is neither a key nor an address.
    """
    path = folder / ".env"
    if not path.is_file():
        return []
    # Imported late: every command calls this function, and most find no file.
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
