"""`clot refine` (stage 2): tune again on the instructions and the kept candidates (Sec. 5.2.2).

Kept candidates become a second file of instructions, each with the prompt to which it was written.
"""

from pathlib import Path
from typing import Any

from clot_training.config import Config
from clot_training.records import Work
from clot_training.tuning.tune import ADAPTER, tune
from lotbench.errors import UsageError
from lotbench.storage import atomic_write


def refine(config: Config) -> dict[str, Any]:
    """Tune on instructions and kept candidates, starting from stage 1 or from the base; return the content of tune.json.

    Raises:
        UsageError: There is no finished exploration with these conditions, it kept nothing, or stage 1 is missing.
        DataError: A line of candidates.jsonl is no candidate.
    """
    work, chosen = Work(Path(config.out)), config.explore.conditions
    if work.candidates(chosen).exists() and not (work.explored(chosen) / "summary.json").exists():
        raise UsageError(f"{work.explored(chosen)}: the exploration did not finish; run `clot explore` again")
    instructions = [candidate.instruction() for candidate in work.explorations(chosen) if candidate.kept]
    if not instructions:
        raise UsageError(
            f"{work.candidates(chosen)}: no candidate was kept, so there is nothing to refine on"
        )
    out = work.stage2(chosen)
    file = out / "kept.jsonl"
    atomic_write.write(file, (instruction.model_dump_json() + "\n" for instruction in instructions))
    adapter = work.stage1 / ADAPTER if config.refine.refine_from == "stage1" else None
    if adapter is not None and not adapter.is_dir():
        raise UsageError(f"{adapter}: not there yet; run `clot tune` first")
    return tune(config, [work.train, file], out, adapter=adapter)
