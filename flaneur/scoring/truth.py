"""Ground truth of a scene: voxel and planar labels of what can be seen from legal poses, and which cells are scored."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
import zipfile
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from flaneur.city.scene import Scene
from flaneur.classes import SCALE_GROUPS
from flaneur.errors import UserError
from flaneur.geometry import Camera, Grid, camera_to_world
from flaneur.mapping import UNEXPLORED
from flaneur.mapping.backproject import points, voxels
from flaneur.mapping.projection import project_labels
from flaneur.scoring.lattice import Lattice
from flaneur.sim import Simulator

PARTS = 4  # of the lattice's positions; a cell whose label is not the same by each of them is not scored
MIN_PIXELS = 4  # a cell is scored when one pose sees the surface behind its label with that many pixels of the task's camera
CHUNK_PIXELS = {"cpu": 1 << 19, "cuda": 1 << 23}  # rendered at a time: enough to fill a device, few enough for its memory
METHOD = 4  # part of the key: truths made another way are not read


@dataclass(frozen=True)
class Truth:
    """Labels are class ids, 255 where nothing is. `seen` tells which classes a pose sees well enough in each cell."""

    voxel: Tensor  # [Z, Hm, Wm] u8
    seen: Tensor  # [2, C, Hm, Wm] bool: in the ground slab, in the object bins above it
    settled: Tensor  # [2, Hm, Wm] bool, by projection: every part of the positions alone gives the same planar label
    cellless: tuple[int, int, int]  # instances per scale group that own no cell
    instances: tuple[int, int, int]  # instances per scale group

    def planar(self, of_log_odds: bool = False) -> Tensor:  # [Hm, Wm] u8
        return project_labels(self.voxel, self.seen.shape[1], of_log_odds)[0]

    def scored(self, of_log_odds: bool = False) -> Tensor:  # [Hm, Wm] bool
        labels, above = project_labels(self.voxel, self.seen.shape[1], of_log_odds)
        index = labels.long().clamp(max=self.seen.shape[1] - 1)[None]
        slab, objects = (s.gather(0, index)[0] for s in self.seen)
        well = (slab | objects) if of_log_odds else torch.where(above, objects, slab)
        return well & (labels != UNEXPLORED) & self.settled[int(of_log_odds)]


def ground_heights(scene: Scene, grid: Grid) -> Tensor:
    """[Hm, Wm] f32: the scene's height field at the cells' centres."""
    at = (np.arange(grid.cells) + 0.5) * grid.cell
    x, y = np.meshgrid(at, at)
    return torch.from_numpy(scene.ground_height(np.stack([x, y], -1)).astype(np.float32))


def compute_truth(scene: Scene, camera: Camera, grid: Grid | None = None, lattice: Lattice | None = None, device: str = "cpu") -> Truth:
    """Render the lattice once; every view gives one vote per voxel, to the class that fills most of what it sees there.

    So the label is the class whose surface is largest as seen over all legal poses, and perfect evidence agrees with it.
    Positions vote in PARTS parts as well: where these disagree the label depends on where one happens to look from, and
    the cell is not scored (decision 0025).
    """
    grid, lattice = grid or Grid(), lattice or Lattice()
    view = lattice.camera(camera)
    sim = Simulator([scene], view, device)
    poses = lattice.poses(sim)
    classes, count = scene.classes, len(scene.classes)
    ground = ground_heights(scene, grid).to(device)
    objects = len(classes.object_ids)  # objects come first in the class list
    layer, total = grid.cells**2, grid.bins * grid.cells**2
    votes = torch.zeros(PARTS, total * count, device=device)
    turns = lattice.headings * len(lattice.pitches)
    seen = torch.zeros(2 * count * layer, device=device)
    owners = (torch.zeros(0, dtype=torch.int64, device=device), torch.zeros(0, device=device))
    threshold = MIN_PIXELS * (view.fx / camera.fx) ** 2
    step = max(1, CHUNK_PIXELS[torch.device(device).type] // (view.width * view.height))
    for start in range(0, len(poses), step):
        batch = poses[start : start + step]
        frame = sim.render(batch, torch.zeros(len(batch), dtype=torch.int32, device=device), ("depth", "instance", "label"))
        assert frame.depth is not None and frame.label is not None and frame.instance is not None
        matrix = camera_to_world(batch)
        voxel, inside = voxels(points(frame.depth, matrix, view), grid, ground)
        inside &= frame.depth > 0
        footprint = (frame.depth**2 / (view.fx * view.fy))[inside]  # m2 across the ray
        view_of = torch.arange(len(batch), device=device)[:, None, None].expand_as(voxel)[inside]
        part_of = (torch.arange(start, start + len(batch), device=device) // turns % PARTS)[view_of]
        voxel, label, instance = voxel[inside], frame.label[inside].long(), frame.instance[inside].long()
        for part in range(PARTS):
            mine = part_of == part
            _vote(votes[part], view_of[mine], voxel[mine], label[mine], count)
        cell, above = voxel % layer, (voxel >= layer).long()
        _largest(seen, view_of, (above * count + label) * layer + cell, torch.ones_like(footprint))
        is_object = label < objects
        owners = _merge_owners(owners, (view_of * layer + cell)[is_object], instance[is_object], footprint[is_object], len(scene.class_id), layer)
    labels, *parts = (_winners(v.view(total, count), grid) for v in (votes.sum(0), *votes))
    truth = Truth(labels, (seen >= threshold).view(2, count, grid.cells, grid.cells), _settled(labels, parts, count), (0, 0, 0), (0, 0, 0))
    owning = _owning_instances(owners, truth.planar().flatten(), torch.from_numpy(scene.class_id.astype(np.int64)).to(device))
    lacking, present = [], []
    for g in range(len(SCALE_GROUPS)):
        ids = set(np.flatnonzero(scene.group == g).tolist())
        present.append(len(ids))
        lacking.append(len(ids - owning))
    return replace(truth, cellless=tuple(lacking), instances=tuple(present))


def _winners(votes: Tensor, grid: Grid) -> Tensor:  # [voxels, C] -> [Z, Hm, Wm] u8
    most, largest = votes.max(1)
    return torch.where(most > 0, largest, UNEXPLORED).to(torch.uint8).view(grid.bins, grid.cells, grid.cells)


def _settled(labels: Tensor, parts: list[Tensor], count: int) -> Tensor:
    """[2, Hm, Wm] bool by projection; a part that saw nothing of a cell has no say."""
    kinds = []
    for of_log_odds in (False, True):
        whole, *others = (project_labels(x, count, of_log_odds)[0] for x in (labels, *parts))
        kinds.append(torch.stack([(p == whole) | (p == UNEXPLORED) for p in others]).all(0))
    return torch.stack(kinds)


def _largest(out: Tensor, view: Tensor, key: Tensor, amount: Tensor) -> None:
    """Sum `amount` over the pixels of a view that share a key, then keep the largest view in `out` [keys]."""
    unique, inverse = torch.unique(view * len(out) + key, return_inverse=True)
    sums = torch.zeros(len(unique), device=out.device, dtype=torch.float64).index_add_(0, inverse, amount.double())
    out.scatter_reduce_(0, unique % len(out), sums.float(), "amax")


def _vote(votes: Tensor, view: Tensor, voxel: Tensor, label: Tensor, count: int) -> None:
    """One vote per view and voxel, shared by classes that fill it equally, into `votes` [voxels * classes]."""
    unique, pixels = torch.unique(view * len(votes) + voxel * count + label, return_counts=True)
    _, place = torch.unique(unique // count, return_inverse=True)
    best = torch.zeros(int(place.max()) + 1 if len(place) else 0, dtype=pixels.dtype, device=votes.device).scatter_reduce_(0, place, pixels, "amax")
    wins = (pixels == best[place]).float()
    shared = torch.zeros(len(best), device=votes.device).index_add_(0, place, wins)
    votes.index_add_(0, unique % len(votes), wins / shared[place])


def _merge_owners(kept: tuple[Tensor, Tensor], view_cell: Tensor, instance: Tensor, amount: Tensor, instances: int, cells: int) -> tuple[Tensor, Tensor]:
    """The same for keys too many for a table: cell and instance in one number, sorted."""
    unique, inverse = torch.unique(view_cell * instances + instance, return_inverse=True)
    sums = torch.zeros(len(unique), device=instance.device, dtype=torch.float64).index_add_(0, inverse, amount.double()).float()
    keys, inverse = torch.unique(torch.cat([kept[0], unique % (cells * instances)]), return_inverse=True)
    return keys, torch.zeros(len(keys), device=keys.device).scatter_reduce_(0, inverse, torch.cat([kept[1], sums]), "amax")


def _owning_instances(owners: tuple[Tensor, Tensor], planar: Tensor, class_id: Tensor) -> set[int]:
    """Instances that show the largest surface of its label's class in at least one cell."""
    key, area = owners
    cell, instance = key // len(class_id), key % len(class_id)
    of_label = planar[cell].long() == class_id[instance]
    cell, area, instance = cell[of_label], area[of_label], instance[of_label]
    best = torch.zeros(len(planar), device=key.device).scatter_reduce_(0, cell, area, "amax")
    return set(instance[area >= best[cell]].tolist())


