"""LoTbench: fill the mask in a funny response to a picture; the fewer rounds, the more creative (Sec. 5, Alg. 1).

This file declares the benchmark and the nodes of its game. In `candidate.py` candidate and oracle are asked, in
`check.py` the judges.
"""

from collections.abc import Mapping

from lotbench.benchmarks.lotbench import candidate, chain, check, judge_rows, lints, validation
from lotbench.benchmarks.lotbench.ballot import BALLOT
from lotbench.benchmarks.lotbench.games import answers
from lotbench.benchmarks.lotbench.judge_quality import standing
from lotbench.benchmarks.lotbench.primary_metric import primary_metric
from lotbench.benchmarks.lotbench.replay import replay
from lotbench.benchmarks.lotbench.sample import Item
from lotbench.benchmarks.lotbench.score import grade, metrics
from lotbench.benchmarks.lotbench.sections import sections
from lotbench.benchmarks.lotbench.settings import Settings, calls, cast
from lotbench.harness.benchmark import Benchmark, Role
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
    version="8",
    about="find the hidden part of a funny response, in as few rounds as possible",
    roles=ROLES,
    Settings=Settings,
    Item=Item,
    nodes=NODES,
    grade=grade,
    metrics=metrics,
    calls=calls,
    sections=sections,
    cast=cast,
    strata=("language", "tier"),
    alike=lambda item, settings: item.image if settings.frame == "hidden" else None,
    shared_fields=("key_text", "response"),
    lints=lints.lints,
    right=lambda item: (item.response,),
    repeats=3,
    beyond=chain.beyond,
    validation=Validation(
        rows=judge_rows.ROWS,
        rulings=validation.rulings,
        probes=judge_rows.probes,
        panels=validation.panels,
        read=validation.probe_result,
        depends=validation.depends,
        of_data=True,
        deciding=validation.deciding,
        draw=validation.draw,
        redraw=chain.redraw,
        standing=standing,
    ),
    ballot=BALLOT,
    replay=replay,
    primary_metric=primary_metric,
    answers=answers,
)
