"""Recordings of every format map to the same thing; bad ones get one line."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from flaneur.city.scene import Scene
from flaneur.classes import load_classes
from flaneur.errors import UserError
from flaneur.geometry import Camera, camera_to_world, quaternion_from_rotation
from flaneur.mapping.recording import RecordingMapper, open_recording, write_outputs
from flaneur.mapping.recording.read import OPENCV
from flaneur.mapping.recording.run import fit_ground
from flaneur.mapping.semantic_map import UNEXPLORED
from flaneur.sim import Simulator
from flaneur.sim.pictures import colour_labels

CAMERA = Camera.from_fov(96, 72, 80.0, 60.0)
CLASSES = load_classes()


class ReadsColours:
    """Evidence for pictures painted in the classes' colours: the nearest colour is the class."""

    name, classes, outputs, logit_scale, class_mean = "colours", CLASSES, ("rgb",), 20.0, None

    def similarity(self, view):
        colours = torch.tensor(CLASSES.colors, dtype=torch.float32)
        distance = (view.frame.rgb.float()[:, None] - colours[None, :, None, None]).norm(dim=-1)
        return torch.nn.functional.one_hot(distance.argmin(1), len(CLASSES)).movedim(-1, 1).float()


@pytest.fixture(scope="module")
def flight(tmp_path_factory, tiny_scene) -> tuple[Path, Scene]:
    """A folder recording of a flight over the made-up city, its pictures painted in class colours."""
    folder, scene = tmp_path_factory.mktemp("flight"), tiny_scene(0)
    sim = Simulator([scene], CAMERA, "cpu")
    t = np.linspace(0, 1, 12)
    poses = np.stack([30 + 120 * t, 60 + 60 * t, 18 + 0 * t, 0 * t, -0.6 + 0 * t, 0.3 + 2.0 * t], -1).astype(np.float32)
    frame = sim.render(torch.from_numpy(poses), torch.zeros(12, dtype=torch.int32), ("depth", "label"))
    (folder / "rgb").mkdir()
    (folder / "depth").mkdir()
    rows = []
    for i in range(12):
        Image.fromarray(colour_labels(frame.label[i].numpy(), CLASSES)).save(folder / "rgb" / f"{i}.png")
        np.save(folder / "depth" / f"{i}.npy", frame.depth[i].numpy())
        rows.append((camera_to_world(poses[i].astype(np.float64)) @ OPENCV).reshape(-1))
    np.savetxt(folder / "poses.txt", rows)
    (folder / "intrinsics.json").write_text(json.dumps({"width": 96, "height": 72, "fx": CAMERA.fx, "fy": CAMERA.fy, "cx": CAMERA.cx, "cy": CAMERA.cy, "depth_scale": 1.0, "max_range": 60.0}))
    return folder, scene


def test_map_agrees_with_what_was_flown_over(flight, tmp_path) -> None:
    folder, scene = flight
    recording = open_recording(folder)
    mapper = RecordingMapper(recording, ReadsColours(), cells=128)
    mapper.run()
    assert recording.format == "folder" and abs(mapper.plane[2]) < 0.3
    labels = mapper.map.labels[0].numpy()
    y, x = np.nonzero(labels != UNEXPLORED)
    assert len(x) > 800
    # Straight down from above, the scene shows what the map must hold wherever nothing stands.
    at = (np.stack([x, y], -1) + 0.5) * mapper.grid.cell + mapper.corner[:2]
    inside = ((at > 1) & (at < 199)).all(1)
    down = torch.tensor([[0.0, 0.0, -1.0]]).expand(int(inside.sum()), 3)
    origins = torch.cat([torch.from_numpy(at[inside]).float(), torch.full((int(inside.sum()), 1), 79.0)], 1)
    _, label = Simulator([scene], CAMERA, "cpu").cast(origins, down)
    ground = np.isin(label.numpy(), [CLASSES[n].id for n in ("road", "terrain", "pavement", "water")])
    agree = (labels[y, x][inside] == label.numpy())[ground]
    assert agree.mean() > 0.85


