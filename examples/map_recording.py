"""The semantic map of a posed RGB-D recording: picture, GeoTIFF, GeoJSON, labelled voxels.

A recording is a folder with rgb/, depth/, poses.txt (camera to world, 4 x 4 a row) and intrinsics.json; TUM RGB-D,
Replica and ScanNet are read as well. Without one, a flight over a city is recorded first.

python examples/map_recording.py --recording my_drone_log --evidence clip:weights/clip-vit-base-patch16 --out out/map
python examples/map_recording.py --scene out/town --evidence lens:lens.safetensors --out out/map
"""

import json
import math
from pathlib import Path

import numpy as np
import torch
import tyro
from PIL import Image

from flaneur.city.scene import Scene
from flaneur.classes import load_classes
from flaneur.geometry import Camera, camera_to_world
from flaneur.mapping.recording import RecordingMapper, open_recording, write_outputs
from flaneur.perception.sources import make_source
from flaneur.sim import Simulator


def record(scene: Scene, folder: Path, frames: int) -> Path:
    """A flight along a diagonal at 20 m, looking down."""
    camera = Camera.from_fov(160, 120, 80.0, 100.0)
    t = torch.linspace(0, 1, frames)[:, None]
    poses = torch.cat([30 + 140 * t, 40 + 100 * t, 20 + 0 * t, 0 * t, math.radians(-40) + 0 * t, 0.6 + t], 1)
    frame = Simulator([scene], camera).render(poses, torch.zeros(frames, dtype=torch.int32), ("rgb", "depth"))
    assert frame.rgb is not None and frame.depth is not None
    for name in ("rgb", "depth"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    for i in range(frames):
        Image.fromarray(frame.rgb[i].numpy()).save(folder / "rgb" / f"{i:04d}.png")
        np.save(folder / "depth" / f"{i:04d}.npy", frame.depth[i].numpy())
    flip = np.diag([1.0, -1.0, -1.0, 1.0])  # recordings look along +z with y down
    np.savetxt(folder / "poses.txt", (camera_to_world(poses.double().numpy()) @ flip).reshape(frames, 16))
    numbers = {"width": 160, "height": 120, "fx": camera.fx, "fy": camera.fy, "cx": camera.cx, "cy": camera.cy, "depth_scale": 1.0}
    (folder / "intrinsics.json").write_text(json.dumps(numbers))
    (folder / "origin.json").write_text(json.dumps({"crs": "EPSG:32633", "easting": 500000.0, "northing": 5360000.0}))
    return folder


def main(out: Path, recording: Path | None = None, scene: Path | None = None, evidence: str = "lens", frames: int = 24) -> None:
    if recording is None:
        assert scene is not None, "give --recording, or --scene to record a flight there"
        recording = record(Scene.load(scene), out / "recording", frames)
    source = make_source(evidence, load_classes())
    mapper = RecordingMapper(open_recording(recording), source)
    mapper.run(out / "map.npz")  # stopped and started again, it goes on
    for path in write_outputs(mapper.map, source.classes, out, mapper.corner, mapper.recording.origin):
        print(path)


if __name__ == "__main__":
    tyro.cli(main)
