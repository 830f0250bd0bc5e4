"""A full run of each benchmark: with judges that were checked it is rankable, with ones that were not it is not."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from lotbench import evaluate
from lotbench.checks.judge_check import judge_check
from lotbench.checks.judge_check_plan import CheckOrder
from lotbench.config.experiment import Config, Experiment, Limits
from lotbench.config.judge_panel import panel_id
from lotbench.report import trust
from lotbench.storage import datasets
from tests.bench import planted_rates
from tests.checks.test_planted import rino
from tests.fakes import RuleModel
from tests.rules import hear, number

NAMES: Mapping[str, Callable[[int], str]] = {
    "hicbench": lambda number: f"hic-{number + 1:03}",
    "liveideabench": lambda number: f"kw-{number + 1:03}",
    "rinobench": lambda number: f"rin-{number + 1:03}",
}
DATA = {"hicbench": "hicbench", "liveideabench": "liveideabench", "rinobench": "rinobench_easy"}
ROWS = {name: getattr(planted_rates, name)(NAMES[name]) for name in NAMES}
KINDS = {row.answer: row.kind for row in ROWS["hicbench"]}
PAIRS = {
    frozenset((row.one, row.other)): row.letter for row in ROWS["liveideabench"] if hasattr(row, "letter")
}
TRIPLES = [row for row in ROWS["liveideabench"] if hasattr(row, "versions")]
PLACES = {version: (row.respect, n) for row in TRIPLES for n, version in enumerate(row.versions)}
GROUNDED = {one.text: one.grounded for row in ROWS["rinobench"] for one in row.claims}
Rule = Callable[[Any], Mapping[str, Any]]


@pytest.fixture(autouse=True)
def few_samples(monkeypatch: pytest.MonkeyPatch) -> None:
    """Six samples are enough."""
    monkeypatch.setattr(trust, "MIN_SAMPLES", 6)


def between(text: str, first: str, last: str) -> str:
    return text.rpartition(f"\n{first}\n")[2].partition(f"\n{last}")[0]


def hic(request: Any) -> Mapping[str, Any]:
    kind = KINDS.get(between(hear(request).text, "ANSWER", "END OF ANSWER"), "dull")
    marks = {"originality": 5 if "inventive" in kind else 2, "feasibility": 4, "value": 4}
    return {**marks, "hallucination": "Yes" if "false" in kind else "No"}


def liveidea(request: Any) -> Mapping[str, Any]:
    text = hear(request).text
    if "grade" in hear(request).form:
        ideas = (between(text, "FIRST IDEA", "SECOND IDEA"), between(text, "SECOND IDEA", "END OF IDEAS"))
        return {"grade": PAIRS.get(frozenset(ideas), "A")}
    respect, place = PLACES.get(between(text, "IDEA", "END OF IDEA"), ("clarity", 0))
    return {"analysis": "so", "originality": 5, "feasibility": 6, "clarity": 6} | {respect: 9 - 3 * place}


def rinobench(request: Any) -> Mapping[str, Any]:
    form = hear(request).form
    if "steps" in form:
        return {"steps": ["compare them"]}
    if "score" in form:
        return {"reason": "so", "score": 7}
    return rino(lambda claim, gold, text: (claim == gold, GROUNDED.get(claim, True)))(request)


PERFECT: Mapping[str, Rule] = {"hicbench": hic, "liveideabench": liveidea, "rinobench": rinobench}


def candidate(request: Any) -> Any:
    heard = hear(request)
    if "novelty_score" in heard.form:
        return {"reasoning": "Much of it is known. Some of it is new.", "novelty_score": 3}
    return (
        f"An answer that is about what was asked and nothing else, number {number(heard.text, heard.seed)}."
    )


def own(benchmark: str, place: Path) -> Path:
    """The shipped samples and one more: for shipped samples only the shipped judge set counts."""
    made, shipped = place / "set", datasets.shipped("data", DATA[benchmark])
    if not made.exists():
        made.mkdir()
        text = (shipped / "samples.jsonl").read_text("utf-8")
        more = json.dumps({**json.loads(text.splitlines()[-1]), "id": "mine"})
        (made / "samples.jsonl").write_text(f"{text}{more}\n", "utf-8")
    return made


def planted(benchmark: str, folder: Path) -> Path:
    """A judge set of the size of the shipped one, about data of one's own (`own`)."""
    about = f'benchmark = "{benchmark}"\ndata = "{own(benchmark, folder.parent).name}"\nlabels = "planted"\n'
    (folder / "set.toml").write_text(about, "utf-8")
    files = {
        "hicbench": {"answers.jsonl": lambda row: True},
        "liveideabench": {
            "pairs.jsonl": lambda row: hasattr(row, "letter"),
            "triples.jsonl": lambda row: hasattr(row, "versions"),
        },
        "rinobench": {"justifications.jsonl": lambda row: True},
    }[benchmark]
    for name, takes in files.items():
        lines = [row.model_dump_json() + "\n" for row in ROWS[benchmark] if takes(row)]
        (folder / name).write_text("".join(lines), "utf-8")
    return folder


