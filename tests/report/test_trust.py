"""The rule of trust: each of its parts with a run that it bars, and the run beside it that it does not."""

import json
from dataclasses import replace
from typing import Any

import pytest

from lotbench.metrics.agreement import rate
from lotbench.metrics.intervals import wilson
from lotbench.report.trust import Case, Check, Player, Rates, reasons, remarks
from lotbench.storage import datasets

GOOD = Rates(fpr=0.02, fnr=0.1, kappa=0.85, negatives=120, positives=60, unreadable=0.01)
JUDGE = Check("judge", "gpt-4o-mini-2024-07-18", GOOD)
GAME = replace(JUDGE, rates=replace(GOOD, most_fpr=0.04, hard=120), bound="game")
ORACLE = Check("oracle", "o", replace(GOOD, fpr=0.1, fnr=0.15, kappa=0.75))

TRUSTED = Case(
    candidate=Player(("openai/gpt-4.1", "gpt-4.1-2025-04-14"), frozenset({"api"})),
    others={"judge": Player(("deepseek/deepseek-chat",)), "oracle": Player(("gemini/gemini-2.0-flash",))},
    impartial=("judge", "oracle"),
    checked=("judge", "oracle"),
    checks=(JUDGE, replace(ORACLE, bound="oracle")),
    writers={"claude": 108},
    samples=108,
    whole=108,
    episodes=(324, 324),
)


def case(**changed: Any) -> Case:
    return replace(TRUSTED, **changed)


def judged(**rates: Any) -> Case:
    return case(checks=(replace(JUDGE, rates=replace(GOOD, **rates)), TRUSTED.checks[1]))


def answered(**rates: Any) -> Case:
    return case(checks=(JUDGE, replace(TRUSTED.checks[1], rates=replace(GOOD, **rates))))


def test_a_run_of_which_all_is_known_is_trusted() -> None:
    assert reasons(TRUSTED) == ()
    assert remarks(TRUSTED) == ()


JUDGED: tuple[tuple[dict[str, Any], dict[str, Any], str], ...] = (
    ({"fpr": 0.051}, {"fpr": 0.05}, "the judge's FPR on the judge set is 0.051, above max_fpr 0.05"),
    ({"fpr": 0.2, "where": "in the field"}, {}, "FPR in the field is 0.200"),
    ({"fnr": 0.31}, {"fnr": 0.3}, "the judge's FNR on the judge set is 0.310, above max_fnr 0.3"),
    ({"fnr": None}, {}, "the judge's FNR on the judge set is not known"),
    ({"kappa": 0.59}, {"kappa": 0.6}, "kappa with the labels is 0.590, below min_kappa 0.6"),
    ({"kappa": None}, {}, "kappa with the labels is not known"),
    ({"unreadable": 450 / 1102}, {"unreadable": 0.05}, "40.8% of the verdicts of the judge's check"),
    ({"negatives": 29}, {"negatives": 30}, "was checked on 29 negatives only, fewer than 30"),
    ({"positives": 29}, {"positives": 30}, "was checked on 29 positives only, fewer than 30"),
)
"""What was found of a judge that bars a run, and what just does not."""
ASKED: tuple[tuple[dict[str, Any], dict[str, Any], str], ...] = (
    ({"samples": 1}, {"samples": 50}, "the run is of 1 sample, fewer than 50"),
    (
        {"samples": 19, "whole": 20},
        {"samples": 20, "whole": 20},
        "of 19 samples, fewer than the data set's 20",
    ),
    ({"samples": 7, "whole": 7}, {"samples": 8, "whole": 8}, "of 7 samples, fewer than 8"),
    (
        {"samples": 98, "units": 49},
        {"samples": 98, "units": 50},
        "the run is of 98 samples on 49 pictures (or other units), fewer than 50",
    ),
    ({"samples": 60, "whole": 60, "units": 7}, {"samples": 60, "whole": 60, "units": 8}, "on 7 pictures"),
    ({"covered": 7}, {"covered": 8}, "of 108 samples, 7 of them in the primary metric, fewer than 8"),
    ({"samples": 49, "whole": None}, {"samples": 50, "whole": None}, "the run is of 49 samples, fewer than"),
    ({"episodes": (323, 324)}, {}, "the run is not complete: 323 of 324 tasks are done"),
    ({"hand_picked": True}, {}, "the samples were chosen by name"),
    (
        {"unread": {"oracle": (22, 30, 108)}},
        {"unread": {"oracle": (21, 30, 108)}},
        "22 of the 108 replies of the",
    ),
    (
        {"candidate": Player(("gpt-5",), answered=("gpt-3.5", "gpt-5"))},
        {"candidate": Player(("m@http://h",), answered=("m-1", "m@http://h"))},
        "several ids, so it is not one model (gpt-3.5, gpt-5)",
    ),
    ({"unanswered": 6}, {"unanswered": 5}, "the primary metric knows nothing of 6 of the 108 samples"),
    (
        {"unanswered": 3, "covered": 42},
        {"unanswered": 2, "covered": 42},
        "knows nothing of 3 of the 42 samples",
    ),
    ({"missing": 17}, {"missing": 16}, "17 of 324 tasks failed or have no score, more than 5%"),
    ({"writers": {"gpt-oss-120b": 3, "people": 105}}, {"writers": {"people": 108}}, "wrote 3 of the 108"),
    ({"seen": 12}, {"seen": 0}, "the candidate's adapter was trained on 12 of the 108 samples"),
    ({"demands": ["only one judge sits"]}, {}, "only one judge sits"),
)
"""What else is known of a run that bars it, and what just does not."""


