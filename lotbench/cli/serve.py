"""`lotbench serve`: an OpenEnv server of the game on the loopback address, for training code."""

import argparse
import os
import secrets
import sys
from importlib.util import find_spec
from pathlib import Path

from lotbench.cli.evaluate import configuration, interruptible
from lotbench.environment.games import Outside, opened
from lotbench.errors import UsageError, install_hint

KEY = "LOTBENCH_SERVE_KEY"
"""The environment variable with the server's key; without it each start draws a new key."""


def serve(parsed: argparse.Namespace) -> None:
    """Carry out `lotbench serve`: serve games until Ctrl-C.

    Raises:
        UsageError: openenv is not installed, or the configuration is invalid.
    """
    if find_spec("openenv") is None:
        raise UsageError(f"serving games needs openenv: {install_hint('openenv')}, without constraints.txt")
    from lotbench.environment.openenv_server import serve_environment

    config = configuration(parsed)
    own_key = os.environ.get(KEY, "").strip()
    key = own_key or secrets.token_urlsafe(24)
    folder = Path(parsed.folder) if parsed.folder else None

    async def main() -> None:
        outside = Outside(config.experiment.model.removeprefix("python:"))
        async with opened(
            config, outside, {}, folder, Path(parsed.out), fresh=parsed.fresh, check=not parsed.no_preflight
        ) as games:
            print(f"{len(games.samples)} samples; games are kept in {games.path}", file=sys.stderr)

            def ready(address: str) -> None:
                key_line = "" if own_key else f"\nkey {key}"
                print(f"serving {address}{key_line}\nend with Ctrl-C", flush=True)

            await serve_environment(games, parsed.port, key, ready, parsed.sessions)

    try:
        interruptible(main())
    except KeyboardInterrupt:
        print()
