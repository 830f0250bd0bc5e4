"""CLIP embeddings of pictures and words, by any model that open_clip loads."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from clot_training.config import Clip
from clot_training.data.roles import batched
from lotbench.calls.embeddings import Vectors
from lotbench.errors import DataError, UsageError
from lotbench.models.transformers.loading import loading
from lotbench.storage.pictures import picture_file

TOGETHER = 256
"""Pictures or words that are encoded at once."""


class Sight:
    """A CLIP model that embeds pictures and words; dot products of their vectors are cosines.

    Args:
        settings: The model.

    Raises:
        UsageError: No model is named, or open_clip cannot load it.
    """

    def __init__(self, settings: Clip) -> None:
        if not settings.model:
            raise UsageError(
                "explore.clip.model: pictures are compared with keywords by a CLIP model; name one"
            )
        with loading(f"explore.clip {settings.model} {settings.checkpoint}"):
            self._model, self._transform, self._tokenize = _load(settings)
        self._device = next(self._model.parameters()).device

    def words(self, words: Sequence[str]) -> Vectors:
        """Return the vectors of words, [words, dimensions], of unit length."""
        import torch

        with torch.inference_mode():
            batches = [
                self._model.encode_text(self._tokenize(batch).to(self._device), normalize=True)
                for batch in batched(words, TOGETHER)
            ]
        return np.asarray(torch.cat(batches).float().cpu().numpy())

    def pictures(self, paths: Sequence[str]) -> Vectors:
        """Return the vectors of pictures given by path, [pictures, dimensions], of unit length.

        Raises:
            DataError: A picture is missing or cannot be read.
        """
        import torch

        batches = []
        with torch.inference_mode():
            for batch in batched(paths, TOGETHER):
                pixels = torch.stack([self._transform(_open(path)) for path in batch])
                batches.append(self._model.encode_image(pixels.to(self._device), normalize=True))
        return np.asarray(torch.cat(batches).float().cpu().numpy())


def _load(settings: Clip) -> tuple[Any, Any, Any]:
    import open_clip
    import torch

    name = settings.model
    if Path(name).suffix == ".json":
        open_clip.add_model_config(name)
        name = Path(name).stem
    how: dict[str, Any] = {"device": "cuda" if torch.cuda.is_available() else "cpu"}
    how["pretrained"] = settings.checkpoint or None
    model, _, transform = open_clip.create_model_and_transforms(name, **how)
    return model.eval(), transform, open_clip.get_tokenizer(name)


def _open(path: str) -> Any:
    try:
        return picture_file.decoded(Path(path))
    except (OSError, picture_file.PictureError) as error:
        raise DataError([f"{path}: {error}"]) from None
