"""Whether a check finds the error rates that a judge has: `python -m tests.bench.planted_rates [--checks 200]`.

For each benchmark a planted set of the shipped size is made up (its texts say nothing, for no model reads them), and a
judge that errs at known rates, everywhere alike or on half of the items only. Each check draws its errors anew; the
judge's words go through the benchmark's own rulings and the check's own rates. What is printed is how often the true
rate lay in the interval, which should be at least .92.
"""

import argparse
from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import Any

from lotbench import benchmarks
from lotbench.benchmarks.hicbench.validation import Planted
from lotbench.benchmarks.liveideabench.validation import Pair, Triple
from lotbench.benchmarks.rinobench.validation import Claim, Justification
from lotbench.checks.judge_rates import JudgedProbe, measures
from lotbench.harness.judge_validation import JudgePanel, Probe, ProbeResult

FPR, FNR = 0.08, 0.2
"""What the judge has: so often it says yes where it should say no, and no where it should say yes."""
LEAST = 0.92
Errs = Callable[[str, bool], bool]
"""Whether the judge errs on an item, given what is right there."""


Naming = Callable[[int], str]
"""The id of a sample, by its number from 0."""


def hicbench(name: Naming = "s{}".format) -> list[Any]:
    """Four answers to each of 100 tasks."""
    made: list[Any] = []
    for number in range(100):
        for kind in ("false", "inventive", "dull", "inventive_false"):
            wrong = kind in ("false", "inventive_false")
            about: dict[str, Any] = {
                "kind": kind,
                "fault": "law" if wrong else None,
                "planted": "x" if wrong else "",
            }
            made.append(Planted(**_row(name(number), kind), answer=f"{kind} {number}", **about))
    return made


