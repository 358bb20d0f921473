"""The engine's one configuration value.

Invariant: frozen, checked when it is made, unknown keys refused. Flags and environment variables are
turned into it by `engine.main`; nothing else reads either.
"""

import os
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator

KvType = Literal["bf16", "f16"]


class EngineConfig(BaseModel):
    """How to serve one model. `model` None means the default model, `port` 0 any free port.

    `cache_ram` and `cache_disk` (MiB) bound the prefix states that are parked in memory and in `cache_dir`.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    model: Path | None = None
    draft_model: Path | None = None
    host: str = "127.0.0.1"
    port: int = Field(default=8080, ge=0, le=65535)
    slots: int = Field(default=1, ge=1, le=64)
    ctx: int = Field(default=4096, ge=8)
    threads: int = Field(default_factory=lambda: os.cpu_count() or 1, ge=1)
    gpu_layers: int = Field(default=0, ge=0)
    kv: KvType = "bf16"
    queue_depth: int = Field(default=64, ge=1)
    slot_save_path: Path | None = None
    cache_ram: int = Field(default=256, ge=0)
    cache_dir: Path | None = None
    cache_disk: int = Field(default=4096, ge=1)
    watch_stdin: bool = False
    verbose: bool = False
    fake_model: bool = False
    fake_pass_ms: int = Field(default=0, ge=0)

    @field_validator("slot_save_path")
    @classmethod
    def _is_a_folder(cls, path: Path | None) -> Path | None:
        if path is not None and not path.is_dir():
            raise ValueError(f"{path} is not a folder")
        return path
