"""The build: resumable, the same for any number of workers, nothing half-written, one line for every fault."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest
from scenes import tiny_scene

from flaneur.city.dataset import hosting
from flaneur.city.dataset.build import build_dataset, build_entry, finished, make_scene
from flaneur.city.dataset.card import dataset_statistics, write_card
from flaneur.city.dataset.index import FILE, checksum_of, load_index, verify
from flaneur.city.dataset.manifest import Entry, Manifest
from flaneur.city.scene import Scene
from flaneur.errors import UserError

ENTRIES = tuple(Entry(f"s{k}", f"p{k}", ("train", "validation", "test")[k % 3], "day", k, synthetic="town") for k in range(6))
MANIFEST = Manifest("tiny", "A test.", {}, ENTRIES, "0" * 64)


def make(entry, osm_root):
    return tiny_scene(entry.seed)


def make_with_a_fault(entry, osm_root):
    if entry.seed == 3:
        raise UserError("no street here")
    return tiny_scene(entry.seed)


def contents(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    out = tmp_path_factory.mktemp("dataset") / "d"
    build_dataset(MANIFEST, out, make=make)
    return out


def test_any_number_of_workers_and_shards_gives_the_same_bytes(built, tmp_path):
    build_dataset(MANIFEST, tmp_path / "two", workers=2, make=make)
    assert contents(tmp_path / "two") == contents(built)
    for i in (3, 1, 2):
        index = build_dataset(MANIFEST, tmp_path / "shards", shard=(i, 3), make=make)
        assert (index is None) == (i != 2), "the last shard finds all scenes there and writes the index"
    assert contents(tmp_path / "shards") == contents(built)


def test_finished_scenes_are_kept_and_damaged_ones_built_again(built, tmp_path):
    out = tmp_path / "d"
    shutil.copytree(built, out)
    made = []

    def counting(entry, osm_root):
        made.append(entry.name)
        return make(entry, osm_root)

    build_dataset(MANIFEST, out, make=counting)
    assert made == []
    (out / "scenes" / "s1" / "instances.npz").write_bytes(b"damaged")
    shutil.rmtree(out / "scenes" / "s4")
    changed = json.loads((out / "scenes" / "s2" / "scene.json").read_text())
    changed["seed"] = 77  # the content no longer matches the checksum
    (out / "scenes" / "s2" / "scene.json").write_text(json.dumps(changed))
    build_dataset(MANIFEST, out, make=counting)
    assert made == ["s1", "s2", "s4"] and contents(out) == contents(built)
    entries = (*ENTRIES[:5], Entry("s5", "p5", "test", "night", 5, synthetic="town"))
    build_dataset(Manifest("tiny", "A test.", {}, entries, "1" * 64), out, make=counting)
    assert made[3:] == ["s5"] and Scene.load(out / "scenes" / "s5").light == "night"


def test_progress_counts_every_scene(tmp_path):
    seen = []
    build_dataset(MANIFEST, tmp_path / "d", make=make, progress=lambda *a: seen.append(a))
    assert seen == [(k + 1, 6, f"s{k}") for k in range(6)]


@pytest.mark.parametrize("workers", [1, 2])
def test_a_scene_that_fails_does_not_stop_the_others(tmp_path, workers):
    with pytest.raises(UserError, match="1 of 6 scenes failed; s3: no street here") as error:
        build_dataset(MANIFEST, tmp_path / "d", workers=workers, make=make_with_a_fault)
    assert "\n" not in str(error.value)
    assert sorted(p.name for p in (tmp_path / "d" / "scenes").iterdir()) == ["s0", "s1", "s2", "s4", "s5"]
    assert not (tmp_path / "d" / FILE).exists()


def test_a_full_disk_is_one_line_and_resumable(built, tmp_path, monkeypatch):
    """/dev/full cannot hold a folder, so the disk fills up when the third scene is renamed into place."""
    count, replace = 0, os.replace

    def full(source, target):
        nonlocal count
        count += Path(target).parent.name == "scenes"
        if count == 3:
            raise OSError(28, os.strerror(28))
        replace(source, target)

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(UserError, match=r"No space left.*2 of 6 scenes are done"):
        build_dataset(MANIFEST, tmp_path / "d", make=make)
    monkeypatch.undo()
    assert sorted(p.name for p in (tmp_path / "d" / "scenes").iterdir()) == ["s0", "s1"]
    build_dataset(MANIFEST, tmp_path / "d", make=make)
    assert contents(tmp_path / "d") == contents(built)


SLOW = """
import sys, time
from pathlib import Path
sys.path[:0] = {paths!r}
import test_building as t
from flaneur.city.dataset.build import build_dataset

def slow(entry, osm_root):
    # A signal that a busy machine sends late still comes in the middle; scenes that were begun may be finished first.
    time.sleep(0.1 if entry.name < "s3" else 6)
    return t.make(entry, osm_root)

