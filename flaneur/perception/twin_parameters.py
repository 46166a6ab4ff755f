"""Invented twins: a parametric model, so that everything runs before a model is fitted, and for tests. Fitted ones are in `twin_memory`."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from flaneur.classes import SCALE_GROUPS, ClassList
from flaneur.errors import UserError
from flaneur.perception.base import LIGHTS

DISTANCE_EDGES = (5.0, 10.0, 20.0, 30.0, 45.0, 60.0, 90.0)  # metres, of distance bins
FILL_EDGES = (0.02, 0.05, 0.12, 0.25, 0.5, 0.75, 0.9)  # share of the context window one instance fills
DOWN_EDGES = (15.0, 40.0, 65.0)  # degrees below the horizon


@dataclass(frozen=True)
class TwinParameters:
    """A patch of class mixture q answers u + gain * (q A - u) + noise.

    gain is the product of four tables (distance, fill of the context window, angle below the horizon, light); the
    noise's standard deviation is sigma of the patch's largest class times two tables (distance, light). Part of the
    noise belongs to the surface and the place it is seen from, part is shared by neighbouring patches, the rest is new
    in every view.
    """

    origin: str  # "invented"
    classes: tuple[str, ...]
    response: np.ndarray  # [C, C] A: mean similarity to class c (column) of a patch full of class k (row)
    neutral: np.ndarray  # [C] u: the answer to a patch that says nothing
    sigma: np.ndarray  # [C, C] noise of the similarity to c on a patch of k
    salience: np.ndarray  # [C] positive: how much of a mixed patch's answer a class claims per area
    logit_scale: float
    patches: int = 32  # across the view
    gain_distance: tuple[float, ...] = (1.0,) * (len(DISTANCE_EDGES) + 1)
    gain_fill: tuple[float, ...] = (1.0,) * (len(FILL_EDGES) + 1)
    gain_down: tuple[float, ...] = (1.0,) * (len(DOWN_EDGES) + 1)
    gain_light: tuple[float, ...] = (1.0,) * len(LIGHTS)
    noise_distance: tuple[float, ...] = (1.0,) * (len(DISTANCE_EDGES) + 1)
    noise_light: tuple[float, ...] = (1.0,) * len(LIGHTS)
    share_view: float = 0.5  # of the noise's variance: the same surface from the same place errs the same way
    share_patch: float = 0.2  # of the noise's variance: neighbouring patches err together

    def __post_init__(self) -> None:
        c = len(self.classes)
        for name, shape in (("response", (c, c)), ("neutral", (c,)), ("sigma", (c, c)), ("salience", (c,))):
            value = np.asarray(getattr(self, name), np.float32)
            if value.shape != shape or not np.isfinite(value).all():
                raise UserError(f"twin parameters, field '{name}': expected finite numbers of shape {list(shape)}, found shape {list(value.shape)}")
            object.__setattr__(self, name, value)
        if min(self.share_view, self.share_patch) < 0 or self.share_view + self.share_patch > 1:
            raise UserError("twin parameters: 'share_view' and 'share_patch' must be shares that add up to at most 1")

    def check_classes(self, classes: ClassList) -> None:
        if tuple(classes.names) != tuple(self.classes):
            odd = sorted(set(classes.names) ^ set(self.classes)) or ["(another order)"]
            raise UserError(f"twin parameters are for {len(self.classes)} other classes than the scene's {len(classes)} (first difference: {odd[0]})")


def _likeness(classes: ClassList, rng: np.random.Generator) -> np.ndarray:
    """[C, C] symmetric in [0, 1]: classes of a group look alike, some pairs more than others."""
    group = np.minimum(classes.group_index, len(SCALE_GROUPS)).astype(int)
    same = group[:, None] == group[None]
    noise = rng.random((len(classes), len(classes)))
    like = np.where(same, 0.3, 0.0) + 0.4 * np.maximum(noise, noise.T) ** 3
    np.fill_diagonal(like, 1.0)
    return like


def preset(name: str, classes: ClassList) -> TwinParameters:
    """Invented parameters, so that everything runs before a model is fitted: `easy` is mostly right, `hard` often confidently wrong."""
    if name not in ("easy", "hard"):
        raise UserError(f"twin preset '{name}': known are easy and hard; anything else is a file made by `flaneur twin fit`")
    rng = np.random.default_rng(29)
    hard = name == "hard"
    c = len(classes)
    mean = rng.normal(0.17, 0.015, c)  # raw cosines are all positive and class-dependent
    like = _likeness(classes, rng)
    response = mean[None] + 0.12 * (like - like.mean(0, keepdims=True))
    sigma = np.full((c, c), 0.022 if hard else 0.015) * rng.uniform(0.8, 1.2, (c, 1))
    salience = np.array([4.0, 2.0, 1.0, 1.0, 0.7])[classes.group_index]  # things draw more attention than what they stand on
    return TwinParameters(
        "invented", tuple(classes.names), response, mean, sigma, salience, 100.0,
        gain_distance=(0.9, 1.0, 1.0, 0.95, 0.8, 0.65, 0.5, 0.4) if hard else (1.0, 1.0, 1.0, 1.0, 0.95, 0.9, 0.8, 0.7),
        gain_fill=(0.75, 0.85, 0.95, 1.0, 1.0, 0.95, 0.7, 0.35) if hard else (0.9, 0.95, 1.0, 1.0, 1.0, 1.0, 0.9, 0.7),
        gain_down=(1.0, 1.0, 0.85, 0.6) if hard else (1.0, 1.0, 0.95, 0.85),
        gain_light=(1.0, 0.85, 0.6, 0.95) if hard else (1.0, 0.95, 0.85, 1.0),
        noise_distance=(1.0, 1.0, 1.0, 1.0, 1.1, 1.2, 1.3, 1.4) if hard else (1.0,) * 8,
        noise_light=(1.0, 1.2, 1.5, 1.05),
    )  # fmt: skip
