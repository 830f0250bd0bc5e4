"""`clot explore`: write responses under weakly associated conditions; keep those that win against people's (Sec. 5.2.2).

Batches and seeds are fixed before an engine gets them, so candidates do not depend on the number of workers or on
interruptions. Batches are appended in order, and a resumed run continues with the first incomplete batch.
"""

from __future__ import annotations

import json
import os
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import partial
from itertools import chain, islice
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

from clot_training.config import Config, Explore, adapter_digests, claim, data_digests, freeze, sha256
from clot_training.data.index import Rows
from clot_training.data.roles import batched
from clot_training.exploring import conditions
from clot_training.exploring.explorer import Batch, Explorer, MakePolicy, Task
from clot_training.exploring.scorer import compared_part
from clot_training.exploring.vocabulary import Vocabulary, vocabularies
from clot_training.records import Candidate, Work, read_records
from lotbench.benchmarks.standard.oogiri import Row
from lotbench.errors import RunFolderError, UsageError
from lotbench.storage import atomic_write, jsonl
from lotbench.storage.run_folder import Folder

if TYPE_CHECKING:
    from clot_training.exploring.policy import TransformersPolicy

ENGINE_ONLY = {"engine", "workers", "gpus", "limit", "batch_size"}
"""Settings of `explore` that a resumed run may change, since candidates do not depend on them."""


def explore(config: Config, make_policy: MakePolicy | None = None) -> dict[str, Any]:
    """Write the candidates that the file lacks, and return counts and keep rates of all candidates in the file.

    Args:
        config: The configuration.
        make_policy: Makes the model that writes and selects; None loads the model of stage 1.

    Raises:
        UsageError: Data or models are missing, or an encoder does not know a row's language.
        ImportError: A package is not installed.
        RunFolderError: The folder has candidates of another configuration, or another process explores there.
    """
    work = Work(Path(config.out))
    folder, path = work.explored(config.explore.conditions), work.candidates(config.explore.conditions)
    with Folder(folder):
        jsonl.append(path, ())
        index = Rows(config)
        _leave_out(index, work, config)
        _check_languages(index.all(), config)
        vocabulary = vocabularies(index.all())
        claim(folder, _identity(config, work), begun=path.stat().st_size > 0)
        freeze(config, folder)
        # Of an earlier exploration with a smaller limit.
        (folder / "summary.json").unlink(missing_ok=True)
        remaining = _remaining(path, batches(index, config, vocabulary), config.explore)
        maker = partial(Explorer, config, vocabulary, make_policy or tuned)
        _append(path, _run_engine(remaining, maker, config.explore))
    sizes = {language: len(words) for language, words in sorted(vocabulary.items())}
    summary = _summarized(read_records(path, Candidate)) | {"keywords": sizes}
    atomic_write.write(folder / "summary.json", json.dumps(summary, indent=2, ensure_ascii=False) + "\n")
    return summary


def tuned(config: Config) -> TransformersPolicy:
    """Return the model of stage 1 as the policy.

    Raises:
        UsageError: Stage 1 is not tuned yet, or the model cannot be loaded.
    """
    adapter = Work(Path(config.out)).stage1 / "adapter"
    if not adapter.is_dir():
        raise UsageError(f"{adapter}: no adapter yet; run `clot tune` first")
    from clot_training.exploring.policy import transformers_policy

    return transformers_policy(config, adapter)


def _check_languages(rows: Iterable[Row], config: Config) -> None:
    """Check that the encoders know the languages of all rows; random conditions need no encoder.

    Raises:
        UsageError: Rows are in a language that their encoder does not know, so similarities would be noise.
    """
    settings = config.explore
    if settings.conditions == "random":
        return
    counts = Counter((compared_part(row), row.language) for row in rows)
    languages = {"picture": settings.clip.languages, "question": settings.encoder_languages}
    names = {"picture": "clip.languages", "question": "encoder_languages"}
    for (kind, language), count in sorted(counts.items()):
        if language not in languages[kind]:
            raise UsageError(
                f"explore.{names[kind]}: {count} rows are in {language!r}, and the model was made for"
                f" {', '.join(languages[kind])}: leave them out (`languages`) or name a model that knows it"
            )


