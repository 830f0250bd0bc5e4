"""judge-check end to end: planted error rates come out, nothing is paid twice, and reports know of it."""

import json
import math
import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from lotbench import evaluate, load_run
from lotbench.benchmarks.lotbench import words
from lotbench.benchmarks.lotbench.judge_quality import _in_the_field
from lotbench.calls import judge_records
from lotbench.calls.journal import read_journal
from lotbench.checks.field_labels import draw, labelled
from lotbench.checks.judge_check import Checked, judge_check
from lotbench.checks.judge_check_plan import CheckOrder, prepare
from lotbench.cli import main
from lotbench.cli.dry import show_check
from lotbench.config.experiment import Config, Experiment, Limits
from lotbench.errors import DataError, LimitReached, UsageError
from lotbench.models.python_models import NAMED
from lotbench.report import trust
from lotbench.run import results
from lotbench.run.evaluate import begin
from lotbench.run.loading import Run
from lotbench.storage import datasets, judge_set
from lotbench.types import Reply, Request
from tests.fakes import reply_from
from tests.judging import PlantedJudge, asked, data_set, filled, shipped, write
from tests.rules import Rule, hear, number
from tests.server import FakeServer

ITEMS = shipped(20)


@dataclass
class Player:
    """A rule as a model that counts its calls."""

    rule: Rule
    name: str
    calls: int = 0
    takes_requests = True

    async def __call__(self, request: Request) -> Reply:
        self.calls += 1
        return reply_from(self.rule(request), request, self.name)


