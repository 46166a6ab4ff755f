"""Draws the diagrams of docs/concepts.md and docs/index.md: python docs/make_figures.py"""

from __future__ import annotations

import math
from pathlib import Path

IMAGES = Path(__file__).parent / "images"
INK, SOFT, LINE, FILL = "#1b2026", "#5c6570", "#9aa4af", "#eef2f7"
BLUE, ORANGE, GREEN, PURPLE = "#0b63ce", "#d9480f", "#2b8a3e", "#7048a8"


class Drawing:
    """Boxes, arrows and words; coordinates in pixels from the top left."""

    def __init__(self, width: int, height: int, title: str) -> None:
        self.width, self.height, self.title, self.parts = width, height, title, []

    def box(self, x: float, y: float, w: float, h: float, words: str, note: str = "", color: str = BLUE, fill: str = "#fff") -> None:
        self.parts.append(f'<rect x="{x}" y="{y}" width="{w}" height="{h}" rx="8" fill="{fill}" stroke="{color}" stroke-width="1.6"/>')
        lines = words.split("\n")
        top = y + h / 2 - 9 * (len(lines) - 1) - (8 if note else 0) + 5
        for i, line in enumerate(lines):
            self.text(x + w / 2, top + 18 * i, line, 14, INK, "middle", 600)
        if note:
            self.text(x + w / 2, top + 18 * len(lines) + 0, note, 11.5, SOFT, "middle")

    def text(self, x: float, y: float, words: str, size: float = 13, color: str = INK, anchor: str = "start", weight: int = 400) -> None:
        safe = words.replace("&", "&amp;").replace("<", "&lt;")
        self.parts.append(f'<text x="{x:g}" y="{y:g}" font-size="{size}" fill="{color}" text-anchor="{anchor}" font-weight="{weight}">{safe}</text>')

    def arrow(self, *points: tuple[float, float], color: str = INK, label: str = "", dashed: bool = False) -> None:
        path = " L".join(f"{x:g},{y:g}" for x, y in points)
        self.parts.append(f'<path d="M{path}" fill="none" stroke="{color}" stroke-width="1.8"{" stroke-dasharray=" + chr(34) + "5 4" + chr(34) if dashed else ""}/>')
        (x0, y0), (x, y) = points[-2], points[-1]
        a = math.atan2(y - y0, x - x0)
        tip = [(x - 9 * math.cos(a + d), y - 9 * math.sin(a + d)) for d in (0.42, -0.42)]
        self.parts.append(f'<path d="M{x:g},{y:g} L{tip[0][0]:.1f},{tip[0][1]:.1f} L{tip[1][0]:.1f},{tip[1][1]:.1f} Z" fill="{color}"/>')
        if label:
            (ax, ay), (bx, by) = points[0], points[1]
            self.text((ax + bx) / 2, (ay + by) / 2 - 6, label, 11.5, color, "middle")

    def rect(self, x: float, y: float, w: float, h: float, color: str, stroke: str = "none") -> None:
        self.parts.append(f'<rect x="{x:g}" y="{y:g}" width="{w:g}" height="{h:g}" fill="{color}" stroke="{stroke}"/>')

    def save(self, name: str) -> None:
        IMAGES.mkdir(exist_ok=True)
        head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width} {self.height}" font-family="system-ui, sans-serif" role="img"><title>{self.title}</title>'
        (IMAGES / name).write_text("\n".join([head, *self.parts, "</svg>", ""]), "utf-8")


def pipeline() -> None:
    d = Drawing(980, 250, "From a street map to a map of meanings")
    top = [("street map", ".osm, or invented"), ("CityGraph", "streets, blocks, lots"), ("CityPlan", "a rule for every block"), ("Scene", "annotated objects"), ("images", "RGB, depth, ids")]
    for i, (words, note) in enumerate(top):
        d.box(8 + 203 * i, 24, 146, 62, words, note, GREEN)
        if i:
            d.arrow((154 + 203 * (i - 1), 55), (8 + 203 * i, 55))
    for i, name in enumerate(("layout", "planning", "grammar", "sim")):
        d.text(180 + 203 * i, 46, name, 10.5, SOFT, "middle")
    d.box(796, 160, 160, 62, "evidence", "per patch and class", ORANGE)
    d.box(548, 160, 200, 62, "voxel map", "log-odds, calibrated", BLUE)
    d.box(300, 160, 200, 62, "planar map", "256 x 256 cells, 29 classes", BLUE)
    d.box(52, 160, 200, 62, "agent", "where next, how far to trust", PURPLE)
    d.arrow((876, 86), (876, 160))
    d.text(884, 128, "perception", 11.5, SOFT)
    d.arrow((796, 191), (748, 191))
    d.arrow((548, 191), (500, 191))
    d.arrow((300, 191), (252, 191))
    d.arrow((152, 222), (152, 240), (648, 240), (648, 222), color=PURPLE)
    d.text(400, 236, "beta", 11.5, PURPLE, "middle")
    d.arrow((152, 160), (152, 122), (836, 122), (836, 86), color=PURPLE)
    d.text(400, 117, "goal: fly there, look again", 11.5, PURPLE, "middle")
    d.save("pipeline.svg")


