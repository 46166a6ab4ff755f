"""Traffic lights, traffic signs and street lamps."""

from __future__ import annotations

import math
from functools import partial

from flaneur.city.assets.recipes import add
from flaneur.city.assets.shapes import GAP, Shape


def signal_head(s: Shape, x: float, y: float, z: float, lamps: tuple[str, ...] = ("lamp_green", "lamp_amber", "lamp_red"), size: float = 0.3) -> Shape:
    """A housing whose lamps, listed from below, look along +x."""
    tall = size * len(lamps) + 0.1
    s.box((x, y, z + tall / 2), (0.2, size + 0.06, tall), "plastic_black")
    for k, lamp in enumerate(lamps):
        at = z + 0.05 + size * (k + 0.5)
        s.rod((x + 0.1 + GAP, y, at), (x + 0.12, y, at), size * 0.38, lamp, sides=8).box((x + 0.17 + GAP, y, at + size * 0.43), (0.14, size * 0.8, 0.025), "plastic_black")
    return s


def light_post() -> Shape:
    s = Shape().rod((0, 0, 0), (0, 0, 3.2), 0.07, "steel", sides=8).rod((0, 0, 0), (0, 0, 0.4), 0.12, "steel", sides=8)
    return signal_head(s, 0.16, 0, 2.25)


def light_with_arrow() -> Shape:
    s = signal_head(Shape().rod((0, 0, 0), (0, 0, 3.4), 0.08, "paint_green", sides=8), 0.17, 0, 2.3)
    return signal_head(s, 0.17, 0.36, 2.3, ("lamp_green",)).box((0, 0, 1.1), (0.12, 0.16, 0.22), "paint_yellow")


def mast_arm_light() -> Shape:
    s = Shape().rod((0, 0, 0), (0, 0, 5.6), 0.12, "steel", 0.09, 8).rod((0, 0, 5.4), (2.4, 0, 5.7), 0.07, "steel", 0.05, 6)
    s.join(signal_head(Shape(), 0.0, 0, 0).turned(90).moved((2.3, 0.1, 5.0)))
    return s.join(signal_head(Shape(), 0.17, 0, 2.3).turned(90)).rod((0, 0, 0), (0, 0, 0.5), 0.2, "steel", sides=8)


def pedestrian_light() -> Shape:
    s = Shape().rod((0, 0, 0), (0, 0, 2.9), 0.07, "steel", sides=8).rod((0, 0, 0), (0, 0, 0.35), 0.13, "steel", sides=8)
    return signal_head(s, 0.15, 0, 2.1, ("lamp_green", "lamp_red"), 0.26).box((0.09, 0, 1.05), (0.1, 0.14, 0.22), "paint_yellow")


def old_light() -> Shape:
    s = Shape().rod((0, 0, 0), (0, 0, 3.0), 0.09, "paint_yellow", sides=8).lathe([(0.2, 0), (0.2, 0.1), (0.1, 0.3)], "iron")
    s = signal_head(s, 0.0, 0, 2.9)
    return s.hull([(x, y, 3.9) for x in (-0.16, 0.16) for y in (-0.22, 0.22)] + [(0, 0, 4.08)], "paint_yellow")


def level_crossing_light() -> Shape:
    s = Shape().rod((0, 0, 0), (0, 0, 3.0), 0.08, "stripes_red", sides=8)
    for turn in (35, -35):
        s.box((0.1, 0, 2.75), (0.03, 1.2, 0.16), "stripes_red", tilt=(turn, 0, 0))
    for y in (-0.28, 0.28):
        s.rod((0.02, y, 2.1), (0.1, y, 2.1), 0.2, "plastic_black", sides=8).rod((0.1, y, 2.1), (0.14, y, 2.1), 0.12, "lamp_red", sides=8)
    return s.box((0.02, 0, 2.1), (0.06, 0.5, 0.08), "plastic_black")


