"""Pictures and words in one space: any CLIP that open_clip loads, by name or by path.

A keyword is a handful of tokens, and a text tower that works on its full context of 77 spends most of its
time on padding: a batch of texts is cut to its longest text, which changes nothing in a causal tower.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from clot_training.config import Clip
from clot_training.data.roles import batched
from clot_training.exploring.conditions import Vectors
from lotbench.edge.models.transformers.loading import loading
from lotbench.edge.pictures import picture_file
from lotbench.errors import DataError, UsageError

INSTALL = "pip install 'lotbench[train]'"


class Sight:
    """A CLIP model: vectors of pictures and of words, comparable by dot product.

    Args:
        settings: Which one, and how much at once.

    Raises:
        UsageError: open_clip is not installed, or cannot load the model.

    Attributes:
        id: Architecture and checkpoint, with the digest of what is a file: vectors of another id do not compare.
    """

    def __init__(self, settings: Clip) -> None:
        if find_spec("open_clip") is None:
            raise UsageError(f"comparing pictures with keywords needs open_clip: {INSTALL}")
        self.id = identity(settings)
        self._size = settings.batch_size
        with loading(f"explore.clip {settings.model} {settings.checkpoint}"):
            self._model, self._transform, self._tokenize = _load(settings)

    def words(self, words: Sequence[str]) -> Vectors:
        """Vectors of words, (words, dimensions), of unit length."""
        import torch

        with torch.inference_mode():
            made = [
                self._texts(self._tokenize(batch).to(self._device)) for batch in batched(words, self._size)
            ]
        return _unit(torch.cat(made))

    def pictures(self, paths: Sequence[str]) -> Vectors:
        """Vectors of pictures by their paths, (pictures, dimensions), of unit length.

        Raises:
            DataError: A picture is gone or cannot be read.
        """
        import torch

        made = []
        with torch.inference_mode():
            for batch in batched(paths, self._size):
                pixels = torch.stack([self._transform(_open(path)) for path in batch])
                made.append(self._model.encode_image(pixels.to(self._device)))
        return _unit(torch.cat(made))

    @property
    def _device(self) -> Any:
        return next(self._model.parameters()).device

    def _texts(self, tokens: Any) -> Any:
        from torch.func import functional_call

        tower, prefix = (self._model.text, "text.") if hasattr(self._model, "text") else (self._model, "")
        length = _length(tower, tokens)
        if length is None:
            return self._model.encode_text(tokens)
        cut = {
            f"{prefix}positional_embedding": tower.positional_embedding[:length],
            f"{prefix}attn_mask": tower.attn_mask[:length, :length],
        }
        found = functional_call(self._model, cut, kwargs={"text": tokens[:, :length]})
        return found["text_features"] if isinstance(found, dict) else found[1]


def identity(settings: Clip) -> str:
    """Architecture and checkpoint by name, or by digest where they are files.

    Raises:
        UsageError: No model is named.
    """
    if not settings.model:
        raise UsageError("explore.clip.model: pictures are compared with keywords by a CLIP model; name one")
    return " ".join(_named(part) for part in (settings.model, settings.checkpoint))


def _named(part: str) -> str:
    path = Path(part)
    if not path.is_file():
        return part
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _load(settings: Clip) -> tuple[Any, Any, Any]:
    import open_clip
    import torch

    name = settings.model
    if Path(name).suffix == ".json":
        open_clip.add_model_config(name)
        name = Path(name).stem
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model, _, transform = open_clip.create_model_and_transforms(
        name, pretrained=settings.checkpoint or None, device=device
    )
    return model.eval(), transform, open_clip.get_tokenizer(name)


def _length(tower: Any, tokens: Any) -> int | None:
    """Tokens up to the last text's end; None for a tower that a shorter batch would change."""
    pooled = getattr(tower, "text_pool_type", getattr(tower, "pool_type", None))
    mask = getattr(tower, "attn_mask", None)
    padded = getattr(tower, "use_pad_mask", False) or getattr(tower, "cls_emb", None) is not None
    if mask is None or padded or pooled not in ("argmax", "eos"):
        return None
    end = getattr(tower, "eos_id", getattr(tower, "text_eos_id", None)) if pooled == "eos" else None
    ends = tokens if end is None else (tokens == end).int()
    return int(ends.argmax(dim=-1).max()) + 1


def _open(path: str) -> Any:
    try:
        return picture_file.decoded(Path(path))
    except (OSError, picture_file.PictureError) as error:
        raise DataError([f"{path}: {error}"]) from None


def _unit(vectors: Any) -> Vectors:
    found: Vectors = vectors.float().cpu().numpy()
    return np.asarray(found / np.linalg.norm(found, axis=1, keepdims=True), dtype=np.float32)
