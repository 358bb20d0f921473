"""The routes of slots: what they hold, and forgetting, saving and restoring it.

Invariant: a state is read from and written to one folder alone, and only where the operator named one. A
file that does not fit changes nothing.
"""

import time
from pathlib import Path, PurePath

from fastapi import APIRouter
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException

from engine import state_file
from engine.errors import DecodeFailed, EngineError, InvalidRequest, Unavailable
from engine.generation import check_slot
from engine.ready import Engine, Ready
from engine.slots import Erase, Restore, Save
from engine.wire import SlotFile

router = APIRouter()
NO_FILE = SlotFile()


@router.get("/slots")
async def slots(engine: Engine, fail_on_no_slot: bool = False) -> list[dict[str, object]]:
    """Each slot, whether it is busy, and how many tokens it holds; never their text."""
    every = engine.worker.slots
    if fail_on_no_slot and all(slot.generation for slot in every):
        raise Unavailable("no slot is free")
    return [
        {
            "id": slot.number,
            "id_task": slot.last_job or -1,
            "n_ctx": engine.model.ctx,
            "is_processing": slot.generation is not None,
            "n_cached": len(slot.cache),
        }
        for slot in every
    ]


@router.post("/slots/{id_slot}")
async def slot_action(
    id_slot: int, action: str, engine: Engine, body: SlotFile = NO_FILE
) -> dict[str, object]:
    """Erase, save or restore a slot once it is free."""
    check_slot(id_slot, engine.model)
    if action == "erase":
        erased: int = await engine.on_slot(lambda tell: Erase(id_slot, tell))
        return {"id_slot": id_slot, "n_erased": erased}
    if action not in ("save", "restore"):
        raise InvalidRequest(f"action: {action[:40]!r} is not known; use erase, save or restore")
    if engine.slot_save_path is None:
        raise HTTPException(501, "action: no folder for slots; start the engine with --slot-save-path")
    path = _path_in(engine.slot_save_path, body.filename)
    return await (_save if action == "save" else _restore)(id_slot, path, engine)


def _path_in(folder: Path, name: str) -> Path:
    """The file of this name in the folder itself."""
    plain = name and PurePath(name).name == name and name.isprintable() and not name.startswith(".")
    if not plain or len(name.encode()) > 200 or (folder / name).is_dir():
        raise InvalidRequest("filename: must be a plain file name, without folders, not starting with a dot")
    return folder / name


async def _save(id_slot: int, path: Path, engine: Ready) -> dict[str, object]:
    started = time.perf_counter()
    state: state_file.SlotState = await engine.on_slot(lambda tell: Save(id_slot, tell))
    try:
        size_bytes = await run_in_threadpool(state_file.write, path, state, engine.model.facts)
    except OSError as error:
        raise EngineError(f"filename: {path.name} cannot be written: {error.strerror}") from error
    return {
        "id_slot": id_slot,
        "filename": path.name,
        "n_saved": len(state.tokens),
        "n_written": size_bytes,
        "timings": {"save_ms": 1000 * (time.perf_counter() - started)},
    }


async def _restore(id_slot: int, path: Path, engine: Ready) -> dict[str, object]:
    started = time.perf_counter()
    try:
        state, size_bytes = await run_in_threadpool(state_file.read, path, engine.model.facts)
        if len(state.tokens) > engine.model.ctx:
            raise InvalidRequest(f"{len(state.tokens)} tokens do not fit a context of {engine.model.ctx}")
        count: int = await engine.on_slot(lambda tell: Restore(id_slot, tell, state))
    except OSError as error:
        raise InvalidRequest(f"filename: {path.name} cannot be read: {error.strerror}") from error
    except (InvalidRequest, DecodeFailed) as error:
        raise InvalidRequest(f"filename: {path.name}: {error}") from error
    return {
        "id_slot": id_slot,
        "filename": path.name,
        "n_restored": count,
        "n_read": size_bytes,
        "timings": {"restore_ms": 1000 * (time.perf_counter() - started)},
    }
