"""The rule library as CGA, CityEngine's shape grammar: one start rule per rule, one attribute per parameter.

The text follows Esri's CGA reference. It needs a `assets/<class>.obj` per class in the CityEngine project.
"""

from __future__ import annotations

from flaneur.city.planning.library import FUNCTIONS, Architecture, Distribution, Rule, RuleLibrary

# How each distribution function reads in CGA. {name} is the placement's rule, {p} the prefix of its attributes.
ON_LINE = {
    "along_kerb": "offset(-{p}_offset, inside) comp(e) {{ all : {name}_Row }}",
    "along_boundary": "offset(-{p}_inset, inside) comp(e) {{ all : {name}_Row }}",
    "parked_at_kerb": "comp(e) {{ all : {name}_Row }}",
    "in_traffic": "comp(e) {{ street : {name}_Row }}",
    "in_rows": "split(z) {{ ~{p}_row_spacing : {name}_Row }}*",
}
SPACING = {
    "along_kerb": "~{p}_spacing", "along_facade": "~{p}_spacing", "around_buildings": "~{p}_spacing", "along_boundary": "~2", "parked_at_kerb": "~6",
    "in_traffic": "~(100 / max({p}_density, 0.01))", "in_rows": "~{p}_spacing",
}  # fmt: skip
CHANCE = {"parked_at_kerb": "occupancy", "in_rows": "occupancy", "along_boundary": "coverage"}
ROOFS = {"glass_tower": "flat", "stone_office": "flat", "modern_apartment": "flat", "industrial": "flat", "civic": "hip"}


def cga_text(library: RuleLibrary) -> str:
    lines = [f"// {library.name}: {len(library.rules)} rules, written by Flaneur.", 'version "2023.0"', ""]
    for rule in library.rules:
        lines += _rule(rule)
    return "\n".join(lines) + "\n"


def identifier(text: str) -> str:
    name = "".join(c if c.isascii() and c.isalnum() else "_" for c in text)
    return name if name[:1].isalpha() else f"R_{name}"


def _attribute(group: str, name: str, low: float, high: float, value: float, unit: str = "") -> str:
    note = f"  // {unit}" if unit else ""
    return f'@Group("{group}") @Range(min={low:g}, max={high:g})\nattr {name} = {value:g}{note}'


def _rule(rule: Rule) -> list[str]:
    name = identifier(rule.name)
    lines = [f"// {line}" for line in (rule.name, f"scenes: {', '.join(rule.scene_types)}; blocks: {', '.join(rule.block_types)}", *rule.reason.splitlines()) if line]
    placed = [(f"{name}_{d.asset}_{d.function}", d) for d in rule.distributions]
    for prefix, d in placed:
        lines += [_attribute(f"{rule.name}: {d.asset}", f"{prefix}_{k}", r.low, r.high, r.default, FUNCTIONS[d.function].parameters[k].unit) for k, r in d.parameters.items()]
    if rule.architecture:
        for k in ("storeys", "shop_share", "balcony_share", "coverage"):
            r = getattr(rule.architecture, k)
            lines.append(_attribute(f"{rule.name}: architecture", f"{name}_{k}", r.low, r.high, r.default))
    on_building = [(p, d) for p, d in placed if d.function in ("on_roof", "on_facade", "at_entrances", "along_facade", "around_buildings")]
    on_ground = [(p, d) for p, d in placed if (p, d) not in on_building]
    calls = [f"[ {p}_Place ]" for p, _ in on_ground] + ([f"[ {name}_Lot ]"] if rule.architecture else [])
    lines += ["@StartRule", f"{name} -->", *(f"    {c}" for c in calls), "    Ground.", ""]
    if rule.architecture:
        lines += _building(name, rule.architecture, on_building)
    for prefix, d in placed:
        lines += _placement(prefix, d)
    return lines


def _building(name: str, architecture: Architecture, placed: list[tuple[str, Distribution]]) -> list[str]:
    def of(*functions: str) -> str:
        return "".join(f" [ {p}_Place ]" for p, d in placed if d.function in functions)

    roof = "" if ROOFS.get(architecture.style, "gable") == "flat" else " roofGable(35, 0.4)" if architecture.style != "civic" else " roofHip(30, 0.4)"
    return [
        f"{name}_Lot --> offset(-0.5 * (1 - sqrt({name}_coverage)) * min(scope.sx, scope.sz), inside) comp(f) {{ inside : {name}_Mass | border : NIL }}",
        f"{name}_Mass -->{of('around_buildings', 'along_facade')} extrude(world.up, rint({name}_storeys) * 3.2) comp(f) {{ side : {name}_Facade | top : {name}_Roof }}",
        f"{name}_Facade -->{of('on_facade', 'at_entrances')} split(y) {{ 3.6 : {name}_Street | {{ ~3.2 : {name}_Storey }}* }}",
        f'{name}_Street --> case p({name}_shop_share) : split(x) {{ ~4 : Bay("shop") }}* else : split(x) {{ ~3 : Bay("window") | 1.4 : Bay("door") | {{ ~3 : Bay("window") }}* }}',
        f'{name}_Storey --> split(x) {{ ~3 : case p({name}_balcony_share) : Bay("balcony") else : Bay("window") }}*',
        f"{name}_Roof -->{of('on_roof')}{roof} Roof.",
        "",
    ]


def _placement(name: str, d: Distribution) -> list[str]:
    asset = f'i("assets/{d.asset}.obj")'
    if d.function in SPACING:
        head = ON_LINE.get(d.function, "comp(e) {{ all : {name}_Row }}").format(name=name, p=name)
        chance = CHANCE.get(d.function)
        item = f"case p({name}_{chance}) : {name}_Item else : NIL" if chance and chance in d.parameters else f"{name}_Item"
        return [f"{name}_Place --> {head}", f"{name}_Row --> split(x) {{ {SPACING[d.function].format(p=name)} : {name}_One }}*", f"{name}_One --> {item}", f"{name}_Item --> {asset}", ""]
    if d.function in ("at_junctions", "at_entrances"):
        inner = f"comp(v) {{ all : {name}_One }}" if d.function == "at_junctions" else f"{name}_One"
        return [f"{name}_Place --> {inner}", f"{name}_One --> case p({name}_probability) : {asset} else : NIL", ""]
    return [f"{name}_Place --> scatter(surface, rint(geometry.area / 100 * {name}_density), uniform) {{ {name}_Item }}", f"{name}_Item --> {asset}", ""]
