"""`clot pairs`: answers of finished games that were accepted, against answers to the same scene that were refused.

A row has the prompt that opens a game on the scene, in the variant that was played: the picture or its caption, the
frame or none, fresh or growing. Later rounds know clues and answers that no other game has in these words, so they
are no prompts here; what was said in them is an answer to the scene all the same. The candidate is asked to answer
directly, whatever it was made to write first.

How often the judges err, as far as that was ever measured, stands in manifest.json beside what the rows were made of.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

from clot_training.config import Config
from clot_training.data.preferences import Answer, Scene, counted, fate
from clot_training.data.split import data_marks, held_out_samples, marks, shown
from clot_training.records import Chat, Pair, Work
from lotbench.benchmarks.lotbench import candidate
from lotbench.benchmarks.lotbench.games import Round, game
from lotbench.benchmarks.lotbench.sample import Item
from lotbench.config.arm import arm
from lotbench.config.experiment import Limits
from lotbench.edge.calls.journal import read_journal
from lotbench.edge.files import adapter_texts, atomic_write, datasets
from lotbench.errors import DataError, UsageError
from lotbench.harness.state import start
from lotbench.metrics.confusion import wrong_verdicts
from lotbench.report.trust import Check
from lotbench.run.plan import Plan
from lotbench.run.recorded import refuse_lost_pictures
from lotbench.run.results import Run, judge_quality, load_run, planned
from lotbench.types import Image, Message, Trace

TRAIN, HELD_OUT = "train.jsonl", "held_out.jsonl"


@dataclass(frozen=True, slots=True)
class Source:
    """A run whose answers are taken, with its plan."""

    run: Run
    made: Plan

    @property
    def name(self) -> str:
        """Of its folder."""
        return self.run.path.resolve().name


def make(config: Config, runs: Sequence[str]) -> dict[str, Any]:
    """Write the pairs of runs, and their manifest last: pairs without one are not whole.

    Args:
        config: Where they go (`out`), the split (`held_out`, `seed`), the languages, and its table `pairs`.
        runs: Paths of run folders, their names in runs/, or `latest`.

    Returns:
        The manifest.

    Raises:
        UsageError: A run is not finished, is of another benchmark, has no verdict, or is not what it was; or there is no
            pair at all. Nothing is written then.
    """
    sources = {source.run.path.resolve(): source for source in (_source(name, config) for name in runs)}
    scenes: dict[str, Scene] = {}
    skipped: Counter[str] = Counter()
    told = [_taken(source, scenes, skipped, config) for source in sources.values()]
    for scene in scenes.values():
        skipped.update(scene.contradicted())
    rows = list(_rows(scenes.values(), config))
    skipped["scene without both"] = sum(not (one.accepted and one.refused) for one in scenes.values())
    if not rows:
        named = ", ".join(str(source.run.path) for source in sources.values())
        found = ", ".join(f"{count} {what}" for what, count in counted([*scenes.values()]).items())
        raise UsageError(f"{named}: no scene has an accepted and a refused answer ({found})")
    out = held_out_samples(
        _marked(sources.values(), scenes.values()), share=config.held_out, seed=config.seed
    )
    sides = {
        TRAIN: [row for row in rows if row.sample not in out],
        HELD_OUT: [row for row in rows if row.sample in out],
    }
    manifest = {
        "schema": 1,
        **{Path(name).stem: _told(side) for name, side in sides.items()},
        "answers": dict(counted([*scenes.values()])),
        "skipped": dict(sorted((+skipped).items())),
        "runs": told,
        "settings": {
            **config.pairs.model_dump(mode="json"),
            **config.model_dump(mode="json", include={"languages", "seed", "held_out"}),
        },
    }
    return _written(Work(Path(config.out)).pairs, sides, manifest)


def _source(name: str, config: Config) -> Source:
    run = load_run(name)
    if run.config.benchmark != "lotbench":
        raise UsageError(f"{run.path}: a run of {run.config.benchmark}; pairs are made of games of lotbench")
    made = planned(run, Limits())
    walks = sum(map(len, made.lanes()))
    if len(run.traces) < walks and not config.pairs.unfinished:
        raise UsageError(
            f"{run.path}: not finished ({len(run.traces)} of {walks} games); lotbench resume goes on with it, "
            "--set pairs.unfinished=true takes the games that are"
        )
    if "image" in made.settings.arm:
        refuse_lost_pictures(made, run.path)
    return Source(run, made)


def _taken(source: Source, scenes: dict[str, Scene], skipped: Counter[str], config: Config) -> dict[str, Any]:
    """Take in the answers of a run; returns what the manifest says of it.

    Raises:
        UsageError: Not one of its answers has a verdict.
    """
    run, made = source.run, source.made
    mine: dict[str, Scene] = {}
    judged: Counter[str] = Counter()
    invalid: dict[str, str] = {}
    for trace in run.traces:
        item = made.by_id[trace.sample]
        if item.language not in config.languages:
            skipped["language"] += 1
            continue
        scene = mine.get(trace.sample) or mine.setdefault(trace.sample, _scene(source, trace.sample, scenes))
        played = game(trace)
        for one in played.rounds:
            what = fate(played, one)
            if what in ("accepted", "refused"):
                words = one.check is not None and one.check.how == "exact"
                judged[f"{what} by {'words' if words else 'judge'}"] += 1
                answer = Answer(_formed(made, one), "words" if words else "judge", {source.name})
                scene.hear(one.filling or "", answer, accepted=what == "accepted")
            else:
                skipped[what] += 1
            if what == "invalid" and (call := _call(trace, one.number)):
                invalid[call] = trace.sample
    if not judged:
        raise UsageError(f"{run.path}: none of its answers has a verdict")
    if config.pairs.invalid and made.settings.framework == "direct":
        skipped["invalid"] -= _hear_invalid(source, invalid, mine)
    return _about(source, judged)


def _scene(source: Source, sample: str, scenes: dict[str, Scene]) -> Scene:
    """The scene of a sample in the variant of a run: one that is known, or a new one."""
    made = source.made
    item = made.by_id[sample]
    assert isinstance(item, Item)
    prompt, images = _prompt(made, sample)
    picture = shown(made.pictures.path(sample))
    seen = {*made.benchmark.data.right(item), *([] if picture is None else [picture])}
    digests = tuple(sorted(map(adapter_texts.fingerprint, seen)))
    found = Scene(item, picture, prompt, images, digests)
    return scenes.setdefault(found.key, found)


def _marked(sources: Iterable[Source], scenes: Iterable[Scene]) -> dict[str, set[str]]:
    """The marks of the samples that were played, and of the others of their data sets, which may tie them together."""
    made: dict[str, set[str]] = {}
    for one in scenes:
        made.setdefault(one.sample.id, set()).update(marks(one.sample, one.picture))
    for name in {source.run.config.data for source in sources}:
        # A run can do without its data set once it has begun; what hangs together by the others is not known then.
        with suppress(UsageError, DataError):
            for sample, mine in data_marks(datasets.data_folder(name, "lotbench")).items():
                made.setdefault(sample, set()).update(mine)
    return made


def _prompt(made: Plan, sample: str) -> tuple[Chat, tuple[str, ...]]:
    """What a candidate is asked when a game on a sample begins, and the pictures that it is shown."""
    walk = made.view(start(sample, 0, sample), "respond")
    direct = made.settings.model_copy(update={"framework": "direct"})
    messages = candidate.respond_ask(replace(walk, settings=direct))[0].messages
    shown = any(isinstance(part, Image) for message in messages for part in message.parts)
    images = (made.pictures.path(sample).as_posix(),) if shown else ()
    return tuple(_turn(message) for message in messages), images


def _turn(message: Message) -> dict[str, Any]:
    if any(isinstance(part, Image) for part in message.parts):
        return {"role": message.speaker, "content": [_part(part) for part in message.parts]}
    return {"role": message.speaker, "content": "".join(map(str, message.parts))}


def _part(part: str | Image) -> dict[str, str]:
    return {"type": "image"} if isinstance(part, Image) else {"type": "text", "text": part}


def _formed(made: Plan, one: Round) -> str:
    """An answer in the form that its prompt asks for, without what came before it."""
    field = "response" if made.settings.whole else "filling"
    return json.dumps({field: one.filling}, ensure_ascii=False)


def _call(trace: Trace, number: int) -> str | None:
    """The key of the last reply in which a round was to be answered."""
    calls = [one["call"] for one in trace.steps if one["step"] == "respond" and one["round"] == number]
    return str(calls[-1]) if calls and calls[-1] else None


def _hear_invalid(source: Source, invalid: Mapping[str, str], scenes: Mapping[str, Scene]) -> int:
    """Take in the replies that the rules refused, as they came; returns how many were there to be taken."""
    taken = 0
    for entry in read_journal(source.run.path / "calls.jsonl"):
        sample, text = invalid.get(str(entry.key)), entry.reply.text.strip()
        # A reply that was cut off would teach where to stop, and not what to say.
        if sample is not None and text and entry.reply.finish == "stop":
            scenes[sample].hear(text, Answer(text, "rules", {source.name}), accepted=False)
            taken += 1
    return taken


def _about(source: Source, judged: Mapping[str, int]) -> dict[str, Any]:
    """A run as the manifest has it: who played what, what became of it, and how well its judges are known to judge."""
    run, made = source.run, source.made
    quality = judge_quality(made, run.path, run.traces, run.totals())
    checks = [one for one in quality.checks if one.role == "judge"]
    summary = run.summary
    return {
        "run": source.name,
        "candidate": run.answered,
        "variant": arm(made.settings),
        "digests": dict(run.digests),
        "games": len(run.traces),
        "answers": dict(sorted(judged.items())),
        "judges": [_checked(one, judged) for one in checks],
        "trusted": bool(summary.get("rankable")),
        "reasons": list(summary.get("reasons", ["the run has no summary"])),
    }


def _checked(check: Check, judged: Mapping[str, int]) -> dict[str, Any]:
    """What was measured of judges that decide together, and what it lets expect of the rows."""
    rates = check.rates
    if rates is None:
        return {"who": check.who, "error_rates": "not measured"}
    accepted, refused = judged.get("accepted by judge", 0), judged.get("refused by judge", 0)
    wrong = wrong_verdicts(accepted, refused, rates.fpr, rates.fnr)
    return {
        "who": check.who,
        "error_rates": {
            **{name: getattr(rates, name) for name in ("fpr", "fnr", "kappa", "negatives", "positives")},
            "unreadable": rates.unreadable,
            "where": rates.where,
            "labels": check.labels,
            "drifted": check.drifted,
        },
        "expected_wrong": None if wrong is None else {"accepted": wrong[0], "refused": wrong[1]},
    }


def _rows(scenes: Iterable[Scene], config: Config) -> Iterator[Pair]:
    """The pairs of all scenes; where any shows a picture, every prompt is made of parts, as one table wants it."""
    pairs = [pair for scene in scenes for pair in scene.pairs(config.pairs.per_scene, config.seed)]
    if not any(pair.images for pair in pairs):
        return iter(pairs)
    return (pair.model_copy(update={"prompt": tuple(map(_in_parts, pair.prompt))}) for pair in pairs)


def _in_parts(turn: Mapping[str, Any]) -> Mapping[str, Any]:
    content = turn["content"]
    return {**turn, "content": [_part(content)] if isinstance(content, str) else content}


def _told(pairs: Sequence[Pair]) -> dict[str, int]:
    return {"pairs": len(pairs), "samples": len({pair.sample for pair in pairs})}


def _written(folder: Path, sides: Mapping[str, Sequence[Pair]], manifest: dict[str, Any]) -> dict[str, Any]:
    folder.mkdir(parents=True, exist_ok=True)
    atomic_write.clear(folder)
    (folder / "manifest.json").unlink(missing_ok=True)
    # A text-only trainer takes a column of pictures, even an empty one, for a set that shows them.
    without = None if any(pair.images for side in sides.values() for pair in side) else {"images"}
    for name, pairs in sides.items():
        atomic_write.write(folder / name, (pair.model_dump_json(exclude=without) + "\n" for pair in pairs))
    manifest["files"] = {name: sha256((folder / name).read_bytes()).hexdigest() for name in sides}
    atomic_write.write(folder / "manifest.json", json.dumps(manifest, indent=2, ensure_ascii=False) + "\n")
    return manifest