def indexes(**others: Player) -> Case:
    return case(others={**TRUSTED.others, **others})


def plays(name: str, kind: str = "api", **more: Any) -> Case:
    return case(candidate=Player((name,), frozenset({kind})), **more)  # type: ignore[arg-type]


def checks(*found: Check) -> Case:
    return case(checks=found)


@pytest.mark.parametrize(
    ("barred", "beside", "reason"),
    [
        *((judged(**bad), judged(**good), reason) for bad, good, reason in JUDGED),
        *((case(**bad), case(**good), reason) for bad, good, reason in ASKED),
        (
            checks(TRUSTED.checks[1]),
            TRUSTED,
            "the judge was never checked (unchecked: deepseek/deepseek-chat)",
        ),
        (checks(JUDGE), case(checks=(JUDGE,), checked=("judge",)), "the oracle was never checked"),
        (
            checks(replace(JUDGE, rates=None), ORACLE),
            TRUSTED,
            "the judge was never checked (unchecked: gpt-4o-m",
        ),
        # An oracle errs with less harm than a judge, and has a bound of its own.
        (answered(fpr=0.5, fnr=0.5, kappa=0.0), TRUSTED, "the oracle's FPR on the judge set is 0.500"),
        (checks(JUDGE, ORACLE), TRUSTED, "the oracle's FPR on the judge set is 0.100, above max_fpr 0.05"),
        # A judge of several tasks, each checked.
        (
            checks(*TRUSTED.checks, Check("judge", "j", None, task="clarity")),
            checks(*TRUSTED.checks, Check("judge", "j", GOOD, task="clarity")),
            "the judge of clarity was never checked (unchecked: j)",
        ),
        (
            checks(replace(GAME, rates=replace(GOOD, most_fpr=0.04, negatives=99)), TRUSTED.checks[1]),
            checks(GAME, TRUSTED.checks[1]),
            "was checked on 99 negatives only, fewer than 100",
        ),
        (
            checks(replace(GAME, rates=GOOD), TRUSTED.checks[1]),
            checks(GAME, TRUSTED.checks[1]),
            "the judge's FPR on hard negatives has no upper end: too few rows or samples to bound it",
        ),
        (
            checks(replace(GAME, rates=replace(GOOD, most_fpr=0.06, hard=120)), TRUSTED.checks[1]),
            checks(replace(GAME, rates=replace(GOOD, most_fpr=0.05, hard=120)), TRUSTED.checks[1]),
            "the judge's FPR on hard negatives may be as high as 0.060",
        ),
        (
            checks(replace(GAME, rates=replace(GOOD, most_fpr=wilson(0, 72)[1], hard=72)), TRUSTED.checks[1]),
            checks(replace(GAME, rates=replace(GOOD, most_fpr=wilson(0, 73)[1], hard=73)), TRUSTED.checks[1]),
            "(95 % interval, n = 72), above max_fpr 0.05; even a judge without an error takes at least 73",
        ),
        # Kinship.
        (
            indexes(judge=Player(("gpt-4o-mini",))),
            indexes(judge=Player(("deepseek-r1",))),
            "the candidate and the judge are of one family of models",
        ),
        (
            indexes(oracle=Player(("x", "gpt-4.1-2025-04-14@http://h:1/v1"))),
            indexes(captioner=Player(("gpt-4.1",))),
            "the candidate and the oracle are of one family of models",
        ),
        (
            plays("o3", others={**TRUSTED.others, "judge": Player(("gpt-4o-mini",))}),
            TRUSTED,
            "are of one family",
        ),
        (
            plays("anthropic/claude-sonnet-4-5"),
            plays("anthropic/claude-sonnet-4-5", writers={"people": 108}),
            "the candidate is of the family that wrote 108 of the 108 samples or their gold (claude)",
        ),
        # Who plays.
        (
            plays("file:calls.jsonl", "file"),
            plays("python:mine", "python"),
            "the candidate's answers are a recording",
        ),
        (indexes(judge=Player(("local",), frozenset({"local"}))), TRUSTED, "an embedded model played"),
    ],
)
def test_each_part_of_the_rule_bars_one_run_and_lets_the_one_beside_it_pass(
    barred: Case, beside: Case, reason: str
) -> None:
    found = reasons(barred)
    assert any(reason in one for one in found), found
    assert reasons(beside) == ()


