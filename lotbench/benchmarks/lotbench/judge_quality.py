"""The report's section on the judges of a run: their error rates, and the scores corrected by people's labels.

Error rates measured on the judge set are shown beside the score. Only people's labels of this run's own guesses
correct it. `report.trust` decides whether judge and oracle are good enough.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from lotbench.benchmarks.lotbench import labelled
from lotbench.benchmarks.lotbench.chance import chains_sd, chance_line
from lotbench.benchmarks.lotbench.games import Opinion, game
from lotbench.benchmarks.lotbench.judge_rows import DIFFERENT
from lotbench.benchmarks.lotbench.primary_metric import primary_metric
from lotbench.benchmarks.lotbench.settings import Settings
from lotbench.benchmarks.lotbench.validation import BOUNDS, deciding_judges
from lotbench.harness import judge_standing
from lotbench.harness.judge_validation import JudgeContext, JudgeQuality, Place, Validation, played
from lotbench.metrics.agreement import Field, Stratum
from lotbench.metrics.intervals import Floats
from lotbench.report.markdown import interval
from lotbench.report.trust import MOST_UNANSWERED, Check, Rates
from lotbench.types import Metric, Trace

Record = Mapping[str, Any]
LEAST_LABELS = 30
"""The minimum number of guesses that people call right, or wrong, for a rate that counts for trust."""
LABEL_ERRORS = (0.01, 0.02)
"""The shares of wrong labels for which the corrected score is also given; our two labellers differ on 4.1 % of
the rows of daeso.jsonl."""


def standing(declared: Validation, context: JudgeContext) -> JudgeQuality:
    """Return the measured quality of a run's judges and oracle, with report sections, corrected scores and chance line."""
    settings, indexes = context.settings, deciding_judges(context.settings)
    found = (trace.score.parts.get("language") for trace in context.traces)
    languages = {str(language) for language in found if language}

    def record(role: str, indexes: Sequence[int], settings: Settings, criterion: str = "") -> Record | None:
        check = judge_standing.by_criterion(context, declared, role, indexes, settings).get(criterion)
        return check and judge_standing.in_language(check, languages)

    decides = record("judge", indexes, settings)
    alone = record("judge", indexes[:1], settings.model_copy(update={"confirm": "never"}))
    oracle = record("oracle", (0,), settings)
    others = [("check alone", alone), ("oracle", oracle)]
    checks = [("the run's judge", decides), *(pair for pair in others if pair[1] is not decides)]
    rows = [(" + ".join(check["key"]["models"]), name, check) for name, check in checks if check is not None]
    # Labels of other runs are on guesses of other candidates and do not apply to this run.
    fields = decides["field"] if decides is not None else ()
    digest = played(context.traces) if fields else ""
    own = next((entry for entry in fields if entry.get("played") == digest), None)
    judge = _check(context, "judge", indexes, decides)
    if others_decided := _others(context.traces, indexes):
        judge = Check("judge", judge_standing.who(context, "judge", others_decided), None)
    if judge.rates is not None and own is not None:
        judge = replace(judge, rates=_in_the_field(judge.rates, own, context.seed))
    if decides is None:
        notes = [f"unchecked: {judge.who}", judge_standing.HOW]
    else:
        notes = [*_chained(decides, context), *(_fielded(own, context) if own else [_how_to_label(context)])]
        if unused := ", ".join(entry["run"] for entry in fields if entry is not own):
            notes.append(f"Labels of other runs are not used here, for their guesses are others: {unused}.")
    line, sentence = chance_line(settings, decides, alone)
    ideas = []
    if settings.encore:
        other = record("judge", (0,), settings, DIFFERENT)
        ideas = [replace(_check(context, "judge", (0,), other), task="other ideas", bound="")]
    return JudgeQuality(
        (judge, *ideas, _check(context, "oracle", (0,), oracle)),
        (judge_standing.section(rows, notes),),
        _scores(own, context) if own else {},
        tuple(entry for *_, entry in rows),
        line,
        sentence,
    )


def _others(traces: Sequence[Trace], indexes: Sequence[int]) -> list[int]:
    """Return the other judges that decided instead of these, whose replies could not be read; none if they are within the bounds."""
    judges = Counter(opinion.judge for trace in traces for opinion in _opinions(trace))
    others = sorted(judges.keys() - set(indexes))
    return others if sum(judges[index] for index in others) > MOST_UNANSWERED * judges.total() else []


def _opinions(trace: Trace) -> list[Opinion]:
    rounds = game(trace).rounds
    every = (opinion for each in rounds for opinion in each.opinions)
    return [opinion for opinion in every if opinion.how == "judge" and opinion.accepted is not None]


def _check(context: JudgeContext, role: str, indexes: Sequence[int], record: Record | None) -> Check:
    rates = judge_standing.tested(record) if record else None
    return Check(role, judge_standing.who(context, role, indexes), rates, bound=BOUNDS[role])