def test_outputs_open_elsewhere(flight, tmp_path) -> None:
    import tifffile

    folder, _ = flight
    mapper = RecordingMapper(open_recording(folder), ReadsColours(), cells=64)
    mapper.run()
    origin = {"crs": "EPSG:32633", "easting": 500000.0, "northing": 5300000.0}
    written = {p.suffix: p for p in write_outputs(mapper.map, CLASSES, tmp_path, mapper.corner, origin)}
    assert set(written) == {".png", ".ply", ".geojson", ".tif"}
    raster = tifffile.TiffFile(written[".tif"])
    np.testing.assert_array_equal(raster.asarray(), mapper.map.labels[0].numpy()[::-1])
    assert raster.geotiff_metadata["ProjectedCSTypeGeoKey"] == 32633
    features = json.loads(written[".geojson"].read_text())["features"]
    lon, lat = np.array(features[0]["geometry"]["coordinates"][0]).reshape(-1, 2)[0]
    assert 14.5 < lon < 15.5 and 47 < lat < 48.5
    import trimesh

    assert len(trimesh.load(written[".ply"]).vertices) == int(mapper.map.observed.sum())


def test_a_stopped_run_goes_on_and_ends_equal(flight, tmp_path) -> None:
    folder, _ = flight
    whole = RecordingMapper(open_recording(folder), ReadsColours(), cells=64)
    whole.run()

    def stop(done: int, _total: int) -> None:
        if done == 7:
            raise KeyboardInterrupt

    first = RecordingMapper(open_recording(folder), ReadsColours(), cells=64)
    with pytest.raises(KeyboardInterrupt):
        first.run(tmp_path / "map.npz", every=3, tick=stop)
    second = RecordingMapper(open_recording(folder), ReadsColours(), cells=64)
    second.run(tmp_path / "map.npz", every=3)
    assert second.done == 12
    torch.testing.assert_close(second.map.probabilities, whole.map.probabilities, atol=1e-5, rtol=0)


def _tum(folder: Path, out: Path) -> None:
    out.mkdir()
    poses = np.loadtxt(folder / "poses.txt").reshape(-1, 4, 4)
    lines = {"rgb.txt": [], "depth.txt": [], "groundtruth.txt": []}
    for i, pose in enumerate(poses):
        shutil.copy(folder / "rgb" / f"{i}.png", out / f"c{i}.png")
        Image.fromarray((np.load(folder / "depth" / f"{i}.npy") * 1000).round().astype(np.uint16)).save(out / f"d{i}.png")
        lines["rgb.txt"].append(f"{i / 10:.3f} c{i}.png")
        lines["depth.txt"].append(f"{i / 10 + 0.004:.3f} d{i}.png")
        q = quaternion_from_rotation(pose[:3, :3])
        lines["groundtruth.txt"].append(" ".join(f"{v:.9f}" for v in [i / 10 + 0.002, *pose[:3, 3], *q]))
    for name, rows in lines.items():
        (out / name).write_text("# comment\n" + "\n".join(rows) + "\n")
    facts = json.loads((folder / "intrinsics.json").read_text()) | {"depth_scale": 1000.0}
    (out / "camera.json").write_text(json.dumps(facts))


def _replica(folder: Path, out: Path) -> None:
    (out / "results").mkdir(parents=True)
    for i in range(12):
        Image.open(folder / "rgb" / f"{i}.png").save(out / "results" / f"frame{i:06d}.jpg", quality=100, subsampling=0)
        Image.fromarray((np.load(folder / "depth" / f"{i}.npy") * 1000).round().astype(np.uint16)).save(out / "results" / f"depth{i:06d}.png")
    shutil.copy(folder / "poses.txt", out / "traj.txt")
    f = json.loads((folder / "intrinsics.json").read_text())
    (out / "cam_params.json").write_text(json.dumps({"camera": {"w": 96, "h": 72, "fx": f["fx"], "fy": f["fy"], "cx": f["cx"], "cy": f["cy"], "scale": 1000.0}}))


