"""Planted sets: a perfect judge gets 1, a constant one what arithmetic says, through the benchmark's own questions."""

import json
import re
import shutil
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from lotbench.calls import judge_records
from lotbench.checks.judge_check import Checked, judge_check
from lotbench.checks.judge_check_plan import CheckOrder, prepare, read_set
from lotbench.cli import main
from lotbench.config.experiment import Config, Experiment, Limits
from lotbench.errors import DataError
from lotbench.metrics.agreement import Agreement
from lotbench.storage import datasets
from tests.fakes import RuleModel
from tests.rules import hear

SETS = datasets.shipped("data", "judge_sets")
FEW = Path(__file__).parents[1] / "cases" / "planted"
"""A handful of rows of each set, whose order the tests of faults know."""
PLANTED = ("hicbench", "liveideabench", "rinobench")
Saying = Callable[[Any], Mapping[str, Any]]


def rows(benchmark: str, file: str, sets: Path = SETS) -> list[dict[str, Any]]:
    text = (sets / benchmark / file).read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


known = cache(rows)
"""The rows of the shipped sets, which a judge looks through at every question."""


def perfect_hic(request: Any) -> Mapping[str, Any]:
    (row,) = [row for row in known("hicbench", "answers.jsonl") if row["answer"] in hear(request).text]
    inventive = "inventive" in row["kind"]
    marks = {"originality": 5 if inventive else 2, "feasibility": 4, "value": 4}
    return {**marks, "hallucination": "Yes" if "false" in row["kind"] else "No"}


def constant_hic(request: Any) -> Mapping[str, Any]:
    return {"originality": 4, "feasibility": 4, "value": 4, "hallucination": "No"}


def perfect_liveidea(request: Any) -> Mapping[str, Any]:
    text = hear(request).text
    if request.key.step == "compare":
        (row,) = [r for r in known("liveideabench", "pairs.jsonl") if r["one"] in text and r["other"] in text]
        return {"grade": row["letter"]}
    (row,) = [r for r in known("liveideabench", "triples.jsonl") if any(v in text for v in r["versions"])]
    place = next(number for number, version in enumerate(row["versions"]) if version in text)
    marks = {"originality": 5, "feasibility": 5, "clarity": 5} | {row["respect"]: 9 - 3 * place}
    return {"analysis": "so so", **marks}


def constant_liveidea(request: Any) -> Mapping[str, Any]:
    if request.key.step == "compare":
        return {"grade": "C"}
    return {"analysis": "so so", "originality": 5, "feasibility": 5, "clarity": 5}


def sentences(text: str) -> list[str]:
    """The sentences of a justification: what a tidy judge takes for its arguments."""
    return [one.strip() for one in re.split(r"(?<=[.!?])\s+", text) if one.strip()]


def justified(text: str) -> str:
    """The justification in the question for its arguments."""
    return text.partition("JUSTIFICATION\n")[2].partition("\nOUTPUT")[0]


def rino(decide: Callable[[str, str, str], tuple[bool, bool]]) -> Saying:
    """A judge of RINoBench that takes sentences for arguments and decides on each: (found in the gold, grounded)."""

    def rule(request: Any) -> Mapping[str, Any]:
        text = hear(request).text
        if "novelty" in hear(request).form:
            return {"known": sentences(justified(text))[:10], "novelty": []}
        gold = dict(re.findall(r"^(g[kn]\d+): (.*)$", text, re.MULTILINE))
        claims = dict(re.findall(r"^([kn]\d+): (.*)$", text, re.MULTILINE))
        made: dict[str, Any] = {}
        for name, claim in claims.items():
            mine = {one: said for one, said in gold.items() if one[1] == name[0]}
            made[f"{name}_reason"] = "so"
            if mine:
                made[f"{name}_gold"] = [one for one, said in mine.items() if decide(claim, said, text)[0]]
            grounded = decide(claim, "", text)[1]
            if name[0] == "k":
                made[f"{name}_works"] = ["w1"] if grounded else []
            else:
                made[f"{name}_in_idea"] = "Yes" if grounded else "No"
        return made

    return rule


@cache
def true_claims() -> dict[str, bool]:
    return {
        claim["text"]: claim["grounded"]
        for row in rows("rinobench", "justifications.jsonl")
        for claim in row["claims"]
    }


