"""Shapes, masks and what may depend on what in the network."""

import reference_views
import torch

from flaneur.agent.heads import BETA_SUPPORT, FactorisedCategorical, active_entropy, entry_log_prob
from flaneur.agent.layers import ByteConv
from flaneur.agent.network import NetworkConfig, PolicyNetwork
from flaneur.agent.views import centred, make_views

B, C = 3, 6
CONFIG = NetworkConfig(classes=C, history=5, widths=(8, 8, 16))


def example(seed: int = 0, cells: int = 64):
    g = torch.Generator().manual_seed(seed)
    maps = torch.rand(B, 2 * C + 3, cells, cells, generator=g)
    poses = torch.rand(B, 5, 6, generator=g) * torch.tensor([200, 200, 40, 0, 1, 6.0])
    poses[0, :3] = torch.nan
    return make_views(maps[:, :C], maps[:, C : 2 * C], maps[:, 2 * C :], poses, torch.rand(B, generator=g), 200.0)


def test_shapes_and_sizes() -> None:
    torch.manual_seed(0)
    output = PolicyNetwork(CONFIG)(example())
    assert output.values.shape == (B, 3) and output.z_alpha.shape == output.z_beta.shape == (B, 256)
    assert output.calibration.shape == (B, 4, 16, 16, 9)
    torch.testing.assert_close(output.calibration.exp().sum(-1), torch.ones(B, 4, 16, 16))
    assert torch.isfinite(output.values).all()
    assert output.z_alpha.mean(-1).abs().max() < 1e-5


def test_an_agent_fits_eight_megabytes() -> None:
    parameters = sum(p.numel() for p in PolicyNetwork(NetworkConfig()).parameters())
    assert parameters * 4 <= 8_000_000


def test_crop_puts_the_agents_cell_in_the_middle_and_pads_with_zero() -> None:
    maps = torch.arange(1, 65.0).view(1, 1, 8, 8)
    crop = reference_views.crop_around(maps, torch.tensor([[0.5, 7.2]]), 4)[0, 0]
    assert crop[2, 2] == maps[0, 0, 7, 0]
    assert (crop[3] == 0).all() and (crop[:, :2] == 0).all() and crop[1, 3] == maps[0, 0, 6, 1]


def test_views_are_those_of_the_plain_reading() -> None:
    g = torch.Generator().manual_seed(3)
    for cells, coarse, near in ((64, 32, 16), (60, 48, 1), (32, 16, 64)):
        maps = torch.rand(B, 2 * C + 3, cells, cells, generator=g)
        poses = torch.rand(B, 5, 6, generator=g) * 220 - 10
        found = make_views(maps[:, :C].permute(0, 2, 3, 1).contiguous().permute(0, 3, 1, 2), maps[:, C : 2 * C], maps[:, 2 * C :], poses, torch.zeros(B), 200.0, coarse, near)
        wanted = reference_views.views(maps, poses, 200.0, coarse, near)
        assert (found.coarse.int() - wanted[0].int()).abs().max() <= 1 and torch.equal(found.near, wanted[1])
        at = poses[:, -1, :2] / 200
        assert torch.equal(centred(found.coarse, at), reference_views.centred(found.coarse, at))


def test_sampling_follows_the_probabilities_and_temperature_zero_is_argmax() -> None:
    d = FactorisedCategorical([torch.tensor([[0.0, 1.0, 2.0]]).expand(20_000, -1)])
    counts = d.sample(torch.Generator().manual_seed(1))[:, 0].bincount().float() / 20_000
    torch.testing.assert_close(counts, torch.tensor([0.0, 1.0, 2.0]).softmax(0), atol=0.015, rtol=0)
    assert (d.sample(temperature=0) == 2).all()


def test_calibration_sampling_and_expectation() -> None:
    torch.manual_seed(0)
    network = PolicyNetwork(CONFIG)
    output = network(example())
    head = network.calibration
    index = head.sample(output.calibration, torch.Generator().manual_seed(0))
    assert set(head.value(index).unique().tolist()) <= set(torch.tensor(BETA_SUPPORT).tolist())
    expected = (output.calibration.exp() * torch.tensor(BETA_SUPPORT)).sum(-1)
    torch.testing.assert_close(head.expectation(output.calibration), expected)
    assert entry_log_prob(output.calibration, index).shape == (B, 4 * 256)
    active = torch.zeros(B, 4 * 256, dtype=torch.bool)
    active[:, :10] = True
    uniform = torch.full_like(output.calibration, 1 / 9).log()
    torch.testing.assert_close(active_entropy(uniform, active), torch.full((B,), torch.log(torch.tensor(9.0))))


def test_without_lc_there_is_no_second_branch() -> None:
    torch.manual_seed(0)
    network = PolicyNetwork(NetworkConfig(classes=C, history=5, widths=(8, 8, 16), calibration=False, groups=1))
    output = network(example())
    assert output.calibration is None and output.z_beta is None and output.values.shape == (B, 1)
    assert not any("beta" in name or "calibration" in name for name, _ in network.named_parameters())


def test_each_branch_feeds_only_its_own_head() -> None:
    torch.manual_seed(0)
    network = PolicyNetwork(CONFIG)
    output = network(example())
    output.calibration.square().sum().backward()
    assert all(p.grad is None for p in [*network.alpha.parameters(), *network.motion.parameters(), *network.value.parameters()])
    assert all(p.grad is not None for p in network.beta.parameters())


def test_empty_channels_change_nothing() -> None:
    layer = ByteConv(13, 4, 3, stride=2, padding=1)
    picture = torch.randint(0, 256, (2, 13, 8, 8), generator=torch.Generator().manual_seed(0)).to(torch.bfloat16)
    torch.testing.assert_close(layer(picture).float(), layer(picture.float()), rtol=2e-2, atol=2e-2)