def step() -> None:
    d = Drawing(980, 190, "The order of one step")
    boxes = [
        ("m[t] pending", "an observation"),
        ("beta[t]", "from M[t-1] and m[t]"),
        ("fuse", "M[t-1] to M[t]"),
        ("reward", "gain of the score"),
        ("move", "at most 8 m"),
        ("render m[t+1]", "pending again"),
    ]
    colors = [ORANGE, PURPLE, BLUE, GREEN, PURPLE, ORANGE]
    for i, ((words, note), color) in enumerate(zip(boxes, colors, strict=True)):
        d.box(8 + 163 * i, 40, 138, 66, words, note, color)
        if i:
            d.arrow((146 + 163 * (i - 1), 73), (8 + 163 * i, 73))
    d.arrow((892, 106), (892, 150), (77, 150), (77, 106), color=SOFT, dashed=True)
    d.text(484, 144, "384 times", 12, SOFT, "middle")
    d.text(8, 24, "beta is paid for in the step it was chosen in, and the updated map never predicts its own calibration.", 12.5, SOFT)
    d.save("step.svg")


def beta() -> None:
    """Eq. 1 in numbers: the same logits under three betas, and what one update adds to the log-odds."""
    logits = {"car": 1.4, "person": 0.9, "bench": 0.2, "road": -1.0}
    d = Drawing(980, 250, "What beta does to one observation")
    for k, b in enumerate((0.2, 1.0, 1.8)):
        x0 = 20 + 325 * k
        total = sum(math.exp(b * v) for v in logits.values())
        d.text(x0, 26, f"beta = {b}", 15, PURPLE, weight=600)
        for i, (name, v) in enumerate(logits.items()):
            p = math.exp(b * v) / total
            y = 46 + 46 * i
            d.text(x0 + 58, y + 18, name, 12.5, INK, "end")
            d.rect(x0 + 66, y, 150 * p, 26, BLUE if i == 0 else "#9dbfe8")
            d.text(x0 + 72 + 150 * p, y + 17, f"{p:.2f}  log-odds {math.log(p / (1 - p)):+.2f}", 11.5, SOFT)
    d.text(20, 240, "The logits are the same; a small beta makes the update weak, a large one strong. They are invented, the arithmetic is Eqs. 1 and 2.", 12, SOFT)
    d.save("beta.svg")


def column() -> None:
    """A planar cell: its height bins, what each knows, what the projection makes of them."""
    d = Drawing(980, 300, "From voxels to a planar cell")
    edges = (-0.5, 0.15, 0.5, 1, 1.5, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 300)
    d.text(300, 37, "17 height bins above the local ground, thin where small things are", 12.5, SOFT)
    seen = {0: ("pavement", "#b8bec6"), 1: ("bench", ORANGE), 2: ("bench", ORANGE), 5: ("tree", GREEN), 6: ("tree", GREEN), 7: ("tree", GREEN)}
    for z in range(17):
        y = 280 - 15 * (z + 1)
        name, color = seen.get(z, ("", "#fff"))
        d.rect(120, y, 90, 15, color, LINE)
        d.text(112, y + 12, f"{edges[z]:g} m", 9.5, SOFT, "end")
        if name:
            d.text(220, y + 12, name, 11, INK)
    d.text(300, 120, "never observed:", 12, SOFT)
    d.text(300, 136, "takes no part", 12, SOFT)
    d.text(300, 262, "ground slab: left out as soon", 12, SOFT)
    d.text(300, 278, "as an object bin is observed", 12, SOFT)
    d.arrow((300, 200), (610, 200), (610, 165), (620, 165))
    d.text(310, 194, "mean of the bins' softmax", 12, INK)
    d.box(620, 110, 300, 110, "tree 0.6, bench 0.4", "", BLUE)
    d.text(770, 190, "argmax: tree", 13, GREEN, "middle", 600)
    d.text(620, 246, "Ties go to the topmost bin. Ground truth goes through", 12, SOFT)
    d.text(620, 262, "the same projection, so perfect evidence can be right.", 12, SOFT)
    d.save("column.svg")


def branches() -> None:
    d = Drawing(980, 270, "The network and its losses")
    d.box(14, 90, 150, 70, "maps and poses", "M[t-1], m[t], 30 poses", ORANGE)
    d.box(214, 90, 150, 70, "shared encoder", "three-stage ResNet", BLUE)
    d.box(424, 30, 170, 60, "Z_alpha (256)", "motion", PURPLE)
    d.box(424, 160, 170, 60, "Z_beta (256)", "calibration", PURPLE)
    d.box(664, 30, 180, 60, "goal", "categorical, factorised", GREEN)
    d.box(664, 160, 180, 60, "beta 16 x 16 x 4", "nine values, 0.2 to 1.8", GREEN)
    d.arrow((164, 125), (214, 125))
    d.arrow((364, 115), (394, 115), (394, 60), (424, 60))
    d.arrow((364, 135), (394, 135), (394, 190), (424, 190))
    d.arrow((594, 60), (664, 60))
    d.arrow((594, 190), (664, 190))
    d.arrow((509, 90), (509, 160), color=ORANGE, dashed=True)
    d.text(518, 130, "CLUB: how much one tells about the other", 12, ORANGE)
    d.box(214, 200, 150, 56, "three values", "small, medium, large", GREEN)
    d.arrow((289, 160), (289, 200))
    d.text(664, 250, "Nash balancing weighs the three groups' gradients of everything shared.", 12, SOFT, "middle")
    d.save("branches.svg")


if __name__ == "__main__":
    for figure in (pipeline, step, beta, column, branches):
        figure()
