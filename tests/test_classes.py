import pytest

from flaneur.classes import GROUP_BOUNDS_M3, SCALE_GROUPS, load_classes
from flaneur.errors import UserError


def test_default_list() -> None:
    classes = load_classes()
    assert len(classes) == 29 and len(classes.object_ids) == 24 and classes.sky == 28
    for c in classes:
        if c.group in SCALE_GROUPS:
            low, high = GROUP_BOUNDS_M3[c.group]
            assert low <= c.volume_m3[0] < c.volume_m3[1] <= high
    assert len({c.color for c in classes}) == len(classes)


def test_unknown_class_names_the_known_ones() -> None:
    with pytest.raises(UserError, match="unknown class 'dragon': known are person"):
        load_classes()["dragon"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x = 1", "not a class file"),
        ('[[class]]\nname="a"\ngroup="huge"\ncolor=[0,0,0]\nprompts=["a"]', "'huge' is none of"),
        ('[[class]]\nname="a"\ngroup="small"\nvolume=[1.0, 9.0]\ncolor=[0,0,0]\nprompts=["a"]', "leaves small's"),
        ('[[class]]\nname="a"\ngroup="sky"\ncolor=[0,0,0]\nprompts=[]', "'prompts'"),
        ('[[class]]\nname="s"\ngroup="sky"\ncolor=[0,0,0]\nprompts=["a"]\n[[class]]\nname="r"\ngroup="background"\ncolor=[0,0,0]\nprompts=["a"]', "objects, background, sky"),
    ],
)
def test_bad_files_get_one_line(tmp_path, text: str, message: str) -> None:
    path = tmp_path / "classes.toml"
    path.write_text(text)
    with pytest.raises(UserError, match=message) as caught:
        load_classes(path)
    assert "\n" not in str(caught.value)
