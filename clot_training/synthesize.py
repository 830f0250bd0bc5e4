"""`clot synthesize`: kept candidates become proposals for LoTbench samples, and accepted proposals a data set (Sec. 5.3).

A model makes the proposals, and a person accepts or rejects them with `lotbench data review`. Then the same step is run
again and writes the data set of accepted proposals.
"""

from __future__ import annotations

import asyncio
import hashlib
import shutil
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from clot_training.config import Config
from clot_training.data.roles import Album, ask, batched
from clot_training.data.templates import templates
from clot_training.records import Candidate, Work
from lotbench.benchmarks.lotbench.sample import Item
from lotbench.benchmarks.lotbench.task import benchmark
from lotbench.calls.caller import RoleModel
from lotbench.calls.store import Store
from lotbench.config.experiment import Limits
from lotbench.config.model_names import parse
from lotbench.errors import Unread, UsageError, faults_of
from lotbench.models.registry import Models
from lotbench.prompting import reply as replies
from lotbench.storage import datasets, review_decisions
from lotbench.storage.run_folder import read_json
from lotbench.types import Key, Request, Sampling

MAX_TOKENS = 800
LICENCE = "not cleared: the picture is its owner's, the row its author's"
"""The licence field of proposals; rights must be cleared before a data set of them is published."""


class Proposal(replies.Form):
    """The fields of a sample that a model proposes for a response."""

    key_text: str = replies.prose(80, "the words without which nobody would laugh")
    caption: str = replies.prose(400, "what is in the picture")
    explanation: str = replies.prose(800, "why it works, cause by cause")
    leap: str = replies.prose(40, "the kind of leap from picture to joke")
    clues: str = replies.prose(600, "three hints, a line each, from wide to narrow")


@dataclass(frozen=True, slots=True)
class Synthesis:
    """The result of `synthesize`.

    Attributes:
        proposed: The number of proposals.
        accepted: The number of samples in the data set of accepted proposals; None before the review.
        left_out: The numbers of candidates, and of proposals after the review, that were left out, by reason.
        folder: The folder of the proposals, or of the data set after the review.
    """

    proposed: int
    accepted: int | None
    left_out: Mapping[str, int]
    folder: Path


def synthesize(config: Config, own: Mapping[str, Any] | None = None) -> Synthesis:
    """Make proposals if there are none yet; after the review, write the data set of accepted ones.

    Args:
        config: The configuration.
        own: Models that are Python objects, by the NAME in `python:NAME`.

    Raises:
        UsageError: There is no exploration, no tuned model, or no usable proposal, or the review is damaged.
        Unescapable: No call to the model can succeed.
    """
    work = Work(Path(config.out))
    folder = work.synthesized / "proposals"
    left_out: Counter[str] = Counter()
    if not (folder / "samples.jsonl").exists():
        candidates = _kept_candidates(config, work, left_out)
        name = config.synthesize.model or _tuned_model(config, work)
        items = asyncio.run(_propose(name, candidates, left_out, own or {}))
        if not items:
            raise UsageError(
                f"{config.out}: no candidate became a proposal ({_count_reasons(left_out) or 'none kept'})"
            )
        review_decisions.write(folder, [(item, Path(candidates[item.id].image or "")) for item in items])
    proposed = datasets.samples(folder, Item)
    accepted = review_decisions.accepted(benchmark, proposed, folder, left_out)
    if accepted is None:
        return Synthesis(len(proposed), None, left_out, folder)
    if not accepted:
        raise UsageError(
            f"{review_decisions.decisions_of(folder)}: no proposal became a sample ({_count_reasons(left_out)})"
        )
    chosen = work.synthesized / "dataset"
    shutil.rmtree(chosen, ignore_errors=True)
    review_decisions.write(chosen, [(item, folder / item.image) for item in accepted])
    return Synthesis(len(proposed), len(accepted), left_out, chosen)


def _kept_candidates(config: Config, work: Work, left_out: Counter[str]) -> dict[str, Candidate]:
    """Return at most `limit` kept candidates that LoTbench can use, by the id of their future proposal.

    Kept candidates that it cannot use are counted in `left_out`.
    """
    by_id: dict[str, Candidate] = {}
    for candidate in work.explorations(config.explore.conditions):
        if not candidate.kept:
            continue
        if candidate.type != "I2T" or candidate.language not in ("en", "zh"):
            left_out["not of one picture alone, or not in English or Chinese"] += 1
        elif len(by_id) < config.synthesize.limit:
            by_id[f"syn-{hashlib.sha256(candidate.id.encode()).hexdigest()[:8]}"] = candidate
    return by_id


async def _propose(
    name: str, candidates: Mapping[str, Candidate], left_out: Counter[str], own: Mapping[str, Any]
) -> list[Item]:
    album, store, items = Album(), Store(), []
    async with Models(album, Limits(), own) as models:
        (proposer,) = models.role_models({"proposer": [parse(name)]})["proposer"]
        for chunk in batched(candidates.items(), Limits().concurrency):
            calls = (_item(id, candidate, proposer, album, store) for id, candidate in chunk)
            for result in await asyncio.gather(*calls):
                if isinstance(result, Item):
                    items.append(result)
                else:
                    left_out[result] += 1
    return items


async def _item(id: str, candidate: Candidate, proposer: RoleModel, album: Album, store: Store) -> Item | str:
    """Return the sample that a model proposes for a candidate, or the reason why there is none."""
    assert candidate.image is not None
    prompt = templates().get(candidate.language, "propose")
    request = Request(
        key=Key(id, 0, 0, "propose", 0, 0, ""),
        model=proposer.name,
        messages=prompt.messages(
            image=album.take(candidate.image), text=candidate.text, shape=replies.shape(Proposal)
        ),
        schema=replies.schema(Proposal),
        sampling=Sampling(temperature=0.0, max_tokens=MAX_TOKENS),
    )
    reply = await ask(proposer, request, store)
    if reply is None:
        return "no reply"
    try:
        proposal = replies.read_form(reply, Proposal)
        return _sample(id, candidate, proposal, reply.model)
    except Unread as error:
        return f"{error.kind} proposal"
    except ValidationError as error:
        return faults_of(error)[0].partition(":")[0] + " does not fit"


def _sample(id: str, candidate: Candidate, proposal: Proposal, proposer: str) -> Item:
    clues = [line.strip(" -*0123456789.、") for line in proposal.clues.splitlines()]
    return Item(
        id=id,
        language="zh" if candidate.language == "zh" else "en",
        image=f"images/{id}.png",
        caption=proposal.caption,
        response=candidate.text,
        key_text=proposal.key_text.strip(),
        explanation=proposal.explanation,
        clues=tuple(clue for clue in clues if clue),
        leap=proposal.leap,
        # Preliminary, until people have played it.
        tier="medium",
        source=f"written by {candidate.policy} to row {candidate.row}, proposed by {proposer}, decided by a person",
        writer=candidate.policy,
        licence=LICENCE,
    )


def _tuned_model(config: Config, work: Work) -> str:
    """Return the name of the last tuned model, `hf:BASE+ADAPTER`."""
    about = work.last_stage(config.explore.conditions) / "tune.json"
    return str(read_json(about)["model"])


def _count_reasons(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {reason}" for reason, count in counts.items())
