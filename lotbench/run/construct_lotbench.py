"""Construction of game samples from pictures with responses, such as those that people voted on.

A model writes proposals into DEST/proposals, and a person decides about them with `lotbench data review`. The same command,
run again after the review, writes the accepted samples into DEST/dataset. The source material is not shipped.
"""

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
from lotbench.benchmarks.lotbench.sample import Item, Votes
from lotbench.benchmarks.standard.oogiri import Row
from lotbench.errors import DataError
from lotbench.run import construction
from lotbench.run.calling import calling
from lotbench.run.construction import Dropped, Order
from lotbench.storage import datasets, review_decisions, run_folder

PROPOSALS, DATASET = "proposals", "dataset"
Z = 1.959964
"""The 97.5 % quantile of the normal distribution."""
Language: TypeAlias = Literal["en", "zh"]


@dataclass(frozen=True, slots=True)
class BuiltGames:
    """The result of a construction.

    Attributes:
        stages: The number of pictures left after each stage.
        proposals: The folder to review.
        dataset: The folder of the accepted samples.
        accepted: The number of accepted samples; None if there is no decision yet.
    """

    stages: Mapping[str, int]
    proposals: Path
    dataset: Path
    accepted: int | None


async def build(order: Order, own: Mapping[str, Any] | None = None) -> BuiltGames:
    """Propose samples of pictures with the responses that people liked best; see `build_from`.

    The sources of the order are data sets of Oogiri rows.

    Raises:
        DataError: A source or the decisions have faults, or no picture has enough votes.
        LotbenchError: A model cannot be reached, or a limit is reached.
    """
    dropped: list[Dropped] = []
    scenes = list(_scenes(order.sources, order.rules, dropped))
    if not scenes:
        raise DataError([f"{order.sources[0]}: no picture has responses that enough people voted on"])
    stages = {
        "pictures": len(scenes) + len(dropped),
        "with responses that enough people voted on": len(scenes),
    }
    return await build_from(scenes, stages, order, dropped, own)


async def build_from(
    scenes: Sequence[Scene],
    stages: Mapping[str, int],
    order: Order,
    dropped: Sequence[Dropped] = (),
    own: Mapping[str, Any] | None = None,
) -> BuiltGames:
    """Propose samples, and write a data set of the accepted ones; call the function again after a stop or a review.

    Args:
        scenes: The pictures, each with a response.
        stages: The number of pictures after each earlier stage.
        order: The order.
        dropped: The pictures that earlier stages dropped.
        own: Models given as Python objects, by name.

    Raises:
        DataError: The decisions have faults.
        LotbenchError: A model cannot be reached, or a limit is reached.
    """
    dropped = list(dropped)
    plan = construction.plan(order, benchmark, scenes)
    async with calling(plan, partial(run_folder.Folder, order.out), own) as calls:
        done = await construction.finished(
            calls, order, "proposed", dropped, lambda scene: f"{scene.group}: "
        )
        writers = construction.models(calls)["writer"]
        items = [item(scene, memory, writers) for scene, memory in done]
        left_out: Counter[str] = Counter()
        accepted = _apply_review(order.out, items, {s.id: Path(s.image) for s in scenes}, left_out)
        count = None if accepted is None else len(accepted)
        stages = {**stages, "proposed": len(items), **({} if count is None else {"accepted": count})}
        construction.write_card(calls, order, "scene", stages, dropped, {"left_out": dict(left_out)})
    return BuiltGames(stages, order.out / PROPOSALS, order.out / DATASET, count)


def _apply_review(
    out: Path, items: Sequence[Item], pictures: Mapping[str, Path], left_out: Counter[str]
) -> list[Item] | None:
    """Write all proposals, and the accepted ones as a data set; return the accepted ones, or None if there is no decision yet.

    `items` are the proposals, and `pictures` their picture files by id. `left_out` counts proposals by the reason why they
    were left out.
    """
    proposals, dataset, declared = out / PROPOSALS, out / DATASET, benchmarks.get("lotbench")
    review_decisions.refuse_changed(items, proposals)
    review_decisions.write(proposals, [(entry, pictures[entry.id]) for entry in items])
    accepted = review_decisions.accepted(declared, items, proposals, left_out)
    if accepted is not None and not dataset.is_symlink():
        # Other files stay: they may be blind plays or a judge set. What was there may have been edited, so it is kept aside.
        for old in filter(Path.exists, (dataset / "images", dataset / "samples.jsonl")):
            before = old.with_name(f"{old.name}.before")
            shutil.rmtree(before, ignore_errors=True)
            old.replace(before)
    if accepted:
        review_decisions.write(dataset, [(entry, pictures[entry.id]) for entry in accepted])
    return accepted


def _scenes(sources: Sequence[Path], rules: Rules, dropped: list[Dropped]) -> Iterator[Scene]:
    """Yield the pictures that have responses with enough votes; add the others to `dropped`."""
    places = [folder.resolve() for folder in sources]
    if twice := [
        str(folder) for folder, place in zip(sources, places, strict=True) if places.count(place) > 1
    ]:
        raise DataError([f"{twice[0]}: is given twice"])
    names: set[str] = set()
    for at, folder in enumerate(sources):
        # There are hundreds of thousands of rows; only those with enough votes are kept in memory.
        groups: dict[tuple[Language, str, str | None], tuple[str, list[Voted]]] = {}
        for row in datasets.read_on(folder, Row):
            if row.image and row.preference is not None and row.language != "ja" and not row.guessed:
                _, voted_on = groups.setdefault((row.language, row.group, row.question), (row.image, []))
                voted = _read_votes(row, rules)
                voted_on += [voted] if voted else []
        for (language, group, question), (image, voted_on) in groups.items():
            name = _name(language, group, question)
            if name in names:
                # Another source has a group of this name.
                name = _name(language, group, question, at)
            names.add(name)
            if best := responses.best(voted_on, rules, language):
                path, source = str((folder / image).resolve()), f"{group}: response {best.id}"
                yield Scene(name, group, language, path, question, best.text, source, best.writer, best.votes)
            else:
                dropped.append(Dropped(name, "votes", f"{group}: no response has enough votes"))


def _name(*of: object) -> str:
    return f"ppl-{hashlib.sha256(repr(of).encode()).hexdigest()[:8]}"


def _read_votes(row: Row, rules: Rules) -> Voted | None:
    """Return a row's response with its votes, from ratings or else from likes; None if there are too few."""
    ratings, likes = row.ratings, row.star or 0
    if ratings is not None and ratings.n > 1:
        low = ratings.mean - Z * ratings.error
        votes = Votes(n=ratings.n, mean=ratings.mean, low=low) if ratings.n >= rules.min_votes else None
    else:
        votes = responses.liked(likes) if likes >= rules.min_likes else None
    return Voted(row.id, row.text, votes, row.writer) if votes else None
