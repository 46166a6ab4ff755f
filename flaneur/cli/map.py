"""`flaneur map`: the semantic map of a recorded flight or walk."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import tyro

from flaneur.cli.console import Command, print_json, progress
from flaneur.cli.evaluate import choose_device


@dataclass
class Map(Command):
    """Map a posed RGB-D recording: map.png, map.ply, map.geojson and, when georeferenced, map.tif.

    Formats: a folder with rgb/, depth/, poses.txt and intrinsics.json; TUM RGB-D; Replica; ScanNet's export. An
    origin.json (crs, easting, northing) georeferences it. Run again to go on where it stopped.

    Examples:
      flaneur map recordings/street --evidence clip:weights/clip-vit-base-patch16 --out out/street
      flaneur map rgbd_dataset_freiburg1_room --up -y --evidence lens:lens.safetensors --out out/room
    """

    recording: tyro.conf.Positional[Path]
    """Folder of the recording."""
    out: Annotated[Path, tyro.conf.arg(aliases=["-o"])]
    """Folder to write."""
    evidence: str = "lens"
    """lens, lens:FILE, clip:FOLDER, dinotxt:FILE."""
    up: Literal["z", "y", "-y"] = "z"
    """World axis that points up."""
    size: float | None = None
    """Metres a side; default: what the recording saw."""
    cells: int = 256
    """Cells of the map a side."""
    device: str = "auto"
    """auto, cpu or cuda."""

    def run(self) -> None:
        from flaneur.classes import load_classes
        from flaneur.mapping.recording import RecordingMapper, open_recording, write_outputs
        from flaneur.perception.sources import make_source

        device = choose_device(self.device)
        recording = open_recording(self.recording, self.up)
        source = make_source(self.evidence, load_classes(), device)
        mapper = RecordingMapper(recording, source, self.cells, self.size, device)
        self.out.mkdir(parents=True, exist_ok=True)
        with progress("frames", len(recording.frames)) as advance:
            mapper.run(self.out / "map.npz", tick=lambda done, _total: advance(done))
        written = write_outputs(mapper.map, source.classes, self.out, mapper.corner, recording.origin)
        report = {"format": recording.format, "frames": mapper.done, "size_m": round(mapper.grid.size, 2), "evidence": source.name, "remarks": recording.remarks, "files": [str(p) for p in written]}
        if self.json:
            print_json(report)
            return
        for remark in recording.remarks:
            print(f"note: {remark}")
        print(f"{self.out}: {report['frames']} frames, {report['size_m']} m a side, {', '.join(p.name for p in written)}")
