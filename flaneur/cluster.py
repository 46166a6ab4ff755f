"""Idempotent units of work over a Ray cluster: retried when their worker dies, results as they come.

The driver of Ray is a process of its own: when a cluster goes away for good, Ray ends its driver from C++ without an
exception, and a command still has to say its one line. Units, work and results travel as pickles that only the command
and the workers open, so the driver imports nothing of ours but this file.
"""

from __future__ import annotations

import importlib.util
import os
import pickle
import signal
import socket
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from itertools import islice
from multiprocessing import get_context, parent_process
from multiprocessing.connection import Connection
from typing import Any, TypeVar

from flaneur import __version__
from flaneur.errors import UserError

LOCAL, AUTO = "local", "auto"
RETRIES = 3  # of a unit whose worker died; a worker that is out of memory is retried by Ray without counting
CONNECT_S = 5.0
WAITING = 4  # units handed to Ray for every core of the cluster: enough to keep it busy, little enough for 100,000 units

Unit = TypeVar("Unit")
Result = TypeVar("Result")


def map_on_ray(
    work: Callable[[Unit], Result], units: Sequence[Unit], address: str = LOCAL, workers: int | None = None, gpus: float = 0.0,
) -> Iterator[tuple[Unit, Result | UserError]]:  # fmt: skip
    """`work(unit)` of every unit, in the order they finish. A unit whose workers keep dying comes back as an error.

    `work` must be importable by the workers (a function of a module, or a partial of one) and may be run more than once
    for a unit: after its worker died, or, where a node was only cut off, even twice at the same time.
    `address`: "local" (`workers` processes on this machine), "auto" (the cluster of this machine), or HOST:PORT.
    """
    _check(address, workers)
    payload, units = pickle.dumps(work), list(units)
    spawn = get_context("spawn")  # threads of loaded libraries do not survive a fork
    here, there = spawn.Pipe()
    driver = spawn.Process(target=_drive, args=(there, address, workers, gpus), name="flaneur-ray")
    driver.start()
    there.close()
    done, whole = 0, False
    try:
        _tell(here, (payload, [pickle.dumps(u) for u in units]))
        while done < len(units):
            heard = _hear(here)
            if heard is None:
                raise UserError(f"--ray {address}: the cluster went away, {done} of {len(units)} units had come back; run again to resume")
            index, kind, value = heard
            if kind == "cluster":
                raise UserError(f"--ray {address}: {value}; run again to resume")
            if kind == "raised":
                raise pickle.loads(value)
            done += 1
            yield units[index], UserError(value) if kind == "died" else pickle.loads(value)
        whole = True
    finally:
        here.close()
        driver.join(20 if whole else 0)
        driver.terminate()  # Ray's driver shuts down what it started
        driver.join(20)
        if driver.is_alive():
            driver.kill()


def _tell(pipe: Connection, message: Any) -> bool:
    try:
        pipe.send(message)
    except OSError:
        return False  # the other side is gone: its end is noticed where it is listened to
    return True


def _hear(pipe: Connection) -> tuple[int, str, Any] | None:
    try:
        return pipe.recv()
    except (EOFError, OSError):
        return None


def _check(address: str, workers: int | None) -> None:
    """What can be known before Ray is started, which would try for more than a minute."""
    if importlib.util.find_spec("ray") is None:
        raise UserError("--ray: the package 'ray' is missing; pip install 'flaneur[cluster]'")
    if workers is not None and workers < 1:
        raise UserError(f"--workers {workers}: at least 1 is needed")
    if address in (LOCAL, AUTO):
        return
    host, colon, port = address.rpartition(":")
    if "//" in address or not (colon and host and port.isdigit() and int(port) < 65536):
        raise UserError(f"--ray {address}: give HOST:PORT of the head, '{AUTO}' on a machine of the cluster, or nothing for this machine alone")
    try:
        socket.create_connection((host, int(port)), CONNECT_S).close()
    except OSError as error:
        raise UserError(f"--ray {address}: no cluster answers there ({(error.strerror or str(error)).lower()}); start one with ray start --head, or leave the address out") from None


def _drive(pipe: Connection, address: str, workers: int | None, gpus: float) -> None:
    """The driver: tells the command (index, kind, value) for every unit, or why there is no cluster."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the command's, which ends this process
    silence = os.open(os.devnull, os.O_WRONLY)  # Ray's C++ writes its worries to the terminal; they are in its logs too
    os.dup2(silence, 1)
    os.dup2(silence, 2)
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    import ray

    payload, units = pipe.recv()
    try:
        own: dict[str, Any] = {"num_cpus": workers, "include_dashboard": False} if address == LOCAL else {}
        ray.init(address=address, log_to_driver=False, **own)
        if address == LOCAL and gpus > ray.cluster_resources().get("GPU", 0):
            raise RuntimeError("Ray finds no GPU on this machine; give --device cpu")  # it would wait for one for ever
        _submit(pipe, ray, payload, units, gpus)
    except Exception as error:
        lines = str(error).strip().splitlines() or [type(error).__name__]
        _tell(pipe, (-1, "cluster", lines[0].strip()))
    finally:
        ray.shutdown()


def _submit(pipe: Connection, ray: Any, payload: bytes, units: list[bytes], gpus: float) -> None:
    version = __version__

    def run(payload: bytes, unit: bytes) -> tuple[str, Any]:
        # Defined here, Ray sends this function itself: a worker without our package can still say so.
        import socket as s

        try:
            from flaneur import __version__ as theirs
            from flaneur.cluster import run_unit
        except ImportError as error:
            return "cluster", f"worker {s.gethostname()} cannot import flaneur ({error}); install version {version} there"
        if theirs != version:
            return "cluster", f"worker {s.gethostname()} has flaneur {theirs}, this is {version}; install the same"
        return run_unit(payload, unit)

    task = ray.remote(num_cpus=1, num_gpus=gpus, max_retries=RETRIES)(run)
    shared = ray.put(payload)
    running: dict[Any, int] = {}
    waiting = iter(range(len(units)))
    listener, heard = parent_process(), True
    while heard:
        room = WAITING * max(1, int(ray.cluster_resources().get("CPU", 1))) - len(running)
        for index in islice(waiting, max(0, room)):
            running[task.remote(shared, units[index])] = index
        if not running:
            return
        heard = listener is None or listener.is_alive()
        finished, _ = ray.wait(list(running), num_returns=1, timeout=1.0)
        if finished:
            finished, _ = ray.wait(list(running), num_returns=len(running), timeout=0)  # all that are there
        for ref in finished:
            index = running.pop(ref)
            try:
                kind, value = ray.get(ref)
            except (ray.exceptions.WorkerCrashedError, ray.exceptions.OutOfMemoryError, ray.exceptions.NodeDiedError):
                kind, value = "died", f"its worker died {RETRIES + 1} times (out of memory?)"
            heard = _tell(pipe, (index, kind, value))


def run_unit(payload: bytes, unit: bytes) -> tuple[str, Any]:
    """On a worker: the pickled result, or the pickled exception."""
    try:
        return "done", pickle.dumps(_work(payload)(pickle.loads(unit)))
    except Exception as error:
        try:
            return "raised", pickle.dumps(error)
        except Exception:  # an exception that holds what cannot be sent
            return "raised", pickle.dumps(RuntimeError(f"{type(error).__name__}: {error}"))


@lru_cache(maxsize=1)
def _work(payload: bytes) -> Callable[[Any], Any]:
    """What all units share (scenes, agents) is unpacked once for each worker."""
    return pickle.loads(payload)