def _in_the_field(rates: Rates, own: Record, seed: int = 0) -> Rates:
    """Return the judge's rates with FPR and FNR from the labels of this run, as far as these labels give them.

    Kappa stays that of the judge set, if it has one. Fewer than LEAST_LABELS labels of a kind give no rate. Nor do labels
    that leave open more than MOST_UNANSWERED of the drawn guesses, which may be the doubtful ones.
    """
    field = _field(own)
    labels = sum(stratum.labelled for stratum in field.strata)
    right = sum(stratum.true for stratum in field.strata)
    wrong, unlabelled = labels - right, own.get("open", 0)
    if unlabelled > MOST_UNANSWERED * (labels + unlabelled):
        return rates
    # The FNR is NaN if no guess was labelled right.
    fpr, fnr, kappa = (None if np.isnan(rate) else rate for rate in (*field.point(), field.kappa()))
    fpr = None if wrong < LEAST_LABELS else fpr
    fnr = None if right < LEAST_LABELS or own.get("lone") else fnr
    # Of a judge that was not checked on a judge set, these labels must bound the FPR.
    alone = fpr is not None and rates.most_fpr is None
    most = float(np.nanquantile(_draws(field, seed)[0], 0.975)) if alone else rates.most_fpr
    return replace(
        rates,
        fpr=rates.fpr if fpr is None else fpr,
        fnr=rates.fnr if fnr is None else fnr,
        kappa=kappa if rates.kappa is None else rates.kappa,
        negatives=rates.negatives + wrong,
        positives=rates.positives + right,
        most_fpr=most,
        hard=wrong if alone else rates.hard,
        where=rates.where if fpr is None else "in the field",
        fnr_where=rates.where if fnr is None else "in the field",
        alone=alone,
    )


def _draws(field: Field, seed: int) -> tuple[Floats, Floats]:
    return field.draw(np.random.default_rng([abs(seed), 1]), 4000)


def _chained(record: Record, context: JudgeContext) -> list[str]:
    """Return a note on how far verdicts depend on the causal chain that was stored for a sample.

    It has the standard deviation that the choice of chains puts on the score. Empty if the check did not try other
    chains.
    """
    if not (chains := record.get("chains")):
        return []
    note = judge_standing.chains_said(chains)
    metric = primary_metric(context.traces, context.settings).whole()
    if metric.value is None or not chains["accepted"]:
        return [note]
    n = len({trace.sample for trace in context.traces})
    sd = chains_sd(chains["accepted"], metric.value, n, context.settings)
    return [f"{note} That puts a standard deviation of {sd:.4f} on creativity_score over {n} samples."]


def _how_to_label(context: JudgeContext) -> str:
    return (
        "The scores are not corrected for the judge's errors: that takes labels of this run's guesses "
        f"(lotbench judge-check --from-run {context.run} --n 200, then --labels FILE)."
    )


def _field(own: Record) -> Field:
    return Field(tuple(Stratum(**values) for values in own["strata"]))


def _fielded(own: Record, context: JudgeContext) -> list[str]:
    """Return notes on the judge's error rates by the labels of this run, and on how far people agree with each other."""
    rates = _field(own)
    draws = _draws(rates, context.seed)
    texts = [
        f"{name} {_rate(value, rate_draws)}"
        for name, value, rate_draws in zip(("FPR", "FNR"), rates.point(), draws, strict=True)
    ]
    notes = []
    if lone := own.get("lone"):
        notes.append(
            f"One person calls {lone} refused guesses right, and nobody else has labelled them. They count as wrong, so the FNR "
            "may be higher."
        )
    if "people" in own:
        people, judge = (_kappa(rate) for rate in own["people"])
        notes.append(
            f"People among themselves: kappa {people}; the judge and one person: kappa {judge}. What people agree on with "
            "each other is the ceiling of what a judge can."
        )
    labels = sum(stratum.labelled for stratum in rates.strata)
    if unlabelled := own.get("open", 0):
        notes.append(f"{unlabelled} of the {labels + unlabelled} drawn guesses are left open.")
    return [
        *notes,
        f"Field rates, from {labels} labelled guesses of {context.run}: {', '.join(texts)}.",
        "creativity_score_corrected and solve_rate_corrected go by the labels: a stop that people call false is "
        "broken off there, and right guesses that the judge refused are added as often as a draw of refusals had them.",
        *_mislabelled(own, context),
    ]


def _mislabelled(own: Record, context: JudgeContext) -> list[str]:
    """Return a note on the corrected score if a share of the labels (LABEL_ERRORS) were wrong; empty without labels."""
    if not (labels := _labels(own)):
        return []
    games = [game(trace) for trace in context.traces]
    values = {error: labelled.at_error(games, labels, context.settings, error) for error in LABEL_ERRORS}
    texts = [f"{value:.4f} at {error:.0%}" for error, value in values.items() if value is not None]
    if not texts:
        return []
    return [f"creativity_score_corrected if so many labels were wrong, either way: {', '.join(texts)}."]


def _kappa(rate: Mapping[str, Any]) -> str:
    if rate["value"] is None:
        return f"none ({rate['hits']} of {rate['n']} agree)"
    return f"{interval(rate['value'], rate['low'], rate['high'], 2)}, n = {rate['n']}"


def _rate(value: float, draws: Floats) -> str:
    """Return a rate as text, with its 95 % interval from posterior draws of the rate.

    The text for NaN says that no right guess was labelled, so that the FNR is not known.
    """
    if np.isnan(value):
        return "not known (no right guess was labelled)"
    low, high = np.quantile(draws[~np.isnan(draws)], (0.025, 0.975))
    return interval(value, low, high)


def _labels(own: Record) -> dict[Place, bool]:
    return {(sample, repeat, number): right for sample, repeat, number, right in own.get("labels", ())}


def _scores(own: Record, context: JudgeContext) -> dict[str, Metric]:
    """Return the scores corrected by the labels of this run, by metric; empty without labels."""
    if not (labels := _labels(own)):
        return {}
    rate, score = labelled.corrected([game(trace) for trace in context.traces], labels, context.settings)
    return {"creativity_score_corrected": score, "solve_rate_corrected": rate}
