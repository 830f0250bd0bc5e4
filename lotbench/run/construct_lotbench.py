"""Games made of pictures with responses that people voted on: chosen by votes, written around, decided by people.

A model proposes, a person decides: DEST/proposals is a folder that `lotbench data review` opens, and DEST/dataset
has what was accepted, once the same command is given again after the review. Contests and cartoons of others stay
in DEST: nothing of them is shipped.
"""

from __future__ import annotations

import hashlib
import shutil
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal, TypeAlias

from lotbench import benchmarks
from lotbench.benchmarks.lotbench.construction import responses
from lotbench.benchmarks.lotbench.construction.responses import Rules, Scene, Voted
from lotbench.benchmarks.lotbench.construction.writing import benchmark, item
from lotbench.benchmarks.lotbench.sample import Item
from lotbench.benchmarks.standard.oogiri import Row
from lotbench.errors import DataError
from lotbench.run import construction
from lotbench.run.calling import calling
from lotbench.run.construction import Dropped, Wanted
from lotbench.storage import datasets, review_decisions, run_folder

LICENCE = "not cleared: the picture and the responses are their owners'"
"""What a sample says of its rights; who publishes a set has to know better."""
PROPOSALS, DATASET = "proposals", "dataset"
Language: TypeAlias = Literal["en", "zh"]


@dataclass(frozen=True, slots=True)
class BuiltGames:
    """What came of it.

    Attributes:
        stages: How many pictures were left after each stage.
        proposals: The folder to review.
        dataset: The data set of what was accepted.
        accepted: Its samples; None before there is a decision.
    """

    stages: Mapping[str, int]
    proposals: Path
    dataset: Path
    accepted: int | None


async def build(order: Wanted, own: Mapping[str, Any] | None = None) -> BuiltGames:
    """Propose samples, then make a data set of those that were accepted; again to go on after a stop or a review.

    Args:
        order: What is to be built; its sources are data sets of Oogiri rows.
        own: Models given as Python objects, by name.

    Raises:
        DataError: A source or the file of decisions has faults, or no picture has enough votes.
        LotbenchError: A model cannot be reached, or a limit is used up.
    """
    dropped: list[Dropped] = []
    scenes = list(_scenes(order.sources, order.rules, dropped))
    if not scenes:
        raise DataError([f"{order.sources[0]}: no picture has responses that enough people voted on"])
    plan = construction.plan(order, benchmark, scenes)
    async with calling(plan, partial(run_folder.Folder, order.out), own) as calls:
        traces = await construction.played(calls, preflight=order.preflight)
        models = construction.models(calls)
        rest = f"the rest proposed by {models['writer']}"
        done = construction.finished("proposed", scenes, traces, dropped, lambda scene: f"{scene.group}: ")
        items = [
            item(scene, memory, f"{scene.group}: response {scene.responses[0].id}; {rest}")
            for scene, memory in done
        ]
        left_out: Counter[str] = Counter()
        images = {scene.id: Path(scene.image) for scene in scenes}
        accepted = _apply_review(order.out, items, images, left_out)
        stages = {
            "pictures": len(scenes) + sum(entry.stage == "votes" for entry in dropped),
            "with responses that enough people voted on": len(scenes),
            "proposed": len(items),
        }
        stages |= {} if accepted is None else {"accepted": len(accepted)}
        construction.note_dropped(calls.folder, "scene", dropped)
        card = construction.card(plan, order, models, stages, dropped)
        calls.folder.write_json("card.json", card | {"left_out": dict(left_out)})
    return BuiltGames(
        stages, order.out / PROPOSALS, order.out / DATASET, None if accepted is None else len(accepted)
    )


def _apply_review(
    out: Path, items: Sequence[Item], pictures: Mapping[str, Path], left_out: Counter[str]
) -> list[Item] | None:
    """Write the proposals, and the data set of those that were accepted; None before there is a decision."""
    proposals, dataset, declared = out / PROPOSALS, out / DATASET, benchmarks.get("lotbench")
    review_decisions.refuse_changed(declared, items, proposals)
    review_decisions.write(proposals, [(entry, pictures[entry.id]) for entry in items])
    accepted = review_decisions.accepted(declared, items, proposals, left_out)
    if accepted is not None and not dataset.is_symlink():
        # What else lies there is somebody's work: blind plays, a judge set.
        shutil.rmtree(dataset / "images", ignore_errors=True)
        (dataset / "samples.jsonl").unlink(missing_ok=True)
    if accepted:
        review_decisions.write(dataset, [(entry, pictures[entry.id]) for entry in accepted])
    return accepted


def _scenes(sources: Sequence[Path], rules: Rules, dropped: list[Dropped]) -> Iterator[Scene]:
    """Yield the pictures with responses that enough people voted on."""
    for folder in sources:
        # Of hundreds of thousands of rows, those are kept that enough people voted on.
        groups: dict[tuple[Language, str, str | None], tuple[str, list[Voted]]] = {}
        for row in datasets.read_on(folder, Row):
            if row.image and row.preference is not None and row.language != "ja" and not row.guessed:
                _, voted_on = groups.setdefault((row.language, row.group, row.question), (row.image, []))
                voted = _read_votes(row, rules)
                voted_on += [voted] if voted else []
        for (language, group, question), (image, voted_on) in groups.items():
            scene = Scene(
                id=f"ppl-{hashlib.sha256(repr((language, group, question)).encode()).hexdigest()[:8]}",
                group=group,
                language=language,
                image=str((folder / image).resolve()),
                question=question,
                licence=LICENCE,
                responses=responses.best(voted_on, rules, language),
            )
            if scene.responses:
                yield scene
            else:
                dropped.append(Dropped(scene.id, "votes", f"{group}: no response has enough votes"))


def _read_votes(row: Row, rules: Rules) -> Voted | None:
    """Return a row with its votes: of ratings their mean and its lower end, else of likes; None for too few of them."""
    counts, likes = row.ratings, row.star or 0
    if counts is not None and counts.n > 1:
        rated = counts.n >= rules.min_votes
        votes = responses.rated(counts.unfunny, counts.somewhat, counts.funny) if rated else None
    else:
        votes = responses.liked(likes) if likes >= rules.min_likes else None
    return Voted(row.id, row.text, votes) if votes else None
