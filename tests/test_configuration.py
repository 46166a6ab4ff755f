from dataclasses import dataclass, field
from typing import Literal

import pytest

from flaneur.configuration import from_values, load_config, to_values
from flaneur.errors import UserError


@dataclass(frozen=True)
class Inner:
    k: float = 0.1
    sizes: tuple[int, ...] = (1, 2)


@dataclass(frozen=True)
class Outer:
    name: str = "x"
    steps: int = 3
    mode: Literal["a", "b"] = "a"
    limit: int | None = None
    inner: Inner = field(default_factory=Inner)


def test_reads_toml_with_overrides_and_round_trips(tmp_path) -> None:
    path = tmp_path / "c.toml"
    path.write_text('name = "y"\n[inner]\nk = 1\nsizes = [3]\n')
    config = load_config(Outer, path, {"inner.k": 0.5, "steps": 7})
    assert config == Outer("y", 7, inner=Inner(0.5, (3,)))
    assert from_values(Outer, to_values(config), "here") == config


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("stepz = 1", "unknown field 'stepz'; did you mean 'steps'"),
        ("steps = 1.5", "field 'steps' is 1.5"),
        ("steps = true", "field 'steps' is True"),
        ('mode = "c"', "it is one of a, b"),
        ("inner = 3", "'inner' must be a table"),
        ('[inner]\nk = "big"', "field 'inner.k'"),
        ("[inner]\nsizes = 4", "'inner.sizes' must be a list"),
        ("= 3", "not readable"),
    ],
)
def test_errors_name_file_and_field(tmp_path, text: str, message: str) -> None:
    path = tmp_path / "c.toml"
    path.write_text(text)
    with pytest.raises(UserError, match=r"c\.toml") as caught:
        load_config(Outer, path)
    assert message in str(caught.value) and "\n" not in str(caught.value)
