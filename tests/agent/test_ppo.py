"""Each switch changes the gradient it should and nothing else; several processes take the step of one."""

import os

import pytest
import torch
from batches import network, rollout
from torch import multiprocessing

from flaneur.agent import distributed
from flaneur.agent.network import NetworkConfig, PolicyNetwork
from flaneur.agent.ppo import PpoConfig, Updater
from flaneur.errors import UserError


def shared_gradient(config: PpoConfig, groups: int = 3, calibration: bool = True) -> torch.Tensor:
    net = network(groups, calibration)
    updater = Updater(net, config)
    updater.step(rollout(net))
    return torch.cat([p.grad.flatten() for p in updater.shared])


def test_po_off_is_the_plain_sum_of_the_group_losses() -> None:
    net = network()
    batch = rollout(net)
    updater = Updater(net, PpoConfig(po=False, mi=False, max_gradient=1e9))
    ppo, common, _ = updater._losses(batch, net(batch.views))
    expected = updater._flat(torch.autograd.grad(ppo.sum() + common, updater.shared, allow_unused=True))
    updater.step(batch)
    torch.testing.assert_close(torch.cat([p.grad.flatten() for p in updater.shared]), expected)


def test_po_on_makes_every_group_gain_to_first_order() -> None:
    net = network()
    batch = rollout(net)
    updater = Updater(net, PpoConfig(mi=False))
    ppo, common, _ = updater._losses(batch, net(batch.views))
    gradients = torch.stack([updater._flat(torch.autograd.grad(x + common / 3, updater.shared, retain_graph=True, allow_unused=True)) for x in ppo])
    updater.step(batch)
    step = torch.cat([p.grad.flatten() for p in updater.shared])
    assert (gradients @ step > 0).all()
    assert step.norm() == pytest.approx(1.0)


def test_kept_weights_give_the_bargained_direction_on_the_same_minibatch() -> None:
    net = network()
    batch = rollout(net)
    updater = Updater(net, PpoConfig(mi=False, learning_rate=0.0))
    directions = []
    for bargain in (True, False):
        log = updater.step(batch, bargain)
        directions.append(torch.cat([p.grad.flatten() for p in updater.shared]))
    torch.testing.assert_close(*directions, rtol=1e-6, atol=1e-9)
    assert {"log_alpha_2", "cosine_12"} <= log.keys()


def test_mi_off_leaves_no_trace_of_club() -> None:
    off, zero_weight = shared_gradient(PpoConfig(mi=False)), shared_gradient(PpoConfig(k=0.0))
    torch.testing.assert_close(off, zero_weight)
    on = shared_gradient(PpoConfig(k=5.0, estimator_steps=300))  # an estimator that knows something: a negative estimate is not penalised
    assert (on - off).norm() > 1e-6


def test_mi_reaches_both_branches_but_no_head() -> None:
    net = network()
    updater = Updater(net, PpoConfig())
    batch = rollout(net)
    output = net(batch.views)
    updater._mutual_information(output.z_alpha, output.z_beta).backward()
    touched = {name.split(".")[0] for name, p in net.named_parameters() if p.grad is not None and p.grad.abs().sum() > 0}
    assert {"alpha", "beta", "shared"} <= touched and not touched & {"motion", "calibration", "value"}
    assert all(p.grad is None for p in updater.estimator.parameters())


def test_mv_off_has_one_value_and_one_advantage() -> None:
    net = network(groups=1)
    log = Updater(net, PpoConfig(mv=False, po=False)).step(rollout(net))
    assert "log_alpha_1" not in log and torch.isfinite(log["value_loss"])


def test_lc_off_trains_motion_alone() -> None:
    net = network(calibration=False)
    log = Updater(net, PpoConfig(mi=False)).step(rollout(net))
    assert "calibration_entropy" not in log


def test_batched_backward_gives_the_same_gradients() -> None:
    torch.testing.assert_close(shared_gradient(PpoConfig(batched_backward=True)), shared_gradient(PpoConfig()))


def test_update_raises_the_probability_of_what_paid() -> None:
    net = network()
    batch = rollout(net, 64)
    batch.advantages = batch.action[:, 1:2].double().expand(-1, 3).contiguous()  # higher altitudes are better, for all groups
    before = net(batch.views).motion.log_p[1].exp() @ torch.arange(5.0, dtype=torch.float64)
    updater = Updater(net, PpoConfig(learning_rate=3e-3, minibatch=16, target_kl=1.0))
    updater.update(batch, torch.Generator().manual_seed(0))
    after = net(batch.views).motion.log_p[1].exp() @ torch.arange(5.0, dtype=torch.float64)
    assert after.mean() > before.mean() + 0.1


def test_target_kl_stops_the_epochs() -> None:
    net = network()
    log = Updater(net, PpoConfig(learning_rate=0.05, epochs=50, minibatch=32, target_kl=1e-4)).update(rollout(net), torch.Generator().manual_seed(0))
    assert log["minibatches"] < 50


def test_contradictions_are_refused() -> None:
    with pytest.raises(UserError, match="po = true needs mv = true"):
        PpoConfig(mv=False)
    with pytest.raises(UserError, match="mi = true needs lc = true"):
        Updater(PolicyNetwork(NetworkConfig(classes=4, calibration=False)), PpoConfig())
    with pytest.raises(UserError, match="minibatch"):
        PpoConfig(minibatch=0)


def _worker(rank: int, port: int, folder: str) -> None:
    torch.set_num_threads(1)
    torch.distributed.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{port}", rank=rank, world_size=2)
    net = network()
    batch = rollout(net, 32)
    rows = torch.arange(16) + 16 * rank
    updater = Updater(net, PpoConfig(k=1.0))
    mean, std = distributed.moments(batch.advantages[rows])
    log = updater.step(batch[rows])
    state = {"grad": torch.cat([p.grad.flatten() for p in net.parameters()]), "mean": mean, "std": std, "parameters": torch.cat([p.flatten() for p in net.parameters()])}
    state |= {"estimator": torch.cat([p.flatten() for p in updater.estimator.parameters()]), "alpha": torch.stack([log[f"log_alpha_{c}"] for c in range(3)])}
    state["kl"] = distributed.mean(log["motion_kl"])
    torch.save({k: v.detach() for k, v in state.items()}, os.path.join(folder, f"{rank}.pt"))
    torch.distributed.destroy_process_group()


def test_two_processes_take_the_step_of_one_with_the_doubled_batch(tmp_path) -> None:
    import socket

    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    multiprocessing.spawn(_worker, (port, str(tmp_path)), nprocs=2)
    a, b = (torch.load(tmp_path / f"{i}.pt") for i in range(2))
    net = network()
    batch = rollout(net, 32)
    updater = Updater(net, PpoConfig(k=1.0))
    log = updater.step(batch)
    whole = {"grad": torch.cat([p.grad.flatten() for p in net.parameters()]), "parameters": torch.cat([p.flatten() for p in net.parameters()])}
    whole |= {"estimator": torch.cat([p.flatten() for p in updater.estimator.parameters()]), "alpha": torch.stack([log[f"log_alpha_{c}"] for c in range(3)])}
    whole |= {"mean": batch.advantages.mean(0), "std": batch.advantages.std(0, unbiased=False), "kl": log["motion_kl"]}
    for name, expected in whole.items():
        torch.testing.assert_close(a[name], b[name], rtol=0, atol=0, msg=name)
        torch.testing.assert_close(a[name], expected.detach(), rtol=1e-5, atol=1e-7, msg=name)
