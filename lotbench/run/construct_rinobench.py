"""Construction of a data set of ideas from reviewed papers: filter, bin, write, check, split (RINoBench, Sec. 4.1).

Model calls go through the journal and store of a run, so the same command continues a stopped construction. The dropped
papers are listed with reasons in dropped.jsonl.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from lotbench.benchmarks.rinobench.construction import papers as screening
from lotbench.benchmarks.rinobench.construction.papers import Draft, Paper, Rules
from lotbench.benchmarks.rinobench.construction.writing import benchmark, item
from lotbench.benchmarks.rinobench.sample import LABELS, Item
from lotbench.errors import DataError
from lotbench.regular_file import is_file
from lotbench.run import construction
from lotbench.run.calling import calling
from lotbench.run.construction import Dropped, Order
from lotbench.storage import run_folder
from lotbench.storage.importers import published


@dataclass(frozen=True, slots=True)
class BuiltIdeas:
    """The result of a construction: the samples of both splits, and the number of papers left after each stage."""

    train: tuple[Item, ...]
    test: tuple[Item, ...]
    stages: Mapping[str, int]


async def build(order: Order, own: Mapping[str, Any] | None = None) -> BuiltIdeas:
    """Build a data set of ideas and write it to the output folder; the same call continues a stopped construction.

    Args:
        order: The order.
        own: Models given as Python objects, by name.

    Raises:
        DataError: A source has faults, or no paper is left.
        LotbenchError: A model cannot be reached, or a limit is reached.
    """
    papers = _papers(order.sources)
    dropped: list[Dropped] = []
    agreed = _filter(papers, "ratings", screening.disagreement, order.rules, dropped)
    if not agreed:
        raise DataError([f"{order.sources[0]}: of {len(papers)} papers none has ratings that agree"])
    rated, edges = screening.binned(agreed, order.rules)
    rich = {paper.id for paper in _filter(agreed, "related works", screening.poverty, order.rules, dropped)}
    drafts = [draft for draft in rated if draft.id in rich]
    if not drafts:
        raise DataError([f"{order.sources[0]}: no paper has {order.rules.min_works} related works"])
    plan = construction.plan(order, benchmark, drafts)
    async with calling(plan, partial(run_folder.Folder, order.out), own) as calls:
        done = await construction.finished(calls, order, "kept", dropped)
        writers = construction.models(calls)["writer"]
        items = [item(draft, memory, writers) for draft, memory in done]
        stages = {
            "papers": len(papers),
            "with ratings that agree": len(agreed),
            "with enough related works": len(drafts),
            "with an idea and a justification that hold": len(items),
        }
        built = _split(items, order, stages)
        _write(calls.folder, built)
        construction.write_card(calls, order, "paper", stages, dropped, _facts(built, edges, rated))
    return built


def _papers(sources: Sequence[Path]) -> list[Paper]:
    papers = [paper for source in sources for paper in screening.published(published.Files(source))]
    counts = Counter(paper.id for paper in papers)
    if twice := [name for name, count in counts.items() if count > 1]:
        raise DataError([f"{sources[0]}: paper {name!r} comes {counts[name]} times" for name in twice])
    return papers


def _filter(
    papers: Sequence[Paper], stage: str, why: Any, rules: Rules, dropped: list[Dropped]
) -> list[Paper]:
    """Return the papers for which `why` gives no reason to drop them; the others are added to `dropped` with the reason."""
    reasons = [(paper, why(paper, rules)) for paper in papers]
    dropped += [Dropped(paper.id, stage, reason) for paper, reason in reasons if reason]
    return [paper for paper, reason in reasons if not reason]


def _split(items: Sequence[Item], order: Order, stages: Mapping[str, int]) -> BuiltIdeas:
    scores = {entry.id: int(entry.novelty_score) for entry in items}
    test = screening.split(scores, order.rules.test_share, order.seed)
    return BuiltIdeas(
        train=tuple(entry for entry in items if entry.id not in test),
        test=tuple(entry for entry in items if entry.id in test),
        stages=stages,
    )


def _write(place: run_folder.Folder, built: BuiltIdeas) -> None:
    """Write each non-empty split as a data set; another one that is there, which people may have edited, is kept aside."""
    for name, items in (("train", built.train), ("test", built.test)):
        lines = "".join(f"{entry.model_dump_json(exclude_defaults=True)}\n" for entry in items)
        file = place.path / name / "samples.jsonl"
        if is_file(file) and file.read_text("utf-8") != lines:
            file.replace(file.with_suffix(".jsonl.before"))
        if items:
            place.write(f"{name}/samples.jsonl", lines)


def _facts(built: BuiltIdeas, edges: Sequence[float], rated: Sequence[Draft]) -> dict[str, Any]:
    """Return the bin edges of the scores, and the number of papers and samples with each score, for card.json."""

    def support(scores: Sequence[int]) -> dict[str, int]:
        return {str(label): sum(score == label for score in scores) for label in LABELS}

    return {
        "edges": list(edges),
        "support": {
            "rated": support([draft.score for draft in rated]),
            "train": support([entry.novelty_score for entry in built.train]),
            "test": support([entry.novelty_score for entry in built.test]),
        },
    }
