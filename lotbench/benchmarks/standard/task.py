"""Standard evaluation on Oogiri data: choose, rank or write creative responses (lotbench.txt, Sec. 4, 6.1, 7.1).

People's votes are the truth, so there is no judge. `candidate.py` asks the candidate, `answers.py` reads its answers.
"""

from collections.abc import Mapping, Sequence

from lotbench.benchmarks.standard import candidate
from lotbench.benchmarks.standard.building import build
from lotbench.benchmarks.standard.oogiri import Row
from lotbench.benchmarks.standard.oogiri.problems import Problem
from lotbench.benchmarks.standard.score import answers, grade, metrics, primary_metric
from lotbench.benchmarks.standard.sections import sections
from lotbench.benchmarks.standard.settings import CHOICES, Settings, cast
from lotbench.harness.ballot import Ballot, Task
from lotbench.harness.benchmark import Benchmark, Composed, Role
from lotbench.harness.episode import nothing, scored
from lotbench.prompting.frameworks import FRAMEWORKS
from lotbench.types import Sampling, Trace

ROLES = {
    "candidate": Role("chooses, ranks or writes responses", Sampling(temperature=0.0), pictures=True),
    # A candidate knows a text of its own family among the others.
    "captioner": Role(
        "says what a picture shows", Sampling(temperature=0.0), required=False, pictures=True, impartial=True
    ),
    "rewriter": Role(
        "puts a response in other words", Sampling(temperature=0.0), required=False, impartial=True
    ),
}


def calls(settings: Settings) -> Mapping[str, int]:
    """Return the maximum number of calls for one problem, by role; repetitions after an unreadable reply are not counted."""
    framework = FRAMEWORKS[settings.framework]
    draws = settings.votes if framework.votes else 1
    counts = {"candidate": (1 if settings.kind == "generate" else draws) + framework.notes}
    for role in (settings.captions, settings.rewrites):
        if role not in (None, "rows"):
            counts[role] = 1 + (role == "captioner" and settings.unrelated == "caption")
    return counts


def responses(traces: Sequence[Trace], samples: object, settings: Settings) -> Mapping[str, str] | None:
    """Return the free responses of the first repeat by problem, for people to vote on; None for choices and rankings."""
    if settings.kind != "generate":
        return None
    written = {trace.sample: trace.score.parts.get("response") for trace in traces if trace.repeat == 1}
    return {sample: str(text) for sample, text in written.items() if text}


benchmark = Benchmark(
    name="standard",
    version="6",
    about="choose and rank the creative responses to pictures and questions, as people did",
    roles=ROLES,
    Settings=Settings,
    Item=Row,
    nodes={"respond": candidate.respond, "judge": nothing, "grade": scored},
    grade=grade,
    metrics=metrics,
    calls=calls,
    sections=sections,
    cast=cast,
    composed=Composed(Problem, build, "oogiri", CHOICES),
    strata=("language", "kind", "type"),
    asked=("question", "caption"),
    right=lambda problem: problem.liked,
    ballot=Ballot("evaluate standard with --set kind=generate", responses, Task.model_validate),
    primary_metric=primary_metric,
    answers=answers,
)
