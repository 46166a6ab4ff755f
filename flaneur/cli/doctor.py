"""`flaneur doctor`: what this machine has, and what to install for what."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import platform
import shutil
import sys
from dataclasses import dataclass

from flaneur import __version__
from flaneur.cli.console import Command, print_json, print_table

# extra -> (module that shows it is there, what it is for)
EXTRAS = {
    "vlm": ("transformers", "CLIP and other vision-language models, prompts for new classes"),
    "llm": ("xllamacpp", "plan cities with a small language model on this machine"),
    "cityengine": ("pyprt", "buildings from CityEngine rule packages (Esri's licence)"),
    "viewer": ("rerun", "live 3-D viewer"),
    "cluster": ("ray", "data sets and experiments on many machines"),
    "slurm": ("submitit", "the same on SLURM"),
    "realdata": ("laspy", "LAS and LAZ point clouds"),
    "newton": ("newton", "open exported cities in Newton"),
    "track": ("wandb", "Weights & Biases"),
    "hub": ("huggingface_hub", "data sets on the Hugging Face hub"),
}
PROGRAMS = {"chromium": "screenshots of pages in the tests", "node": "glTF validation in the tests", "tmux": "nothing needed; terminal tests"}
CORE = ("torch", "warp-lang", "numpy", "osmium", "shapely", "manifold3d", "usd-core", "gymnasium")


@dataclass
class Doctor(Command):
    """What this machine has: devices, packages, extras; and what to install for what.

    Example: flaneur doctor --json
    """

    def run(self) -> int:
        report = examine()
        if self.json:
            print_json(report)
            return 0 if report["ok"] else 1
        print(f"flaneur {report['flaneur']} on Python {report['python']}, {report['system']}, {report['cores']} cores, {report['memory_gib']} GiB")
        for device in report["devices"]:
            print(f"device: {device['name']} ({device['kind']})")
        print_table(("package", "version"), [(name, version or "MISSING") for name, version in report["packages"].items()], "core")
        rows = [(name, "yes" if e["installed"] else f"pip install 'flaneur[{name}]'", e["purpose"]) for name, e in report["extras"].items()]
        print_table(("extra", "installed", "for"), rows, "extras")
        return 0 if report["ok"] else 1


def examine() -> dict:
    packages = {}
    for name in CORE:
        try:
            packages[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            packages[name] = None
    extras = {name: {"installed": importlib.util.find_spec(module) is not None, "purpose": purpose} for name, (module, purpose) in EXTRAS.items()}
    return {
        "flaneur": __version__,
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "cores": os.cpu_count(),
        "memory_gib": _memory_gib(),
        "devices": _devices(),
        "packages": packages,
        "extras": extras,
        "programs": {name: {"installed": shutil.which(name) is not None, "purpose": purpose} for name, purpose in PROGRAMS.items()},
        "ok": all(packages.values()) and sys.version_info >= (3, 11),
    }


def _memory_gib() -> float | None:
    try:
        return round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1)
    except (ValueError, OSError):
        return None


def _devices() -> list[dict]:
    devices = [{"kind": "cpu", "name": platform.processor() or platform.machine()}]
    try:
        import torch
    except ModuleNotFoundError:
        return devices
    for i in range(torch.cuda.device_count()):
        properties = torch.cuda.get_device_properties(i)
        devices.append({"kind": f"cuda:{i}", "name": properties.name, "memory_gib": round(properties.total_memory / 2**30, 1)})
    return devices
