"""Recorded edit sessions, replays and judgements: values, import and store."""

from bundles.assembly import bundle_of
from bundles.brief import brief
from bundles.errors import (
    BundleError,
    DuplicateAttempt,
    EmptySuite,
    StoreError,
    StoreLocked,
    SuiteError,
    UnknownRef,
)
from bundles.importers.suite import SuiteImport, read_suite
from bundles.records import (
    Attempt,
    AttemptStatus,
    Bundle,
    Fact,
    FactOrigin,
    HeldSpan,
    Outcome,
    Polarity,
    Run,
    Session,
    SessionOrigin,
    Severity,
    Source,
    Unit,
    UnitKind,
    Verdict,
)
from bundles.store import BundleInfo, Store

__all__ = [
    "Attempt",
    "AttemptStatus",
    "Bundle",
    "BundleError",
    "BundleInfo",
    "DuplicateAttempt",
    "EmptySuite",
    "Fact",
    "FactOrigin",
    "HeldSpan",
    "Outcome",
    "Polarity",
    "Run",
    "Session",
    "SessionOrigin",
    "Severity",
    "Source",
    "Store",
    "StoreError",
    "StoreLocked",
    "SuiteError",
    "SuiteImport",
    "Unit",
    "UnitKind",
    "UnknownRef",
    "Verdict",
    "brief",
    "bundle_of",
    "read_suite",
]
