"""Writes docs/measurements.md from the result files, so that no number in the documentation is typed by hand.

python benchmarks/summary.py
"""

from __future__ import annotations

import itertools
import json
import statistics
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results"
PAGE = Path(__file__).parents[1] / "docs" / "measurements.md"

HEAD = """# Measurements

Made by `python benchmarks/summary.py` from `benchmarks/results/`. Where no GPU is named it was a shared two-core CPU machine; other
jobs ran beside, so seconds are upper bounds and ratios within one run are what counts.
"""


def read(name: str) -> Any:
    path = RESULTS / name
    if path.suffix == ".jsonl":
        return [json.loads(line) for line in path.read_text("utf-8").splitlines() if line.strip()]
    return json.loads(path.read_text("utf-8"))


def table(columns: list[str], rows: list[list[Any]]) -> str:
    def text(v: Any) -> str:
        if isinstance(v, float):
            return f"{v:,.0f}" if abs(v) >= 1000 else f"{v:.5g}"
        return f"{v:,}" if isinstance(v, int) else str(v)

    lines = ["| " + " | ".join(columns) + " |", "|" + "---|" * len(columns)]
    return "\n".join(lines + ["| " + " | ".join(text(v) for v in row) + " |" for row in rows])


def layout() -> str:
    d = read("layout.json")
    rows = [[k.replace("_", " "), v] for k, v in d.items() if isinstance(v, (int, float))]
    return "## Street maps\n\n`python benchmarks/layout.py`: every window of `windows.csv`, and invented plans.\n\n" + table(["", "measured"], rows)


def cities() -> str:
    s = read("cities.json")["summary"]
    rows: list[list[Any]] = [[k.replace("_", " "), v] for k, v in s.items() if isinstance(v, (int, float))]
    rows.append(["placement violations", sum(s["violations"].values()) if s["violations"] else 0])
    types = [[t, v["scenes"], v["least"], v["mean"], v["most"]] for t, v in s["objects_by_type"].items()]
    shares = ", ".join(f"{k} {100 * v:.1f} %" for k, v in list(s["class_shares"].items())[:6])
    command = "`python benchmarks/cities.py --osm-root MAPS --synthetic 8`: all windows and synthetic cities, built and checked."
    return f"## Cities\n\n{command}\n\n{table(['', 'measured'], rows)}\n\n{table(['type', 'cities', 'fewest objects', 'mean', 'most'], types)}\n\nLargest shares of all objects: {shares}."


def dataset() -> str:
    d = read("dataset.json")
    rows = [[b["name"], b["value"], b["bar"], "yes" if b["pass"] else "no", b["note"]] for b in d["bars"]]
    return "## The data set of 80 scenes\n\n`flaneur dataset build flaneur/data/benchmark.toml --osm-root MAPS --out data`, then `python benchmarks/dataset.py data`.\n\n" + table(
        ["", "measured", "bar", "met", ""], rows
    )


def importing() -> str:
    """Parts are measured one by one; what is not there yet is left out."""
    d = read("importing.json")
    parts = ["## Importers\n\n`python benchmarks/importing.py --only stream`, `--only labels`, `--only delft`."]
    if s := d.get("stream"):
        rows = [
            ["points of UrbanBIS text", s["points"]], ["bytes", s["bytes"]],
            ["into windows, points/s on two cores (at least 1,000,000)", s["points_per_second"]], ["load of the machine then", s["load"]],
            ["points per second of processor time", s["points_per_cpu_second"]], ["peak memory, bytes (at most 2,147,483,648)", s["peak_bytes"]],
            ["the same by `flaneur city import`, one window built", s["command_one_window"]["peak_bytes"]], ["steps of its progress bar seen", s["command_one_window"]["progress_steps_shown"]],
        ]  # fmt: skip
        parts.append(table(["", "measured"], rows))
    if found := d.get("labels"):
        rows = [[r["scene"], name, c["cells"], c["iou"], "yes" if c["iou"] >= 0.95 else "no"] for r in found.values() for name, c in r["classes"].items()]
        head = "Cities of ours written as UrbanBIS text, 50 points on a square metre of surface, and read back: planar maps on the cells that are scored."
        parts.append(head + "\n\n" + table(["city", "class", "cells", "IoU", "0.95 met"], rows))
    if f := d.get("delft"):
        rows = [[name.replace("_", " "), f[name]["objects"], f[name]["iou"], f[name]["iou_by_half"]] for name in ("with_footprints", "points_alone")]
        head = f"Delft against its register of {f['buildings']} buildings, where the register says what is there ({100 * f['known_share']:.0f} % of the window)."
        note = "The planar map names a cell by what stands in it, so a footprint counts in every cell that it reaches into; by half a cell, walls make every building thicker than its polygon."
        parts.append(f"{head} {note}\n\n" + table(["", "objects", "IoU (0.9 wanted)", "IoU by half a cell"], rows))
    return "\n\n".join(parts)


