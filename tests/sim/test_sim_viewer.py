"""The page holds the scene, asks nothing of a network, and works in a browser."""

from __future__ import annotations

import base64
import json
import re
import shutil
import subprocess
import zlib

import numpy as np
import pytest
from PIL import Image

from flaneur.errors import UserError
from flaneur.page import write_page
from flaneur.sim.viewer import viewer_html

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


@pytest.fixture(scope="module")
def page(tiny_scene, tmp_path_factory):
    path = tmp_path_factory.mktemp("viewer") / "scene.html"
    scene = tiny_scene(0)
    assert write_page(path, viewer_html(scene)) == path.stat().st_size
    return scene, path


def unpack(text: str) -> tuple[dict, dict[str, np.ndarray]]:
    header = json.loads(re.search(r'type="application/json">(.*?)</script>', text, re.S)[1])
    data = zlib.decompress(base64.b64decode(re.search(r'octet-stream">(.*?)</script>', text, re.S)[1]))
    return header, {name: np.frombuffer(data, np.dtype(f"<{t}"), n, start) for name, (t, start, n) in header["arrays"].items()}


def test_geometry_survives(page):
    scene, path = page
    header, arrays = unpack(path.read_text("utf-8"))
    position, index = arrays["position"].reshape(-1, 4), arrays["index"]
    for p, described in zip(scene.prototypes, header["prototypes"], strict=True):
        start, count = described["index"]
        corners = position[index[start : start + count], :3] / 65535 * described["size"] + described["low"]
        assert np.allclose(corners, p.vertices[p.faces.reshape(-1)], atol=0.01)
        assert np.array_equal(position[index[start : start + count : 3], 3], p.materials)
        assert described["count"] == (scene.instances.prototype == header["prototypes"].index(described)).sum()
    assert sorted(arrays["id"]) == list(range(1, len(scene.instances) + 1))


def test_asks_nothing_of_a_network(page):
    text = page[1].read_text("utf-8")
    assert not re.search(r"""(src|href)\s*=|fetch\(|XMLHttpRequest|import\(|@import|url\(""", text)


def test_hostile_names_stay_text(tiny_scene):
    scene = tiny_scene(0)
    scene.name = "</script><script>alert(1)</script>"
    assert "</script><script>alert" not in viewer_html(scene)


def browse(path, fragment: str, *options: str) -> str:
    command = [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--disable-background-networking",
               "--disable-component-update", "--disable-sync", "--no-first-run", f"--user-data-dir={path.parent / 'profile'}", "--window-size=640,480",
               "--virtual-time-budget=20000", *options, f"{path.as_uri()}#{fragment}"]  # fmt: skip
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False).stdout


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium here")
def test_in_a_browser(page):
    """It draws, and picking the middle of a view names what is there."""
    scene, path = page
    tower = int(np.flatnonzero(scene.class_id == scene.classes["skyscraper"].id)[0])
    centre = scene.box[tower, 0]
    view = f"{centre[0]:.2f},{centre[1] - 60:.2f},{centre[2]:.2f},{np.pi / 2},0"
    shot = path.parent / "shot.png"
    browse(path, f"view={view}&pick=320,240&look=1", f"--screenshot={shot}")
    image = np.asarray(Image.open(shot).convert("RGB")).astype(int)
    assert image.reshape(-1, 3).std(0).max() > 10
    document = browse(path, f"view={view}&pick=320,240", "--dump-dom")
    assert 'data-ready="1"' in document
    assert ">skyscraper<" in document
    assert f"<dt>instance</dt><dd>{tower}</dd>" in document


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium here")
def test_a_page_around_it_shows_flights_and_rides_along(page):
    """As the demo does: bands in the city, and where the camera is."""
    _, path = page
    outer, shot = path.parent / "outer.html", path.parent / "outer.png"
    script = """<body style="margin:0"><iframe id="city" style="width:640px;height:480px;border:0"></iframe><script>
      addEventListener("message", e => { if (e.data === "city is ready") document.getElementById("city").contentWindow.postMessage({
        ribbons: [{ triangles: new Float32Array([1000, -5, 495, 1000, 5, 495, 1000, 0, 505]), color: [1, 0, 1] }], view: [980, 0, 500, 0, 0] }, "*"); });
      document.getElementById("city").srcdoc = VIEWER;</script>"""
    outer.write_text(script.replace("VIEWER", json.dumps(path.read_text("utf-8")).replace("</", "<\\/")), "utf-8")
    browse(outer, "", f"--screenshot={shot}")
    image = np.asarray(Image.open(shot).convert("RGB")).astype(int)
    assert np.abs(image[240, 320] - [255, 0, 255]).max() < 3
    assert (np.abs(image - [255, 0, 255]).max(-1) < 3).mean() > 0.01


def test_bad_scene(tiny_scene):
    scene = tiny_scene(0)
    scene.materials = [*scene.materials[:-1], "unobtainium"]
    with pytest.raises(UserError, match="unobtainium"):
        viewer_html(scene)
