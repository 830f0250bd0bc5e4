"""Ballots: who wrote what is hidden, order is by lot, votes come back as shares by type."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from lotbench.benchmarks.standard.oogiri.problems import Problem
from lotbench.cli import ballot as commands
from lotbench.cli import main
from lotbench.harness.ballot import Item, Vote, ballot, faults, ranked, rated, shares
from lotbench.run.evaluate import evaluate_sync
from tests.choosing import FOUR
from tests.fakes import RuleModel

MODELS = ("ada", "bob", "cyd")


def problem(n: int, type_: str = "T2T") -> Problem:
    asked: dict[str, Any] = {"question": "Why?"} if type_ == "T2T" else {"image": "p.png"}
    return Problem(id=f"p{n}", language="en", type=type_, kind="generate", group=f"g{n}", **asked)


PROBLEMS = {f"p{n}": problem(n, "I2T" if n % 3 else "T2T") for n in range(60)}
WRITTEN = {model: {name: f"{model} on {name}" for name in PROBLEMS} for model in MODELS}


def test_no_name_is_on_the_ballot_and_the_order_is_by_lot() -> None:
    written = {model: {name: f"text {model[0]} {name}" for name in PROBLEMS} for model in MODELS}
    items, key = ballot(written, PROBLEMS, "oogiri", seed=0)
    assert not any(model in item.model_dump_json() for item in items for model in MODELS)
    for item in items:
        for response in item.responses:
            assert response.text == written[key[item.id][response.letter]][item.id]
    first = Counter(key[item.id]["A"] for item in items)
    assert set(first) == set(MODELS) and max(first.values()) < 35
    assert ballot(written, PROBLEMS, "oogiri", seed=0)[1] == key
    assert ballot(written, PROBLEMS, "oogiri", seed=1)[1] != key


def test_a_prompt_that_one_model_alone_answered_is_left_out() -> None:
    written = {"ada": {"p0": "a", "p1": "a"}, "bob": {"p1": "b"}}
    items, key = ballot(written, PROBLEMS, "oogiri", seed=0)
    assert [item.id for item in items] == ["p1"] == list(key)
    assert len(items[0].responses) == 2


def votes(items: list[Item], key: Any, favourite: str, voters: int = 4) -> list[Vote]:
    """Everybody likes the favourite on questions, and nobody has a taste in pictures."""
    made = []
    for voter in range(voters):
        for number, item in enumerate(items):
            letters = sorted(key[item.id])
            mine = next(letter for letter in letters if key[item.id][letter] == favourite)
            lot = sorted(letters, key=lambda letter: key[item.id][letter])[(number + voter) % 3]
            made.append(Vote(id=item.id, voter=f"v{voter}", letters=(mine if item.type == "T2T" else lot,)))
    return made


def test_votes_come_back_as_shares_by_type_with_intervals() -> None:
    items, key = ballot(WRITTEN, PROBLEMS, "oogiri", seed=0)
    rows = shares(items, key, votes(items, key, "bob"))
    by_place = {(type_, model): (count, share, low, high) for type_, model, count, share, low, high in rows}
    votes_of, share, low, high = by_place["T2T", "bob"]
    # All votes, of 20 prompts: Wilson's n / (n + t^2), with t(19, .975) = 2.093.
    assert (votes_of, share, high) == (80, 1.0, 1.0) and low == pytest.approx(20 / (20 + 2.093**2), abs=1e-3)
    assert by_place["T2T", "ada"][:2] == (0, 0.0)
    _, share, low, high = by_place["I2T", "ada"]
    assert low is not None and high is not None and low <= share <= high
    assert share == pytest.approx(1 / 3, abs=0.1)
    for type_ in ("I2T", "T2T", "all"):
        assert sum(row[3] for row in rows if row[0] == type_) == pytest.approx(1)
    assert sum(row[2] for row in rows if row[0] == "all") == 4 * 60


def test_over_all_a_share_is_the_mean_over_types_however_many_votes_each_has() -> None:
    items, key = ballot(WRITTEN, PROBLEMS, "oogiri", seed=0)
    some = [item for item in items if item.type == "T2T"][:2]
    cast = votes([*some, *(item for item in items if item.type == "I2T")], key, "bob")
    by_place = {(type_, model): share for type_, model, _, share, *_ in shares(items, key, cast)}
    assert by_place["T2T", "bob"] == 1.0
    for model in ("ada", "bob"):
        means = (by_place["I2T", model] + by_place["T2T", model]) / 2
        assert by_place["all", model] == pytest.approx(means)
    assert "IT2T" not in {type_ for type_, _ in by_place}


def test_faults_of_votes_are_named() -> None:
    _, key = ballot(WRITTEN, PROBLEMS, "oogiri", seed=0)
    given = [
        ("p0", "x", "A"), ("p0", "x", "B"), ("p99", "x", "A"), ("p1", "x", "AZ"), ("p2", "x", "AA"),
        ("p0", "y", ""),
    ]  # fmt: skip
    made = [Vote(id=name, voter=voter, letters=tuple(letters)) for name, voter, letters in given]
    assert faults(made, key) == {
        1: "voter: 'x' has voted on p0 already",
        2: "id: no prompt 'p99' on the ballot",
        3: "letters: no response Z to p1",
        4: "letters: one comes twice",
    }


class Writer(RuleModel):
    takes_requests = True


def run(name: str, out: Path, **fields: Any) -> str:
    model = Writer(lambda request: {"response": f"{name} would not know."}, model_id=name)
    model.__name__ = name  # type: ignore[attr-defined]
    settings = {"kind": "generate"} | fields.pop("settings", {})
    made = evaluate_sync(
        "standard", model=model, out=out, check=False, settings=settings, **({"limit": 3} | fields)
    )
    return str(made.path)


def test_from_runs_to_a_ballot_to_shares(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    three = {"samples": ["generate-ac9369da-1", "generate-a32633de-1", "generate-11d284dc-1"]}
    runs = [run(name, tmp_path / "runs", **three) for name in ("ada", "bob")]
    out = tmp_path / "vote.jsonl"
    assert main(["ballot", "make", *runs, "--out", str(out)]) == 0
    items = [Item.model_validate_json(line) for line in out.read_text().splitlines()]
    assert len(items) == 3 and {item.data for item in items} == {"oogiri"}
    assert any(item.image for item in items)
    assert "python:" not in out.read_text()
    key = json.loads((tmp_path / "vote.jsonl.key.json").read_text())["models"]
    ballots = tmp_path / "votes.jsonl"
    lines = [{"id": item.id, "voter": "me", "letters": ["A"]} for item in items]
    ballots.write_text("\n".join(map(json.dumps, lines)) + "\n")
    capsys.readouterr()
    assert main(["ballot", "count", str(out), str(ballots)]) == 0
    printed = capsys.readouterr().out
    assert "1 voters, 3 votes on 3 prompts" in printed
    first = Counter(letters["A"] for letters in key.values())
    for model, count in first.items():
        assert f"all   {model:40} {count:6}  " in printed
    rank = ["ballot", "rank", str(out), str(ballots), "--out", str(tmp_path / "set")]
    assert [main(rank), main(rank)] == [0, 2] and "holds a data set already" in capsys.readouterr().err
    ballots.write_text('{"id": "nowhere", "voter": "me", "letters": ["A"]}\n')
    assert main(["ballot", "count", str(out), str(ballots)]) == 2
    assert "votes.jsonl:1: id: no prompt 'nowhere'" in capsys.readouterr().err
    ballots.write_text(json.dumps({**lines[0], "item": items[1].fingerprint}))
    assert main(["ballot", "count", str(out), str(ballots)]) == 2
    assert "votes.jsonl:1: item: was voted on another ballot" in capsys.readouterr().err
    ballots.write_text('{"id": "nowhere", "letters": ["A"]}\n')
    assert main(["ballot", "count", str(out), str(ballots)]) == 2
    assert "votes.jsonl:1: voter" in capsys.readouterr().err


def test_who_chooses_a_text_of_two_models_chooses_it_once() -> None:
    said = {"ada": "same", "bob": "same", "cyd": "other", "dan": "third"}
    for pairs, stars in ((False, [1, 2, 1]), (True, [3, 6, 3])):
        items, _ = ballot(
            {name: {"p0": text} for name, text in said.items()}, PROBLEMS, "oogiri", 0, pairs=pairs
        )
        made = [
            Vote(id=item.id, voter="v", letters=tuple(one.letter for one in item.responses)) for item in items
        ]
        for item in items:
            letters = tuple(one.letter for one in item.responses if one.text == "other")
            made.append(Vote(id=item.id, voter="w", letters=letters))
        found = {row["text"]: row["star"] for row in ranked(items, made)}
        assert [found[text] for text in ("same", "other", "third")] == stars


def test_a_ballot_is_neither_made_anew_after_votes_nor_without_a_letter_for_each_model(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = [run(name, tmp_path / "runs") for name in ("ada", "bob", "cyd")]
    out, pairs = tmp_path / "vote.jsonl", tmp_path / "pairs.jsonl"
    assert main(["ballot", "make", *runs[:2], "--out", str(out)]) == 0
    before = [path.read_bytes() for path in (out, tmp_path / "vote.jsonl.key.json")]
    # The same again is the same ballot; another would give letters to others.
    assert main(["ballot", "make", *runs[:2], "--out", str(out)]) == 0
    assert main(["ballot", "make", *runs, "--out", str(out)]) == 2
    assert "is another ballot, on which people may have voted" in capsys.readouterr().err
    assert before == [path.read_bytes() for path in (out, tmp_path / "vote.jsonl.key.json")]
    out.rename(tmp_path / "vote.jsonl.votes.jsonl")
    assert main(["ballot", "make", *runs, "--out", str(out)]) == 2
    assert "has votes on an earlier ballot" in capsys.readouterr().err
    monkeypatch.setattr(commands, "ascii_uppercase", "AB")
    assert main(["ballot", "make", *runs, "--out", str(pairs)]) == 2
    assert "3 models: a ballot shows 2 at most" in capsys.readouterr().err and not pairs.exists()
    assert main(["ballot", "make", *runs, "--pairs", "--out", str(pairs)]) == 0


def test_runs_that_do_not_belong_on_one_ballot(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = "".join(f"{row.model_dump_json()}\n" for row in FOUR)
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "samples.jsonl").write_text(rows)
    one = run("ada", tmp_path / "runs")
    other = run("bob", tmp_path / "runs", data=str(tmp_path / "data"))
    scored = run("cyd", tmp_path / "runs", settings={"kind": "2t1"})
    for runs, said in (
        ([one, one], "is on the ballot already"),
        ([one, scored], "no free responses"),
        ([one, other], "not on the same data"),
    ):
        assert main(["ballot", "make", *runs, "--out", str(tmp_path / "vote.jsonl")]) == 2
        assert said in capsys.readouterr().err


def test_pairs_show_two_at_a_time_and_leave_out_those_who_wrote_the_same() -> None:
    written = {"ada": {"p0": "a", "p1": "same"}, "bob": {"p0": "b", "p1": "same"}, "cyd": {"p0": "c"}}
    items, key = ballot(written, PROBLEMS, "oogiri", seed=0, pairs=True)
    assert [item.id for item in items] == ["p0/1", "p0/2", "p0/3"] == list(key)
    assert {item.prompt for item in items} == {"p0"}
    shown = [frozenset(key[item.id].values()) for item in items]
    assert shown == [frozenset(pair) for pair in (("ada", "bob"), ("ada", "cyd"), ("bob", "cyd"))]
    for item in items:
        assert [one.text for one in item.responses] == [
            written[key[item.id][one.letter]]["p0"] for one in item.responses
        ]


def test_pairs_are_rated_and_both_or_neither_is_a_tie() -> None:
    items, key = ballot(WRITTEN, PROBLEMS, "oogiri", seed=0, pairs=True)
    ranks = {"ada": 0, "bob": 1, "cyd": 2}

    def better(item: Item) -> str:
        return min(key[item.id], key=lambda letter: ranks[key[item.id][letter]])

    always = [Vote(id=item.id, voter="v", letters=(better(item),)) for item in items]
    found = rated(items, key, always)
    assert list(found) == ["ada", "bob", "cyd"]
    values = [one.value for one in found.values()]
    assert values[0] is not None and values[1] == pytest.approx(0, abs=1e-6) and values[0] > 3
    for letters in ((), ("A", "B")):
        ties = rated(items, key, [Vote(id=item.id, voter="v", letters=letters) for item in items])
        assert [one.value for one in ties.values()] == pytest.approx([0, 0, 0])


def test_from_runs_to_pairs_to_ratings(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    three = {"samples": ["generate-ac9369da-1", "generate-a32633de-1", "generate-11d284dc-1"]}
    runs = [run(name, tmp_path / "runs", **three) for name in ("ada", "bob", "cyd")]
    out, given = tmp_path / "pairs.jsonl", tmp_path / "votes.jsonl"
    assert main(["ballot", "make", *runs, "--pairs", "--out", str(out)]) == 0
    assert "3 of 3 prompts in 9 pairs, 3 models" in capsys.readouterr().out
    items = [Item.model_validate_json(line) for line in out.read_text().splitlines()]
    named = json.loads((tmp_path / "pairs.jsonl.key.json").read_text())
    for name, score in zip(named["scores"], (0.9, 0.5, 0.1), strict=True):
        named["scores"][name] = {"metric": "score", "value": score}
    (tmp_path / "pairs.jsonl.key.json").write_text(json.dumps(named))
    best = [min(named["models"][item.id].items(), key=lambda one: one[1])[0] for item in items]
    lines = [
        {"id": item.id, "voter": "me", "letters": [letter]} for item, letter in zip(items, best, strict=True)
    ]
    given.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    assert main(["ballot", "count", str(out), str(given)]) == 0
    printed = capsys.readouterr().out.splitlines()
    assert printed[0] == "1 voters, 9 votes on 9 pairs"
    assert [line.split()[0] for line in printed[2:5]] == ["python:ada", "python:bob", "python:cyd"]
    # Of three in order there are six orders, and two are as clear.
    assert printed[-1] == "rating and score: Kendall's tau 1.000 over 3 models, p 0.333 (of no relation)"
    # One voter has ratings and no interval.
    assert printed[2].endswith("  score 0.900") and "(" not in printed[2]
    assert printed[3].startswith("python:bob") and "(" not in printed[3]
    named["scores"] = {name: {"metric": "score", "value": 0.5} for name in named["scores"]}
    (tmp_path / "pairs.jsonl.key.json").write_text(json.dumps(named))
    assert main(["ballot", "count", str(out), str(given)]) == 0
    told = "rating and score: no Kendall's tau over 3 models: one of the two never changes"
    assert capsys.readouterr().out.splitlines()[-1] == told


# Files that somebody else wrote


def line(**fields: Any) -> str:
    """A line of a ballot."""
    responses = [{"letter": letter, "text": f"text {letter}"} for letter in "AB"]
    item = {
        "id": "p/1",
        "prompt": "p",
        "type": "T2T",
        "language": "en",
        "data": "oogiri",
        "responses": responses,
    }
    return json.dumps(item | fields) + "\n"


def put(place: Path, key: Any, ballot_line: str = "", vote: Any = None) -> list[str]:
    """A ballot with its key and votes; the arguments that count it."""
    (place / "b.jsonl").write_text(ballot_line or line())
    (place / "b.jsonl.key.json").write_text(key if isinstance(key, str) else json.dumps(key))
    votes = [{"id": "p/1", "voter": "v", "letters": ["A"]}] if vote is None else vote
    (place / "votes.jsonl").write_text("".join(json.dumps(one) + "\n" for one in votes))
    return ["ballot", "count", str(place / "b.jsonl"), str(place / "votes.jsonl")]


NAMES = {"p/1": {"A": "ada", "B": "bob"}}


@pytest.mark.parametrize(
    ("key", "told"),
    [
        ({"models": [1]}, "models"),
        ({"models": {"p/1": "A"}}, "models.p/1"),
        ({"models": {}}, "models.p/1: is not of this ballot"),
        ({"models": {"p/1": {"A": "ada"}}}, "models.p/1: is not of this ballot"),
        ({"models": NAMES, "scores": {"ada": {"metric": "m", "value": "one"}}}, "scores.ada.value"),
        ({"models": NAMES, "scores": {"ada": 1}}, "scores.ada"),
        ("[" * 100_000, "recursion limit exceeded"),
        ('{"models": {}, "scores": {"ada": {"metric": "m", "value": 1e999}}}', "scores.ada.value"),
    ],
)
def test_a_key_that_is_none_is_refused_by_field(
    key: Any, told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(put(tmp_path, key)) == 2
    assert told in capsys.readouterr().err


def test_a_pair_is_of_two_and_an_id_of_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    three = [{"letter": letter, "text": letter} for letter in "ABC"]
    key = {"models": {"p/1": {"A": "ada", "B": "bob", "C": "cyd"}}}
    assert main(put(tmp_path, key, line(responses=three))) == 2
    assert "models.p/1" in capsys.readouterr().err
    assert main(put(tmp_path, {"models": NAMES}, line() + line())) == 2
    assert "b.jsonl:2: id: stands more than once" in capsys.readouterr().err
    # A key of more than the ballot gives no vote on what was never shown.
    more = {"models": {**NAMES, "q/1": {"A": "ada", "B": "bob"}}}
    assert main(put(tmp_path, more, vote=[{"id": "q/1", "voter": "v", "letters": ["A"]}])) == 2
    assert "no prompt 'q/1'" in capsys.readouterr().err


def test_no_escape_of_a_key_reaches_the_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    key = {"models": {"p/1": {"A": "ada\x1b]0;owned\x07", "B": "bob\u202e"}}}
    assert main(put(tmp_path, key)) == 0
    assert not set("\x1b\x07\u202e") & set(capsys.readouterr().out)


@pytest.mark.parametrize(
    "image", ["../secret.png", "/etc/hostname", "images/../../data/x.png", "note.png", "gone.png"]
)
def test_a_ballot_names_no_file_but_pictures_of_its_data_set(
    image: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    home = tmp_path / "data"
    (home / "images").mkdir(parents=True)
    (home / "samples.jsonl").write_text("")
    for place in (tmp_path / "secret.png", home / "x.png"):
        Image.new("RGB", (2, 2)).save(place)
    (home / "note.png").write_text("no picture")
    *_, ballot_file, votes_file = put(tmp_path, {"models": NAMES}, line(image=image, data=str(home)))
    out = tmp_path / "out" / "set"
    assert main(["ballot", "rank", ballot_file, votes_file, "--out", str(out)]) == 2
    assert Path(image).name in capsys.readouterr().err
    assert not out.parent.exists()