def planning() -> str:
    d = read("planning_local.json")
    keys = ("planner", "blocks", "scenes", "invalid_plans", "calls", "asked_again", "repaired", "replayed_equal", "prompt_tokens", "completion_tokens", "wall_s", "threads", "machine")
    return "## Planning with a small language model\n\n`python benchmarks/planning.py --blocks 100`\n\n" + table(["", ""], [[k.replace("_", " "), d[k]] for k in keys])


def simulator() -> str:
    d = read("sim_cpu.json")
    r, m, f = d["render"], d["moves"], d["first_frame_s"]
    rows = [
        ["first surfaces, rays/s, one thread", r["surface_rays_per_s"]], ["Embree on the same rays", r["embree_rays_per_s"]], ["share of Embree's rate", r["of_embree"]],
        ["RGB with shadows, 256 x 256, frames/s", r["rgb_frames_per_s"]], ["steps/s, 128 x 128", d["step"]["steps_per_s"]],
        ["depth within 1 mm of Embree", d["agreement"]["depth_1mm"]], ["instance equal to Embree", d["agreement"]["instance"]],
        [f"{m['moves']:,} moves over {m['cities']} cities: inside matter", m["inside_by_parity"]], ["escaped", m["escaped"]],
        ["first frame, cold kernel cache, s", f["cold"]], ["first frame, warm, s", f["warm"]],
    ]  # fmt: skip
    return f"## Simulator\n\n`python benchmarks/sim.py`, {r['objects']:,} objects, {r['triangles']:,} triangles, load {d['load']:.0f}.\n\n" + table(["", "measured"], rows)


def mapping() -> str:
    rows = read("mapping.jsonl")
    parts = ["## Mapping\n\n`python benchmarks/mapping.py step`; `steps_per_cpu_second` leaves out the time other jobs took."]
    for row in rows:
        if row["what"] == "step":
            parts.append(f"- one environment, {row['pixels']} x {row['pixels']}, {row['scene']}: {row['steps_per_second']} steps/s on the clock, {row['steps_per_cpu_second']} per processor second")
    return "\n".join(parts)


def task() -> str:
    d = read("ceiling.json")
    rows = [[f"{r['max_step']:g} m", r["pool"], r["ocr"], *r["ccr"], r["background_wrong"], r["path_m"]] for r in d["rows"]]
    where = f"{d['machine']['gpu']}, {d['cities']} cities, {d['image']} pixels"
    head = f"`python benchmarks/ceiling.py --max-step 8 12 --pool 16384`, {where}: the planner that knows the truth, perfect evidence; wanted: OCR 98."
    return f"## The task\n\n{head}\n\n" + table(["max_step", "pool", "OCR", "small", "medium", "large", "background wrong, %", "path, m"], rows)


def exports() -> str:
    rows = []
    for r in read("exports.json")["scenes"]:
        newton = f"{r['newton']['shapes']} of {r['newton']['instances']}"
        rows.append([r["scene"], r["objects"], r["usd"]["cpu_seconds"], r["usd_validation"]["errors"], newton, r["gltf_validation"]["errors"]])
    head = "`python benchmarks/exports.py SCENE...`: files judged by OpenUSD's 30 validators, Newton's importer and the Khronos glTF validator."
    judged = table(["city", "objects", "USD, CPU s", "USD errors", "shapes in Newton", "glTF errors"], rows)
    d = read("newton_agreement.json")
    seen = [[name, r["depth"], r["label"], r["instance"]] for name, r in d["scenes"].items()]
    note = (
        f"The same USD through Newton's camera against our renderer, `python benchmarks/newton_agreement.py SCENE...`, {d['views']} views of {d['pixels']} x {d['pixels']} pixels each; wanted: 0.995."
    )
    return f"## Exports\n\n{head}\n\n{judged}\n\n{note}\n\n" + table(["city", "depth within 1 cm", "class equal", "instance equal"], seen)


def perception() -> str:
    d = read("perception.json")
    lens, match = d["lens_figures"], d["twin_lens_match"]
    rows = [
        ["Lens: mean class accuracy, plainly visible objects of held-out cities", lens["mean_class_accuracy"], ">= 0.85"],
        ["objects of that", lens["objects"], ""],
        ["right, seen from everywhere in every light", lens["everywhere_right"], ""],
        ["confidently wrong there", lens["everywhere_sure_and_wrong"], ""],
        ["its twin: total variation of confusion rows by distance, macro", match["total_variation_macro"], "<= 0.10"],
        ["worst decile", match["total_variation_worst_decile"], ""],
        ["correlation of errors over repeated views, Lens", match["repeated_error_correlation"], ""],
        ["the twin", match["repeated_error_correlation_twin"], "within 0.1"],
    ]
    rows += [[f"prompt never trained on (a network with 32 patches): {k}, AUROC", v["never_seen"]["auroc"], "> 0.5"] for k, v in d["withheld"]["classes"].items()]
    return f"## Evidence\n\n`python benchmarks/perception.py --scenes DATA --out DIR` on {d['machine']['device']}; curves in [Lens](perception/lens.md).\n\n" + table(["", "measured", "bar"], rows)


