"""A real Ray cluster of one node on this machine, with a token of its own, that can be ended for real."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import uuid
from pathlib import Path

TESTS = Path(__file__).parent
PYTHONPATH = os.pathsep.join([str(TESTS.parent), str(TESTS), str(TESTS / "agent")])


class RayCluster:
    def __init__(self, cpus: int) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="ray", dir="/tmp"))  # sockets lie below: a long name is too long for them
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            self.port = s.getsockname()[1]
        (self.folder / "token").write_text(uuid.uuid4().hex)
        # What a command needs to talk to this cluster; the workers get it, and the path of the tests, from the node.
        self.environment = {
            "RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN_PATH": str(self.folder / "token"), "RAY_USAGE_STATS_ENABLED": "0", "OMP_NUM_THREADS": "1",
            "PYTHONPATH": PYTHONPATH, "RAY_gcs_rpc_server_reconnect_timeout_s": "2",
        }  # fmt: skip
        command = [sys.executable, "-m", "ray.scripts.scripts", "start", "--head", "--port", str(self.port), "--num-cpus", str(cpus)]
        command += ["--include-dashboard", "false", "--temp-dir", str(self.folder), "--disable-usage-stats", "--object-store-memory", str(100 << 20)]
        subprocess.run(command, env=os.environ | self.environment, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    def processes(self) -> list[int]:
        """Those whose command line names our folder."""
        found = []
        for entry in Path("/proc").iterdir():
            try:
                if entry.name.isdigit() and str(self.folder) in (entry / "cmdline").read_text():
                    found.append(int(entry.name))
            except OSError:
                pass
        return found

    def kill(self) -> None:
        deadline = time.monotonic() + 10
        while (alive := self.processes()) and time.monotonic() < deadline:
            for pid in alive:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            time.sleep(0.1)
        shutil.rmtree(self.folder, ignore_errors=True)
