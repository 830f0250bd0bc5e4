"""CLIP on pictures that the tests draw: the filter of weak conditions is right about what is in them."""

import os
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from clot_training.config import Clip, Config
from clot_training.exploring import conditions, vocabulary
from clot_training.exploring import explore as step
from clot_training.exploring.clip import Sight
from clot_training.records import Candidate, Work, read_records
from lotbench.calls.embeddings import Vectors
from lotbench.errors import DataError, UsageError
from tests import shapes
from tests.leaping import HashPolicy, config, data_set, split_words

UNSEEN = 99
"""Seeds the pictures of the tests; training draws with another seed."""


@pytest.fixture(scope="session")
def trained(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The settings of a tiny CLIP, trained once a test session."""
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    os.environ.setdefault("GOMP_SPINCOUNT", "0")
    described, checkpoint = shapes.train(tmp_path_factory.mktemp("clip"))
    return {"model": str(described), "checkpoint": str(checkpoint)}


@pytest.fixture(autouse=True)
def kept_here(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("LOTBENCH_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(vocabulary, "content_words", split_words)


@pytest.fixture(scope="session")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[Path, shapes.Scene]]:
    """A hundred and twenty pictures that no training saw."""
    return shapes.renders(tmp_path_factory.mktemp("pictures"), 10, UNSEEN)


@pytest.mark.slow
def test_words_for_what_is_there_come_first_and_others_last_and_an_untrained_model_fails(
    trained: dict[str, Any], pictures: list[tuple[Path, shapes.Scene]]
) -> None:
    from sklearn.metrics import roc_auc_score

    words, paths = shapes.words(), [str(path) for path, _ in pictures]
    similar, untrained = (
        sight.pictures(paths) @ sight.words(words).T
        for sight in (Sight(Clip(**trained)), Sight(Clip(model=trained["model"])))
    )
    named = np.array([[word in scene.names for word in words] for _, scene in pictures])
    positions = np.argsort(np.argsort(-similar, axis=1, kind="stable"), axis=1)
    stay = conditions.kept_ranks(len(words), 25, 70, "sentence")
    # Of 100 words 28 or 29 name a picture and 25 are dropped from the top: no filter can do better than .88.
    assert np.mean(positions[named] < stay.start) >= 0.80, "chance .25"
    assert np.mean(positions[~named] >= stay.stop) >= 0.95, "chance .70, at best .98"
    assert roc_auc_score(named.ravel(), similar.ravel()) >= 0.9
    assert roc_auc_score(named.ravel(), untrained.ravel()) < 0.65
    # The same for the colour's and the shape's own names, of which there is always room.
    plain = np.array([[word in (scene.colour, scene.shape) for word in words] for _, scene in pictures])
    assert np.mean(positions[plain] < stay.start) >= 0.7


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How many words and pictures a CLIP encodes."""
    count = Counter[str]()

    def counting(name: str, encode: Callable[[Sight, Sequence[str]], Vectors]) -> None:
        def encoded(sight: Sight, given: Sequence[str]) -> Vectors:
            count[name] += len(given)
            return encode(sight, given)

        monkeypatch.setattr(Sight, name, encoded)

    counting("words", Sight.words)
    counting("pictures", Sight.pictures)
    return count


def seeing(
    folder: Path, trained: dict[str, Any], pictures: list[tuple[Path, shapes.Scene]], **explore: Any
) -> Config:
    """A run on pictures of shapes; the texts have all hundred words."""
    words = shapes.words()
    rows = [
        {
            "id": f"s{number}",
            "type": "I2T",
            "language": "en",
            "group": f"p{number}",
            "image": str(path),
            "text": " ".join(words[number % 4 :: 4]).replace("-", " "),
        }
        for number, (path, _) in enumerate(pictures)
    ]
    return config(folder, data_set(folder, rows), explore={"clip": trained, "n": 100, **explore})


@pytest.mark.slow
def test_a_sample_costs_one_picture_however_many_keywords_there_are(
    tmp_path: Path, trained: dict[str, Any], pictures: list[tuple[Path, shapes.Scene]], counted: Counter[str]
) -> None:
    for limit, grown in ((8, 8), (28, 20)):
        run = seeing(tmp_path, trained, pictures, limit=limit)
        before = counted.copy()
        size = step.explore(run, HashPolicy)["keywords"]["en"]
        assert counted["pictures"] - before["pictures"] == grown
        assert counted["words"] - before["words"] == size


@pytest.mark.slow
def test_weak_and_random_conditions_side_by_side(
    tmp_path: Path, trained: dict[str, Any], pictures: list[tuple[Path, shapes.Scene]]
) -> None:
    found: dict[str, list[Candidate]] = {}
    for how in ("weak", "random"):
        run = seeing(tmp_path, trained, pictures, conditions=how, limit=24)
        summary = step.explore(run, HashPolicy)
        found[how] = list(read_records(Work(Path(run.out)).candidates(run.explore.conditions), Candidate))
    assert len(found["weak"]) == len(found["random"])
    stay = conditions.kept_ranks(min(summary["keywords"]["en"], 100), 25, 70, "sentence")
    assert {one.position for one in found["weak"]} == {*stay, None}
    sight = Sight(run.explore.clip)
    for one in [one for one in found["weak"] if one.condition][:20]:
        product = float(sight.words([one.condition or ""])[0] @ sight.pictures([one.image or ""])[0])
        assert one.similarity == pytest.approx(product, abs=1e-4)
    assert {one.similarity for one in found["random"]} == {None}
    scenes = {str(path): scene for path, scene in pictures}
    drawn = [one for one in found["random"] if one.condition]
    named = np.mean([one.condition in scenes[one.image or ""].names for one in drawn])
    assert named == pytest.approx(0.28, abs=0.12), "random conditions know nothing of the picture"


@pytest.mark.slow
def test_what_cannot_be_loaded_is_named(tmp_path: Path, trained: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match=r"explore\.clip no-such-model"):
        Sight(Clip(model="no-such-model"))
    with pytest.raises(UsageError, match=r"explore\.clip .*gone\.pt"):
        Sight(Clip(model=trained["model"], checkpoint=str(tmp_path / "gone.pt")))
    broken = tmp_path / "broken.png"
    broken.write_bytes(b"no picture")
    with pytest.raises(DataError, match=r"broken\.png: cannot be read as a picture"):
        Sight(Clip(**trained)).pictures([str(broken)])


def test_a_run_that_needs_a_model_says_so() -> None:
    with pytest.raises(UsageError, match=r"explore\.clip\.model"):
        Sight(Clip())