def gpu() -> str:
    d = read("gpu.json")
    rows = [[b["name"], b["value"], b["bar"], "yes" if b["pass"] else "no"] for b in d["bars"]]
    parts = [f"## On a GPU\n\n`python benchmarks/gpu.py --scenes DATA --lens flaneur/data/lens.safetensors`, {d['machine']['gpu']}, training and planners left out of that run:"]
    curve = read("shipped_agent_curve.jsonl")
    seconds = statistics.median(after["seconds"] - before["seconds"] for before, after in itertools.pairwise(curve))
    rate = (curve[1]["steps"] - curve[0]["steps"]) / seconds
    rows.append(["training of the full model, twin, 256 pixels, steps/s (median update of `shipped_agent_curve.jsonl`)", rate, ">= 3500", "yes" if rate >= 3500 else "no"])
    parts.append(table(["", "measured", "bar", "met"], rows))
    for name, state, kept in (
        ("gpu_eager.json", "before steps were recorded (decision 0072), planners", "plan and step"),
        ("gpu_recorded.json", "with recorded steps, still with the old search trees, training", "training"),
    ):
        d = read(name)
        rows = [[b["name"], b["value"], b["bar"], "yes" if b["pass"] else "no"] for b in d["bars"] if kept in b["name"]]
        parts.append(f"{d['machine']['gpu']}, {state}:\n\n" + table(["", "measured", "bar", "met"], rows))
    d = read("devices_agree.json")
    rows = [[k.replace("_", " "), d[k]] for k in ("instance_equal", "class_equal", "depth_within_1e-4", "rgb_within_2_of_255")]
    names = " and ".join(m.get("gpu") or m["cpu"] for m in d["machines"])
    parts.append(
        f"The same images on two machines, `python benchmarks/devices_agree.py`, {names}, {len(d['cities'])} cities, {d['pixels']:,} pixels; wanted: 0.9999.\n\n"
        + table(["share of pixels", "measured"], rows)
    )
    trees = read("trees.json")
    rows = [[r["kind"], r["leaf"] or "auto", r["build_s"], r["surface"], r["block128"], r["rgb"], r["move256_per_s"]] for r in trees["rows"]]
    parts.append(
        f"Search trees, `python benchmarks/trees.py` on {trees['machine']['gpu']}, {trees['cities']} cities (the package uses cubql, auto):\n\n"
        + table(["tree", "leaf", "building, s", "first surfaces, frames/s", "in blocks of 128", "RGB, frames/s", "moves/s"], rows)
    )
    return "\n\n".join(parts)


def evidence_and_agent() -> str:
    d = read("patch_resolution.json")
    rows = [[str(r["patches"]), r["ocr"], *r["ccr"], r["strict_miou"], r["background_wrong"]] for r in d["rows"]]
    columns = ["OCR", "small", "medium", "large", "strict mIoU", "background wrong, %"]
    parts = [
        "## Resolution of evidence\n\n`python benchmarks/patch_resolution.py`: the largest class of every patch, and nothing else (decision 0080).\n\n" + table(["patches across", *columns], rows)
    ]
    d = read("twin_against_lens.json")
    rows = [[r["evidence"], r["ocr"], *r["ccr"], r["strict_miou"], r["background_wrong"]] for r in d["rows"]]
    parts.append(f"Nearest frontier, {d['task']}:\n\n" + table(["evidence", *columns], rows))
    rows = [[r["agent"], r["row"], r["ocr"], *r["ccr"], r["strict_miou"], r["background_wrong"], r["path_m"]] for r in read("agent_choices.jsonl")]
    head = "## Agents on the validation cities\n\n`python benchmarks/agent_choices.py AGENT --scenes DATA`, four cities x 3 starts x 2 seeds, 256 pixels, one H200 (decisions 0081 to 0083)."
    parts.append(f"{head}\n\n" + table(["agent", "row", *columns, "path, m"], rows))
    d = read("trapped.json")
    rows = [[k.replace("_", " "), d["before"][k], d[k]] for k in ("stood_still_at_some_time", "stand_still_at_the_end", "of_these_for_good")]
    parts.append(f"## Standing still\n\n`python benchmarks/trapped.py`, {d['points']:,} points, {d['steps']} steps (decision 0083).\n\n" + table(["", "before", "now"], rows))
    return "\n\n".join(parts)


def planners() -> str:
    d = read("planners_cpu.json")
    rows = [[r["method"], r["batch"], r["plan_cpu_ms_per_choice"], r["plan_cpu_ms_per_step"]] for r in d["rows"]]
    return f"## Planning time\n\n`python benchmarks/planners.py`, {d['machine']}, {d['scene']}.\n\n" + table(["method", "batch", "CPU ms per choice", "CPU ms per step"], rows)


def main() -> None:
    sections = [HEAD.strip(), layout(), cities(), dataset(), importing(), planning(), simulator(), mapping(), task(), perception(), evidence_and_agent(), gpu(), planners(), exports()]
    PAGE.write_text("\n\n".join(sections) + "\n", "utf-8")


if __name__ == "__main__":
    main()
