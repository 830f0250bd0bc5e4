"""A world small enough that a CLIP can learn it in a minute: coloured shapes, and a hundred words for them.

Three colours and four shapes, each with words of its own, so that of the hundred words 28 or 29 name what is
in a picture: about as many as the filter of weak conditions drops from the top.
"""

import json
import logging
import math
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

COLOURS = {
    "red": "red crimson scarlet ruby cherry tomato blood brick rose poppy strawberry lobster ketchup ember",
    "green": "green emerald jade lime mint olive grass leaf moss fern frog cactus pea clover",
    "blue": "blue navy azure cobalt sapphire indigo sky ocean sea lake rain denim whale teal",
}
SHAPES = {
    "circle": "circle disc ball wheel coin moon plate ring button marble orange pizza bubble globe",
    "square": "square box tile cube window chessboard brick-wall carton dice crate stamp napkin screen cage room",
    "triangle": "triangle pyramid tent roof mountain wedge sail hat cone slice arrow ramp spike tipi",
    "cross": "cross plus hospital sword windmill crossing junction signpost scarecrow anchor nurse kite bandage "
    "ambulance crutch",
}
CONTEXT = 16
STEPS = 300
RATE = 5e-3
SIDE = 32


def words() -> tuple[str, ...]:
    """All hundred words, sorted."""
    return tuple(sorted(word for named in (*COLOURS.values(), *SHAPES.values()) for word in named.split()))


@dataclass(frozen=True)
class Scene:
    """What a picture shows."""

    colour: str
    shape: str

    @property
    def names(self) -> frozenset[str]:
        """The words for it."""
        return frozenset([*COLOURS[self.colour].split(), *SHAPES[self.shape].split()])


def scenes() -> list[Scene]:
    """Every colour with every shape."""
    return [Scene(colour, shape) for colour in COLOURS for shape in SHAPES]


def draw(scene: Scene, rng: Random, side: int = SIDE) -> Any:
    """A picture of a scene: place, size, turn, shade and background are drawn."""
    from PIL import Image, ImageDraw

    scale = 4 * side
    ground = rng.randrange(256)
    picture = Image.new("RGB", (scale, scale), (ground, ground, ground))
    strong, weak = rng.randrange(170, 256), [rng.randrange(70) for _ in range(2)]
    channel = list(COLOURS).index(scene.colour)
    colour = tuple(strong if place == channel else weak[place % 2] for place in range(3))
    radius = rng.uniform(0.22, 0.38) * scale
    x, y = (rng.uniform(radius, scale - radius) for _ in range(2))
    pen = ImageDraw.Draw(picture)
    for corners in outline(scene.shape, rng.uniform(-0.2, 0.2)):
        pen.polygon([(x + radius * u, y + radius * v) for u, v in corners], fill=colour)
    return picture.resize((side, side), Image.Resampling.LANCZOS)


def outline(shape: str, turn: float) -> list[list[tuple[float, float]]]:
    """The polygons of a shape in the unit circle."""
    bar = [(-1.0, -0.3), (1.0, -0.3), (1.0, 0.3), (-1.0, 0.3)]
    drawn = {
        "circle": [[_around(step / 40) for step in range(40)]],
        "square": [[_around(step / 4 + 0.125) for step in range(4)]],
        "triangle": [[_around(step / 3 - 0.25) for step in range(3)]],
        "cross": [bar, [(v, u) for u, v in bar]],
    }[shape]
    cos, sin = math.cos(turn), math.sin(turn)
    return [[(u * cos - v * sin, u * sin + v * cos) for u, v in corners] for corners in drawn]


def _around(part: float) -> tuple[float, float]:
    return math.cos(2 * math.pi * part), math.sin(2 * math.pi * part)


def renders(folder: Path, each: int, seed: int) -> list[tuple[Path, Scene]]:
    """Write pictures of every scene; no two are alike."""
    made = []
    for scene in scenes():
        rng = Random(f"{seed}:{scene}")
        for number in range(each):
            path = folder / f"{scene.colour}-{scene.shape}-{number}.png"
            draw(scene, rng).save(path)
            made.append((path, scene))
    return made


def architecture(folder: Path) -> Path:
    """The file that describes the tiny model to open_clip."""
    path = folder / "tiny-shapes.json"
    vision = {
        "timm_model_name": "test_resnet",
        "timm_model_pretrained": False,
        "timm_pool": "avg",
        "timm_proj": "linear",
        "image_size": SIDE,
    }
    text = {"context_length": CONTEXT, "vocab_size": 49408, "width": 32, "heads": 2, "layers": 1}
    path.write_text(json.dumps({"embed_dim": 32, "vision_cfg": vision, "text_cfg": text}))
    return path


def train(folder: Path, steps: int = STEPS) -> tuple[Path, Path]:
    """Train the tiny model; returns the paths of its architecture and its checkpoint.

    Of each picture and each word it learns whether the one names what is in the other. The number of steps
    is fixed, so that the result does not depend on how busy the machine is.
    """
    import open_clip
    import torch

    torch.manual_seed(0)
    described = architecture(folder)
    open_clip.add_model_config(str(described))
    # open_clip warns that the model begins with random weights: it is trained here.
    logging.disable(logging.WARNING)
    model, _, transform = open_clip.create_model_and_transforms(described.stem)
    logging.disable(logging.NOTSET)
    tokens = open_clip.get_tokenizer(described.stem)(list(words()))
    rng, all_scenes = Random(0), scenes()
    optimizer = torch.optim.AdamW(model.parameters(), lr=RATE, weight_decay=0.01)
    model.train()
    for step in range(steps):
        shown = [rng.choice(all_scenes) for _ in range(48)]
        pixels = torch.stack([transform(draw(scene, rng)) for scene in shown])
        named = torch.tensor([[float(word in scene.names) for word in words()] for scene in shown])
        products = model.encode_image(pixels, normalize=True) @ model.encode_text(tokens, normalize=True).T
        loss = torch.nn.functional.binary_cross_entropy_with_logits(10 * products - 3.5, named)
        for group in optimizer.param_groups:
            group["lr"] = RATE * min(1.0, (step + 1) / 20) * (1 - step / steps)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    checkpoint = folder / "tiny-shapes.pt"
    torch.save(model.state_dict(), checkpoint)
    return described, checkpoint
