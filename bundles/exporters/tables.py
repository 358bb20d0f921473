"""Bundles as folders of Arrow or Parquet files, with a manifest.

Invariant: lossless; and no more than a few thousand rows of a bundle are in memory a second time.
"""

from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from bundles.codec import OF_BUNDLE, bundle_pieces
from bundles.exporters.target import new_target
from bundles.manifest import MANIFEST, FileFormat, Manifest, TableFile, hash_of, is_export
from bundles.records import Bundle
from bundles.schema import TABLES


def write_tables(bundle: Bundle, target: Path, file_format: FileFormat) -> None:
    """Write a folder of one file a table and `manifest.json`; raises `SuiteError` where it may not."""
    with new_target(target, is_export) as folder:
        folder.mkdir()
        paths = {name: folder / f"{name}.{file_format}" for name in OF_BUNDLE}
        rows = dict.fromkeys(OF_BUNDLE, 0)
        with ExitStack() as opened:
            writers = {
                name: opened.enter_context(_writer(path, TABLES[name], file_format))
                for name, path in paths.items()
            }
            for tables in bundle_pieces(bundle):
                for name, table in tables.items():
                    writers[name].write_table(table)
                    rows[name] += table.num_rows
        files = {name: TableFile(path.name, rows[name], hash_of(path)) for name, path in paths.items()}
        manifest = Manifest(bundle.bundle_id, bundle.name, file_format, files)
        (folder / MANIFEST).write_text(manifest.to_json(), encoding="utf-8")


def _writer(path: Path, schema: pa.Schema, file_format: FileFormat) -> Any:
    if file_format == "parquet":
        return pq.ParquetWriter(path, schema, compression="zstd")
    return pa.ipc.new_file(str(path), schema, options=pa.ipc.IpcWriteOptions(compression="zstd"))
