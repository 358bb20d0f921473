"""Suites and bundles by the names that a user types.

Invariant: a name stands for a file or folder if there is one to import or if it looks like one, else for a
bundle of the store; `builtin:NAME` is a suite that comes with the package.
"""

from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from bundles import (
    SUITE_SUFFIXES,
    Bundle,
    Imported,
    ImportKind,
    Store,
    SuiteError,
    UnknownRef,
    kind_of,
    read_chat,
    read_history,
    read_loom,
    read_suite,
    read_tables,
)
from replay.errors import SettingsError

BUILTIN = "builtin:"


@dataclass(frozen=True, slots=True)
class Added:
    """What an import gave, and the name under which the store had it already."""

    imported: Imported
    known_as: str | None


def suite_path(name: str) -> Path | None:
    """The file or folder that a name stands for, None where it can only be a bundle's."""
    if name.startswith(BUILTIN):
        suites = {f"{BUILTIN}{path.stem}": path for path in _builtin_files()}
        if name not in suites:
            raise SettingsError(f"{name}: no such built-in suite; there is {', '.join(sorted(suites))}")
        return suites[name]
    path = Path(name)
    if path.is_dir():
        return path if _is_importable(path) else None
    return path if path.exists() or path.suffix.lower() in SUITE_SUFFIXES else None


def add_path(store: Store, path: Path, kind: ImportKind | None = None, *, strict: bool = False) -> Added:
    """Import a file or folder into the store; its kind is told from what it holds, unless it is given."""
    kind = kind or kind_of(path)
    match kind:
        case "journal":
            ingested = store.ingest(path)
            bundle = store.bundle(ingested.bundle_id)
            known_as = None if ingested.added else bundle.name
            return Added(Imported(bundle, ingested.skipped), known_as)
        case "suite":
            imported = read_suite(path, strict=strict)
        case "chat":
            imported = read_chat(path, strict=strict)
        case "loom":
            imported = read_loom(path, strict=strict)
        case "git":
            imported = read_history(path, strict=strict)
        case "bundle":
            imported = Imported(read_tables(path))
    return add(store, imported)


def add(store: Store, imported: Imported) -> Added:
    """Store what was imported."""
    if store.add_bundle(imported.bundle):
        return Added(imported, None)
    names = {info.bundle_id: info.name for info in store.bundles()}
    return Added(imported, names[imported.bundle.bundle_id])


def load_bundle(store: Store, name: str) -> Bundle:
    """A suite's bundle, imported where it is not there yet, or a stored bundle by id or name.

    SuiteError at the first broken unit: a gate must not pass on what a typo has left of a suite.
    """
    path = suite_path(name)
    if path is None:
        try:
            return store.bundle(name)
        except UnknownRef as error:
            raise SettingsError(f"{name}: no such file, and {error}") from error
    return add_path(store, path, strict=True).imported.bundle


def _is_importable(folder: Path) -> bool:
    try:
        kind_of(folder)
    except SuiteError:
        return False
    return True


def _builtin_files() -> list[Path]:
    return sorted(Path(str(files("replay") / "suites")).glob("*.toml"))
