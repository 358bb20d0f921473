"""Bundles out of folders of Arrow or Parquet files.

Invariant: what comes out is what was exported, to the byte, or there is an error that names the file and
what is wrong with it.
"""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from bundles.assembly import bundle_of
from bundles.brief import brief
from bundles.codec import bundle_of_tables
from bundles.errors import SuiteError
from bundles.manifest import FileFormat, Manifest, TableFile, hash_of, read_manifest
from bundles.migrate import migrated
from bundles.records import Bundle
from bundles.schema import FORMAT_VERSION, TABLES


def read_tables(folder: Path) -> Bundle:
    """The bundle of a folder; raises `SuiteError`, naming the file, where anything is not as exported."""
    manifest = read_manifest(folder)
    for name, entry in manifest.tables.items():
        _check_file(folder, name, entry, manifest)
    tables = {name: _table(folder, name, entry, manifest) for name, entry in manifest.tables.items()}
    try:
        found = bundle_of_tables(tables)
    except (KeyError, ValueError, TypeError) as error:
        raise SuiteError(f"{folder}: its tables do not belong together: {error}") from None
    try:
        bundle = bundle_of(found.name, found.sessions, found.units, found.events)
    except SuiteError as error:
        raise SuiteError(f"{folder}: {error}") from None
    for what, said, is_so in (
        ("bundle id", {manifest.bundle_id, found.bundle_id}, bundle.bundle_id),
        ("name", {manifest.name}, bundle.name),
    ):
        if said != {is_so}:
            raise SuiteError(
                f"{folder}: the manifest is damaged: its {what} is not that of its content, {is_so}"
            )
    return bundle


def _check_file(folder: Path, name: str, entry: TableFile, manifest: Manifest) -> None:
    if entry.file != f"{name}.{manifest.file_format}":
        raise SuiteError(f"{folder}: the manifest is damaged: {name} cannot be in {brief(entry.file)}")
    path = folder / entry.file
    try:
        found = hash_of(path)
    except OSError as error:
        raise SuiteError(f"{path}: cannot read it: {error.strerror}") from None
    if found != entry.sha256:
        raise SuiteError(f"{path}: damaged, its SHA-256 is not the one in the manifest; export it again")


def _table(folder: Path, name: str, entry: TableFile, manifest: Manifest) -> pa.Table:
    path = folder / entry.file
    try:
        table = _read(path, manifest.file_format)
        if manifest.format_version < FORMAT_VERSION:
            table = migrated(name, table, manifest.format_version)
    except (pa.ArrowException, KeyError) as error:
        raise SuiteError(f"{path}: not a table of a bundle: {str(error).splitlines()[0]}") from None
    if not table.schema.equals(TABLES[name]):
        raise SuiteError(f"{path}: its columns are not those of {name}")
    if table.num_rows != entry.rows:
        raise SuiteError(f"{path}: {table.num_rows} rows, {entry.rows} in the manifest")
    return table


def _read(path: Path, file_format: FileFormat) -> pa.Table:
    if file_format == "parquet":
        return pq.read_table(path)
    with pa.memory_map(str(path)) as source, pa.ipc.open_file(source) as reader:
        return reader.read_all()
