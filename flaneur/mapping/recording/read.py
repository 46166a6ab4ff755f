"""Recordings on disk: our own folder, TUM RGB-D, Replica (NICE-SLAM's files) and ScanNet's export.

Poses come out as camera-to-world in this project's frames: z up, the camera looks along its own -z.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from flaneur.errors import UserError
from flaneur.geometry import Camera

OPENCV = np.diag([1.0, -1.0, -1.0, 1.0])  # camera axes of x right, y down, z forward, seen from ours
RIGID_TOLERANCE = 1e-2
ASSOCIATION = 0.02  # seconds between a picture, its depth and its pose (TUM)
LONG_GAP = 5.0  # times the median distance between poses: told, not refused


@dataclass(frozen=True)
class RecordedFrame:
    rgb: Path
    depth: Path
    pose: np.ndarray  # [4, 4] camera to world
    time: float


@dataclass(frozen=True)
class Recording:
    path: Path
    format: str
    camera: Camera
    depth_scale: float  # stored units per metre; 1 for .npy in metres
    frames: list[RecordedFrame]
    origin: dict[str, Any]  # crs, easting, northing of the recording's zero; empty when unknown
    remarks: list[str]  # frames left out and gaps

    def read(self, index: int) -> tuple[np.ndarray, np.ndarray]:
        """rgb [H, W, 3] u8 and depth [H, W] f32 metres (0 where there is none)."""
        from PIL import Image

        frame = self.frames[index]
        try:
            rgb = np.asarray(Image.open(frame.rgb).convert("RGB"))
            raw = np.load(frame.depth, allow_pickle=False) if frame.depth.suffix == ".npy" else np.asarray(Image.open(frame.depth))
        except (OSError, ValueError) as error:
            raise UserError(f"{frame.rgb}: frame {index} cannot be read ({error})") from None
        if raw.ndim != 2:
            raise UserError(f"{frame.depth}: depth has {raw.ndim} dimensions; one channel is needed")
        depth = raw.astype(np.float32) / self.depth_scale
        depth[~np.isfinite(depth) | (depth < 0)] = 0
        if depth.shape != (self.camera.height, self.camera.width):
            raise UserError(f"{frame.depth}: {depth.shape[1]}x{depth.shape[0]} pixels, the intrinsics are for {self.camera.width}x{self.camera.height}")
        if abs(rgb.shape[1] / rgb.shape[0] - depth.shape[1] / depth.shape[0]) > 0.02:
            raise UserError(f"{frame.rgb}: {rgb.shape[1]}x{rgb.shape[0]} pixels and its depth {depth.shape[1]}x{depth.shape[0]}: not the same view; register the depth to the colour image")
        return rgb, depth


def open_recording(path: Path, up: str = "z", origin: dict[str, Any] | None = None) -> Recording:
    """Tell the format by its files and read poses and intrinsics. `up` is the world axis that points up (z, y or -y)."""
    path = Path(path)
    if not path.is_dir():
        raise UserError(f"{path}: no such folder")
    readers = {"intrinsics.json": _read_folder, "groundtruth.txt": _read_tum, "traj.txt": _read_replica, "pose": _read_scannet}
    for name, reader in readers.items():
        if (path / name).exists():
            kind, camera, scale, frames, remarks = reader(path)
            break
    else:
        raise UserError(f"{path}: no recording known here; expected intrinsics.json (own folder), groundtruth.txt (TUM), traj.txt (Replica) or pose/ (ScanNet)")
    if not frames:
        raise UserError(f"{path}: no frame has colour, depth and a pose")
    turn = _to_z_up(up)
    poses = []
    for frame in frames:
        _check_rigid(frame)
        poses.append(RecordedFrame(frame.rgb, frame.depth, turn @ frame.pose @ OPENCV, frame.time))
    remarks += _gaps(poses)
    if (path / "origin.json").exists():
        origin = _json(path / "origin.json")
    return Recording(path, kind, camera, scale, poses, origin or {}, remarks)


def _read_folder(path: Path):
    """rgb/*.png|jpg, depth/*.png|npy, poses.txt (16 numbers a line, or TUM's 8), intrinsics.json."""
    facts = _json(path / "intrinsics.json")
    camera = _camera(path / "intrinsics.json", facts)
    rgb, depth = _numbered(path / "rgb"), _numbered(path / "depth")
    lines = _numbers(path / "poses.txt")
    frames, remarks = [], []
    if lines and len(lines[0]) == 16:
        if len(lines) != len(rgb) or len(rgb) != len(depth):
            raise UserError(f"{path}: {len(rgb)} colour images, {len(depth)} depth images and {len(lines)} poses; give one of each per frame")
        for i, (c, d, row) in enumerate(zip(rgb, depth, lines, strict=True)):
            frames.append(RecordedFrame(c, d, np.array(row).reshape(4, 4), float(i)))
    else:
        stamped = [(_stamp(c), c) for c in rgb], [(_stamp(d), d) for d in depth]
        frames, remarks = _associate(*stamped, _tum_poses(path / "poses.txt", lines))
    return "folder", camera, float(facts.get("depth_scale", 1000.0)), frames, remarks


def _read_tum(path: Path):
    def table(name: str) -> list[tuple[float, Path]]:
        rows = [line.split() for line in (path / name).read_text("utf-8").splitlines() if line.strip() and not line.startswith("#")]
        return [(float(r[0]), path / r[1]) for r in rows]

    for name in ("rgb.txt", "depth.txt"):
        if not (path / name).exists():
            raise UserError(f"{path}: {name} is missing; a TUM recording has rgb.txt, depth.txt and groundtruth.txt")
    frames, remarks = _associate(table("rgb.txt"), table("depth.txt"), _tum_poses(path / "groundtruth.txt", _numbers(path / "groundtruth.txt")))
    facts = _json(path / "camera.json") if (path / "camera.json").exists() else {"width": 640, "height": 480, "fx": 525.0, "fy": 525.0, "cx": 319.5, "cy": 239.5}
    return "tum", _camera(path, facts), float(facts.get("depth_scale", 5000.0)), frames, remarks


def _read_replica(path: Path):
    parameters = next((p for p in (path / "cam_params.json", path.parent / "cam_params.json") if p.exists()), None)
    if parameters is None:
        raise UserError(f"{path}: cam_params.json is missing, here or one folder up")
    facts = _json(parameters)["camera"]
    camera = _camera(parameters, {"width": facts["w"], "height": facts["h"], **{k: facts[k] for k in ("fx", "fy", "cx", "cy")}})
    rgb, depth, poses = sorted((path / "results").glob("frame*.jpg")), sorted((path / "results").glob("depth*.png")), _numbers(path / "traj.txt")
    if not len(rgb) == len(depth) == len(poses):
        raise UserError(f"{path}: {len(rgb)} colour images, {len(depth)} depth images and {len(poses)} poses in traj.txt")
    frames = [RecordedFrame(c, d, np.array(p).reshape(4, 4), float(i)) for i, (c, d, p) in enumerate(zip(rgb, depth, poses, strict=True))]
    return "replica", camera, float(facts.get("scale", 6553.5)), frames, []


def _read_scannet(path: Path):
    matrix = np.array(_numbers(path / "intrinsic" / "intrinsic_depth.txt"))
    depth = _numbered(path / "depth")
    if not depth:
        raise UserError(f"{path}: depth/ holds no images")
    from PIL import Image

    width, height = Image.open(depth[0]).size
    camera = _camera(path, {"width": width, "height": height, "fx": matrix[0, 0], "fy": matrix[1, 1], "cx": matrix[0, 2], "cy": matrix[1, 2]})
    frames, remarks = [], []
    for d in depth:
        pose, rgb = path / "pose" / f"{d.stem}.txt", path / "color" / f"{d.stem}.jpg"
        values = np.array(_numbers(pose)) if pose.exists() else np.full((4, 4), np.inf)
        # ScanNet marks frames its tracker lost with infinite poses.
        if rgb.exists() and np.isfinite(values).all():
            frames.append(RecordedFrame(rgb, d, values, float(d.stem)))
    if len(frames) < len(depth):
        remarks.append(f"{len(depth) - len(frames)} of {len(depth)} frames have no pose or picture and are left out")
    return "scannet", camera, 1000.0, frames, remarks


def _associate(rgb: list[tuple[float, Path]], depth: list[tuple[float, Path]], poses: list[tuple[float, np.ndarray]]) -> tuple[list[RecordedFrame], list[str]]:
    """Nearest depth and pose in time for every picture; pictures without are left out and counted."""
    if not depth or not poses:
        return [], []
    depth_times, pose_times = np.array([t for t, _ in depth]), np.array([t for t, _ in poses])
    frames = []
    for t, picture in rgb:
        d, p = int(np.abs(depth_times - t).argmin()), int(np.abs(pose_times - t).argmin())
        if abs(depth_times[d] - t) <= ASSOCIATION and abs(pose_times[p] - t) <= ASSOCIATION:
            frames.append(RecordedFrame(picture, depth[d][1], poses[p][1], t))
    lost = len(rgb) - len(frames)
    return frames, [f"{lost} of {len(rgb)} pictures have no depth or pose within {ASSOCIATION} s and are left out"] if lost else []


def _tum_poses(path: Path, lines: list[list[float]]) -> list[tuple[float, np.ndarray]]:
    from flaneur.geometry import rotation_from_quaternion

    out = []
    for number, row in enumerate(lines, 1):
        if len(row) != 8:
            raise UserError(f"{path}: pose {number} has {len(row)} numbers; 8 (time, position, quaternion) or 16 (matrix) are needed")
        pose = np.eye(4)
        q = np.array(row[4:8])
        if not 0.99 < np.linalg.norm(q) < 1.01:
            raise UserError(f"{path}: pose {number} is not rigid: its quaternion has length {np.linalg.norm(q):.3f}")
        pose[:3, :3], pose[:3, 3] = rotation_from_quaternion(q / np.linalg.norm(q)), row[1:4]
        out.append((row[0], pose))
    return out


def _check_rigid(frame: RecordedFrame) -> None:
    r = frame.pose[:3, :3]
    if not np.isfinite(frame.pose).all() or np.abs(r @ r.T - np.eye(3)).max() > RIGID_TOLERANCE or np.linalg.det(r) < 0 or np.abs(frame.pose[3] - (0, 0, 0, 1)).max() > 1e-6:
        raise UserError(f"{frame.rgb}: its pose is not rigid (a rotation and a translation in metres); convert it")


def _to_z_up(up: str) -> np.ndarray:
    turns = {"z": np.eye(4), "y": np.array([[1, 0, 0, 0], [0, 0, -1, 0], [0, 1, 0, 0], [0, 0, 0, 1.0]]), "-y": np.array([[1, 0, 0, 0], [0, 0, 1, 0], [0, -1, 0, 0], [0, 0, 0, 1.0]])}
    if up not in turns:
        raise UserError(f"--up {up}: give z, y or -y")
    return turns[up]


def _gaps(frames: list[RecordedFrame]) -> list[str]:
    at = np.array([f.pose[:3, 3] for f in frames])
    steps = np.linalg.norm(np.diff(at, axis=0), axis=1)
    median = np.median(steps) if len(steps) else 0.0
    jumps = np.flatnonzero(steps > max(LONG_GAP * median, 0.5)) if median > 0 else []
    return [f"{len(jumps)} gaps, the first after frame {jumps[0]}: {steps[jumps[0]]:.2f} m (median step {median:.2f} m)"] if len(jumps) else []


def _camera(path: Path, facts: dict[str, Any]) -> Camera:
    try:
        values = {k: float(facts[k]) for k in ("width", "height", "fx", "fy", "cx", "cy")}
    except (KeyError, TypeError, ValueError) as error:
        raise UserError(f"{path}: intrinsics: field {error} is missing or no number; width, height, fx, fy, cx, cy are needed") from None
    if min(values["width"], values["height"], values["fx"], values["fy"]) <= 0:
        raise UserError(f"{path}: intrinsics: width, height, fx and fy must be positive")
    return Camera(int(values["width"]), int(values["height"]), values["fx"], values["fy"], values["cx"], values["cy"], float(facts.get("max_range", 150.0)))


def _json(path: Path) -> dict[str, Any]:
    try:
        return json.loads(path.read_text("utf-8"))
    except (OSError, json.JSONDecodeError, UnicodeDecodeError) as error:
        raise UserError(f"{path}: not readable as JSON ({error})") from None


def _numbers(path: Path) -> list[list[float]]:
    try:
        return [[float(v) for v in line.replace(",", " ").split()] for line in path.read_text("utf-8").splitlines() if line.strip() and not line.startswith("#")]
    except OSError:
        raise UserError(f"{path}: missing") from None
    except (ValueError, UnicodeDecodeError) as error:
        raise UserError(f"{path}: not a table of numbers ({error})") from None


def _stamp(path: Path) -> float:
    try:
        return float(path.stem)
    except ValueError:
        raise UserError(f"{path}: the name is no time stamp, which poses of 8 numbers need; name images by their time or give 16 numbers per pose") from None


def _numbered(folder: Path) -> list[Path]:
    """Images in the order of the numbers in their names: 2 before 10."""
    found = [p for p in folder.glob("*") if p.suffix.lower() in (".png", ".jpg", ".jpeg", ".npy")]
    return sorted(found, key=lambda p: [float(v) for v in re.findall(r"\d+\.?\d*", p.stem)] or [0.0])
