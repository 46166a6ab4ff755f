"""Starting Warp without its banner, and without its warning on machines that have no GPU; launching kernels on tensors."""

from __future__ import annotations

import os
import sys
from functools import cache
from typing import Any

import torch
import warp as wp
from torch import Tensor


@cache
def start_warp() -> None:
    """Initialise Warp once per process. Its native library writes the warning straight to file descriptor 2, hence the detour."""
    if wp.config.log_level == wp.LOG_INFO:
        wp.config.log_level = wp.LOG_ERROR
    if torch.cuda.is_available():
        wp.init()
        return
    sys.stderr.flush()
    kept = os.dup(2)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 2)
        wp.init()
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nowhere)


def launch(kernel: Any, dim: tuple[int, ...], inputs: list[Any], device: torch.device, block: int = 256) -> None:
    """Launch on torch's stream with tensors viewed in place. `block`: threads that share a multiprocessor; few where each has much to do."""
    arguments = [wp.from_torch(i) if isinstance(i, Tensor) else i for i in inputs]
    wp.launch(kernel, dim, arguments, device=wp.device_from_torch(device), stream=current_stream(device), record_tape=False, block_dim=block)


def current_stream(device: torch.device) -> wp.Stream | None:
    """Torch's current stream as Warp's; None on the CPU."""
    return stream_of(torch.cuda.current_stream(device)) if device.type == "cuda" else None


def stream_of(stream: torch.cuda.Stream) -> wp.Stream:
    key = (stream.device.index, stream.cuda_stream)
    if key not in _streams:
        _streams[key] = wp.stream_from_torch(stream)
    return _streams[key]


_streams: dict[tuple[int, int], wp.Stream] = {}
