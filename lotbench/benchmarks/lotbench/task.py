"""LoTbench: fill the mask in a funny response to a picture; the fewer rounds, the more creative (Sec. 5, Alg. 1).

This file is the benchmark's table of contents: what it declares, and which function is which node of the
game. `candidate.py` has the candidate's half, `check.py` the judge's.
"""

from __future__ import annotations

from collections.abc import Mapping

from lotbench.benchmarks.lotbench import (
    candidate,
    chain,
    check,
    judge_rows,
    lints,
    placebo,
    validation,
)
from lotbench.benchmarks.lotbench.ballot import BALLOT
from lotbench.benchmarks.lotbench.games import answers
from lotbench.benchmarks.lotbench.headline import by_labels, headline
from lotbench.benchmarks.lotbench.judge_quality import standing
from lotbench.benchmarks.lotbench.replay import replay
from lotbench.benchmarks.lotbench.sample import Item
from lotbench.benchmarks.lotbench.score import grade, metrics, score_ends
from lotbench.benchmarks.lotbench.sections import sections
from lotbench.benchmarks.lotbench.settings import SCORE_ONLY, Settings, calls, resolve
from lotbench.harness.benchmark import Benchmark, Comparison, Data, Judges, People, Role, Walks
from lotbench.harness.episode import Node
from lotbench.harness.judge_validation import Validation
from lotbench.types import Sampling

NODES: Mapping[str, Node] = {
    "respond": candidate.respond,
    "check": check.check,
    "ask": candidate.ask,
    "answer": candidate.answer,
    "reveal": candidate.reveal,
}

ROLES = {
    "candidate": Role("fills the mask and asks questions", Sampling(temperature=1.0), pictures=True),
    "judge": Role(
        "decides whether a guess makes the same joke in another way",
        Sampling(temperature=0.0),
        ("gpt-4o-mini",),
        impartial=True,
        checked=True,
    ),
    "oracle": Role(
        "answers questions with yes or no",
        Sampling(temperature=0.0),
        ("gpt-4o-mini",),
        impartial=True,
        checked=True,
    ),
}


benchmark = Benchmark(
    name="lotbench",
    version="2",
    about="find the hidden part of a funny response, in as few rounds as possible",
    graph="game",
    roles=ROLES,
    Settings=Settings,
    Item=Item,
    nodes=NODES,
    grade=grade,
    metrics=metrics,
    calls=calls,
    sections=sections,
    resolve=resolve,
    data=Data(
        strata=("language", "tier"),
        beside=("key_text", "response"),
        faults=lints.faults,
        lints=lints.lints,
        needs_pictures=lambda settings: "image" in settings.arm,
        asked=lambda item, settings: item.image if settings.frame == "hidden" else None,
        right=lambda item: (item.response,),
    ),
    walks=Walks(repeats=3, supersteps=lambda settings: 5 * settings.max_rounds + 5, beyond=chain.beyond),
    people=People(replay=replay, ballot=BALLOT),
    judges=Judges(
        validation=Validation(
            folder="judge_sets",
            bounds={"judge": "game", "oracle": "oracle"},
            rows=judge_rows.ROWS,
            files=judge_rows.files,
            rulings=validation.rulings,
            probes=judge_rows.probes,
            panels=validation.panels,
            read=validation.probe_result,
            key=validation.key,
            fillings=validation.fillings,
            standing=standing,
            judged=validation.judged,
            placebo=placebo.lines,
        ),
    ),
    comparison=Comparison(
        tables=("Survival by round", "Leaps", "Outcomes"),
        reference="paper/lotbench.toml",
        headline=headline,
        by_labels=by_labels,
        score_only=SCORE_ONLY,
        answers=answers,
        ends=score_ends,
    ),
)