NAMED.add(Player)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data set of 20 samples, of the name of the shipped one."""
    return data_set(tmp_path_factory.mktemp("data") / "lotbench_easy", ITEMS)


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("sets"), daeso=filled(ITEMS), oracle=asked(ITEMS))


def wanted(
    data: Path, rows: Path, out: Path, judges: int = 1, oracle: bool = False, **more: Any
) -> CheckOrder:
    roles = {"judge": tuple(f"python:j{index}" for index in range(judges))} if judges else {}
    if oracle:
        roles["oracle"] = ("python:o",)
    limits = more.pop("limits", Limits())
    experiment = {"data": str(data), "roles": roles, "repeats": 1, **more.pop("experiment", {})}
    config = Config(experiment=Experiment(**experiment), limits=limits)
    return CheckOrder(config, judge_set=str(rows), out=out, **more)


@pytest.mark.parametrize("sees", ["key_text", "response", "scene"])
async def test_an_oracle_of_whole_responses_is_checked(
    data: Path, rows: Path, tmp_path: Path, sees: str
) -> None:
    hidden = {"settings": {"frame": "hidden", "oracle_sees": sees}}
    order = wanted(data, rows, tmp_path, judges=0, oracle=True, limit=20, experiment=hidden)
    checked = await judge_check(order, own=players())
    assert {one.panel.variant for one in checked.measures} >= {sees, "scene"}


def players(*judges: PlantedJudge) -> dict[str, Player]:
    made = {f"python:j{index}": Player(judge, f"judge-{index}") for index, judge in enumerate(judges)}
    return made | {"python:o": Player(PlantedJudge(ITEMS), "o")}


def planted(judge: PlantedJudge) -> dict[str, int]:
    """How often a judge errs on the rows."""
    responses = {item.id: item.response for item in ITEMS}
    made = {"fp": 0, "fn": 0}
    for row in filled(ITEMS):
        wrong = judge.verdict(responses[row["sample"]], row["guess"]) is not row["label"]
        made["fn" if row["label"] else "fp"] += wrong
    return made


def counted(checked: Checked, what: str, model: str) -> tuple[int, int]:
    (one,) = [
        one
        for one in checked.measures
        if one.what == what
        and "+".join(checked.names[one.panel.role][index] for index in one.panel.indexes) == model
    ]
    return one.groups["all"].fpr.hits, one.groups["all"].fnr.hits


async def test_planted_errors_come_out_by_language_and_kind(data: Path, rows: Path, tmp_path: Path) -> None:
    judge = PlantedJudge(ITEMS, fpr=0.1, fnr=0.2)
    own = players(judge)
    checked = await judge_check(wanted(data, rows, tmp_path, oracle=True), own=own)
    errors = planted(judge)
    assert min(errors.values()) > 3
    assert counted(checked, "check alone", "python:j0") == (errors["fp"], errors["fn"])
    one = checked.measures[0]
    assert set(one.groups) == {"all", "en", "easy", "hard"}
    hard, easy = one.groups["hard"].fpr, one.groups["easy"].fpr
    kinds = [row["difficulty"] for row in filled(ITEMS)]
    assert (hard.n, easy.n) == (kinds.count("hard"), kinds.count("easy"))
    assert hard.hits + easy.hits == errors["fp"]
    variants = [m.panel.variant for m in checked.measures if m.panel.role == "oracle"]
    assert variants == ["key_text", "response", "scene"]
    assert all(m.groups["all"].accuracy.value == 1.0 for m in checked.measures if m.panel.role == "oracle")
    report = (checked.path / "report.md").read_text(encoding="utf-8")
    assert "author labels" in report and "kappa of the two labellings: 1.000" in report
    summary = json.loads((checked.path / "summary.json").read_text(encoding="utf-8"))
    assert summary["complete"] is True and summary["usage"]["judge"]["calls"] == own["python:j0"].calls


async def test_the_pair_is_one_judge_whose_errors_are_joint_and_each_judge_stands_alone_too(
    data: Path, rows: Path, tmp_path: Path
) -> None:
    one, other = PlantedJudge(ITEMS, 0.3, 0.2, seed="a"), PlantedJudge(ITEMS, 0.3, 0.2, seed="b")
    checked = await judge_check(wanted(data, rows, tmp_path, judges=2), own=players(one, other))
    for model, judge in (("python:j0", one), ("python:j1", other)):
        errors = planted(judge)
        assert counted(checked, "check alone", model) == (errors["fp"], errors["fn"])
    responses = {item.id: item.response for item in ITEMS}
    both = [
        (row["label"], all(j.verdict(responses[row["sample"]], row["guess"]) for j in (one, other)))
        for row in filled(ITEMS)
    ]
    joint = (sum(yes and not label for label, yes in both), sum(label and not yes for label, yes in both))
    assert counted(checked, "check, then confirm", "python:j0+python:j1") == joint
    # Errors tied to the guess: the second judge removes none of them, where a product would remove most.
    twin = await judge_check(wanted(data, rows, tmp_path / "twin", judges=2), own=players(one, one))
    assert counted(twin, "check, then confirm", "python:j0+python:j1")[0] == planted(one)["fp"]


async def test_a_verdict_that_cannot_be_read_is_counted_apart(data: Path, rows: Path, tmp_path: Path) -> None:
    mute = {item.reject[0].text for item in ITEMS[:10]}
    judge = PlantedJudge(ITEMS, unreadable=lambda guess: guess in mute)
    checked = await judge_check(wanted(data, rows, tmp_path), own=players(judge))
    (one,) = checked.measures
    silent = sum(row["guess"] in mute for row in filled(ITEMS))
    assert one.unreadable == silent >= 10
    assert one.groups["all"].n == one.of - silent
    assert one.groups["all"].accuracy.value == 1.0


async def test_a_judge_that_wavers_flips(data: Path, rows: Path, tmp_path: Path) -> None:
    judge = PlantedJudge(ITEMS, flips=0.2)
    asked_for = wanted(data, rows, tmp_path, experiment={"repeats": 3})
    (one,) = (await judge_check(asked_for, own=players(judge))).measures
    flipped, pairs = one.flips
    assert pairs == 3 * len(filled(ITEMS))
    assert 0.2 < flipped / pairs < 0.45  # 2 x .2 x .8 = .32


async def test_a_stopped_check_goes_on_without_paying_twice(data: Path, rows: Path, tmp_path: Path) -> None:
    own = players(PlantedJudge(ITEMS, 0.1, 0.1))
    with pytest.raises(LimitReached):
        await judge_check(wanted(data, rows, tmp_path, limits=Limits(token_limit=60_000)), own=own)
    (folder,) = tmp_path.iterdir()
    summary = json.loads((folder / "summary.json").read_text(encoding="utf-8"))
    assert summary["complete"] is False and "Not complete" in summary["notes"][0]
    assert not judge_records.every()
    before = own["python:j0"].calls
    checked = await judge_check(wanted(data, rows, tmp_path), own=own)
    assert checked.path == folder and len(checked.stored) == 1
    keys = [str(entry.key) for entry in read_journal(folder / "calls.jsonl") if entry.source == "call"]
    assert len(keys) == len(set(keys)) == own["python:j0"].calls > before > 0
    again = await judge_check(wanted(data, rows, tmp_path), own=own)
    assert own["python:j0"].calls == len(keys) and again.measures[0].groups == checked.measures[0].groups
    afresh = await judge_check(wanted(data, rows, tmp_path, fresh=True), own=own)
    assert afresh.path.name == f"{folder.name}-2" and own["python:j0"].calls == 2 * len(keys)


async def test_it_asks_the_very_questions_of_the_game(data: Path, rows: Path, tmp_path: Path) -> None:
    heard: dict[str, set[str]] = {"check": set(), "game": set()}

    def listening(where: str) -> Rule:
        judge = PlantedJudge(ITEMS)

        def rule(request: Any) -> Any:
            if request.key.step in ("chain", "chain_check", "check"):
                heard[where].add(json.dumps([hear(request).text, request.schema], sort_keys=True))
            return judge(request)

        return rule

    own = players(PlantedJudge(ITEMS))
    own["python:j0"].rule = listening("check")
    await judge_check(wanted(data, rows, tmp_path), own=own)
    await game(data, tmp_path / "runs", listening("game"), fresh=True, samples=[ITEMS[0].id])
    assert heard["game"] and heard["game"] <= heard["check"]


def candidate(request: Any) -> Mapping[str, Any]:
    """Offers what the sample lists, right or wrong, in an order of its own."""
    heard = hear(request)
    if "question" in heard.form:
        return {"question": f"Is it thing {number(heard.text, heard.seed) % 10_000}?"}
    if "guess" not in heard.form:
        return {"word": "ready"}
    item = next(item for item in ITEMS if item.frame in heard.text)
    said = [one.text for one in item.reject] + list(item.accept)
    left = [text for text in said if f"WRONG-ANS: {text}" not in heard.text]
    return {"guess": left[number(heard.text, heard.seed) % len(left)]}


@pytest.fixture(autouse=True)
def few_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Twenty labelled positives are enough, of the oracle as many negatives, of the game 58 hard ones, and 3 samples."""
    monkeypatch.setattr(trust, "MIN_SAMPLES", 3)
    for name, bounds in trust.BOUNDS.items():
        few = {"max_fpr": 0.075} if name == "game" else {"min_negatives": 20}
        monkeypatch.setitem(trust.BOUNDS, name, replace(bounds, min_positives=20, **few))


