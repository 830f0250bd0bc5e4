"""Configuration: what wins over what, how faults are named, and what the digest depends on."""

import json
import re
import string
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lotbench.benchmarks import get
from lotbench.config.experiment import (
    Experiment,
    Limits,
    RoleSampling,
    differences,
    digest,
    load,
    read_toml,
    validate,
)
from lotbench.errors import UsageError


def toml(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "run.toml"
    path.write_text(text, encoding="utf-8")
    return path


def faults(*args: Any, **kwargs: Any) -> list[str]:
    with pytest.raises(UsageError) as caught:
        load(*args, **kwargs)
    return str(caught.value).splitlines()


def test_defaults_then_file_then_set_then_flags(tmp_path: Path) -> None:
    file = toml(tmp_path, "repeats = 2\nseed = 2\nmodel = 'file'\n[limits]\nrpm = 2\nretries = 2\n")
    made = load(file, ["seed=3", "model=set", "retries=3"], {"model": "flag", "limits.retries": 4})
    assert made.limits.timeout_s == Limits().timeout_s
    assert (made.experiment.repeats, made.limits.rpm) == (2, 2.0)
    assert made.experiment.seed == 3
    assert (made.experiment.model, made.limits.retries) == ("flag", 4)


def test_a_fault_is_named_for_where_it_stands(tmp_path: Path) -> None:
    good, bad = "repeats = 2\n", "repeats = -2\n"
    assert faults(toml(tmp_path, bad), ["seed=1"])[0].startswith(str(tmp_path / "run.toml"))
    assert faults(toml(tmp_path, good), ["repeats=-2"])[0].startswith("--set")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (".".join("a" * 200_000) + " = 1", "more than 100 dots"),
        ("[" + ".".join(["'a'"] * 200_000) + "]", "more than 100 dots"),
        ("a = 1\n" * 200_000, "larger than 1,000,000"),
    ],
)
def test_a_file_that_would_take_minutes_is_refused_at_once(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        read_toml(toml(tmp_path, text))


@pytest.mark.parametrize("dots", ['"{}"', "'{}'", '"""a\n{}\\""""', "'''\n{}'''", '"\\"{}"', "1 # {}"])
def test_dots_in_texts_and_comments_are_no_keys(tmp_path: Path, dots: str) -> None:
    assert list(read_toml(toml(tmp_path, f"a.b = {dots.format('.' * 300)}\n"))) == ["a"]


@pytest.mark.parametrize("seed", ["9" * 5000, "0x" + "f" * 5000, "1 2"])
def test_an_integer_with_too_many_digits_is_a_fault_of_its_file(tmp_path: Path, seed: str) -> None:
    path = toml(tmp_path, f"seed = {seed}\n")
    for read in (load, read_toml):
        with pytest.raises(UsageError, match=re.escape(str(path))):
            read(path)
    assert faults(None, [f"seed={seed}"])[0].startswith("--set")


@pytest.mark.parametrize(
    ("pair", "benchmark"),
    [
        ("repeats=100000000", "lotbench"), ("retries=100000000", "lotbench"),
        ("votes=100000000", "lotbench"), ("max_words=100000000", "lotbench"), ("alpha=1e400", "lotbench"),
        ("votes=100000000", "standard"), ("factor=1e400", "standard"),
        ("max_words=100000000", "liveideabench"), ("flips=100000000000", "hicbench"),
        ("works_chars=100000000000", "rinobench"),
    ],
)  # fmt: skip
def test_a_number_without_measure_is_refused_by_name(pair: str, benchmark: str) -> None:
    with pytest.raises(UsageError, match=pair.partition("=")[0]):
        validate(get(benchmark).Settings, load(None, [pair]).experiment.settings)


def test_a_digest_does_not_change_from_one_version_to_the_next() -> None:
    value = {"b": [1, 2.5, None, True], "a": "中 é \u2028"}
    text = '{"a":"中 é \u2028","b":[1,2.5,null,true]}'
    assert digest(value) == digest(json.loads(text))
    assert digest(value) == "be0fc98a096ed15605f77d88c5ea8fc046d0df9ea5f2284af0f4ed8a9b13dab2"


CHANGES: dict[str, Any] = {
    **{"model": "b", "data": "x", "prompts": "x", "samples": ("x",), "languages": ("zh",)},
    **{"seed": 1, "repeats": 2, "limit": 1, "max_image_px": 512, "settings": {"max_rounds": 5}},
    **{"roles": {"judge": ("b",)}, "sampling": {"judge": RoleSampling(temperature=0.5)}},
}


@pytest.mark.parametrize("field", CHANGES)
def test_whatever_a_number_depends_on_is_in_the_digest(field: str) -> None:
    ours = Experiment(model="a", roles={"judge": ("a",)})
    theirs = ours.model_copy(update={field: CHANGES[field]})
    assert digest(ours) != digest(theirs)
    assert digest(theirs) == digest(Experiment.model_validate(theirs.model_dump(mode="json")))


def test_every_field_of_an_experiment_has_its_case_above() -> None:
    assert Experiment.model_fields.keys() == CHANGES.keys() | {"benchmark"}


def test_the_order_and_the_spelling_of_a_file_do_not_change_the_digest(tmp_path: Path) -> None:
    one = load(toml(tmp_path, "seed = 1\nmodel = 'a'\n[roles]\njudge = 'b'\n[sampling.judge]\ntop_p = 1\n"))
    other = load(None, ["sampling.judge.top_p=1.0", "roles.judge=['b']", "model=a", "seed=1"])
    assert digest(one.experiment) == digest(other.experiment)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.text(max_size=5), json_values, max_size=4), st.randoms())
def test_a_digest_knows_no_order_and_survives_json(table: dict[str, Any], chance: Any) -> None:
    names = list(table)
    chance.shuffle(names)
    back = json.loads(json.dumps({name: table[name] for name in names}))
    assert digest(back) == digest(table)
    assert differences(table, back) == []


@given(json_values, json_values)
def test_values_differ_where_their_digests_do(one: Any, other: Any) -> None:
    # 1, 1.0 and True are equal in Python and not in JSON; the digest is the stricter of the two.
    if differences(one, other):
        assert digest(one) != digest(other)
    if digest(one) == digest(other):
        assert differences(one, other) == []


@given(st.text(string.printable, max_size=30), st.text(max_size=20))
def test_any_pair_is_taken_or_refused_as_usage(key: str, value: str) -> None:
    try:
        load(None, [f"{key}={value}"])
    except UsageError as error:
        assert str(error)


def test_samples_that_a_file_names_are_of_the_data_set_that_it_names(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text('data = "lotbench_easy"\nmodel = "m"\nsamples = ["lot-0002"]\n')
    assert load(path).experiment.samples == ("lot-0002",)
    assert load(path, (), {"data": "data/lotbench_easy"}).experiment.samples == ("lot-0002",)
    assert load(path, (), {"data": "my-set"}).experiment.samples == ()
    assert load(path, ["data=my-set"]).experiment.samples == ()
    assert load(path, (), {"data": "my-set", "samples": ["my-1"]}).experiment.samples == ("my-1",)
