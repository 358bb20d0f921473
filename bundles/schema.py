"""The tables of bundles and runs, as Arrow schemas.

Invariant: these constants are the only definition of the tables; the store's are made from them and
each carries the format version it belongs to. A table holds one row per record of `records.py` and
names its columns as the record names its fields; texts of sessions are replaced by revision ids.
"""

from typing import Any

import pyarrow as pa

FORMAT_VERSION = 2

_INTS = pa.list_(pa.int32())
_STRINGS = pa.list_(pa.string())
_SOURCES = pa.list_(pa.struct([("name", pa.string()), ("revision_id", pa.string())]))
_SPANS = pa.list_(
    pa.struct([(end, pa.int32()) for end in ("old_start", "old_end", "new_start", "new_end")]),
)
_REFERENCE = pa.struct(
    [
        ("revision_id", pa.string()),
        ("mode", pa.string()),
        ("wall_ms", pa.float64()),
        ("prompt_ms", pa.float64()),
    ]
)
_STATE = pa.struct(
    [
        ("instruction", pa.string()),
        ("sources", _SOURCES),
        ("derived", pa.string()),
        ("pinned", _STRINGS),
        ("max_tokens", pa.int32()),
    ]
)
_EDITS = pa.list_(
    pa.struct(
        [
            ("target", pa.string()),
            ("start", pa.int64()),
            ("end", pa.int64()),
            ("lines", _STRINGS),
            ("source", pa.string()),
        ]
    )
)


def _schema(*fields: tuple[str, Any]) -> pa.Schema:
    return pa.schema(fields, metadata={"format_version": str(FORMAT_VERSION)})


BUNDLES = _schema(("bundle_id", pa.string()), ("name", pa.string()))

REVISIONS = _schema(
    ("revision_id", pa.string()),
    ("kind", pa.string()),
    ("name", pa.string()),
    ("text", pa.string()),
)

# `position` is the place in the bundle, and of a fact in its unit: order is kept but not part of ids.
SESSIONS = _schema(
    ("bundle_id", pa.string()),
    ("position", pa.int32()),
    ("session_id", pa.string()),
    ("origin", pa.string()),
    ("tenant", pa.string()),
    ("document_id", pa.string()),
    ("section_id", pa.string()),
    ("document_kind", pa.string()),
    ("opened_at", pa.string()),
)

UNITS = _schema(
    ("bundle_id", pa.string()),
    ("position", pa.int32()),
    ("unit_id", pa.string()),
    ("session_id", pa.string()),
    ("instruction", pa.string()),
    ("sources_before", _SOURCES),
    ("sources_after", _SOURCES),
    ("kind", pa.string()),
    ("category", pa.string()),
    ("stale", pa.string()),
    ("edited", pa.string()),
    ("pinned", _STRINGS),
    ("canary", pa.bool_()),
    ("tags", _STRINGS),
    ("max_tokens", pa.int32()),
    ("attribution", pa.map_(pa.string(), pa.string())),
    ("reference", _REFERENCE),
)

# `of` is a JSON list of conditions, null where there is none: conditions nest without end.
FACTS = _schema(
    ("bundle_id", pa.string()),
    ("unit_id", pa.string()),
    ("position", pa.int32()),
    ("fact_id", pa.string()),
    ("polarity", pa.string()),
    ("values", _STRINGS),
    ("matcher", pa.string()),
    ("severity", pa.string()),
    ("origin", pa.string()),
    ("as_current", pa.bool_()),
    ("of", pa.string()),
    ("at_least", pa.int64()),
    ("at_most", pa.int64()),
    ("fraction", pa.bool_()),
)

# `numbers` is a JSON object, as is `provenance` of runs: their values are of several types.
EVENTS = _schema(
    ("bundle_id", pa.string()),
    ("position", pa.int32()),
    ("session_id", pa.string()),
    ("seq", pa.int32()),
    ("ts", pa.string()),
    ("type", pa.string()),
    ("revision", pa.int64()),
    ("before", _STATE),
    ("after", _STATE),
    ("edits", _EDITS),
    ("numbers", pa.string()),
    ("engine", pa.string()),
)

RUNS = _schema(
    ("run_id", pa.string()),
    ("bundle_id", pa.string()),
    ("unit_ids", _STRINGS),
    ("arms", _STRINGS),
    ("repeats", pa.int32()),
    ("seed", pa.int64()),
    ("max_tokens", pa.int32()),
    ("started", pa.string()),
    ("finished", pa.string()),
    ("provenance", pa.string()),
)

# `tokens` and `held` are counts over `token_src`, kept so that no report has to read it.
ATTEMPTS = _schema(
    ("run_id", pa.string()),
    ("unit_id", pa.string()),
    ("arm", pa.string()),
    ("repeat", pa.int32()),
    ("order", pa.int32()),
    ("status", pa.string()),
    ("error", pa.string()),
    ("text", pa.string()),
    ("token_ids", _INTS),
    ("token_src", _INTS),
    ("spans", _SPANS),
    ("wall_ms", pa.float64()),
    ("queued_ms", pa.float64()),
    ("prompt_ms", pa.float64()),
    ("prompt_tokens", pa.int32()),
    ("divergences", pa.int32()),
    ("passes", pa.int32()),
    ("rows", pa.int32()),
    ("wasted_rows", pa.int32()),
    ("host_ms", pa.float64()),
    ("patched_tokens", pa.int32()),
    ("strict_tokens", pa.int32()),
    ("tokens", pa.int32()),
    ("held", pa.int32()),
)

VERDICTS = _schema(
    ("run_id", pa.string()),
    ("unit_id", pa.string()),
    ("arm", pa.string()),
    ("repeat", pa.int32()),
    ("fact_id", pa.string()),
    ("outcome", pa.string()),
    ("judge", pa.string()),
    ("judge_version", pa.int32()),
    ("evidence_start", pa.int32()),
    ("evidence_end", pa.int32()),
    ("reason", pa.string()),
)

# Which bundle the records of a journal, up to `sequence`, became.
INGESTED = _schema(
    ("journal_id", pa.string()),
    ("sequence", pa.int64()),
    ("bundle_id", pa.string()),
)

TABLES = {
    "bundles": BUNDLES,
    "revisions": REVISIONS,
    "sessions": SESSIONS,
    "units": UNITS,
    "facts": FACTS,
    "events": EVENTS,
    "runs": RUNS,
    "attempts": ATTEMPTS,
    "verdicts": VERDICTS,
    "ingested": INGESTED,
}