def sign(face: str, outline: str, height: float = 2.9, size: float = 0.7, post: float = 0.036) -> Shape:
    """A plate on a post; `outline` is round, triangle, octagon, square, diamond or wide."""
    s = Shape().rod((0, 0, 0), (0, 0, height - 0.02), post, "steel", sides=6).rod((0, 0, 0), (0, 0, 0.1), 0.07, "concrete", sides=6)
    r, z = size / 2, height - size / 2
    polygons = {
        "round": [(math.cos(a) * r, math.sin(a) * r) for a in (2 * math.pi * k / 12 for k in range(12))],
        "octagon": [(math.cos(a) * r * 1.08, math.sin(a) * r * 1.08) for a in (2 * math.pi * (k + 0.5) / 8 for k in range(8))],
        "triangle": [(-r, -r * 0.88), (r, -r * 0.88), (0, r * 0.88)],
        "square": [(-r, -r), (r, -r), (r, r), (-r, r)],
        "diamond": [(0, -r), (r, 0), (0, r), (-r, 0)],
        "wide": [(-r * 2, -r), (r * 2, -r), (r * 2, r), (-r * 2, r)],
    }

    def plate(thick: float, x: float, material: str, scale: float = 1.0) -> None:
        outline_yz = [(a * scale, b * scale) for a, b in polygons[outline]]
        solid = Shape().plan(outline_yz, 0, thick, material).parts[0].solid.rotate((90, 0, 90)).translate((x, 0, z))
        s.add(solid, material, "fit")

    plate(0.03, post - 0.005, "sign_back")
    plate(0.02, post + 0.02, face)
    return s


def name_post() -> Shape:
    s = Shape().rod((0, 0, 0), (0, 0, 2.9), 0.04, "iron", sides=6).ball((0, 0, 2.95), 0.07, "iron", 4)
    return s.panel((0.0, 0.5, 2.65), (0.86, 0.24), "sign_name", depth=0.04).panel((0.5, 0, 2.35), (0.86, 0.24), "sign_name", "y", 0.04)


def gantry_sign() -> Shape:
    s = Shape()
    for y in (-0.9, 0.9):
        s.rod((0, y, 0), (0, y, 3.4), 0.06, "steel", sides=6)
    return s.box((0.06, 0, 2.7), (0.08, 2.4, 1.3), "sign_back").panel((0.11, 0, 2.7), (2.36, 1.26), "sign_direction")


def double_sign() -> Shape:
    return sign("sign_limit", "round", 3.2, 0.65).join(Shape().box((0.03, 0, 2.15), (0.03, 0.62, 0.62), "sign_back").panel((0.055, 0, 2.15), (0.6, 0.6), "sign_parking"))


def stop_sign_tall() -> Shape:
    return sign("sign_stop", "octagon", 2.7, 0.8, 0.045)


def arm_lamp(height: float, reach: float, arms: int = 1, material: str = "steel", curved: bool = False, radius: float = 0.09) -> Shape:
    s = Shape().rod((0, 0, 0), (0, 0, height), radius, material, radius * 0.6, 8).rod((0, 0, 0), (0, 0, 0.9), radius * 1.5, material, sides=8)
    for k in range(arms):
        d = 1 if k == 0 else -1
        end = (d * reach, 0, height + 0.25)
        if curved:
            s.rod((0, 0, height - 0.05), (d * reach * 0.4, 0, height + 0.4), 0.05, material, sides=6).rod((d * reach * 0.4, 0, height + 0.4), end, 0.045, material, sides=6)
        else:
            s.rod((0, 0, height - 0.1), end, 0.045, material, sides=6)
        s.hull(
            [
                (end[0] + x, y, end[2] + z)
                for x, y, z in ((-0.35, -0.08, 0), (-0.35, 0.08, 0), (0.35, -0.13, 0), (0.35, 0.13, 0), (-0.35, -0.05, 0.12), (-0.35, 0.05, 0.12), (0.3, 0.07, 0.14), (0.3, -0.07, 0.14))
            ],
            material,
        )
        s.box((end[0] + 0.05, 0, end[2] - 0.02), (0.5, 0.18, 0.05), "lamp_glass")
    return s


def lantern() -> Shape:
    """A historic cast-iron lantern."""
    s = Shape().lathe([(0.24, 0), (0.24, 0.15), (0.13, 0.45), (0.08, 0.9), (0.055, 2.6), (0.09, 2.7), (0.05, 2.8), (0.05, 3.05)], "iron", sides=8)
    s.box((0, 0, 2.62), (0.08, 0.7, 0.06), "iron").plan([(0.12, 0.12), (-0.12, 0.12), (-0.12, -0.12), (0.12, -0.12)], 3.05, 3.55, "lamp_glass", 1.8)
    return s.hull([(x, y, 3.55) for x in (-0.26, 0.26) for y in (-0.26, 0.26)] + [(x, y, 3.8) for x in (-0.07, 0.07) for y in (-0.07, 0.07)], "iron").ball((0, 0, 3.86), 0.07, "iron", 4)


