"""A small network and a rollout of random numbers, for tests of the update alone."""

import torch

from flaneur.agent.heads import BETA_SUPPORT, entry_log_prob
from flaneur.agent.network import NetworkConfig, PolicyNetwork
from flaneur.agent.ppo import Batch
from flaneur.agent.views import make_views

CLASSES, HISTORY = 5, 4


def network(groups: int = 3, calibration: bool = True, dtype: torch.dtype = torch.float64) -> PolicyNetwork:
    torch.manual_seed(0)
    config = NetworkConfig(classes=CLASSES, history=HISTORY, widths=(8, 8, 16), latent=32, grid=8, groups=groups, calibration=calibration)
    return PolicyNetwork(config, coarse=16, near=16).to(dtype)


def rollout(net: PolicyNetwork, n: int = 32, seed: int = 0, device: str = "cpu") -> Batch:
    """`net` lies on the device."""
    g = torch.Generator(device).manual_seed(seed)
    config = net.config
    poses = torch.rand(n, HISTORY, 6, generator=g, device=device) * torch.tensor([160, 160, 40, 0, 1, 6.0], device=device) + 20
    maps = torch.rand(n, 2 * CLASSES + 3, 32, 32, generator=g, device=device)
    views = make_views(maps[:, :CLASSES], maps[:, CLASSES : 2 * CLASSES], maps[:, 2 * CLASSES :], poses, torch.rand(n, generator=g, device=device), 200.0, 16, 16)
    views.poses, views.time = views.poses.double(), views.time.double()
    with torch.no_grad():
        output = net(views)
        action = output.motion.sample(g)
        motion_log_prob = output.motion.log_prob(action)
        entries = old = active = None
        if output.calibration is not None:
            entries = torch.randint(len(BETA_SUPPORT), output.calibration.shape[:-1], generator=g, device=device)
            old = entry_log_prob(output.calibration, entries)
            active = torch.rand(old.shape, generator=g, device=device) < 0.2
        shape = (n, config.groups)
        advantages, noise = (torch.randn(shape, generator=g, dtype=torch.float64, device=device) for _ in range(2))
    return Batch(views, action, motion_log_prob, entries, old, active, advantages, output.values + noise, output.values)
