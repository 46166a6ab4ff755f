"""What several processes share under torchrun: sums of flat tensors, nothing more (no DDP wrapper).

Every rank holds the same network, collects its own episodes, and after the exchange below computes the same step.
With one process every function is the identity.
"""

from __future__ import annotations

import os

import torch
from torch import Tensor
from torch import distributed as dist

from flaneur.errors import UserError


def world_size() -> int:
    return dist.get_world_size() if dist.is_available() and dist.is_initialized() else 1


def rank() -> int:
    return dist.get_rank() if dist.is_available() and dist.is_initialized() else 0


def start(device: str) -> str:
    """Join the processes that torchrun started, if it did; returns this process's own device."""
    if "RANK" not in os.environ or "WORLD_SIZE" not in os.environ or dist.is_initialized():
        return device
    if os.environ.get("TORCHELASTIC_USE_AGENT_STORE") == "True" and int(os.environ.get("TORCHELASTIC_MAX_RESTARTS", "0")) > 0:
        raise UserError("torchrun --max-restarts: set TORCH_DISABLE_SHARE_RDZV_TCP_STORE=1 before it; else restarted processes look for each other where the dead ones were, and wait for ever")
    if device.startswith("cuda"):
        device = f"cuda:{os.environ.get('LOCAL_RANK', '0')}"
        torch.cuda.set_device(device)
    dist.init_process_group("nccl" if device.startswith("cuda") else "gloo")
    return device


def stop() -> None:
    if dist.is_available() and dist.is_initialized():
        dist.destroy_process_group()


def mean(x: Tensor) -> Tensor:
    """The mean over ranks of a tensor without gradient."""
    if world_size() == 1:
        return x
    x = x.detach().clone()
    dist.all_reduce(x)
    return x / world_size()


def least(value: int, device: torch.device | str) -> int:
    """The smallest over ranks."""
    if world_size() == 1:
        return value
    x = torch.tensor(value, device=device)
    dist.all_reduce(x, dist.ReduceOp.MIN)
    return int(x)


def sum_with_gradient(x: Tensor) -> Tensor:
    """The sum over ranks; its gradient is the sum over ranks of the gradients, so a loss may be built on it."""
    return x if world_size() == 1 else _AllReduce.apply(x)


def moments(x: Tensor) -> tuple[Tensor, Tensor]:
    """Mean and population standard deviation over rows and ranks: [N, ...] -> [...], [...]."""
    count = mean(x.new_tensor(float(len(x))))
    centre = mean(x.sum(0)) / count
    variance = mean((x - centre).square().sum(0)) / count
    return centre, variance.sqrt()


class _AllReduce(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x: Tensor) -> Tensor:
        y = x.clone()
        dist.all_reduce(y)
        return y

    @staticmethod
    def backward(ctx, *gradients: Tensor) -> Tensor:
        g = gradients[0].clone()
        dist.all_reduce(g)
        return g
