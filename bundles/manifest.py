"""What a folder of tables says of itself.

Invariant: a manifest names every file of the bundle with its hash, so whatever is changed or missing in the
folder is found out before any of it is believed.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from bundles.brief import brief
from bundles.codec import OF_BUNDLE
from bundles.errors import SuiteError
from bundles.schema import FORMAT_VERSION

MANIFEST = "manifest.json"
FORMAT = "redraft bundle"
# Exports began with this version.
_OLDEST = 2
FileFormat = Literal["arrow", "parquet"]


@dataclass(frozen=True, slots=True)
class TableFile:
    """The file of one table: its number of rows and its SHA-256 (hex)."""

    file: str
    rows: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Manifest:
    """A bundle's id and name, the kind of its files, and the files by table."""

    bundle_id: str
    name: str
    file_format: FileFormat
    tables: Mapping[str, TableFile]
    format: str = FORMAT
    format_version: int = FORMAT_VERSION

    def to_json(self) -> str:
        """The manifest as its file holds it."""
        return json.dumps(asdict(self), ensure_ascii=False, indent=2) + "\n"


def read_manifest(folder: Path) -> Manifest:
    """The manifest of a folder; raises `SuiteError` where it has none that can be right."""
    path = folder / MANIFEST
    try:
        found = json.loads(path.read_bytes().decode("utf-8"))
    except OSError as error:
        raise SuiteError(f"{path}: cannot read the manifest: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise SuiteError(f"{path}: not a manifest: {str(error)[:200]}") from None
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        raise SuiteError(f"{path}: not the manifest of a redraft bundle")
    version = found.get("format_version")
    if type(version) is not int or version < _OLDEST:
        raise SuiteError(f"{path}: format version {brief(version)} is none that there is")
    if version > FORMAT_VERSION:
        raise SuiteError(
            f"{path}: format version {version}, this redraft reads {FORMAT_VERSION}: use a newer one"
        )
    try:
        tables = {name: TableFile(**_shaped(entry, TableFile)) for name, entry in found.pop("tables").items()}
        manifest = Manifest(**_shaped(found | {"tables": tables}, Manifest))
    except (TypeError, KeyError, AttributeError, ValueError) as error:
        raise SuiteError(f"{path}: the manifest is damaged: {error}") from None
    if manifest.file_format not in get_args(FileFormat):
        raise SuiteError(f"{path}: files of kind {brief(manifest.file_format)}, not one of: arrow, parquet")
    if manifest.tables.keys() != set(OF_BUNDLE):
        raise SuiteError(f"{path}: the manifest is damaged: its tables are not {', '.join(OF_BUNDLE)}")
    return manifest


def is_export(folder: Path) -> bool:
    """Whether a folder holds a bundle's tables and nothing else."""
    try:
        manifest = read_manifest(folder)
        names = {path.name for path in folder.iterdir()}
    except (SuiteError, OSError):
        return False
    return names <= {MANIFEST, *(table.file for table in manifest.tables.values())}


def hash_of(path: Path) -> str:
    """SHA-256 (hex) of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _shaped(values: Mapping[str, Any], kind: type) -> dict[str, Any]:
    """The values, if each is of the type that the class gives its field."""
    types = {name: type_ for name, type_ in kind.__annotations__.items() if type_ in (str, int)}
    for name, type_ in types.items():
        if name in values and type(values[name]) is not type_:
            raise TypeError(f"{name} is {brief(values[name])}")
    return dict(values)