async def game(data: Path, out: Path, judge: Any, **more: Any) -> Run:
    """A run of six rounds whose judge is a rule."""
    judge = judge if isinstance(judge, Player) else Player(judge, "judge-0")
    players: dict[str, Any] = {"judge": judge, "oracle": Player(PlantedJudge(ITEMS), "o")}
    own = {"repeats": more.pop("repeats", 1), "settings": {"max_rounds": 6, **more.pop("settings", {})}}
    cast = {"model": Player(candidate, "candidate"), "roles": players}
    return await evaluate("lotbench", out=out, data=str(data), **cast, **own, **more)


def section(run: Run) -> str:
    """The report's section on the judge."""
    text = run.report.read_text(encoding="utf-8")
    return text[text.index("## Judge\n") : text.index("## Settings")]


async def test_reports_know_whether_the_judge_was_checked(data: Path, rows: Path, tmp_path: Path) -> None:
    judge = PlantedJudge(ITEMS, 0.0, 0.1)
    unchecked = await game(data, tmp_path, judge, limit=3)
    assert "the judge was never checked (unchecked: judge-0)" in unchecked.summary["reasons"]
    # In an encore the score also rests on its verdicts on other ideas; one that always said "different" was trusted.
    encore = await game(data, tmp_path, judge, limit=1, max_failed=1.0, settings={"encore": True})
    assert "the judge of other ideas was never checked (unchecked: judge-0)" in encore.summary["reasons"]
    assert "the oracle was never checked (unchecked: o)" in unchecked.summary["reasons"]
    await judge_check(wanted(data, rows, tmp_path), own=players(judge))
    results.rewritten(unchecked)
    assert load_run(unchecked.path).summary["reasons"] == ["the oracle was never checked (unchecked: o)"]
    await judge_check(wanted(data, rows, tmp_path, judges=0, oracle=True), own=players())
    # The report of the old run, written again, knows of it; so does a new one.
    results.rewritten(unchecked)
    assert load_run(unchecked.path).summary["reasons"] == []
    run = await game(data, tmp_path, judge, limit=3)
    assert run.summary["rankable"] is True
    assert "not corrected" in section(run) and "| author |" in section(run)
    # Without the store, the run folder still says it.
    shutil.rmtree(judge_records.place())
    results.rewritten(run)
    assert load_run(run.path).summary["rankable"] is True