def globe_lamp(globes: int) -> Shape:
    s = Shape().lathe([(0.2, 0), (0.18, 0.3), (0.07, 0.5), (0.05, 3.2)], "paint_green", sides=8)
    if globes == 1:
        return s.ball((0, 0, 3.45), 0.28, "lamp_glass", 8).rod((0, 0, 3.15), (0, 0, 3.25), 0.14, "paint_green", sides=8)
    s.box((0, 0, 3.1), (0.06, 1.2, 0.06), "paint_green")
    for y in (-0.58, 0, 0.58):
        s.ball((0, y, 3.42 if y else 3.55), 0.22, "lamp_glass", 8).rod((0, y, 3.13 + GAP), (0, y, 3.2 if y else 3.33), 0.05, "paint_green", sides=4)
    return s


def disc_lamp() -> Shape:
    """A park lamp: a flat disc shade over a glass cylinder."""
    s = Shape().rod((0, 0, 0), (0, 0, 4.0), 0.07, "iron", sides=8).rod((0, 0, 0), (0, 0, 0.5), 0.12, "iron", sides=8)
    return s.rod((0, 0, 4.0), (0, 0, 4.28), 0.13, "lamp_glass", sides=8).rod((0, 0, 4.28), (0, 0, 4.36), 0.42, "iron", 0.3, sides=10)


def light_column() -> Shape:
    s = Shape().rod((0, 0, 0), (0, 0, 2.6), 0.1, "iron", sides=8).rod((0, 0, 2.6), (0, 0, 3.9), 0.1, "lamp_glass", sides=8)
    return s.rod((0, 0, 3.9), (0, 0, 4.05), 0.11, "iron", sides=8)


def flood_mast() -> Shape:
    s = Shape().rod((0, 0, 0), (0, 0, 11.0), 0.17, "steel", 0.1, 8).rod((0, 0, 0), (0, 0, 1.0), 0.3, "concrete", sides=8).box((0, 0, 11.0), (0.1, 2.2, 0.12), "steel")
    for y in (-0.85, 0, 0.85):
        s.box((0.16, y, 11.2), (0.24, 0.6, 0.5), "iron", tilt=(0, 25, 0)).box((0.28, y, 11.13), (0.06, 0.5, 0.4), "lamp_glass", tilt=(0, 25, 0))
    return s


add("traffic_light", "signal post", light_post, weight=2.0)
add("traffic_light", "signal with arrow", light_with_arrow)
add("traffic_light", "mast arm signal", mast_arm_light)
add("traffic_light", "pedestrian signal", pedestrian_light, weight=1.5)
add("traffic_light", "heritage signal", old_light, weight=0.4)
add("traffic_light", "level crossing signal", level_crossing_light, weight=0.2)
add("traffic_sign", "no entry sign", partial(sign, "sign_no_entry", "round"))
add("traffic_sign", "speed limit sign", partial(sign, "sign_limit", "round"), weight=2.0)
add("traffic_sign", "stop sign", stop_sign_tall)
add("traffic_sign", "warning sign", partial(sign, "sign_warning", "triangle", 2.8, 0.8))
add("traffic_sign", "one-way sign", partial(sign, "sign_blue", "round"))
add("traffic_sign", "parking sign", partial(sign, "sign_parking", "square", 2.7, 0.6), weight=2.0)
add("traffic_sign", "crossing sign", partial(sign, "sign_crossing", "square", 2.8, 0.65), weight=1.5)
add("traffic_sign", "priority sign", partial(sign, "paint_yellow", "diamond", 2.8, 0.85))
add("traffic_sign", "double sign", double_sign)
add("traffic_sign", "street name sign", name_post, weight=2.0)
add("traffic_sign", "direction sign", gantry_sign, weight=0.5)
add("street_lamp", "arm street lamp", partial(arm_lamp, 7.5, 1.1), weight=2.0)
add("street_lamp", "curved street lamp", partial(arm_lamp, 6.4, 1.2, 1, "iron", True), weight=1.5)
add("street_lamp", "double street lamp", partial(arm_lamp, 7.8, 1.2, 2))
add("street_lamp", "residential street lamp", partial(arm_lamp, 4.6, 0.6, 1, "iron", False, 0.07), weight=1.5)
add("street_lamp", "wooden pole lamp", partial(arm_lamp, 6.8, 1.0, 1, "wood_dark", False, 0.12), weight=0.5)
add("street_lamp", "historic lantern", lantern)
add("street_lamp", "globe lamp", partial(globe_lamp, 1))
add("street_lamp", "triple globe lamp", partial(globe_lamp, 3), weight=0.4)
add("street_lamp", "park lamp", disc_lamp)
add("street_lamp", "light column", light_column, weight=0.6)
add("street_lamp", "floodlight mast", flood_mast, weight=0.1)