def _scannet(folder: Path, out: Path) -> None:
    for name in ("color", "depth", "pose", "intrinsic"):
        (out / name).mkdir(parents=True)
    poses = np.loadtxt(folder / "poses.txt").reshape(-1, 4, 4)
    for i, pose in enumerate(poses):
        Image.open(folder / "rgb" / f"{i}.png").save(out / "color" / f"{i}.jpg", quality=100, subsampling=0)
        Image.fromarray((np.load(folder / "depth" / f"{i}.npy") * 1000).round().astype(np.uint16)).save(out / "depth" / f"{i}.png")
        np.savetxt(out / "pose" / f"{i}.txt", pose if i != 5 else np.full((4, 4), np.inf))
    f = json.loads((folder / "intrinsics.json").read_text())
    np.savetxt(out / "intrinsic" / "intrinsic_depth.txt", [[f["fx"], 0, f["cx"], 0], [0, f["fy"], f["cy"], 0], [0, 0, 1, 0], [0, 0, 0, 1]])


@pytest.mark.parametrize(("make", "kind", "frames"), [(_tum, "tum", 12), (_replica, "replica", 12), (_scannet, "scannet", 11)])
def test_other_formats_read_the_same_flight(flight, tmp_path, make, kind: str, frames: int) -> None:
    make(flight[0], tmp_path / "r")
    ours, other = open_recording(flight[0]), open_recording(tmp_path / "r")
    assert other.format == kind and len(other.frames) == frames
    np.testing.assert_allclose(other.frames[0].pose, ours.frames[0].pose, atol=1e-5)
    np.testing.assert_allclose(other.read(0)[1], ours.read(0)[1], atol=1e-3)
    assert bool(other.remarks) == (kind == "scannet")


def test_y_up_is_turned(flight, tmp_path) -> None:
    shutil.copytree(flight[0], tmp_path / "r")
    turn = np.array([[1, 0, 0, 0], [0, 0, 1, 0], [0, -1, 0, 0], [0, 0, 0, 1.0]])  # z up to y up
    poses = turn @ np.loadtxt(flight[0] / "poses.txt").reshape(-1, 4, 4)
    np.savetxt(tmp_path / "r" / "poses.txt", poses.reshape(-1, 16))
    np.testing.assert_allclose(open_recording(tmp_path / "r", "y").frames[3].pose, open_recording(flight[0]).frames[3].pose, atol=1e-9)


def test_ground_plane_under_clutter() -> None:
    rng = np.random.default_rng(0)
    xy = rng.uniform(0, 50, (20_000, 2))
    z = 0.02 * xy[:, 0] - 0.01 * xy[:, 1] + 3 + rng.normal(0, 0.02, len(xy))
    z[:6000] += rng.uniform(0.5, 9, 6000)
    np.testing.assert_allclose(fit_ground(np.column_stack([xy, z])), (0.02, -0.01, 3), atol=0.05)


def _scale_pose(folder: Path) -> None:
    poses = np.loadtxt(folder / "poses.txt").reshape(-1, 4, 4)
    poses[2, :3, :3] *= 2
    np.savetxt(folder / "poses.txt", poses.reshape(-1, 16))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda f: (f / "intrinsics.json").unlink(), "no recording known here"),
        (lambda f: (f / "intrinsics.json").write_text("{"), "not readable as JSON"),
        (lambda f: (f / "intrinsics.json").write_text('{"width": 96}'), "intrinsics: field"),
        (lambda f: (f / "poses.txt").write_text("a b c"), "not a table of numbers"),
        (lambda f: (f / "rgb" / "3.png").unlink(), "11 colour images, 12 depth images"),
        (_scale_pose, "is not rigid"),
    ],
)
def test_bad_recordings(flight, tmp_path, change, message: str) -> None:
    shutil.copytree(flight[0], tmp_path / "r")
    change(tmp_path / "r")
    with pytest.raises(UserError, match=message) as caught:
        open_recording(tmp_path / "r")
    assert "\n" not in str(caught.value)


def test_depth_of_another_size_and_with_nan(flight, tmp_path) -> None:
    shutil.copytree(flight[0], tmp_path / "r")
    np.save(tmp_path / "r" / "depth" / "0.npy", np.full((72, 96), np.nan, np.float32))
    np.save(tmp_path / "r" / "depth" / "1.npy", np.zeros((10, 10), np.float32))
    recording = open_recording(tmp_path / "r")
    assert (recording.read(0)[1] == 0).all()
    with pytest.raises(UserError, match="10x10 pixels, the intrinsics are for 96x72"):
        recording.read(1)
