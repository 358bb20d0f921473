"""Recorded edit sessions, replays and judgements: values, import and store."""

from bundles.assembly import bundle_of
from bundles.brief import brief
from bundles.combine import Criterion, merge, split_by, split_share
from bundles.errors import (
    BundleError,
    EmptySuite,
    JournalUnavailable,
    StoreError,
    StoreLocked,
    SuiteError,
    UnknownRef,
)
from bundles.export import ExportFormat, export_bundle, without_events
from bundles.importers.chat import read_chat
from bundles.importers.git.history import DEFAULT_PATHS, HistoryLimits, read_history
from bundles.importers.imported import Imported
from bundles.importers.kinds import ImportKind, kind_of
from bundles.importers.loom import read_loom
from bundles.importers.suite import SUITE_SUFFIXES, read_suite
from bundles.importers.suite_keys import suite_schema
from bundles.importers.tables import read_tables
from bundles.journal import Journal
from bundles.journal_recovery import Recovery
from bundles.recording import Change, Recording
from bundles.records import (
    Attempt,
    AttemptStatus,
    Bundle,
    Condition,
    Event,
    EventType,
    Fact,
    FactOrigin,
    HeldSpan,
    LineEdit,
    Outcome,
    Polarity,
    Reference,
    Run,
    Scalar,
    SectionState,
    Session,
    SessionOrigin,
    Severity,
    Source,
    Unit,
    UnitKind,
    Verdict,
)
from bundles.redaction import Redacted, redact
from bundles.store import Store
from bundles.store_bundles import BundleInfo, Ingested
from bundles.store_copy import StoreState, copy_store, store_state
from bundles.store_reports import ArmTotals, AttemptFilter, AttemptOrder, AttemptPage, Quantiles
from bundles.store_run_pages import RunInfo, RunPage
from bundles.store_units import (
    ArmRow,
    UnitChoice,
    UnitFilter,
    UnitOrder,
    UnitPage,
    UnitRow,
)
from bundles.verify import verify_stored

__all__ = [
    "DEFAULT_PATHS",
    "SUITE_SUFFIXES",
    "ArmRow",
    "ArmTotals",
    "Attempt",
    "AttemptFilter",
    "AttemptOrder",
    "AttemptPage",
    "AttemptStatus",
    "Bundle",
    "BundleError",
    "BundleInfo",
    "Change",
    "Condition",
    "Criterion",
    "EmptySuite",
    "Event",
    "EventType",
    "ExportFormat",
    "Fact",
    "FactOrigin",
    "HeldSpan",
    "HistoryLimits",
    "ImportKind",
    "Imported",
    "Ingested",
    "Journal",
    "JournalUnavailable",
    "LineEdit",
    "Outcome",
    "Polarity",
    "Quantiles",
    "Recording",
    "Recovery",
    "Redacted",
    "Reference",
    "Run",
    "RunInfo",
    "RunPage",
    "Scalar",
    "SectionState",
    "Session",
    "SessionOrigin",
    "Severity",
    "Source",
    "Store",
    "StoreError",
    "StoreLocked",
    "StoreState",
    "SuiteError",
    "Unit",
    "UnitChoice",
    "UnitFilter",
    "UnitKind",
    "UnitOrder",
    "UnitPage",
    "UnitRow",
    "UnknownRef",
    "Verdict",
    "brief",
    "bundle_of",
    "copy_store",
    "export_bundle",
    "kind_of",
    "merge",
    "read_chat",
    "read_history",
    "read_loom",
    "read_suite",
    "read_tables",
    "redact",
    "split_by",
    "split_share",
    "store_state",
    "suite_schema",
    "verify_stored",
    "without_events",
]
