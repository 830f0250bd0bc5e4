"""HIC-Bench: how many answers to open scientific tasks are intelligent hallucinations (IH), how many defective (DH).

This file declares the benchmark. `candidate.py` asks the candidate, and `judge.py` asks the judges. `memory.py` has the
examples of the dynamic prompt. `ratings.py` turns traces into classes, and `score.py` classes into metrics.
"""

from collections.abc import Mapping

from lotbench.benchmarks.hicbench import candidate, judge
from lotbench.benchmarks.hicbench.comparing import across
from lotbench.benchmarks.hicbench.official import published
from lotbench.benchmarks.hicbench.reviewing import Label, rows
from lotbench.benchmarks.hicbench.sample import Item
from lotbench.benchmarks.hicbench.score import answers, grade, metrics, primary_metric
from lotbench.benchmarks.hicbench.sections import sections
from lotbench.benchmarks.hicbench.settings import Settings
from lotbench.benchmarks.hicbench.validation import CHECKED
from lotbench.config.model_names import Names, kin
from lotbench.errors import UsageError
from lotbench.harness.benchmark import Benchmark, Review, Role
from lotbench.harness.episode import scored
from lotbench.types import Sampling

ROLES = {
    "candidate": Role("answers the tasks", Sampling(temperature=1.0)),
    "judge": Role(
        "gives the marks and decides on hallucination",
        Sampling(temperature=0.0),
        impartial=True,
        checked=True,
    ),
    "dhp_judge": Role("chooses the examples of dhp", Sampling(temperature=0.0), required=False),
    "keywords": Role("names the keywords of answers, for kwPrec", Sampling(temperature=0.0), required=False),
}


def cast(settings: Settings, names: Names, seed: int) -> tuple[Settings, Names]:
    """Return the settings and the models of a run by role, the judges without the candidate and its siblings.

    `exclude_self=false` keeps all judges. The settings get the number of judges, and whether a model is named for the role
    `keywords`.

    Raises:
        UsageError: No judge is left, or their number is not that of the setting `judges`. Or the judge of the examples
            (role `dhp_judge`) is missing or also scores answers. Or `keywords` is on and no model is named for it.
    """
    judges, candidate = names["judge"], names["candidate"][0]
    if settings.exclude_self:
        judges = tuple(model for model in judges if not kin(model, candidate))
    if not judges:
        raise UsageError("judge: the candidate may not judge itself: name another --judge")
    if settings.dhp and settings.dhp_judge == "separate":
        own = names.get("dhp_judge", ())
        if len(own) != 1:
            raise UsageError("dhp needs one judge of its own: --role dhp_judge=NAME (or dhp_judge=panel)")
        if own[0] in judges and own[0].kind != "human":
            raise UsageError(f"dhp_judge: {own[0].text} scores the answers too; name another (or =panel)")
    if settings.judges not in (None, len(judges)):
        message = f"judges={settings.judges}, and {len(judges)} sit: name others, or set judges={len(judges)}"
        raise UsageError(message)
    named = bool(names.get("keywords"))
    if settings.keywords and not named:
        raise UsageError("keywords: nobody is there to name them: --role keywords=NAME")
    filled = {"judges": len(judges), "keywords": named}
    return settings.model_copy(update=filled), {**names, "judge": judges}


def calls(settings: Settings) -> Mapping[str, int]:
    """Return the maximum number of calls of one episode, by role; repetitions after an unreadable reply are not counted."""
    separate = settings.dhp and settings.dhp_judge == "separate"
    return {
        "candidate": settings.answers,
        "judge": settings.answers * (settings.judges or 1),
        **({"dhp_judge": settings.answers} if separate else {}),
        **({"keywords": settings.answers} if settings.keywords else {}),
    }


benchmark = Benchmark(
    name="hicbench",
    version="5",
    about="answer open scientific tasks, inventively and without fault",
    roles=ROLES,
    Settings=Settings,
    Item=Item,
    nodes={"respond": candidate.respond, "judge": judge.judge, "grade": scored},
    grade=grade,
    metrics=metrics,
    calls=calls,
    sections=sections,
    cast=cast,
    strata=("field",),
    asked=("question",),
    published=published,
    sequences=lambda settings: settings.order if settings.dhp else "each",
    validation=CHECKED,
    review=Review(rows, Label),
    primary_metric=primary_metric,
    answers=answers,
    across=across,
)
