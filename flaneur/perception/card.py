"""The model card of an evidence source: Markdown and pictures out of the figures `reliability.judge` measured.

Nothing is rendered here, so the card of weights that ship can be made anywhere from the JSON of a finished run.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from flaneur.city.export.files import replacing
from flaneur.classes import SCALE_GROUPS
from flaneur.errors import UserError
from flaneur.perception.card_figures import pictures

NEEDED = ("source", "classes", "class_accuracy", "enough", "sure", "shares", "confusion", "by_class_and_distance", "distance_bins")
AXES = {"distance": "Distance", "size": "Apparent size (pixels across, of 256)", "height": "Height of the camera", "down": "Pitch below the horizon", "light": "Light"}
WHAT = (
    ("lens-all", "The control of Lens: the same network, trained on views from everywhere and in every light."),
    ("lens", "A small dense image encoder aligned with the texts of a sentence encoder, trained on ordinary views only (street level, 3 to 30 m, day). A new class is a new prompt."),
    ("twin (fitted", "A statistical model of another source: a patch is answered as the model once answered a patch like it."),
)  # fmt: skip


def read_figures(path: Path) -> list[dict[str, Any]]:
    """Figures of every source in a run's perception.json, or of the one in a *_figures.json."""
    path = Path(path)
    try:
        document = json.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        raise UserError(f"{path}: no such file; give the JSON that flaneur lens evaluate or benchmarks/perception.py wrote") from None
    except (OSError, ValueError) as error:
        raise UserError(f"{path}: not readable as JSON ({error}); give the JSON that flaneur lens evaluate or benchmarks/perception.py wrote") from None
    if not isinstance(document, dict):
        raise UserError(f"{path}: not an object; give the JSON that flaneur lens evaluate or benchmarks/perception.py wrote")
    stems = [k.removesuffix("_figures") for k in document if k.endswith("_figures")]
    found = [_of_run(document, stem) for stem in stems] or [document]
    for figures in found:
        for field in NEEDED:
            if field not in figures:
                raise UserError(f"{path}: field '{field}' is missing; give the JSON that flaneur lens evaluate or benchmarks/perception.py wrote")
    return sorted(found, key=lambda figures: figures["source"])


def _of_run(document: dict[str, Any], stem: str) -> dict[str, Any]:
    """One source's figures with what the run says about it elsewhere."""
    more = {"training": document.get(f"{stem}.training"), "match": document.get(f"{stem}_match"), "machine": document.get("machine"), "pixels": document.get("pixels"),
            "weights_bytes": document.get("weights_bytes", {}).get(f"{stem}.safetensors"), "scenes": document.get("scenes", {}).get("held_out"),
            "withheld": document.get("withheld") if stem == "lens" else None}  # fmt: skip
    return document[f"{stem}_figures"] | {k: v for k, v in more.items() if v is not None}


def slug(source: str) -> str:
    """A source's name as a file name: twin (fitted to lens) -> twin-fitted-to-lens."""
    return re.sub(r"[^a-z0-9]+", "-", source.lower()).strip("-") or "source"


def write_card(every: Sequence[dict[str, Any]], folder: Path, draw: bool = True) -> list[Path]:
    """One Markdown file with its pictures per source; with several, an index.md that sets them side by side."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    written: list[Path] = []
    for figures in every:
        name = slug(figures["source"])
        drawn = pictures(figures) if draw else {}
        for kind, (svg, png) in drawn.items():
            written += [_write(folder / f"{name}_{kind}.svg", svg), _write(folder / f"{name}_{kind}.png", png)]
        written.append(_write(folder / f"{name}.md", card(figures, list(drawn)).encode()))
    if len(every) > 1:
        written.append(_write(folder / "index.md", _index(every).encode()))
    return written


def card(figures: dict[str, Any], drawn: Sequence[str] = ()) -> str:
    """The card's text; `drawn` names the pictures that lie beside it."""
    name, sure = slug(figures["source"]), _percent(figures["sure"])
    what = next((text for start, text in WHAT if figures["source"].startswith(start)), "An evidence source.")
    parts = [f"# {figures['source']}", what, _table(("", ""), _facts(figures))]
    if "reliability" in drawn:
        parts += ["## When to believe it", f"Objects of held-out cities seen from everywhere, in every light. Confidently wrong: a wrong answer with more than {sure} confidence.",
                  f"![Accuracy, confidence and confidently wrong answers by class group, distance and apparent size]({name}_reliability.svg)"]  # fmt: skip
    if "grid" in drawn:
        parts += ["Distance and apparent size together; white where too few objects were seen.", f"![The same over distance x apparent size]({name}_grid.svg)"]
    for axis, title in AXES.items():
        if axis in figures["shares"]:
            parts += [f"### {title}", _shares(figures["shares"][axis])]
    parts += [
        "## By class",
        "Right, and what the wrong ones were taken for, in views from everywhere; `plain` is the share right in ordinary views, within 30 m and at least 12 pixels across.",
        _classes(figures),
    ]
    if "confusion" in drawn:
        parts.append(f"![Confusion]({name}_confusion.svg)")
    parts += ["## By class and distance", "Right / confidently wrong, in %.", _by_distance(figures)]
    if "withheld" in figures:
        parts += [
            "## Prompts for classes never seen",
            "A network trained without these classes, asked for them by prompt, beside the one that saw them: area under the ROC curve, and share right among all classes.",
            _withheld(figures["withheld"]),
        ]
    if "match" in figures:
        parts += ["## Match with its model", "On cities neither saw; total variation between rows of the confusion.", _table(("", ""), [(k.replace("_", " "), v) for k, v in figures["match"].items()])]
    parts.append(f"A dash stands for fewer than {figures['enough']} objects.")
    return "\n\n".join(parts) + "\n"


