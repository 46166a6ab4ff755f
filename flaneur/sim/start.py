"""Starting Warp without its banner, and without its warning on machines that have no GPU."""

from __future__ import annotations

import os
import sys
from functools import cache

import torch
import warp as wp


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
