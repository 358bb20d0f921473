"""Bundles written in one of the formats that they can be read back from.

Invariant: a target that could not be imported again is never written: the bundle is checked first, and what
its format cannot hold is refused.
"""

from pathlib import Path
from typing import Literal, get_args

from bundles.assembly import bundle_of
from bundles.exporters.loom import write_loom
from bundles.exporters.suite import write_suite
from bundles.exporters.tables import write_tables
from bundles.records import Bundle

ExportFormat = Literal["arrow", "parquet", "loom", "suite"]
EXPORT_FORMATS: tuple[ExportFormat, ...] = get_args(ExportFormat)


def export_bundle(bundle: Bundle, target: Path, export_format: ExportFormat) -> None:
    """Write a bundle to a file (`suite`) or a folder, all of it or nothing.

    Raises `SuiteError` where the format cannot hold the bundle, or the target is there already and no
    earlier export.
    """
    checked = bundle_of(bundle.name, bundle.sessions, bundle.units, bundle.events)
    match export_format:
        case "arrow" | "parquet":
            write_tables(checked, target, export_format)
        case "loom":
            write_loom(checked, target)
        case "suite":
            write_suite(checked, target)


def without_events(bundle: Bundle) -> Bundle:
    """The bundle of the same sessions and units, without what was recorded of each section."""
    return bundle_of(bundle.name, bundle.sessions, bundle.units)