@pytest.mark.parametrize("said", ["x/y@http", "m@http://u:p@h/v1?k=1", "a\tb@http", "@http://h", ""])
def test_an_id_is_what_a_server_says_and_no_name_of_ours(said: str) -> None:
    assert reasons(case(candidate=replace(TRUSTED.candidate, answered=(said,)))) == ()


@pytest.mark.parametrize("mark", ["#a1b2c3d4", "#a1b2c3d4@python"])
@pytest.mark.parametrize("said", ["mixtral", "gemma", "command-r", "python:bot"])
def test_the_mark_of_a_python_object_hides_no_family(said: str, mark: str) -> None:
    others = {**TRUSTED.others, "judge": Player(("python:M-judge-0",), answered=(said + mark,))}
    found = reasons(case(candidate=Player(("python:M",), answered=(said,)), others=others))
    assert "the candidate and the judge are of one family of models" in found


def test_the_judge_that_made_three_models_ranked_is_refused_on_every_side() -> None:
    """It refused whatever it could be read on, and could not be read on 450 of 1,102."""
    found = reasons(judged(fpr=0.0, fnr=1.0, kappa=0.0, unreadable=450 / 1102))
    assert [one.split(",")[-1].split()[1] for one in found] == ["max_fnr", "min_kappa", "max_unreadable"]


def test_a_judge_that_abstains_always_is_refused() -> None:
    nothing = Rates(fpr=None, fnr=None, kappa=None, negatives=0, positives=0, unreadable=1.0)
    found = " ".join(reasons(case(checks=(replace(JUDGE, rates=nothing), TRUSTED.checks[1]))))
    assert "FPR on the judge set is not known" in found and "100.0% of the verdicts" in found


def test_a_judge_of_the_writers_family_is_marked_and_not_barred() -> None:
    marked = case(others={**TRUSTED.others, "judge": Player(("anthropic/claude-3-5-haiku",))})
    assert reasons(marked) == ()
    assert remarks(marked) == ("The judge is of the family that wrote the samples (claude).",)


def test_a_rate_of_few_labels_is_remarked_where_trust_takes_no_upper_end() -> None:
    few = replace(JUDGE, rates=replace(GOOD, most_fpr=0.24, hard=36), task="originality", who="m-1, m-2")
    assert reasons(checks(few, TRUSTED.checks[1])) == ()
    assert remarks(checks(few, TRUSTED.checks[1])) == (
        "The judge's FPR of originality may be as high as 0.240, above 0.05 (95 % interval, 36 rows judged by m-1, m-2).",
    )
    enough = replace(few, rates=replace(GOOD, most_fpr=0.05))
    wrong = replace(few, rates=replace(GOOD, fpr=0.06, most_fpr=0.24))
    game = replace(few, bound="game")
    assert not any(remarks(checks(check, TRUSTED.checks[1])) for check in (enough, wrong, game))


def test_samples_that_do_not_say_who_wrote_them_are_counted() -> None:
    assert remarks(case(samples=60, whole=105, seed=3)) == (
        "Drawn with seed 3: another seed draws other samples or tasks.",
    )
    assert remarks(
        case(unread={"candidate": (0, 6, 108)}, own={"settings": "refusals = drop", "prompts": ""})
    ) == (
        "6 of the 108 replies of the candidate could not be read or broke a rule of the task.",
        "The settings are not the default ones (refusals = drop).",
    )
    assert "covers alignment" in remarks(case(uncovered="alignment"))[0]
    assert remarks(case(guessed=40)) == (
        "The likes in 40 of the 108 samples are guesses of their writers: nobody voted.",
    )
    assert remarks(case(writers={"": 8, "people": 100})) == (
        "Who wrote 8 of the 108 samples is not said (`writer`).",
    )


def test_the_shipped_judge_set_has_hard_negatives_enough_for_a_good_judge() -> None:
    lines = datasets.shipped("data", "judge_sets", "daeso.jsonl").read_text("utf-8").splitlines()
    rows = [row for row in map(json.loads, lines) if row["split"] == "test" and not row["contested"]]
    hard = [row for row in rows if row["difficulty"] == "hard"]
    for every, passes in ((0, True), (100, True), (10, False)):
        found = rate([(every > 0 and at % every == 0, row["sample"]) for at, row in enumerate(hard)])
        assert found.value is not None
        rates = replace(GOOD, fpr=min(found.value, 0.05), most_fpr=found.high, hard=len(hard))
        barred = reasons(case(checks=(replace(GAME, rates=rates), TRUSTED.checks[1])))
        assert (barred == ()) is passes, barred