JUDGES: Mapping[str, Mapping[str, Saying]] = {
    "hicbench": {"perfect": perfect_hic, "constant": constant_hic},
    "liveideabench": {"perfect": perfect_liveidea, "constant": constant_liveidea},
    "rinobench": {
        "perfect": rino(lambda claim, gold, text: (claim == gold, true_claims().get(claim, True))),
        "constant": rino(lambda claim, gold, text: (True, True)),
    },
}


async def check(benchmark: str, judge: str | Saying, out: Path, **more: Any) -> Checked:
    experiment = Experiment(
        benchmark=benchmark,
        roles={"judge": ("python:j",)},
        repeats=more.pop("repeats", 1),
        data=more.pop("data", ""),
    )
    more = {"split": "all", "out": out, "preflight": False, **more}
    wanted = CheckOrder(Config(experiment=experiment, limits=Limits()), **more)
    says = JUDGES[benchmark][judge] if isinstance(judge, str) else judge
    return await judge_check(wanted, own={"python:j": RuleModel(says, model_id="judge")})


def found(checked: Checked) -> dict[str, Agreement]:
    return {one.what: one.groups["all"] for one in checked.measures if one.groups}


CRITERIA = {
    "hicbench": {"hallucination", "originality", "IH"},
    "liveideabench": {"alike", "originality", "clarity", "feasibility"},
    "rinobench": {"grounded", "recalled"},
}


@pytest.mark.parametrize("benchmark", PLANTED)
async def test_a_perfect_judge_gets_one(benchmark: str, tmp_path: Path) -> None:
    checked = await check(benchmark, "perfect", tmp_path)
    by_criterion = found(checked)
    assert by_criterion.keys() >= CRITERIA[benchmark]
    for criterion in CRITERIA[benchmark]:
        one = by_criterion[criterion]
        assert (one.accuracy.value, one.fpr.value, one.fnr.value) == (1.0, 0.0, 0.0), criterion
        assert one.kappa.value == pytest.approx(1.0)
    assert not any(one.unreadable for one in checked.measures)
    if benchmark == "rinobench":
        # Gold that is sound bounds false alarms.
        assert (by_criterion["gold grounded"].fnr.value, by_criterion["gold grounded"].fpr.n) == (0.0, 0)


@pytest.mark.parametrize("benchmark", PLANTED)
async def test_a_constant_judge_gets_what_arithmetic_says(benchmark: str, tmp_path: Path) -> None:
    by_criterion = found(await check(benchmark, "constant", tmp_path))
    expected = {
        # Nothing is false, everything is inventive: an answer is IH whatever it is.
        "hicbench": {"hallucination": (0.0, 1.0), "originality": (1.0, 0.0), "IH": (1.0, 0.0)},
        # Every pair is C; no version gets more than another.
        "liveideabench": {"alike": (1.0, 0.0)}
        | dict.fromkeys(("originality", "clarity", "feasibility"), (0.0, 1.0)),
        "rinobench": {"grounded": (1.0, 0.0), "recalled": (1.0, 0.0)},
    }[benchmark]
    for criterion, rates in expected.items():
        one = by_criterion[criterion]
        assert (one.fpr.value, one.fnr.value) == rates, criterion
        assert one.kappa.value == pytest.approx(0.0)


@pytest.mark.parametrize("benchmark", PLANTED)
def test_the_shipped_sets_have_no_faults_and_no_sample_in_both_splits(
    benchmark: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["data", "check", str(SETS / benchmark)]) == 0
    assert "no faults" in capsys.readouterr().out
    read, probes = read_set(SETS / benchmark)
    assert read.about.labels == "planted" and probes
    for number, split in {
        (p.sample, p.split) for p in probes if "/self" not in p.id and "/other" not in p.id
    }:
        assert split == ("test" if int(number.rpartition("-")[2]) % 5 else "tune")


