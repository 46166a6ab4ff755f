"""Light of a time of day: presets, and the sky they make."""

# pyright: reportInvalidTypeForm=false, reportGeneralTypeIssues=false, reportOperatorIssue=false, reportCallIssue=false, reportArgumentType=false, reportIndexIssue=false, reportAttributeAccessIssue=false, reportAssignmentType=false, reportReturnType=false
# (Warp compiles kernels from their syntax; Python's types do not describe them.)
from __future__ import annotations

import math

import warp as wp

from flaneur.errors import UserError

wp.set_module_options({"enable_backward": False})

PRIMES_X = wp.constant(wp.uint32(0x8DA6B343))
PRIMES_Y = wp.constant(wp.uint32(0xD8163841))
PRIMES_KEY = wp.constant(wp.uint32(0xCB1AB31F))
MIX_A = wp.constant(wp.uint32(0x7FEB352D))
MIX_B = wp.constant(wp.uint32(0x846CA68B))


@wp.struct
class Light:
    """Radiances in linear RGB, relative to a white sunlit wall of about 1."""

    sun_direction: wp.vec3  # towards the sun
    sun: wp.vec3  # irradiance / pi of a surface that faces the sun
    glow: wp.vec3  # colour of the sky around the sun
    zenith: wp.vec3
    horizon: wp.vec3
    ground: wp.vec3  # what the ground sends back up
    cloud: wp.vec3
    ambient: float  # factor on the light of the sky
    clouds: float  # share of the sky they cover
    haze: float  # extinction per metre
    exposure: float
    lamps: float  # radiance of lamps and lit windows
    lit_windows: float  # share of the bays


def _sun(elevation: float, azimuth: float) -> wp.vec3:
    e, a = math.radians(elevation), math.radians(azimuth)
    return wp.vec3(math.cos(e) * math.cos(a), math.cos(e) * math.sin(a), math.sin(e))


# elevation, azimuth (degrees from east towards north), then the fields of Light after sun_direction
_PRESETS: dict[str, tuple] = {
    "day": (42, 235, (1.05, 0.98, 0.86), (0.5, 0.45, 0.35), (0.16, 0.32, 0.68), (0.62, 0.74, 0.88), (0.22, 0.2, 0.17), (0.95, 0.95, 0.96), 0.62, 0.45, 0.0005, 1.0, 0.25, 0.0),
    "dusk": (6, 200, (0.85, 0.42, 0.16), (1.3, 0.55, 0.16), (0.1, 0.15, 0.34), (0.75, 0.48, 0.36), (0.13, 0.1, 0.09), (0.6, 0.36, 0.34), 0.75, 0.4, 0.0007, 1.5, 0.9, 0.3),
    "night": (35, 120, (0.012, 0.015, 0.024), (0.01, 0.012, 0.02), (0.004, 0.006, 0.014), (0.022, 0.02, 0.024), (0.01, 0.009, 0.007), (0.02, 0.018, 0.02), 0.8, 0.3, 0.001, 2.6, 1.0, 0.42),
    "overcast": (55, 235, (0.05, 0.05, 0.05), (0.03, 0.03, 0.03), (0.52, 0.56, 0.62), (0.66, 0.69, 0.72), (0.2, 0.2, 0.19), (0.72, 0.74, 0.77), 0.85, 0.85, 0.0008, 1.0, 0.35, 0.08),
}  # fmt: skip
LIGHTS = tuple(_PRESETS)


def light_preset(name: str) -> Light:
    if name not in _PRESETS:
        raise UserError(f"light '{name}': known are {', '.join(_PRESETS)}")
    elevation, azimuth, *rest = _PRESETS[name]
    light = Light()
    light.sun_direction = _sun(elevation, azimuth)
    for field, value in zip(("sun", "glow", "zenith", "horizon", "ground", "cloud"), rest[:6], strict=True):
        setattr(light, field, wp.vec3(*value))
    for field, value in zip(("ambient", "clouds", "haze", "exposure", "lamps", "lit_windows"), rest[6:], strict=True):
        setattr(light, field, float(value))
    return light


@wp.func
def hash_cell(x: int, y: int, key: int) -> float:
    """A number in [0, 1) of three integers."""
    h = wp.uint32(x) * PRIMES_X + wp.uint32(y) * PRIMES_Y + wp.uint32(key) * PRIMES_KEY
    h = (h ^ (h >> wp.uint32(16))) * MIX_A
    h = (h ^ (h >> wp.uint32(15))) * MIX_B
    h = h ^ (h >> wp.uint32(16))
    return float(h >> wp.uint32(8)) / 16777216.0


@wp.func
def value_noise(x: float, y: float, key: int) -> float:
    """Smooth noise in [0, 1] with one cell per unit."""
    i = int(wp.floor(x))
    j = int(wp.floor(y))
    fx = x - wp.floor(x)
    fy = y - wp.floor(y)
    fx = fx * fx * (3.0 - 2.0 * fx)
    fy = fy * fy * (3.0 - 2.0 * fy)
    low = hash_cell(i, j, key) * (1.0 - fx) + hash_cell(i + 1, j, key) * fx
    high = hash_cell(i, j + 1, key) * (1.0 - fx) + hash_cell(i + 1, j + 1, key) * fx
    return low * (1.0 - fy) + high * fy


@wp.func
def cloud_cover(direction: wp.vec3, amount: float) -> float:
    """Share of cloud in a direction, on a flat layer seen from below."""
    scale = 1.6 / (direction[2] + 0.12)
    x = direction[0] * scale
    y = direction[1] * scale
    n = 0.5 * value_noise(x, y, 11) + 0.25 * value_noise(2.0 * x + 5.2, 2.0 * y, 12) + 0.15 * value_noise(4.1 * x, 4.1 * y + 3.1, 13) + 0.1 * value_noise(8.3 * x, 8.3 * y, 14)
    return wp.smoothstep(1.0 - amount - 0.18, 1.0 - amount + 0.22, n) * wp.smoothstep(0.0, 0.25, direction[2])


@wp.func
def sky_gradient(light: Light, direction: wp.vec3) -> wp.vec3:
    """The sky without clouds and the sun's disc; below the horizon, far ground that fades into it."""
    up = wp.max(direction[2], 0.0)
    k = 1.0 - wp.pow(1.0 - up, 4.0)
    colour = light.horizon * (1.0 - k) + light.zenith * k
    towards = wp.max(wp.dot(direction, light.sun_direction), 0.0)
    colour = colour + light.glow * (0.35 * wp.pow(towards, 8.0) + 0.5 * wp.pow(towards, 64.0)) * (1.0 - 0.6 * light.clouds)
    below = wp.clamp(-direction[2] * 3.0, 0.0, 0.85)
    return colour * (1.0 - below) + light.ground * below


@wp.func
def sky_radiance(light: Light, direction: wp.vec3) -> wp.vec3:
    """What a ray that leaves the city sees."""
    colour = sky_gradient(light, direction)
    if direction[2] > 0.0:
        cover = cloud_cover(direction, light.clouds)
        towards = wp.max(wp.dot(direction, light.sun_direction), 0.0)
        colour = colour + light.sun * wp.smoothstep(0.9994, 0.9998, towards) * 8.0 * (1.0 - cover)
        colour = colour * (1.0 - 0.85 * cover) + light.cloud * (0.85 + 0.25 * wp.pow(towards, 4.0)) * (0.85 * cover)
    return colour
