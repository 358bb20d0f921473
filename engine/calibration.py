"""What the self-test found, kept per model, cache type, threads, build and processor.

Invariant: a kept result is used only where nothing that it depends on has changed; one that cannot be
read is measured anew, and one that cannot be kept is an inconvenience, not an error.
"""

import hashlib
import os
import platform
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from engine.cost import Calibration, PassCost
from engine.language_model import LanguageModel
from engine.selftest import MOST_CELLS, cost_depth, exact_width, pass_costs

FORMAT = 3
"""Goes up whenever the tests or what they mean change: older results are then measured anew."""


class Measured(BaseModel):
    """The file."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    key: dict[str, str | int]
    exact_width: int = Field(ge=1)
    pass_ms: dict[int, float]
    depth: int = Field(ge=0)
    deep_pass_ms: dict[int, float]


def calibrate(model: LanguageModel, folder: Path, say: Callable[[str], None]) -> Calibration:
    """The kept result, or a new one, which takes a few seconds."""
    key = _key(model)
    name = hashlib.sha256(repr(sorted(key.items())).encode()).hexdigest()[:16]
    path = folder / f"{name}.json"
    measured = _kept(path, key)
    if measured is None:
        say("measuring how wide passes may be and what they cost (once for this model and machine)")
        measured = _measure(model, key)
        _keep(path, measured)
    cost = PassCost(
        measured.pass_ms, deep=measured.deep_pass_ms, depth=measured.depth, rolls_back=model.rolls_back
    )
    return Calibration(measured.exact_width, cost)


def _measure(model: LanguageModel, key: dict[str, str | int]) -> Measured:
    depth = cost_depth(model)
    return Measured(
        key=key,
        exact_width=exact_width(model),
        pass_ms=pass_costs(model),
        depth=depth,
        deep_pass_ms=pass_costs(model, depth) if depth else {},
    )


def _key(model: LanguageModel) -> dict[str, str | int]:
    facts = model.facts
    return {
        "format": FORMAT,
        "model": facts.fingerprint,
        "kv_type": facts.kv_type,
        "threads": facts.threads,
        "build": facts.build_info,
        "ctx": min(model.ctx, MOST_CELLS),
        "max_rows": model.max_rows,
        "processor": _processor(),
        "cores": os.cpu_count() or 1,
    }


def _processor() -> str:
    with suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return f"{platform.machine()} {platform.processor()}"


def _kept(path: Path, key: dict[str, str | int]) -> Measured | None:
    try:
        measured = Measured.model_validate_json(path.read_bytes())
    except (OSError, ValidationError):
        return None
    return measured if measured.key == key and 1 in measured.pass_ms else None


def _keep(path: Path, measured: Measured) -> None:
    """By one rename, so that a reader never sees half a file."""
    part = path.with_suffix(f".{os.getpid()}")
    with suppress(OSError):
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            part.write_text(measured.model_dump_json())
            part.replace(path)
        finally:
            part.unlink(missing_ok=True)
