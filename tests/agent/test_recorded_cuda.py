"""On CUDA recorded minibatches take the steps of eager ones."""

from __future__ import annotations

import pytest
import torch
from batches import network, rollout

from flaneur.agent.ppo import PpoConfig, Updater, set_rate

pytestmark = [pytest.mark.gpu, pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")]


def trained(recorded: bool, **switches) -> tuple[torch.Tensor, dict[str, float]]:
    net = network(1 if switches.get("mv") is False else 3, dtype=torch.float64)
    net = net.cuda()
    batch = rollout(net, 64, device="cuda")
    updater = Updater(net, PpoConfig(minibatch=16, epochs=3, target_kl=1e9, **switches))
    updater._recorded.enabled = recorded
    log = {}
    for k in range(2):
        set_rate(updater.optimiser, 1e-3 / (k + 1))
        log = updater.update(batch, torch.Generator().manual_seed(k))
    return torch.cat([p.detach().flatten() for p in net.parameters()]), log


@pytest.mark.parametrize("switches", [{}, {"nash_every": 2}, {"mi": False}, {"mi": False, "po": False}, {"mi": False, "po": False, "mv": False}])
def test_recorded_updates_equal_eager_ones(switches):
    (recorded, log), (eager, log_eager) = trained(True, **switches), trained(False, **switches)
    torch.testing.assert_close(recorded, eager, rtol=1e-6, atol=1e-9)
    assert log.keys() == log_eager.keys() and all(log[k] == pytest.approx(log_eager[k], rel=1e-5, abs=1e-8) for k in log)
