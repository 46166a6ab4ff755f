"""An evidence source of your own: how much each pixel looks like each class.

This one knows the mean colour of every class, learned from rendered views; real ones wrap a network the same way.

python examples/own_evidence.py --scenes out/town
"""

from pathlib import Path
from typing import Literal

import numpy as np
import torch
import tyro
from torch import Tensor

from flaneur.classes import ClassList
from flaneur.env import SemanticEnv
from flaneur.evaluation.episodes import Episode, run_episodes
from flaneur.evaluation.setup import TaskConfig, World, env_config, load_world
from flaneur.perception import EvidenceSource, View
from flaneur.planners import Lawnmower


class Colours:
    """Similarity = minus the distance to the class's mean colour."""

    name, outputs, logit_scale, class_mean = "mean colours", ("rgb",), 20.0, None

    def __init__(self, classes: ClassList, means: Tensor) -> None:  # [C, 3] in [0, 1]
        self.classes, self.means = classes, means

    def similarity(self, view: View) -> Tensor:  # [B, C, H, W]; any resolution will do
        assert view.frame.rgb is not None
        return -(view.frame.rgb[:, None].float() / 255 - self.means[:, None, None]).norm(dim=-1)


def learn(world: World, views: int = 32) -> Colours:
    env = world.env(1)
    poses, classes = env.sim.sample_free(np.random.default_rng(0), views, 0, (2.0, 40.0)), world.scenes[0].classes
    frame = env.sim.render(poses, torch.zeros(views, dtype=torch.int32), ("rgb", "label"))
    assert frame.rgb is not None and frame.label is not None
    pixels, labels = frame.rgb.reshape(-1, 3).float() / 255, frame.label.reshape(-1).long()
    means = [pixels[labels == c].mean(0) if (labels == c).any() else torch.full((3,), 9.0) for c in range(len(classes))]
    return Colours(classes, torch.stack(means))


def main(scenes: Path, steps: int = 96, image: int = 128, lattice: Literal["dense", "cpu", "smoke"] = "cpu") -> None:
    world = load_world(scenes, TaskConfig(image=image, episode_length=steps, lattice=lattice, evidence="oracle"))
    for source in (learn(world), world.source):
        assert isinstance(source, EvidenceSource)
        env = SemanticEnv(world.scenes, world.truths, source, env_config(world.task, 1))
        row = next(run_episodes(env, Lawnmower(), [Episode(0, 0, seed=0)]))
        print(f"{source.name:14s} OCR {100 * row['scores']['ocr']:5.1f} %")


if __name__ == "__main__":
    tyro.cli(main)