def _facts(figures: dict[str, Any]) -> Iterable[tuple[str, Any]]:
    training, views = figures.get("training") or {}, figures.get("views") or {}
    rows = (
        ("mean class accuracy, plainly visible", _percent(figures.get("mean_class_accuracy"))), ("objects of that", figures.get("objects")),
        ("right, from everywhere", _percent(figures.get("everywhere_right"))), (f"wrong with over {_percent(figures['sure'])} confidence", _percent(figures.get("everywhere_sure_and_wrong"))),
        ("objects of that", figures.get("everywhere_objects")), ("views per scene", ", ".join(f"{v} {k}" for k, v in views.items()) or None),
        ("held-out scenes", ", ".join(map(str, figures.get("scenes") or ())) or None), ("image, pixels", figures.get("pixels")),
        ("parameters", training.get("parameters")), ("weights, bytes", figures.get("weights_bytes")), ("trained on scenes", training.get("scenes")),
        ("training steps", training.get("steps")), ("views per step", training.get("batch")), ("training, seconds", training.get("seconds")), ("final loss", training.get("final_loss")),
        ("measured on", ", ".join(f"{k} {v}" for k, v in (figures.get("machine") or {}).items()) or None),
    )  # fmt: skip
    return [(k, v) for k, v in rows if v is not None]


def _shares(axis: dict[str, Any]) -> str:
    rows = []
    for k, name in enumerate(axis["bins"]):
        if any(axis[g]["objects"][k] for g in SCALE_GROUPS):
            rows.append((name, *(_triple(axis[g], k) for g in SCALE_GROUPS)))
    return _table(("", *(f"{g}: right / confidence / confidently wrong (objects)" for g in SCALE_GROUPS)), rows)


def _triple(shares: dict[str, list[Any]], k: int) -> str:
    return " / ".join(_percent(shares[m][k]) for m in ("right", "confidence", "sure_and_wrong")) + f" ({shares['objects'][k]:,})"


def _classes(figures: dict[str, Any]) -> str:
    names, rows = figures["classes"], []
    for k, row in enumerate(figures["confusion"]):
        total = sum(row)
        if not total:
            continue
        wrong = sorted(((n, names[j]) for j, n in enumerate(row) if j != k and n), key=lambda t: (-t[0], t[1]))[:3]
        few = total < figures["enough"]
        taken = ", ".join(f"{n} {_percent(count / total)}" for count, n in wrong)
        rows.append((names[k], total, _percent(figures["class_accuracy"].get(names[k])), _percent(None if few else row[k] / total), "–" if few else taken))
    return _table(("class", "objects", "plain", "right", "taken for"), rows)


def _by_distance(figures: dict[str, Any]) -> str:
    rows = [
        (name, *(f"{_percent(right)} / {_percent(wrong)}" for right, wrong in zip(v["right"], v["sure_and_wrong"], strict=True)))
        for name, v in figures["by_class_and_distance"].items()
        if any(r is not None for r in v["right"])
    ]
    return _table(("class", *figures["distance_bins"]), rows)


def _withheld(withheld: dict[str, Any]) -> str:
    cell = lambda v: "–" if v is None else f"{v['auroc'] if v['auroc'] is not None else '–'} / {_percent(v['right'])}"  # noqa: E731
    rows = [(name, cell(v.get("never_seen")), cell(v.get("seen"))) for name, v in withheld["classes"].items()]
    return _table(("class", "never seen: AUROC / right", "seen: AUROC / right"), [*rows, ("chance", cell(withheld["chance"]), "")])


def _index(every: Sequence[dict[str, Any]]) -> str:
    head = ("source", "mean class accuracy", "right, from everywhere", "confidently wrong", "objects")
    rows = [
        (
            f"[{f['source']}]({slug(f['source'])}.md)",
            _percent(f.get("mean_class_accuracy")),
            _percent(f.get("everywhere_right")),
            _percent(f.get("everywhere_sure_and_wrong")),
            f.get("everywhere_objects"),
        )
        for f in every
    ]
    return "# How far evidence can be trusted\n\n" + _table(head, rows) + "\n"


def _table(head: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    text = lambda v: f"{v:,}" if isinstance(v, int) else str(v)  # noqa: E731
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(text(v) for v in line) + " |" for line in lines)


def _percent(share: float | None) -> str:
    return "–" if share is None else f"{100 * share:.1f} %"


def _write(path: Path, data: bytes) -> Path:
    with replacing(path) as target:
        target.write_bytes(data)
    return path
