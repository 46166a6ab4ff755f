"""Times the parts of an environment's step: rendering, evidence, mapping. For one environment at a time."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from typing import Any

from flaneur.env.semantic import SemanticEnv
from flaneur.evaluation.episodes import now

PARTS = {"render": ("sim.render",), "evidence": ("source.similarity",), "map": ("map.accumulate", "map.fuse")}


class Stopwatch:
    """Wraps the methods of one environment's parts; every call waits for the device, so the sum is slower than an untimed run."""

    def __init__(self, env: SemanticEnv) -> None:
        self.device = env.device
        self._seconds: dict[str, list[float]] = defaultdict(list)
        self._wrapped: list[tuple[Any, str]] = []
        for names in PARTS.values():
            for name in names:
                owner, method = name.split(".")
                part = getattr(env, owner)
                original = getattr(type(part), method).__get__(part)
                setattr(part, method, self._timed(name, original))
                self._wrapped.append((part, method))

    def _timed(self, name: str, call: Callable) -> Callable:
        def timed(*arguments: Any, **options: Any) -> Any:
            start = now(self.device)
            result = call(*arguments, **options)
            self._seconds[name].append(now(self.device) - start)
            return result

        return timed

    def stop(self) -> None:
        """The parts as they were: the evidence source outlives the environment."""
        for part, method in self._wrapped:
            part.__dict__.pop(method, None)

    def split(self, plan_ms: float, step_ms: float) -> dict[str, float]:
        """Milliseconds per step by part since the last call; `other` is the motion, the reward and the metrics."""
        mean = {name: 1000 * sum(s) / len(s) for name, s in self._seconds.items() if s}
        self._seconds.clear()
        parts = {f"{part}_ms": sum(mean.get(n, 0.0) for n in names) for part, names in PARTS.items()}
        planning = {"plan_map_ms": plan_ms + parts["map_ms"]}
        other = max(0.0, step_ms - sum(parts.values()))
        return {k: round(v, 4) for k, v in {"plan_ms": plan_ms, "step_ms": step_ms, **parts, **planning, "other_ms": other, "total_ms": plan_ms + step_ms}.items()}