@pytest.fixture(scope="module")
def second(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Another edition: samples of other ids, of which the judge set knows nothing."""
    items = [item.model_copy(update={"id": item.id.replace("lot-0", "lot-1")}) for item in ITEMS]
    return data_set(tmp_path_factory.mktemp("data") / "second", items)


def on_shipped(data: Path, rows: Path, out: Path, patched: pytest.MonkeyPatch) -> CheckOrder:
    """A check of judge and oracle on `rows`, as if they and `data` were shipped."""
    ours = {("data", "judge_sets"): rows, ("data", "lotbench_easy"): data}
    real = datasets.shipped
    for module in (datasets, judge_set):
        patched.setattr(module, "shipped", lambda *parts: ours.get(parts) or real(*parts))
    return replace(wanted(Path(), rows, out, oracle=True, fresh=True, experiment={"data": ""}), judge_set="")


@pytest.mark.slow
async def test_a_check_on_the_shipped_judge_set_counts_whatever_is_played(
    data: Path, rows: Path, second: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    judge = PlantedJudge(ITEMS, 0.0, 0.1)
    await judge_check(wanted(data, rows, tmp_path, oracle=True), own=players(judge))
    # A judge set of one's own counts for the data set that it is about, and for no other.
    run = await game(second, tmp_path, judge)
    assert "the judge was never checked (unchecked: judge-0)" in run.summary["reasons"]
    await judge_check(on_shipped(data, rows, tmp_path, monkeypatch), own=players(judge))
    run = await game(second, tmp_path, judge)
    assert run.summary["reasons"] == []
    assert "about the samples of lotbench_easy, not on those that were played" in section(run)
    # What is known of a judge on the very samples that are played comes first.
    own = write(tmp_path / "own", daeso=renamed(filled(ITEMS)), oracle=renamed(asked(ITEMS)))
    (own / "set.toml").write_text('data = "second"\n', encoding="utf-8")
    await judge_check(wanted(second, own, tmp_path, oracle=True), own=players(judge))
    results.rewritten(run)
    assert "about the samples of lotbench_easy" not in section(load_run(run.path))


def test_a_folder_of_the_name_of_a_shipped_data_set_is_not_shipped(
    data: Path, rows: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its samples could tell the judge the labels, and the check counted for all data."""
    check = on_shipped(data, rows, tmp_path, monkeypatch)
    mine = data_set(tmp_path / "lotbench_easy", ITEMS)
    monkeypatch.chdir(tmp_path)
    assert prepare(check).on_shipped and prepare(check).plan.folder == data
    config = wanted(Path("./lotbench_easy").absolute(), rows, tmp_path).config
    there = prepare(replace(check, config=config))
    assert not there.on_shipped and there.plan.folder == mine


async def test_reading_an_old_check_again_does_not_replace_a_newer_one(data: Path, tmp_path: Path) -> None:
    rows = write(tmp_path / "few", daeso=filled(ITEMS[:4]), oracle=asked(ITEMS[:4]))
    await judge_check(wanted(data, rows, tmp_path / "old"), own=players(PlantedJudge(ITEMS)))
    await judge_check(wanted(data, rows, tmp_path / "new", fresh=True), own=players(PlantedJudge(ITEMS, 0.9)))
    again = await judge_check(wanted(data, rows, tmp_path / "old"), own=players(PlantedJudge(ITEMS)))
    assert again.stored == () and again.measures[0].groups["all"].fpr.value == 0.0
    assert "Not kept: the store has a check of python:j0 that began later, of 20" in again.notes[-1]
    (kept,) = judge_records.every()
    assert kept["groups"]["all"]["fpr"]["value"] > 0.0
    # A clock that was once ahead does not keep all later checks out.
    judge_records.keep({**kept, "began": "2999-01-01"})
    again = await judge_check(wanted(data, rows, tmp_path / "old"), own=players(PlantedJudge(ITEMS)))
    assert len(again.stored) == 1 and judge_records.every()[0]["groups"]["all"]["fpr"]["value"] == 0.0
    # Of several small draws one may pass by luck, however often it is judged.
    for oracle in (False, True):
        few = wanted(data, rows, tmp_path / "part", limit=8, fresh=True, oracle=oracle)
        part = await judge_check(few, own=players(PlantedJudge(ITEMS, 0.9)))
        assert "Not kept: the store has a check of python:j0 with more" in "".join(part.notes)


def renamed(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{**row, "sample": row["sample"].replace("lot-0", "lot-1")} for row in rows]


async def test_the_chance_line_is_what_the_checked_fpr_lets_wrong_guesses_get(
    data: Path, rows: Path, tmp_path: Path
) -> None:
    judge = PlantedJudge(ITEMS, 0.1, 0.1)
    checked = await judge_check(wanted(data, rows, tmp_path), own=players(judge))
    run = await game(data, tmp_path, judge, limit=3)
    easy = checked.measures[0].groups["easy"].fpr
    assert easy.value is not None and easy.value > 0
    line = sum(easy.value * (1 - easy.value) ** k * math.exp(-0.2 * k) for k in range(6))
    assert run.summary["scores"]["creativity_score"]["baselines"] == {"chance": pytest.approx(line)}
    text = run.report.read_text(encoding="utf-8")
    assert f"expected from the judge's checked FPR on easy negatives, {easy.value:.3f} (0." in text
    assert f"(n = {easy.n}): {line:.3f} (0." in text


@pytest.mark.slow
async def test_a_check_counts_for_its_settings_only(data: Path, rows: Path, tmp_path: Path) -> None:
    judge = PlantedJudge(ITEMS)
    await judge_check(wanted(data, rows, tmp_path), own=players(judge))
    for settings in ({"wording": "paper"}, {"judge_mode": "zero_shot"}):
        run = await game(data, tmp_path, judge, limit=3, settings=settings)
        assert "the judge was never checked (unchecked: judge-0)" in run.summary["reasons"]
    assert "unchecked: judge-0" in section(run)


class Foreign(Player):
    """A Python object as users have it: nothing shows what it depends on, whatever it says of itself."""

    names_itself = True


@pytest.mark.slow
async def test_a_check_of_an_object_counts_for_no_namesake(data: Path, rows: Path, tmp_path: Path) -> None:
    one, other = (Foreign(PlantedJudge(ITEMS), "judge-0") for _ in range(2))
    await judge_check(wanted(data, rows, tmp_path), own={"python:j0": one})
    runs = [await game(data, tmp_path, judge, limit=3) for judge in (one, other)]
    assert ["the judge was never" in str(run.summary["reasons"]) for run in runs] == [False, True]


async def test_a_function_is_no_person(data: Path, tmp_path: Path) -> None:
    roles = dict.fromkeys(("judge", "oracle"), ("human:bob",))
    asked = Experiment(benchmark="lotbench", model="python:c", roles=roles, data=str(data))
    own = dict.fromkeys(("python:c", "human:bob"), candidate)
    with pytest.raises(UsageError, match="human:bob is a person: name a Python object python:NAME"):
        await begin(Config(experiment=asked, limits=Limits()), out=tmp_path, own=own)


@pytest.mark.parametrize(
    ("judge", "limit", "reasons"),
    [
        (PlantedJudge(ITEMS, fpr=0.2), None, ["above max_fpr 0.075"]),
        (PlantedJudge(ITEMS), 60, ["hard negatives may be as high as", "negatives only, fewer than 100"]),
        (PlantedJudge(ITEMS, fnr=1.0), None, ["above max_fnr 0.3", "kappa with the labels is 0.000, below"]),
    ],
)
async def test_a_judge_that_errs_too_often_or_was_checked_on_too_little_makes_a_run_not_rankable(
    data: Path, rows: Path, tmp_path: Path, judge: PlantedJudge, limit: int | None, reasons: list[str]
) -> None:
    await judge_check(wanted(data, rows, tmp_path, limit=limit), own=players(judge))
    await judge_check(wanted(data, rows, tmp_path, judges=0, oracle=True), own=players())
    found = (await game(data, tmp_path, judge, limit=3)).summary["reasons"]
    assert [reason in one for reason, one in zip(reasons, found, strict=True)] == [True] * len(reasons)


def lines_of(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def put(file: Path, rows: list[dict[str, Any]]) -> None:
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def labelled_rightly(file: Path) -> list[dict[str, Any]]:
    """The rows of a draw, labelled in its file as the judge set labels them."""
    truth = {(row["sample"], words.same(row["guess"])): row["label"] for row in filled(ITEMS)}
    rows = [row | {"label": truth[row["sample"], words.same(row["guess"])]} for row in lines_of(file)]
    put(file, rows)
    return rows


async def test_people_label_guesses_of_a_run_and_its_scores_are_corrected(data: Path, tmp_path: Path) -> None:
    run = await game(data, tmp_path, PlantedJudge(ITEMS, 0.15, 0.3), repeats=3)
    file = draw(run, 120, tmp_path)
    seen = lines_of(file)
    assert len(seen) == 120 and all(row["label"] is None for row in seen)
    assert not {"accepted", "verdict", "stratum", "accept", "reject"} & seen[0].keys()
    with pytest.raises(UsageError, match="none is labelled"):
        labelled(file)
    with pytest.raises(UsageError, match="there already"):
        draw(run, 120, tmp_path)
    labelled_rightly(file)
    # One labeller alone finds no right guess among those that the judge refused, so the labels give no FNR.
    alone = labelled(file)
    assert alone.field.point()[1] == 0.0 and alone.lone > 0
    own = {**judge_records.every()[0]["field"][0], "lone": alone.lone}
    rates = trust.Rates(0.0, 0.25, None, 0, 0)
    assert _in_the_field(rates, own).fnr == 0.25 and _in_the_field(rates, {**own, "lone": 0}).fnr == 0.0
    # Two labels are no rate: a judge that failed its check was trusted by them.
    few = [{**one, "labelled": 1, "true": int(one["accepted"])} for one in own["strata"]]
    assert _in_the_field(trust.Rates(0.2, 0.463, None, 0, 0), {"strata": few}).fnr == 0.463
    # Nor is a rate what leaves the doubtful guesses open, nor trusted what labels alone do not bound.
    assert _in_the_field(rates, {**own, "open": 20}) == rates
    assert (_in_the_field(rates, own).most_fpr or 0.0) > alone.field.point()[0]
    second = tmp_path / "second.jsonl"
    second.write_bytes(file.read_bytes())
    found = labelled(file, second)
    fpr, fnr = found.field.point()
    assert found.lone == 0 and found.open == 0 and sum(one.labelled for one in found.field.strata) == 120
    assert 0.05 < fpr < 0.3 and 0.1 < fnr < 0.55
    results.rewritten(run)
    again = load_run(run.path)
    score, plain = again.summary["scores"]["solve_rate_corrected"], again.summary["scores"]["solve_rate"]
    assert score["value"] != plain["value"] and score["low"] < score["value"] <= score["high"]
    by_labels = again.summary["scores"]["creativity_score_corrected"]
    assert by_labels["low"] < by_labels["value"] < by_labels["high"]
    assert f"from 120 labelled guesses of {run.path.name}" in section(again)
    assert "if so many labels were wrong, either way: 0." in section(again)


async def test_two_people_label_one_draw_and_the_judge_stands_beside_their_agreement(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = await game(data, tmp_path, PlantedJudge(ITEMS, 0.15, 0.3), repeats=2)
    file = draw(run, 40, tmp_path)
    rows = labelled_rightly(file)
    other = tmp_path / "other.jsonl"
    put(other, [{**row, "label": row["label"] is not (at < 4)} for at, row in enumerate(rows)])
    assert main(["judge-check", "--labels", str(file), "--labels", str(other)]) == 0
    said = capsys.readouterr().out
    # Where one says yes and one no, nobody has decided; the three that the judge refused too are then wrong.
    assert "1 rows have no label yet, or as many for as against" in said
    results.rewritten(run)
    about = section(load_run(run.path))
    assert "People among themselves: kappa" in about and "the judge and one person: kappa" in about
    assert "n = 40" in about and "n = 80" in about


async def test_the_file_of_a_person_who_labelled_another_draw_is_refused(data: Path, tmp_path: Path) -> None:
    judge = PlantedJudge(ITEMS, 0.15, 0.3)
    mine = draw(await game(data, tmp_path / "one", judge), 40, tmp_path)
    theirs = draw(await game(data, tmp_path / "two", judge, seed=7), 40, tmp_path)
    for file in (mine, theirs):
        put(file, [row | {"label": True} for row in lines_of(file)])
    assert labelled(mine).open == 0
    with pytest.raises(DataError, match="is not what this row of the draw has"):
        labelled(mine, theirs)
    # A file may say no more than row and label.
    bare = tmp_path / "bare.jsonl"
    put(bare, [{"row": row, "label": True} for row in range(1, 41)])
    assert labelled(mine, bare).open == 0


@pytest.mark.slow
async def test_labels_of_one_run_never_correct_another(data: Path, tmp_path: Path) -> None:
    judge = PlantedJudge(ITEMS, 0.15, 0.3)
    one = await game(data, tmp_path, judge, repeats=2)
    file = draw(one, 60, tmp_path)
    labelled_rightly(file)
    labelled(file)
    other = await game(data, tmp_path, judge, repeats=1)
    assert not [name for name in other.summary["scores"] if name.endswith("_corrected")]
    told = f"Labels of other runs are not used here, for their guesses are others: {one.path.name}"
    assert told in section(other)
    # Nor do they if its folder gets the name of the labelled run.
    there = tmp_path / "elsewhere" / one.path.name
    shutil.move(other.path, there)
    results.rewritten(load_run(there))
    assert not [name for name in load_run(there).summary["scores"] if name.endswith("_corrected")]


@pytest.mark.slow
async def test_labels_of_a_run_do_not_freeze_the_shipped_check(
    data: Path, rows: Path, second: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The labels took a copy of the check with them, which no later check of the judge replaced."""
    check = on_shipped(data, rows, tmp_path, monkeypatch)
    good, bad = PlantedJudge(ITEMS, 0.0, 0.1), PlantedJudge(ITEMS, 0.4, 0.1)
    await judge_check(check, own=players(good))
    run = await game(second, tmp_path, good)
    put(file := draw(run, 40, tmp_path), [row | {"label": True} for row in lines_of(file)])
    labelled(file)
    await judge_check(check, own=players(bad))
    assert "above max_fpr" in str((await game(second, tmp_path, bad)).summary["reasons"])


async def test_labels_that_are_none_are_faults(data: Path, tmp_path: Path) -> None:
    file = draw(await game(data, tmp_path, PlantedJudge(ITEMS, 0.2, 0.2)), 10, tmp_path)
    lines = lines_of(file)
    lines[0]["label"], lines[1]["row"] = "yes", 99
    put(file, lines)
    with pytest.raises(DataError, match=r"labels.jsonl:1: label: .*\n.*labels.jsonl:2: row: "):
        labelled(file)


async def test_contested_rows_and_splits_other_than_test_are_left_out(data: Path, tmp_path: Path) -> None:
    rows = filled(ITEMS[:4], "tune") + filled(ITEMS[4:8], "test")
    contested = {**rows[-1], "guess": "something in between", "labels": [True, False], "contested": True}
    folder = write(tmp_path / "set", daeso=[*rows, contested])
    own = players(PlantedJudge(ITEMS))
    tune = await judge_check(wanted(data, folder, tmp_path, split="tune"), own=own)
    assert tune.stored == () and tune.measures[0].groups["all"].n == len(filled(ITEMS[:4]))
    test = await judge_check(wanted(data, folder, tmp_path), own=own)
    assert len(test.stored) == 1 and test.measures[0].groups["all"].n == len(filled(ITEMS[4:8]))
    counted = f"{len(rows) + 1} rows, 1 contested and left out; kappa of the two labellings: 0.9"
    assert any(counted in note for note in test.notes)


async def test_chains_are_exported_for_people_to_mark(data: Path, rows: Path, tmp_path: Path) -> None:
    stages = tmp_path / "stages"
    spec, own = wanted(data, rows, tmp_path, limit=20, stages=stages), players(PlantedJudge(ITEMS))
    await judge_check(spec, own=own)
    lines = lines_of(stages / "stages.jsonl")
    chains = [line for line in lines if line["stage"] == "chain"]
    assert len({line["sample"] for line in chains}) == len(chains) > 3
    assert sum(line["stage"] == "intervened chain" and line["guess"] is not None for line in lines) == 20
    assert all(line["mark"] is None and line["text"] for line in lines)
    write(stages, stages=[line | {"mark": True} for line in lines])
    with pytest.raises(UsageError, match="people label it"):
        await judge_check(spec, own=own)


async def test_every_judge_mode_is_measured_when_asked_for(data: Path, rows: Path, tmp_path: Path) -> None:
    asked_for = wanted(data, rows, tmp_path, limit=12, every=True)
    checked = await judge_check(asked_for, own=players(PlantedJudge(ITEMS)))
    assert [one.panel.variant for one in checked.measures] == ["zero_shot", "explained", "causal"]
    assert len(checked.stored) == 3


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"sample": "lot-9999"}, "daeso.jsonl:2: sample: no sample 'lot-9999'"),
        ({"language": "zh"}, "daeso.jsonl:2: language: sample"),
        ({"guess": ITEMS[0].key_text.upper()}, "daeso.jsonl:2: guess: is the key text itself"),
        ({"guess": ITEMS[0].accept[0]}, "daeso.jsonl:2: stands in row 1 already"),
        ({"split": "tune"}, "daeso.jsonl:2: split: sample"),
        ({"labels": [True, False]}, "daeso.jsonl:2: contested: true if and only if"),
        ({"label": False, "difficulty": "easy"}, "daeso.jsonl:2: label: is not what both labellings say"),
        ({"difficulty": "hard"}, "daeso.jsonl:2: difficulty: a negative is easy or hard"),
        ({"labels": ["yes", "yes"]}, "daeso.jsonl:2: labels.0: "),
        ({"label": "maybe"}, "daeso.jsonl:2: label: "),
        ({"colour": "red"}, "daeso.jsonl:2: colour: "),
    ],
)
def test_a_judge_set_names_its_faults(data: Path, tmp_path: Path, change: dict[str, Any], told: str) -> None:
    rows = filled(ITEMS[:2])
    rows[1] = {**rows[1], **change}
    with pytest.raises(UsageError) as caught:
        prepare(wanted(data, write(tmp_path / "set", daeso=rows), tmp_path))
    assert told in str(caught.value)


def test_a_judge_set_of_another_data_set_or_with_nobody_to_check_is_refused(
    data: Path, rows: Path, tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match="nobody to check"):
        prepare(wanted(data, rows, tmp_path, judges=0))
    with pytest.raises(UsageError, match="no rows of split 'tune'"):
        prepare(wanted(data, rows, tmp_path, split="tune"))
    with pytest.raises(UsageError, match="no judge set"):
        prepare(wanted(data, tmp_path, tmp_path))
    other = write(tmp_path / "other", daeso=filled(ITEMS))
    (other / "set.toml").write_text('data = "mine"\n', encoding="utf-8")
    with pytest.raises(UsageError, match="about the data set 'mine', not 'lotbench_easy'"):
        prepare(wanted(data, other, tmp_path))
    both = wanted(data, write(tmp_path / "half", daeso=filled(ITEMS)), tmp_path, oracle=True)
    with pytest.raises(UsageError, match=r"no oracle\.jsonl"):
        prepare(both)


def test_a_limit_takes_of_every_kind_alike(data: Path, rows: Path, tmp_path: Path) -> None:
    made = prepare(wanted(data, rows, tmp_path, limit=30))
    kinds = [(probe.label, probe.kind) for probe in made.probes]
    assert {kind: kinds.count(kind) for kind in set(kinds)} == {
        (True, None): 10,
        (False, "easy"): 10,
        (False, "hard"): 10,
    }
    assert made.probes == prepare(replace(made.order, out=tmp_path / "other")).probes


def test_the_command_checks_over_http_and_says_so(
    data: Path, rows: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with FakeServer(rule=PlantedJudge(ITEMS, 0.1, 0.1)) as server:
        flags = f"--judge j@{server.url} --oracle o@{server.url} --limit 12 --repeats 2".split()
        places = ["--data", str(data), "--judge-set", str(rows), "--out", str(tmp_path)]
        assert main(["judge-check", *flags, *places]) == 0
        paid = server.log()["finished"]
        assert main(["judge-check", *flags, *places]) == 0
        assert server.log()["finished"] == paid
    assert "kept in the store: 4 of 4 checks" in capsys.readouterr().out
    assert main(["judge-check", "--out", str(tmp_path)]) == 2
    assert "nobody to check" in capsys.readouterr().err


def test_a_check_at_one_address_is_none_of_another(
    data: Path, rows: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-1")
    flags = f"--judge=gpt-4o-mini --limit=12 --data={data} --judge-set={rows} --out={tmp_path}".split()
    judge = PlantedJudge(ITEMS)
    with FakeServer(rule=judge) as here, FakeServer(rule=judge) as there:
        for server in (here, there):
            monkeypatch.setenv("OPENAI_BASE_URL", server.url)
            assert main(["judge-check", *flags]) == 0
            assert server.log()["finished"] > 0
        paid = there.log()["finished"]
        # A folder from somebody else, under the name of the check at this address.
        first, second = sorted(tmp_path.glob("judge-check-*"), key=lambda folder: folder.stat().st_ctime)
        shutil.rmtree(second)
        first.rename(second)
        assert main(["judge-check", *flags]) == 0
        assert there.log()["finished"] > paid


def test_marks_on_exported_chains_become_success_rates(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def line(sample: int, stage: str, mark: bool | None, judge: str = "gpt-4o-mini") -> dict[str, Any]:
        about = {"sample": f"s{sample}", "judge": judge, "stage": stage}
        return about | {"guess": None, "text": "a -> b", "mark": mark}

    file = tmp_path / "stages.jsonl"
    lines = [line(n, "chain", n != 0) for n in range(20)]
    lines += [line(n, "intervened chain", n % 2 == 0) for n in range(20)]
    put(file, [*lines, line(20, "intervened chain", None), line(0, "chain", None, "other")])

    assert main(["judge-check", "--marks", str(file)]) == 0
    told = capsys.readouterr().out.splitlines()
    assert told[0].startswith("gpt-4o-mini, causal construction: 0.950 (0.")
    assert told[0].endswith(", 19 of 20; 0 without a mark")
    assert told[1].startswith("gpt-4o-mini, causal intervention: 0.500 (0.")
    assert told[1].endswith(", 10 of 20; 1 without a mark")
    assert told[2] == "other, causal construction: none marked, 0 of 0; 1 without a mark"
    put(file, [line(0, "chain", None)])
    assert main(["judge-check", "--marks", str(file)]) == 2
    assert "no line has a mark" in capsys.readouterr().err


@dataclass
class OfChains(PlantedJudge):
    """Errs on every row of a sample where its chain is an odd new one."""

    def __call__(self, request: Request) -> str | Mapping[str, Any]:
        heard = hear(request)
        if "same_function" not in heard.form and "answer" not in heard.form:
            return {name: f"draw {request.key.draw} -> b" for name in heard.form}
        said = super().__call__(request)
        # A chain that has not the author's point is built again, up to three times.
        if request.key.step != "check" or isinstance(said, str) or "draw 1003 ->" not in heard.text:
            return said
        return {name: not value if name.startswith("same") else value for name, value in said.items()}


@pytest.mark.slow
async def test_new_chains_say_how_far_verdicts_and_the_score_depend_on_the_kept_one(
    data: Path, rows: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    own = players(OfChains(ITEMS))
    show_check(prepare(wanted(data, rows, tmp_path, chains=2)))
    most = re.search(r"^judge +([\d,]+)", capsys.readouterr().out, re.MULTILINE)
    checked = await judge_check(wanted(data, rows, tmp_path, chains=2), own=own)
    assert most and own["python:j0"].calls <= int(most[1].replace(",", ""))
    found = json.loads((checked.path / "summary.json").read_text(encoding="utf-8"))["chains"]
    # Of three verdicts on a row one is another than the other two.
    assert (found["chains"], found["samples"]) == (2, 20)
    assert found["changed"][0] * 3 == found["changed"][1] * 2
    assert found["accepted"][0] == [[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]]
    assert any("Another causal chain changed" in note for note in checked.notes)
    (kept,) = [json.loads(path.read_text(encoding="utf-8")) for path in checked.stored]
    assert kept["chains"] == found
    calls = own["python:j0"].calls
    again = await judge_check(wanted(data, rows, tmp_path, chains=2), own=own)
    assert own["python:j0"].calls == calls and again.notes == checked.notes
    text = section(await game(data, tmp_path, OfChains(ITEMS)))
    assert "Another causal chain changed" in text
    assert f"on creativity_score over {len(ITEMS)} samples" in text
    # A check without new chains forgets none.
    later = await judge_check(wanted(data, rows, tmp_path), own=own)
    assert json.loads(later.stored[0].read_text(encoding="utf-8"))["chains"] == found
    with pytest.raises(UsageError, match="no judge here keeps a causal chain"):
        wrong = {"settings": {"judge_mode": "zero_shot"}}
        await judge_check(wanted(data, rows, tmp_path, chains=2, experiment=wrong), own=own)
    with pytest.raises(UsageError, match="takes one new chain or more"):
        await judge_check(wanted(data, rows, tmp_path, chains=-1), own=own)
    wrong = {"settings": {"judge_mode": "explained"}}
    show_check(prepare(wanted(data, rows, tmp_path, chains=1, every=True, experiment=wrong)))
