"""Recordings on a CPU: the work is called as it stands, and its owner is not kept alive."""

from __future__ import annotations

import gc
import weakref

import torch

from flaneur.sim.recorded import Recorded


class Counter:
    def __init__(self) -> None:
        self.total = torch.zeros(1)
        self.step = Recorded(self._step, torch.device("cpu"))

    def _step(self) -> torch.Tensor:
        self.total += 1
        return self.total


def test_every_call_is_made():
    counter = Counter()
    assert [float(counter.step()) for _ in range(5)] == [1, 2, 3, 4, 5]


def test_what_owns_a_recording_goes_with_its_last_reference():
    gc.disable()
    try:
        counter = Counter()
        gone = weakref.ref(counter)
        del counter
        assert gone() is None
    finally:
        gc.enable()
