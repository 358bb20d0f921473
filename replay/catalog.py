"""Suites and bundles by the names that a user types.

Invariant: a name stands for a file if there is one or if it looks like one, else for a bundle of the
store; `builtin:NAME` is a suite that comes with the package.
"""

from importlib.resources import files
from pathlib import Path

from bundles import Bundle, Store, UnknownRef, read_suite
from replay.errors import SettingsError

BUILTIN = "builtin:"
_SUFFIXES = {".json", ".jsonl", ".toml"}


def suite_path(name: str) -> Path | None:
    """The file that a name stands for, None where it can only be a bundle's."""
    if name.startswith(BUILTIN):
        suites = {f"{BUILTIN}{path.stem}": path for path in _builtin_files()}
        if name not in suites:
            raise SettingsError(f"{name}: no such built-in suite; there is {', '.join(sorted(suites))}")
        return suites[name]
    path = Path(name)
    return path if path.exists() or path.suffix in _SUFFIXES else None


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
    bundle = read_suite(path, strict=True).bundle
    store.add_bundle(bundle)
    return bundle


def _builtin_files() -> list[Path]:
    return sorted(Path(str(files("replay") / "suites")).glob("*.toml"))