@pytest.mark.parametrize(
    ("benchmark", "file", "change", "told"),
    [
        ("hicbench", "answers.jsonl", {"sample": "hic-999"}, "sample: no sample 'hic-999'"),
        ("hicbench", "answers.jsonl", {"fault": "law"}, "fault: a false answer names its fault"),
        ("hicbench", "answers.jsonl", {"checker": "claude"}, "checker: 'claude' wrote the row"),
        ("hicbench", "answers.jsonl", {"id": "hic-003-a-dull"}, "id: 'hic-003-a-dull' stands in row"),
        ("hicbench", "answers.jsonl", {"split": "tune"}, "split: sample hic-003 is in"),
        ("liveideabench", "pairs.jsonl", {"letter": "A"}, "letter: paraphrase is D"),
        ("liveideabench", "triples.jsonl", {"blind_order": [0, 0, 2]}, "blind_order: not an order"),
        ("rinobench", "justifications.jsonl", {"claims": []}, "claims: "),
        ("rinobench", "justifications.jsonl", {"colour": "red"}, "colour: "),
    ],
)
def test_a_set_names_its_faults(
    benchmark: str, file: str, change: dict[str, Any], told: str, tmp_path: Path
) -> None:
    (tmp_path / "set.toml").write_bytes((FEW / benchmark / "set.toml").read_bytes())
    lines = rows(benchmark, file, FEW)
    lines[0] |= change
    (tmp_path / file).write_text("".join(json.dumps(row) + "\n" for row in lines), encoding="utf-8")
    with pytest.raises(DataError, match=rf"{file}:\d+: {re.escape(told)}"):
        read_set(tmp_path)


def test_an_answer_that_stands_twice_is_named_with_its_line(tmp_path: Path) -> None:
    """The check ended with "asked twice for hic-002/..." and named no file."""
    (tmp_path / "set.toml").write_bytes((FEW / "hicbench" / "set.toml").read_bytes())
    first, *_ = rows("hicbench", "answers.jsonl", FEW)
    twice = [first, {**first, "id": "another"}]
    (tmp_path / "answers.jsonl").write_text("".join(json.dumps(row) + "\n" for row in twice))
    with pytest.raises(DataError, match=r"answers\.jsonl:2: answer: row 1 has this answer"):
        read_set(tmp_path)


async def test_a_set_of_ones_own_counts_for_data_of_ones_own(tmp_path: Path) -> None:
    """A kind set of one's own replaced the shipped check of a judge, for all data."""
    own = Path(shutil.copytree(SETS / "hicbench", tmp_path / "own"))
    data = Path(shutil.copytree(datasets.shipped("data", "hicbench"), tmp_path / "hicbench"))

    async def kept(data: str, judge_set: str = str(own)) -> list[Mapping[str, Any]]:
        checked = await check(
            "hicbench", "perfect", tmp_path, split="test", judge_set=judge_set, data=data, limit=9
        )
        return [json.loads(path.read_text("utf-8"))["key"] for path in checked.stored]

    assert not await kept("hicbench") and not await kept(str(data)), (
        "a copy of the shipped samples is shipped"
    )
    first, *others = (data / "samples.jsonl").read_text("utf-8").splitlines(keepends=True)
    (data / "samples.jsonl").write_text("".join([*others, first]), "utf-8")
    [mine] = {key["data"] for key in await kept(str(data))}
    await kept("", "")
    of_shipped = [record["set"]["shipped"] for record in judge_records.counting(mine)]
    assert of_shipped == [False] * 3 + [True] * 3, "the check on one's own data comes first"
    assert len(judge_records.counting("other data")) == 3


def test_a_row_that_the_checker_read_otherwise_is_contested_and_left_out(tmp_path: Path) -> None:
    (tmp_path / "set.toml").write_bytes((FEW / "hicbench" / "set.toml").read_bytes())
    lines = rows("hicbench", "answers.jsonl", FEW)
    lines[0] |= {"checker": "somebody", "blind_false": True, "blind_inventive": True}
    (tmp_path / "answers.jsonl").write_text("".join(json.dumps(row) + "\n" for row in lines), "utf-8")
    experiment = Experiment(benchmark="hicbench", roles={"judge": ("python:j",)})
    wanted = CheckOrder(Config(experiment=experiment, limits=Limits()), judge_set=str(tmp_path), split="all")
    made = prepare(wanted)
    assert lines[0]["id"] not in {one.id for one in made.probes}
    assert len(made.every_row) == len(lines) == len(made.probes) + 1


async def test_a_limit_takes_triples_whole(tmp_path: Path) -> None:
    checked = await check("liveideabench", "perfect", tmp_path, limit=4)
    # A pair of each relation; of one triple each two versions both ways.
    assert "alike" in {one.what for one in checked.measures}
    assert sorted(one.of for one in checked.measures) == [3, 6]
