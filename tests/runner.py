"""A run in a process of its own, to be killed.

python -m tests.runner begin URL OUT
python -m tests.runner dynamic URL OUT
python -m tests.runner resume RUN
python -m tests.runner cli ARGUMENTS OF lotbench
"""

import asyncio
import signal
import sys
from pathlib import Path
from typing import Any

CONCURRENCY = 6


async def _main(what: str, place: str, out: str = "") -> None:
    from lotbench.run.evaluate import evaluate, resume
    from tests.playing import play

    if what == "begin":
        fields: dict[str, Any] = {"limit": 4, "repeats": 2, "settings": {"max_rounds": 6}}
        await play(place, Path(out), concurrency=CONCURRENCY, **fields)
    elif what == "dynamic":
        await evaluate(
            "hicbench",
            model=f"c@{place}",
            roles={"judge": [f"j@{place}", f"k@{place}"], "dhp_judge": f"d@{place}"},
            out=out,
            limit=8,
            concurrency=CONCURRENCY,
            repeats=2,
            settings={"answers": 3, "dhp": True},
        )
    else:
        await resume(place, concurrency=CONCURRENCY)


if __name__ == "__main__":
    # Whoever started the tests in the background had them ignore Ctrl-C, and children inherit that.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    # An encoder takes longer to load than a run to end, and no test of these processes looks at embeddings.
    sys.modules["sentence_transformers"] = None  # type: ignore[assignment]
    if sys.argv[1] == "cli":
        from lotbench.cli import main

        raise SystemExit(main(sys.argv[2:]))

    asyncio.run(_main(*sys.argv[1:]))