def wanted(benchmark: str, folder: Path, out: Path) -> CheckOrder:
    experiment = Experiment(benchmark=benchmark, roles={"judge": ("python:j",)}, repeats=1)
    return CheckOrder(Config(experiment=experiment, limits=Limits()), str(folder), out=out, preflight=False)


JUDGES = {"hicbench": 2, "liveideabench": 3, "rinobench": 1}
SETTINGS: Mapping[str, dict[str, Any]] = {
    "hicbench": {"answers": 1},
    "liveideabench": {
        "panel": panel_id("test", [f"python:RuleModel-judge-{n}" for n in range(3)]),
        "ideas": 2,
    },
    "rinobench": {"alignment_calls": 1},
}


async def run(benchmark: str, out: Path) -> Any:
    """A run over six samples, which is enough by its own settings."""
    judges = [RuleModel(PERFECT[benchmark], model_id=f"judge-{index}") for index in range(JUDGES[benchmark])]
    return await evaluate(
        benchmark,
        model=RuleModel(candidate, model_id="candidate"),
        roles={"judge": judges},
        out=out,
        data=str(own(benchmark, out)),
        limit=6,
        repeats=1,
        settings=SETTINGS[benchmark],
    )


@pytest.mark.parametrize("benchmark", sorted(NAMES))
async def test_only_checked_judges_make_a_run_rankable(benchmark: str, tmp_path: Path) -> None:
    unchecked = await run(benchmark, tmp_path)
    assert unchecked.summary["rankable"] is False
    assert any("never checked" in reason for reason in unchecked.summary["reasons"])
    folder = planted(benchmark, tmp_path / "set")
    for index in range(JUDGES[benchmark]):
        judge = RuleModel(PERFECT[benchmark], model_id=f"judge-{index}")
        checked = await judge_check(wanted(benchmark, folder, tmp_path), own={"python:j": judge})
        assert checked.stored and all("good enough." in told for told in checked.sentences), checked.sentences
        if index + 1 < JUDGES[benchmark]:
            part = await run(benchmark, tmp_path)
            assert any(f"unchecked: judge-{index + 1}" in reason for reason in part.summary["reasons"])
        (checked.path / "calls.jsonl").unlink()
    good = await run(benchmark, tmp_path)
    assert good.summary["reasons"] == [] and good.summary["rankable"] is True
    text = good.report.read_text("utf-8")
    assert "## Judge\n" in text and "| judge-0 |" in text and "planted" in text


async def test_a_judge_that_sees_no_falsehood_bars_a_run_and_is_told_so(tmp_path: Path) -> None:
    folder = planted("hicbench", tmp_path / "set")

    def blind(request: Any) -> Mapping[str, Any]:
        return {**hic(request), "hallucination": "No"}

    for index in range(2):
        judge = RuleModel(blind, model_id=f"judge-{index}")
        checked = await judge_check(wanted("hicbench", folder, tmp_path), own={"python:j": judge})
        (checked.path / "calls.jsonl").unlink()
    told = next(one for one in checked.sentences if "hallucination" in one)
    assert "wrongly accepts 0 in 100 and misses 100: not good enough, because" in told
    assert "FNR" in told and "max_fnr" in told
    bad = await run("hicbench", tmp_path)
    assert any("the judge of hallucination's FNR" in reason for reason in bad.summary["reasons"])


async def test_a_check_goes_on_in_its_folder_when_the_same_is_asked_for_again(tmp_path: Path) -> None:
    judge = RuleModel(hic, model_id="judge-0")
    asked = wanted("hicbench", datasets.shipped("data", "judge_sets", "hicbench"), tmp_path / "runs")
    first = await judge_check(asked, own={"python:j": judge})
    calls = judge.asked[:] if isinstance(judge.asked, list) else judge.asked
    again = await judge_check(asked, own={"python:j": judge})
    assert again.path == first.path and judge.asked == calls
    assert json.loads((again.path / "summary.json").read_text("utf-8"))["complete"]