if __name__ == "__main__":
    t.build_dataset(t.MANIFEST, Path({out!r}), workers={workers}, make=slow, progress=lambda d, n, x: print(d, flush=True))
"""


@pytest.mark.parametrize(("workers", "how"), [(1, signal.SIGINT), (2, signal.SIGINT), (2, signal.SIGKILL)])
def test_interrupted_it_resumes_to_the_same_bytes(built, tmp_path, workers, how):
    out = tmp_path / "d"
    script = tmp_path / "slow.py"
    script.write_text(textwrap.dedent(SLOW.format(paths=[str(Path(__file__).parent), str(Path(__file__).parents[1])], out=str(out), workers=workers)))
    # A job in the background ignores Ctrl-C, and its children would inherit that.
    listen = lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)  # noqa: E731
    process = subprocess.Popen([sys.executable, str(script)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True, preexec_fn=listen)
    assert process.stdout.readline().strip() == b"1"
    os.killpg(process.pid, how)  # a terminal's Ctrl-C reaches the whole group
    process.stdout.read()
    process.wait(timeout=60)
    deadline = time.monotonic() + 5
    while time.monotonic() < deadline and any(p.name.startswith(".") for p in (out / "scenes").iterdir()) and how == signal.SIGINT:
        time.sleep(0.05)
    done = [p.name for p in (out / "scenes").iterdir() if not p.name.startswith(".")]
    assert 0 < len(done) < 6 and not (out / FILE).exists()
    assert all(finished(e, out) for e in ENTRIES if e.name in done), "what has its name is whole"
    build_dataset(MANIFEST, out, make=make)
    assert contents(out) == contents(built)


def test_bad_arguments(tmp_path):
    for shard in ((0, 2), (3, 2)):
        with pytest.raises(UserError, match="--shard"):
            build_dataset(MANIFEST, tmp_path / "d", shard=shard, make=make)
    with pytest.raises(UserError, match="--workers 0"):
        build_dataset(MANIFEST, tmp_path / "d", workers=0, make=make)
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="cannot write here"):
        build_dataset(MANIFEST, tmp_path / "file" / "d", make=make)


def test_verify_and_load_name_what_is_wrong(built, tmp_path):
    assert len(verify(built).scenes) == 6
    with pytest.raises(UserError, match="no dataset here"):
        load_index(tmp_path)
    out = tmp_path / "d"
    shutil.copytree(built, out)
    shutil.rmtree(out / "scenes" / "s0")
    shutil.copytree(out / "scenes" / "s1", out / "scenes" / "s0")
    with pytest.raises(UserError, match=r"s0: checksum"):
        verify(out)
    (out / FILE).write_text('{"format": 1}')
    with pytest.raises(UserError, match="not a dataset's index"):
        load_index(out)


def test_card_and_figure(built, tmp_path):
    out = tmp_path / "d"
    shutil.copytree(built, out)
    card = write_card(out).read_text()
    numbers = dataset_statistics(out)
    assert numbers["objects"] == sum(int(tiny_scene(k).is_object.sum()) for k in range(6))
    assert f"{numbers['objects']:,} annotated objects" in card
    assert "| The paper's | Sem-Map | Isaac Sim | 80 | City | 0.01 - 208.47k | 9323.6 | yes |" in card
    first = (out / "statistics.svg").read_bytes()
    write_card(out)
    assert (out / "statistics.svg").read_bytes() == first and (out / "statistics.png").stat().st_size > 10_000


def test_push_and_pull_verify_checksums(built, tmp_path):
    target = f"file://{tmp_path}/remote"
    hosting.push(built, target)
    hosting.push(built, target)
    hosting.pull(target, tmp_path / "local")
    assert contents(tmp_path / "local") == contents(built)
    (tmp_path / "remote" / "scenes" / "s2" / "instances.npz").write_bytes(b"damaged")
    shutil.rmtree(tmp_path / "local" / "scenes" / "s2")
    with pytest.raises(UserError, match="does not match the checksum"):
        hosting.pull(target, tmp_path / "local")
    assert sorted(p.name for p in (tmp_path / "local" / "scenes").iterdir()) == ["s0", "s1", "s3", "s4", "s5"]
    with pytest.raises(UserError, match="no dataset here"):
        hosting.pull(f"file://{tmp_path}/nowhere", tmp_path / "other")


def test_a_real_entry_is_built_twice_alike(tmp_path):
    entry = Entry("rural", "rural", "train", "dusk", 3, synthetic="rural")
    records = [build_entry(entry, tmp_path / k, None, make_scene) for k in "ab"]
    assert records[0] == records[1] and contents(tmp_path / "a") == contents(tmp_path / "b")
    assert checksum_of(tmp_path / "a" / records[0].path) == records[0].checksum
    assert Scene.load(tmp_path / "a" / records[0].path).light == "dusk"
