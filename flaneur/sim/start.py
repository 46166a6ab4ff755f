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


def launch(kernel: Any, dim: tuple[int, ...], inputs: list[Any], device: torch.device) -> None:
    """Launch on torch's stream with tensors viewed in place."""
    stream = wp.stream_from_torch(torch.cuda.current_stream(device)) if device.type == "cuda" else None
    wp.launch(kernel, dim, [wp.from_torch(i) if isinstance(i, Tensor) else i for i in inputs], device=wp.device_from_torch(device), stream=stream, record_tape=False)