def liveideabench(name: Naming = "s{}".format) -> list[Any]:
    """100 pairs on 50 keywords, and 60 triples on 30."""
    kinds = (("paraphrase", "D"), ("other", "B"), ("elsewhere", "C"), ("other", "A"))
    made: list[Any] = []
    for number in range(100):
        relation, letter = kinds[number % 4]
        texts: dict[str, Any] = {"one": f"one {number}", "other": f"other {number}"}
        made.append(Pair(**_row(name(number // 2), f"p{number}"), **texts, relation=relation, letter=letter))
    for number in range(60):
        respect: Any = ("originality", "clarity", "feasibility")[number % 3]
        versions: Any = tuple(f"{number} {place}" for place in range(3))
        made.append(
            Triple(
                **_row(name(number // 2), f"t{number}"),
                respect=respect,
                versions=versions,
                planted=("a", "b"),
            )
        )
    return made


def rinobench(name: Naming = "s{}".format) -> list[Any]:
    """120 justifications of five claims on 60 ideas, two of the five without ground."""
    claims = tuple(
        Claim(
            kind="known", text=f"claim {n}", grounded=n < 3, how="" if n < 3 else "contradicts", planted="x"
        )
        for n in range(5)
    )
    return [
        Justification(**_row(name(number // 2), f"j{number}"), claims=claims, justification="all of them")
        for number in range(120)
    ]


def _row(sample: str, name: str) -> dict[str, Any]:
    return {"id": f"{sample}-{name}", "sample": sample, "split": "test", "writer": "nobody"}


def said_hic(probe: Probe, errs: Errs) -> ProbeResult:
    """Marks by which an answer that is called sound and inventive is IH."""
    inventive = bool(probe.known["inventive"])
    false = bool(probe.known["false"]) is not errs(probe.sample, bool(probe.known["false"]))
    marks: dict[str, Any] = {"originality": 5 if inventive else 2, "feasibility": 4, "value": 4}
    return ProbeResult(false, false, values={**marks, "hallucination": false})


def said_liveidea(probe: Probe, errs: Errs) -> ProbeResult:
    """A letter for both orders, or a mark that falls with the damage; a judge that errs on a triple sees no damage."""
    if probe.task == "pairs":
        alike = probe.label is not errs(probe.sample, probe.label)
        letter = "C" if alike else "A"
        return ProbeResult(None, None, values={"letter 0": letter, "letter 1": letter})
    place, blind = int(str(probe.known["place"])), errs(probe.group, True)
    return ProbeResult(None, None, values={str(probe.known["respect"]): 5 if blind else 9 - 3 * place})


def said_rino(probe: Probe, errs: Errs) -> ProbeResult:
    """Every claim with its ground; the text is taken apart without fault."""
    known: Mapping[str, Any] = probe.known
    checks: Any = {
        name: {"grounded": grounded is not errs(probe.sample, grounded), "gold": []}
        for name, (grounded, _) in known.items()
    }
    return ProbeResult(None, None, values={"gold": {}, "claims": {}, "checks": checks})


WORLDS: Mapping[str, tuple[Callable[[], list[Any]], Callable[[Probe, Errs], ProbeResult], Mapping[str, tuple[float, float]]]] = {
    "hicbench": (hicbench, said_hic, {"hallucination": (FPR, FNR)}),
    "liveideabench": (
        liveideabench, said_liveidea,
        {"alike": (FPR, FNR), "originality": (0.0, FNR), "clarity": (0.0, FNR), "feasibility": (0.0, FNR)},
    ),
    "rinobench": (rinobench, said_rino, {"grounded": (FPR, FNR)}),
}  # fmt: skip


def errors(seed: str, by_item: bool) -> Errs:
    """A judge's errors: drawn anew for each row, or twice as often on half of the items and never on the others."""
    drawn = Random(seed)
    once: dict[tuple[str, str], bool] = {}
    hard: dict[str, bool] = {}

    def errs(item: str, truth: bool) -> bool:
        rate = FNR if truth else FPR
        if by_item:
            rate *= 2 * hard.setdefault(item, drawn.random() < 0.5)
        if "-t" in item:
            # What is wrong with a triple is wrong with all its versions.
            return once.setdefault((item, "triple"), drawn.random() < rate)
        return drawn.random() < rate

    return errs


def covered(benchmark: str, checks: int, by_item: bool) -> dict[str, list[bool]]:
    """Whether each true rate lay in its interval, by criterion and rate, a check each."""
    rows, says, truths = WORLDS[benchmark]
    validation = benchmarks.get(benchmark).validation
    assert validation is not None
    made = rows()
    samples: Any = {row.sample: None for row in made}
    probes, faults = validation.probes("judge", made, samples)
    assert not faults, faults
    panel = JudgePanel("judge", (0,), "", None)
    found: dict[str, list[bool]] = {}
    for check in range(checks):
        errs = errors(f"{benchmark}:{check}:{by_item}", by_item)
        judged = [JudgedProbe(panel, one, 1, says(one, errs)) for one in probes]
        for one in measures(judged, check, validation.rulings):
            if one.criterion not in truths:
                continue
            group = one.groups["all"]
            for name, rate, truth in zip(
                ("FPR", "FNR"), (group.fpr, group.fnr), truths[one.criterion], strict=True
            ):
                inside = rate.low is not None and rate.high is not None and rate.low <= truth <= rate.high
                found.setdefault(f"{one.criterion}: {name} {truth:g}", []).append(inside)
    return found


def main(given: Sequence[str] | None = None) -> int:
    """Print the coverage of each rate; returns 1 if one is below .92."""
    options = argparse.ArgumentParser(
        description="How often a check's intervals hold the judge's true error rates."
    )
    options.add_argument("--checks", type=int, default=200)
    checks = options.parse_args(given).checks
    least = 1.0
    for benchmark in WORLDS:
        for by_item in (False, True):
            for name, inside in covered(benchmark, checks, by_item).items():
                share = sum(inside) / len(inside)
                least = min(least, share)
                where = "on half of the items" if by_item else "everywhere alike"
                print(
                    f"{benchmark:14} {name:24} errors {where:22} covered {share:.3f} of {len(inside)} checks"
                )
    return int(least < LEAST)


if __name__ == "__main__":
    raise SystemExit(main())
