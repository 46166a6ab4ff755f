"""Fixtures every folder's tests share."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))  # makes tests/scenes.py importable as `scenes`


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of street maps and city models handed over with the project; tests that need it skip without."""
    folder = Path(os.environ.get("FLANEUR_DATA", Path(__file__).parents[2] / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip(f"{folder} is absent; set FLANEUR_DATA")
    return folder


@pytest.fixture(scope="session")
def tiny_scene():
    """`tiny_scene(seed)` makes a small city of about 220 instances."""
    from scenes import tiny_scene

    return tiny_scene


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    """With FLANEUR_NO_SKIPS set (CI), a test that skips for a missing program or package fails instead."""
    report = (yield).get_result()
    if report.skipped and os.environ.get("FLANEUR_NO_SKIPS") and not hasattr(report, "wasxfail"):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        if "FLANEUR_DATA" not in reason:
            report.outcome = "failed"
            report.longrepr = f"{item.nodeid}: {reason} (FLANEUR_NO_SKIPS is set: install what is missing)"