def batches(index: Rows, config: Config, vocabulary: Vocabulary) -> Iterator[Batch]:
    """Yield the batches of a run in the order of the data: each row with its drawn keywords and people's responses."""
    settings = config.explore
    rows = islice(index.all(), settings.limit or None)
    for chunk in batched(rows, settings.batch_size):
        yield tuple(_task(row, index, config, len(vocabulary[row.language])) for row in chunk)


def _task(row: Row, index: Rows, config: Config, size: int) -> Task:
    others = (other.text for other in index.rows_of_same_prompt(row, config.explore.truths - 1))
    rng = Random(f"{config.seed}:{row.id}:keywords")
    keywords = rng.sample(range(size), min(config.explore.n, size))
    return Task(row=row, truths=tuple(dict.fromkeys((row.text, *others))), keywords=tuple(keywords))


def _remaining(path: Path, planned: Iterator[Batch], settings: Explore) -> Iterator[Batch]:
    """Return the planned batches whose candidates the file lacks; cut an incomplete last batch from the file.

    Raises:
        RunFolderError: The file has more candidates than planned.
    """
    end = 0
    with path.open("rb") as file:
        for batch in planned:
            line_count = sum(len(conditions.random(task.keywords, settings)) for task in batch)
            lines = list(islice(file, line_count))
            if len(lines) < line_count or not lines[-1].endswith(b"\n"):
                break
            end += sum(map(len, lines))
        else:
            if file.readline():
                raise RunFolderError(f"{path}: has more candidates than this run would make (explore.limit?)")
            return iter(())
    os.truncate(path, end)
    return chain([batch], planned)


def _run_engine(
    remaining: Iterator[Batch], maker: partial[Explorer], settings: Explore
) -> Iterator[list[Candidate]]:
    """Return the candidates of each batch in order, as the configured engine computes them; `maker` makes a worker."""
    first = next(remaining, None)
    if first is None:
        return iter(())
    remaining = chain([first], remaining)
    if settings.engine == "local":
        return map(maker(), remaining)
    from clot_training.exploring.scale import explored

    return explored(remaining, maker, settings)


def _leave_out(index: Rows, work: Work, config: Config) -> None:
    """Remove from the index the rows that the screener did not call safe; keep all if no file of verdicts exists.

    Raises:
        UsageError: A screener is configured and `clot instructions` has not run.
    """
    safe = work.safe()
    if safe is None and config.instructions.screener:
        raise UsageError(f"{work.screened}: not there yet; run `clot instructions` first")
    for row in index.all():
        if safe is not None and row.id not in safe:
            index.drop(row, "screened out")


def _identity(config: Config, work: Work) -> dict[str, Any]:
    """Return all that the candidates of an exploration depend on."""
    general = {"model", "types", "languages", "seed", "held_out", "weights"}
    return config.model_dump(mode="json", include=general) | {
        "explore": config.explore.model_dump(mode="json", exclude=ENGINE_ONLY),
        "data": data_digests(config.folders()),
        "adapter": adapter_digests(work.stage1 / "adapter"),
        "screening": sha256(work.screened) if work.screened.exists() else None,
    }


def _append(path: Path, source: Iterable[list[Candidate]]) -> None:
    """Append the candidates of each batch to the file.

    Raises:
        RunFolderError: The earlier candidates are of another model.
        UsageError: The disk is full.
    """
    before = next(read_records(path, Candidate), None)
    policy = before.policy if before else None
    for batch in source:
        policy = policy or batch[0].policy
        if batch[0].policy != policy:
            raise RunFolderError(
                f"{path}: was explored with {policy}, not {batch[0].policy}; remove it to begin anew"
            )
        lines = ((candidate.model_dump_json() + "\n").encode() for candidate in batch)
        jsonl.append(path, lines, "the same command goes on")
        names = dict.fromkeys(task.row for task in batch)
        sys.stderr.write(f"{len(batch)} candidates for {', '.join(names)}\n")


def _summarized(candidates: Iterable[Candidate]) -> dict[str, Any]:
    """Return counts of candidates, also of those that were not compared by reason, and the share that was kept."""
    counts: Counter[str] = Counter()
    for candidate in candidates:
        counts.update(candidates=1, kept=int(candidate.kept), compared=int(candidate.why is None))
        if candidate.why is not None:
            counts[f"not compared: {candidate.why}"] += 1
    rate = counts["kept"] / counts["candidates"] if counts["candidates"] else None
    return {"counts": dict(sorted(counts.items())), "keep_rate": rate}
