"""The measured quality of a run's judges, for benchmarks in which each judge judges alone.

Results of judge checks are read from their records in the store and passed to the rule of trust (`report.trust`): one
check for each judge and each criterion that scores rest on.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from lotbench.harness.judge_validation import JudgeContext, JudgeQuality, Validation, judged_by
from lotbench.report.sections import Cell, Section, Table
from lotbench.report.trust import Check, Rates

Record = Mapping[str, Any]
ROLE = "judge"
HOW = "lotbench judge-check checks a model by its name; docs/judges.md says how to check a Python function."
"""How to check a judge, a note beside those that were not checked."""


def standing(declared: Validation, context: JudgeContext) -> JudgeQuality:
    """Return the quality of a run's judges: by the benchmark's own function if it has one, else by a check of each judge."""
    if declared.standing is not None:
        return declared.standing(declared, context)
    judges = [
        (who(context, ROLE, [index]), by_criterion(context, declared, ROLE, [index], context.settings))
        for index in range(len(context.ids.get(ROLE, ())))
    ]
    rows = [(judge, criterion, record) for judge, records in judges for criterion, record in records.items()]
    if not rows:
        # No judge was checked: the rule of trust gives one reason for all.
        return JudgeQuality()
    bounds = declared.deciding(ROLE, context.settings)
    checks = [check for judge, records in judges for check in _checks(judge, records, bounds)]
    notes = [f"unchecked: {judge}" for judge, records in judges if not records]
    return JudgeQuality(tuple(checks), (section(rows, notes),), {}, tuple(record for *_, record in rows))


def who(context: JudgeContext, role: str, indexes: Sequence[int]) -> str:
    """Return the model ids in the replies of these judges as text, or a note that no call was answered."""
    answered = context.ids.get(role, ())
    names = (name for index in indexes if index < len(answered) for name in answered[index])
    return ", ".join(names) or "no call came back"


def by_criterion(
    context: JudgeContext, declared: Validation, role: str, indexes: Sequence[int], settings: Any
) -> dict[str, Record]:
    """Return the checks of these judges as one panel under these settings, by criterion.

    Empty if there was no check, or if the replies of a judge have no model id, or several.
    """
    judges = judged_by(context.ids.get(role, ()), context.names.get(role, ()), indexes)
    if judges is None:
        return {}
    key_of_role = declared.key(role, settings, context.prompts, context.sampling.get(role), context.data)
    # A check on a judge set of one's own names its data set even if verdicts do not depend on it.
    data = {"data": context.data}
    wanted = {**data, **key_of_role, **judges}
    checks: dict[str, Record] = {}
    for record in context.records:
        key = {**data, **record["key"]}
        criterion = key.pop("criterion", "")
        if key == wanted:
            checks.setdefault(criterion, record)
    return checks


def _checks(judge: str, records: Mapping[str, Record], bounds: Mapping[str, str]) -> Iterator[Check]:
    if not records:
        yield Check(ROLE, judge, None)
        return
    for criterion, bound in bounds.items():
        record = records.get(criterion)
        yield Check(ROLE, judge, tested(record) if record else None, task=criterion, bound=bound)


def tested(record: Record) -> Rates:
    """Return the rates over all rows of a check in the store."""
    unreadable = record["unreadable"] / record["of"] if record["of"] else 0.0
    if "all" not in record["groups"]:
        # A record of field labels only: the judge was never checked on a judge set.
        return Rates(fpr=None, fnr=None, kappa=None, negatives=0, positives=0)
    groups = record["groups"]
    of, most = groups["all"], fpr(record) or {}
    return Rates(
        fpr=of["fpr"]["value"],
        fnr=of["fnr"]["value"],
        kappa=of["kappa"]["value"],
        negatives=of["fpr"]["n"],
        positives=of["fnr"]["n"],
        unreadable=unreadable,
        most_fpr=most.get("high"),
        hard=groups["hard"]["fpr"]["n"] if "hard" in groups else 0,
        where=f"on the judge set's rows in {record['language']}"
        if "language" in record
        else "on the judge set",
    )


def in_language(record: Record, languages: Collection[str]) -> Record:
    """Return a check with the rates on rows of the one language that a run plays; unchanged if it plays several.

    It has no rates if it has no rows of a language that the run plays.
    """
    groups = record.get("groups", {})
    language = next(iter(languages), "")
    if "all" in groups and any(each not in groups for each in languages):
        return {**record, "groups": {}}
    if len(languages) != 1 or "all" not in groups:
        return record
    start = f"{language} "
    own = {name.removeprefix(start): group for name, group in groups.items() if name.startswith(start)}
    return {**record, "groups": {**groups, **own, "all": groups[language]}, "language": language}


def fpr(record: Record) -> dict[str, Any] | None:
    """Return the false positive rate of a check, with its interval and counts; None if the check has no rates.

    It is the rate on `hard` rows if the judge set has some, else on all rows.
    """
    groups = record.get("groups", {})
    rate: dict[str, Any] | None = groups.get("hard", groups.get("all", {})).get("fpr")
    return rate


def elsewhere(record: Record) -> str | None:
    """Return a note if the check was made on other samples than those of the run, else None."""
    if not record["set"].get("elsewhere"):
        return None
    return (
        f"Checked on the shipped judge set, which is about the samples of {record['set'].get('data')}, not on those that "
        "were played: what the judge gets wrong on these may be more or less; labels of the run's own verdicts say it."
    )


def chains_said(chains: Mapping[str, Any]) -> str:
    """Return a sentence on how often a new causal chain changed a verdict, from the result of `checks.chains.replay`."""
    changed, pairs = chains["changed"]
    share = f" ({changed / pairs:.1%})" if pairs else ""
    return (
        f"Another causal chain changed {changed} of {pairs} verdicts{share}: rows of {chains['samples']} samples, "
        f"{chains['chains']} new chains each."
    )


def section(checks: Sequence[tuple[str, str, Record]], notes: Sequence[str] = ()) -> Section:
    """Return the section on a run's judges: the notes, and the rates of each check with its judge and its criterion."""
    rows: list[tuple[Cell, ...]] = []
    about_sets: list[str] = []
    for judge, criterion, record in checks:
        rates, about = tested(record), record["set"]
        counts = (rates.negatives, rates.positives)
        values = (rates.fpr, rates.fnr, rates.kappa, rates.unreadable)
        rows.append((judge, criterion, about.get("data"), about.get("labels"), *counts, *values))
        about_sets += filter(None, [elsewhere(record)])
    columns = (
        "judge", "criterion", "set", "labels", "negatives", "positives", "FPR", "FNR", "kappa", "unreadable",
    )  # fmt: skip
    tables = (Table(columns, tuple(rows), "Checked on the judge set"),) if rows else ()
    return Section("Judge", tuple(dict.fromkeys([*notes, *about_sets])), tables, brief=True)
