"""A city in Newton and Isaac Sim.

Isaac Sim 5: File > Open out/town.usdc, or in a script `omni.usd.get_context().open_stage("out/town.usdc")`; every
instance root carries the semantics "class" and "instance", which Replicator's annotators show. Isaac Sim 4.5 shows no
semantics on instances: write with --deinstance. Newton (extra newton) is opened below.

python examples/export_usd.py --scene out/town --out out/town.usdc
"""

from collections import Counter
from pathlib import Path

import newton
import tyro
from pxr import Usd, UsdGeom, UsdSemantics

from flaneur.city.export.usd import write_usd
from flaneur.city.scene import Scene


def main(scene: Path, out: Path, deinstance: bool = False) -> None:
    write_usd(Scene.load(scene), out, deinstance=deinstance)

    stage = Usd.Stage.Open(str(out))
    print(f"{out}: {UsdGeom.GetStageMetersPerUnit(stage)} m per unit, up {UsdGeom.GetStageUpAxis(stage)}")
    classes = Counter()
    for prim in stage.Traverse():
        if prim.HasAPI(UsdSemantics.LabelsAPI, "class"):
            classes.update(UsdSemantics.LabelsAPI(prim, "class").GetLabelsAttr().Get())
    print(classes.most_common(5))

    builder = newton.ModelBuilder(up_axis=newton.Axis.Z)
    builder.add_usd(str(out), skip_mesh_approximation=True)
    model = builder.finalize(device="cpu")
    print(f"Newton: {model.shape_count} shapes")


if __name__ == "__main__":
    tyro.cli(main)
