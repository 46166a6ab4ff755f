"""A step of hundreds of small kernels, recorded once as a CUDA graph and replayed with one call of the host."""

from __future__ import annotations

import inspect
import weakref
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

import torch

from flaneur.sim.start import stream_of

T = TypeVar("T")
WARM = 2  # runs before recording: modules are loaded and optimisers have their state


class Recorded(Generic[T]):
    """Calls `work`, which takes nothing and reads and writes tensors that stay where they are.

    On CUDA the third call records it and every later one replays the recording: what `work` returned then is written
    anew each time (clone what has to outlive the next call). Nothing in it may look at values on the host. On a CPU,
    or when not enabled, it is called as it stands.
    """

    def __init__(self, work: Callable[[], T], device: torch.device, enabled: bool = True, generators: Sequence[torch.Generator] = ()) -> None:
        # An object that keeps the recording of its own method would otherwise live, with all its memory, until Python looks for circles.
        self._work: Callable[[], Callable[[], T] | None] = weakref.WeakMethod(work) if inspect.ismethod(work) else lambda: work
        self.device, self.generators = device, [g for g in generators if g.device.type == "cuda"]
        self.enabled = enabled and device.type == "cuda"
        self.runs = 0
        self._graph: torch.cuda.CUDAGraph | None = None
        self._result: T

    def __call__(self) -> T:
        if not self.enabled or self.runs < WARM:
            self.runs += 1
            return self._run()
        if self._graph is None:
            self._record()
        assert self._graph is not None
        self._graph.replay()
        return self._result

    def _record(self) -> None:
        """Recording runs nothing, so the state is afterwards what it was."""
        graph, stream = torch.cuda.CUDAGraph(), torch.cuda.Stream(self.device)
        stream_of(stream)  # known to Warp before recording begins
        for generator in self.generators:
            graph.register_generator_state(generator)
        with torch.cuda.graph(graph, stream=stream):
            self._result = self._run()
        self._graph = graph

    def _run(self) -> T:
        work = self._work()
        assert work is not None, "the object whose work this is has gone"
        return work()
