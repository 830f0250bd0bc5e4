"""The door to embeddings: each text embedded once, and made again only where it must be; slow with weights."""

import re
from collections.abc import Iterator
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lotbench import evaluate_sync
from lotbench.calls import embeddings
from lotbench.errors import UsageError

TEXTS = ["a membrane that hums", "a quiet turbine", "a membrane which is humming"]


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """What an encoder of lengths was given, call by call."""
    calls: list[list[str]] = []

    class Lengths:
        def __init__(self, name: str) -> None:
            self.name = name

        def __call__(self, texts: list[str]) -> np.ndarray:
            calls.append(list(texts))
            return np.array([[len(text), 1.0] for text in texts], dtype=np.float32)

    monkeypatch.setattr(embeddings, "load_encoder", Lengths)
    return calls


def test_a_text_is_embedded_once_however_often_it_comes(seen: list[list[str]]) -> None:
    found = embeddings.embedded("minilm", [*TEXTS, TEXTS[0]])
    assert seen == [TEXTS] and list(found) == TEXTS
    again = embeddings.embedded("minilm", [*TEXTS, "new"], found)
    assert seen[1:] == [["new"]]
    assert all((again[text] == found[text]).all() for text in TEXTS)
    assert embeddings.embedded("minilm", TEXTS, found).keys() == found.keys() and len(seen) == 2


def test_vectors_of_a_run_are_read_back_for_their_encoder_alone(tmp_path: Path) -> None:
    path = tmp_path / "vectors.npz"
    vectors = {text: np.array([number, 1], dtype=np.float32) for number, text in enumerate(TEXTS)}
    path.write_bytes(embeddings.table("minilm", vectors))
    found = embeddings.read_vectors(path, "minilm", [TEXTS[2], "unknown"])
    assert list(found) == [TEXTS[2]] and found[TEXTS[2]].tolist() == [2, 1]
    assert embeddings.read_vectors(path, "other", TEXTS) == {}
    assert embeddings.read_vectors(tmp_path / "none.npz", "minilm", TEXTS) == {}
    assert [file.name for file in tmp_path.iterdir()] == ["vectors.npz"]


def npz(texts: object, vectors: object) -> bytes:
    file = BytesIO()
    np.savez(file, encoder=np.array("minilm"), texts=np.array(texts), vectors=np.array(vectors))
    return file.getvalue()


def damaged() -> Iterator[bytes]:
    yield from (b"", b"PK\x03\x04 torn", b"\x93NUMPY")
    digests = [sha256(text.encode()).hexdigest() for text in TEXTS]
    yield from (npz("x", [[1.0]]), npz(digests, [[1.0]]), npz(digests, 1.0), npz(digests, [1.0] * 3))
    yield from (npz(digests, [["a"]] * 3), npz(digests, [[np.nan]] * 3))
    packed = BytesIO()
    np.savez_compressed(
        packed, encoder=np.array("minilm"), texts=np.array(digests), vectors=np.ones((3, 9000))
    )
    yield packed.getvalue()
    yield npz(np.zeros(3, "<U0"), np.zeros((10**9, 0), np.float32))
    # A plain array, and a method of packing that nobody knows.
    whole = npz(digests, [[1.0]] * 3)
    yield from (whole[whole.index(b"\x93NUMPY") :], re.sub(rb"(?s)(PK\x01\x02.{6})..", rb"\1c\0", whole))


@pytest.mark.parametrize("damage", list(damaged()))
def test_damaged_vectors_are_made_again(tmp_path: Path, damage: bytes) -> None:
    path = tmp_path / "vectors.npz"
    path.write_bytes(damage)
    assert embeddings.read_vectors(path, "minilm", TEXTS) == {}


@pytest.mark.parametrize("name", ["minilm", "some/model", "some/model#pooler"])
def test_a_missing_package_is_told_with_the_way_to_it(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setattr(embeddings, "find_spec", lambda package: None)
    with pytest.raises(UsageError, match=r"torch.*pip install -e .*embed"):
        embeddings.load_encoder(name)


# With the real weights, and with the embedded model.


@pytest.fixture(scope="module")
def minilm() -> Any:
    return embeddings.load_encoder()


@pytest.mark.slow
def test_the_packaged_encoder_knows_what_is_alike(minilm: Any) -> None:
    vectors = minilm(TEXTS)
    assert vectors.shape == (3, 384) and vectors.dtype == np.float32
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(np.ones(3), abs=1e-5)
    assert vectors[0] @ vectors[2] > 0.8 > 0.6 > vectors[0] @ vectors[1]


@pytest.mark.slow
def test_the_pooler_output_is_that_of_the_model(tmp_path: Path) -> None:
    """A tiny BERT with random weights: what SimCSE's own checkpoint is, but for its size."""
    import torch
    from transformers import BertConfig, BertModel, BertTokenizerFast

    words = [
        "[PAD]",
        "[UNK]",
        "[CLS]",
        "[SEP]",
        "[MASK]",
        *sorted({w for text in TEXTS for w in text.split()}),
    ]
    (tmp_path / "vocab.txt").write_text("\n".join(words), encoding="utf-8")
    tokenizer = BertTokenizerFast(vocab=str(tmp_path / "vocab.txt"))
    size = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32}
    model = BertModel(BertConfig(vocab_size=len(words), **size)).eval()
    folder = tmp_path / "bert"
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    found = embeddings.load_encoder(f"{folder}#pooler")(TEXTS)
    with torch.no_grad():
        for vector, text in zip(found, TEXTS, strict=True):
            pooled = model(**tokenizer(text, return_tensors="pt")).pooler_output[0].numpy()
            assert vector == pytest.approx(pooled / np.linalg.norm(pooled), abs=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["{}/nothing-here", "{}/nothing-here#pooler"])
def test_an_encoder_that_is_not_there_is_named(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError, match="nothing-here"):
        embeddings.load_encoder(name.format(tmp_path))(TEXTS)


@pytest.mark.slow
@pytest.mark.parametrize("strategy", ["cot", "rag"])
def test_the_embedded_model_is_measured_with_real_embeddings(tmp_path: Path, strategy: str) -> None:
    settings = {"strategy": strategy, "answers": 2, "answer_cap": "cut", "exclude_self": False}
    run = evaluate_sync(
        "hicbench",
        model="local",
        roles={"judge": "local"},
        out=tmp_path,
        limit=1,
        settings=settings,
        sampling={"candidate": {"max_tokens": 80}},
        timeout_s=600,
        check=False,
    )
    assert [trace.outcome for trace in run.traces] == ["scored"]
    scores = run.summary["scores"]
    assert scores["fluency"]["instrument"] == "minilm" and -1 <= scores["fluency"]["value"] <= 1
    assert all(1 <= scores[mark]["value"] <= 5 for mark in ("originality", "feasibility", "value"))
    assert run.summary["rankable"] is False
