import pytest
import torch
from batches import network

from flaneur.agent.checkpoint import load_agent, load_tensors, save_agent, save_tensors
from flaneur.errors import UserError


def test_round_trip_and_size(tmp_path) -> None:
    net = network(dtype=torch.float32)
    save_agent(tmp_path / "agent.safetensors", net, {"classes": ["a", "b"], "evidence": "twin"})
    loaded, about = load_agent(tmp_path / "agent.safetensors", ("a", "b"))
    assert about["evidence"] == "twin" and loaded.config == net.config
    for a, b in zip(net.state_dict().values(), loaded.state_dict().values(), strict=True):
        torch.testing.assert_close(a, b, rtol=0, atol=0)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["agent.json", "agent.safetensors"]


def test_bad_files_get_one_line(tmp_path) -> None:
    path = tmp_path / "agent.safetensors"
    with pytest.raises(UserError, match="no such checkpoint"):
        load_agent(path)
    path.write_bytes(b"nonsense")
    with pytest.raises(UserError, match="damaged"):
        load_agent(path)
    save_agent(path, network(), {"classes": ["a", "b"]})
    with pytest.raises(UserError, match="trained for 2 classes"):
        load_agent(path, ("a", "b", "c"))
    tensors, about = load_tensors(path)
    about["network"]["latent"] = 64
    save_tensors(path, tensors, about)
    with pytest.raises(UserError, match="asks for"):
        load_agent(path)
    about["network"]["colour"] = 1
    save_tensors(path, tensors, about)
    with pytest.raises(UserError, match=r"network\.colour"):
        load_agent(path)


def test_a_failed_write_leaves_what_was_there(tmp_path, monkeypatch) -> None:
    path = tmp_path / "state.safetensors"
    save_tensors(path, {"a": torch.ones(2)}, {"step": 1})

    def full(*_args):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("flaneur.agent.checkpoint.save_file", full)
    with pytest.raises(UserError, match="No space left"):
        save_tensors(path, {"a": torch.zeros(2)}, {"step": 2})
    tensors, about = load_tensors(path)
    assert about["step"] == 1 and tensors["a"].sum() == 2