# Files --------------------------------------------------------------------------------------------------------------
def truth_key(scene: Scene, camera: Camera, grid: Grid, lattice: Lattice) -> str:
    """What the truth depends on, hashed: the scene's surfaces and classes, the grid, the camera and the lattice."""
    digest = hashlib.sha256(json.dumps([METHOD, asdict(camera), asdict(grid), asdict(lattice), list(scene.classes.names)], sort_keys=True).encode())
    vertices, faces, _, _, owner = scene.triangles()
    for a in (vertices, faces, owner, scene.class_id, scene.ground):
        digest.update(np.ascontiguousarray(a).tobytes())
    return digest.hexdigest()[:32]


def load_truth(folder: Path | None, scene: Scene, camera: Camera, grid: Grid | None = None, lattice: Lattice | None = None, device: str = "cpu") -> Truth:
    """The truth kept in `folder`/truth.npz, or computed and, when a folder is named, written there."""
    grid, lattice = grid or Grid(), lattice or Lattice()
    key = truth_key(scene, camera, grid, lattice)
    path = Path(folder) / "truth.npz" if folder is not None else None
    kept: dict[str, np.ndarray] = {}
    if path is not None and path.exists():
        try:
            with np.load(path, allow_pickle=False) as archive:
                kept = {name: archive[name] for name in archive.files}
        except (OSError, ValueError, EOFError, zipfile.BadZipFile) as error:
            raise UserError(f"{path}: damaged ({error}); delete it, it is computed again") from None
    if f"{key}/voxel" in kept:
        shape = (2, len(scene.classes), grid.cells, grid.cells)
        seen = np.unpackbits(kept[f"{key}/seen"], count=int(np.prod(shape))).reshape(shape).astype(bool)
        settled = np.unpackbits(kept[f"{key}/settled"], count=2 * grid.cells**2).reshape(2, grid.cells, grid.cells).astype(bool)
        cellless, instances = kept[f"{key}/instances"].tolist()
        voxel, seen, settled = (torch.from_numpy(x).to(device) for x in (kept[f"{key}/voxel"], seen, settled))
        return Truth(voxel, seen, settled, tuple(cellless), tuple(instances))
    truth = compute_truth(scene, camera, grid, lattice, device)
    if path is not None:
        kept |= {
            f"{key}/voxel": truth.voxel.cpu().numpy(),
            f"{key}/seen": np.packbits(truth.seen.cpu().numpy()),
            f"{key}/settled": np.packbits(truth.settled.cpu().numpy()),
            f"{key}/instances": np.array([truth.cellless, truth.instances], np.int32),
        }
        handle, temporary = tempfile.mkstemp(prefix=".truth.", suffix=".npz", dir=path.parent)
        os.close(handle)
        np.savez_compressed(temporary, allow_pickle=False, **kept)
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    return truth
