"""Tasks of the panel's benchmarks as people read them: what was asked, what was said, and what each judge made of it.

Pure: a sample and a trace as they stand on disk, plain records out. A step that says less than it should is read as far as
it goes; a benchmark that is not known here is told step by step.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from lotbench.types import Trace

Badge: TypeAlias = tuple[str, str]
"""A word or two, and how it is shown: `good`, `bad` or `flat`."""
KINDS = {"known": "not new", "novelty": "new"}
"""What an argument of RINoBench says of the idea: that it is known, or that it is novel."""
GRADES = {
    "A": "A: different ideas",
    "B": "B: a little alike",
    "C": "C: much alike",
    "D": "D: the same idea",
}


@dataclass(frozen=True, slots=True)
class Point:
    """One argument, and what it rests on: lines of a name and a text."""

    text: str
    badges: tuple[Badge, ...] = ()
    notes: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Passage:
    """Something to read: a text with badges, points, a table, and the steps that it comes from (from 1)."""

    title: str
    text: str = ""
    badges: tuple[Badge, ...] = ()
    points: tuple[Point, ...] = ()
    head: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    places: tuple[int, ...] = ()
    folded: bool = False


@dataclass(frozen=True, slots=True)
class Story:
    """A walk to be read: what was asked, and what was said."""

    asked: tuple[Passage, ...]
    said: tuple[Passage, ...]


@dataclass(frozen=True, slots=True)
class _Step:
    place: int
    name: str
    round: int
    value: Mapping[str, Any]


def story(benchmark: str, sample: Mapping[str, Any], trace: Trace) -> Story | None:
    """A walk to be read; None where nothing here knows how."""
    tell = _TELLERS.get(benchmark)
    if tell is None:
        return None
    told: Sequence[Mapping[str, Any]] = trace.steps
    steps = [
        _Step(
            place, str(step["step"]), int(step.get("round") or 0), value if isinstance(value, Mapping) else {}
        )
        for place, step in enumerate(told, 1)
        for value in [step.get("value")]
    ]
    asked, said = tell(sample, trace, steps)
    return Story(tuple(asked), tuple(one for one in said if one.text or one.points or one.rows or one.badges))


_Told: TypeAlias = tuple[list[Passage], list[Passage]]


def _rinobench(sample: Mapping[str, Any], trace: Trace, steps: Sequence[_Step]) -> _Told:
    idea = sample.get("research_idea")
    parts = idea.items() if isinstance(idea, Mapping) else [("idea", idea)]
    works = [one for one in sample.get("related_works") or () if isinstance(one, Mapping)]
    asked = [Passage(_plain(name).capitalize(), _text(text)) for name, text in parts]
    asked.append(
        Passage(
            f"{len(works)} related works",
            points=tuple(
                Point(f"{one.get('id')}: {one.get('title')}", (), (("", _text(one.get("abstract"))),))
                for one in works
            ),
            folded=True,
        )
    )
    last = {step.name: step for step in steps}
    respond, parts_of = last.get("respond"), trace.score.parts
    said = []
    if respond is not None:
        gold, given = sample.get("novelty_score"), respond.value.get("novelty_score")
        badges = [
            (f"novelty {_text(given) or 'not read'} of 5", "good" if given == gold else "bad"),
            (f"experts: {_text(gold)}", "flat"),
        ]
        said.append(
            Passage(
                "What the model says",
                _text(respond.value.get("reasoning")),
                tuple(badges),
                places=(respond.place,),
            )
        )
    said.append(Passage("What the experts say", _text(sample.get("novelty_reasoning")), folded=True))
    titles = {str(one.get("id")): str(one.get("title")) for one in works}
    for kind, what in KINDS.items():
        said += _arguments(kind, what, last, titles)
    if (aligned := last.get("alignment")) is not None:
        worth = aligned.value.get("alignment", parts_of.get("alignment"))
        said.append(
            Passage(
                "How well the reasons agree",
                _text(aligned.value.get("reason")),
                ((f"alignment {_text(worth)}", "flat"),),
                places=(aligned.place,),
            )
        )
    return asked, said


def _arguments(
    kind: str, what: str, last: Mapping[str, _Step], titles: Mapping[str, str]
) -> Iterator[Passage]:
    """The arguments of one kind, each with what it rests on; then those of the experts that it leaves out."""
    claims, gold = (_table(last.get(name), kind) for name in ("claims", "gold_arguments"))
    ground = last.get(f"ground_{kind}")
    checks = _table(ground, "claims")
    points, met = [], set[str]()
    for name, text in claims.items():
        check = checks.get(name)
        if not isinstance(check, Mapping):
            points.append(Point(_text(text), (("not checked", "flat"),)))
            continue
        found = [str(one) for one in check.get("gold") or ()]
        met.update(found)
        badges = [("the experts say so too", "good") if found else ("not among the experts' reasons", "flat")]
        badges.append(("grounded", "good") if check.get("grounded") else ("not grounded", "bad"))
        notes = [("experts", _text(gold.get(one))) for one in found if gold.get(one)]
        where = [titles.get(str(one), str(one)) for one in check.get("works") or ()]
        notes += [("grounded in", one) for one in where]
        notes += [("grounded in", "the idea itself")] if check.get("grounded") and not where else []
        notes += [("the judge", _text(check["reason"]))] if check.get("reason") else []
        points.append(Point(_text(text), tuple(badges), tuple(notes)))
    places = tuple(one.place for one in (last.get("claims"), ground) if one is not None)
    yield Passage(f"Arguments that it is {what}", points=tuple(points), places=places)
    missed = tuple(Point(_text(text)) for name, text in gold.items() if name not in met)
    yield Passage(f"What experts say is {what}, and the model does not", points=missed)


def _liveideabench(sample: Mapping[str, Any], trace: Trace, steps: Sequence[_Step]) -> _Told:
    asked = [Passage("Keyword", _text(sample.get("keyword")))]
    asked += [Passage("Category", _text(sample["category"]))] if sample.get("category") else []
    said = []
    for step in steps:
        if step.name == "respond":
            judges = [one for one in steps if one.name == "judge" and one.round == step.round]
            names = ("originality", "feasibility", "clarity")
            rows = tuple((_who(one), *(_text(one.value.get(name)) for name in names)) for one in judges)
            points = tuple(
                Point(_text(one.value.get("analysis")), ((_who(one), "flat"),))
                for one in judges
                if one.value.get("analysis")
            )
            text, badges = _answered(step, "idea")
            places = (step.place, *(one.place for one in judges))
            said.append(
                Passage(
                    f"Idea {step.round}" if step.round else "Idea",
                    text,
                    badges,
                    points,
                    ("judge", *names),
                    rows,
                    places,
                )
            )
    grades = [one for one in steps if one.name == "compare"]
    if grades:
        rows = tuple(
            (
                _who(one),
                " then ".join(f"idea {each}" for each in one.value.get("ideas") or ()),
                GRADES.get(_text(one.value.get("grade")), "not read"),
            )
            for one in grades
        )
        said.append(
            Passage(
                "How alike the ideas are",
                head=("judge", "shown", "grade"),
                rows=rows,
                places=tuple(one.place for one in grades),
            )
        )
    return asked, said


def _hicbench(sample: Mapping[str, Any], trace: Trace, steps: Sequence[_Step]) -> _Told:
    asked = [Passage("Task", _text(sample.get("question")))]
    asked += [
        Passage(_plain(name).capitalize(), _text(sample[name]), folded=name == "knowledge")
        for name in ("field", "principle", "challenge", "knowledge")
        if sample.get(name)
    ]
    said, names = [], ("originality", "feasibility", "value")
    answers = [step for step in steps if step.name == "respond"]
    for number, step in enumerate(answers):
        judges = [one for one in steps if one.name == "judge" and one.value.get("answer") == number]
        faulty = [one.value.get("hallucination") for one in judges]
        text, badges = _answered(step, "answer")
        if any(one is not None for one in faulty):
            wrong = sum(one is True for one in faulty)
            badges += (
                (
                    f"{wrong} of {len(faulty)} judges find it at fault",
                    "bad" if 2 * wrong > len(faulty) else "good" if not wrong else "flat",
                ),
            )
        rows = tuple(
            (
                _who(one),
                *(_text(one.value.get(name)) for name in names),
                _text(one.value.get("hallucination")),
            )
            for one in judges
        )
        places = (step.place, *(one.place for one in judges))
        said.append(
            Passage(f"Answer {number + 1}", text, badges, (), ("judge", *names, "at fault"), rows, places)
        )
    return asked, said


def _standard(sample: Mapping[str, Any], trace: Trace, steps: Sequence[_Step]) -> _Told:
    asked = [Passage("Prompt", _text(sample["question"]))] if sample.get("question") else []
    asked += [Passage("In the picture", _text(sample["caption"]))] if sample.get("caption") else []
    answers = [step for step in steps if step.name == "respond"]
    options = [one for one in sample.get("options") or () if isinstance(one, Mapping)]
    said = []
    for step in answers:
        picked, shown = (list(step.value.get(name) or ()) for name in ("picked", "shown"))
        points = []
        for letter, at in zip("ABCDEFGHIJ", shown, strict=False):
            if isinstance(at, int) and at < len(options):
                points.append(
                    Point(f"{letter}. {_text(options[at].get('text'))}", _chosen(options[at], at, picked))
                )
        text, badges = _answered(step, "response" if "response" in step.value else "answer")
        said.append(Passage("Answer", text, badges, tuple(points), places=(step.place,)))
    others = tuple(step.place for step in steps if step.name != "respond")
    said += (
        [
            Passage("Notes", _text(step.value.get("notes")), places=(step.place,))
            for step in steps
            if step.value.get("notes")
        ]
        if others
        else []
    )
    return asked, said


def _chosen(option: Mapping[str, Any], at: int, picked: Sequence[Any]) -> tuple[Badge, ...]:
    """Whether an option is right, and where it was put."""
    badges: list[Badge] = []
    right = option.get("slot") == "right"
    if at in picked:
        place = f"placed {picked.index(at) + 1}" if len(picked) > 2 else "chosen"
        badges.append((place, "good" if right else "flat" if len(picked) > 2 else "bad"))
    if right:
        badges.append(("right", "good"))
    return tuple(badges)


def _answered(step: _Step, name: str) -> tuple[str, tuple[Badge, ...]]:
    """The text of an answer; where there is none, why."""
    text, status = _text(step.value.get(name)), _text(step.value.get("status"))
    if text:
        return text, ()
    return "", ((_plain(status) or "no answer", "bad"),)


def _table(step: _Step | None, name: str) -> Mapping[str, Any]:
    found = step.value.get(name) if step is not None else None
    return found if isinstance(found, Mapping) else {}


def _who(step: _Step) -> str:
    """Which judge it is: its name, or its number."""
    if step.value.get("model"):
        return _text(step.value["model"])
    seat = step.value.get("seat", step.value.get("judge"))
    return f"judge {seat + 1}" if isinstance(seat, int) else "judge"


def _plain(name: object) -> str:
    return _text(name).replace("_", " ")


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "" if value is None else f"{value:.4g}" if isinstance(value, float) else str(value)


_TELLERS: Mapping[str, Callable[[Mapping[str, Any], Trace, Sequence[_Step]], _Told]] = {
    "rinobench": _rinobench,
    "liveideabench": _liveideabench,
    "hicbench": _hicbench,
    "standard": _standard,
}
