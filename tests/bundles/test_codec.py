from collections.abc import Callable

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from bundles import Bundle, Source, Unit
from bundles.codec import bundle_of_tables, bundle_pieces, bundle_tables
from bundles.schema import TABLES


@settings(max_examples=50)
@given(data=st.data())
def test_bundle_survives_its_tables_in_any_row_order(
    any_bundle: st.SearchStrategy[Bundle], data: st.DataObject
) -> None:
    bundle = data.draw(any_bundle)
    tables = bundle_tables(bundle)
    assert {name: table.schema for name, table in tables.items()} == {name: TABLES[name] for name in tables}
    reversed_rows = {
        name: pa.Table.from_pylist(table.to_pylist()[::-1], schema=table.schema)
        for name, table in tables.items()
    }
    assert bundle_of_tables(reversed_rows) == bundle


def test_a_text_is_one_revision_however_often_it_is_used(
    make_unit: Callable[..., Unit], make_bundle: Callable[..., Bundle]
) -> None:
    units = [
        make_unit("u1", stale="Friday.", kind="revise", edited="Friday."),
        make_unit("u2", sources_before=(Source("plan", "Launch on Monday."),), stale="Friday."),
    ]
    revisions = bundle_tables(make_bundle(*units))["revisions"].to_pylist()
    assert sorted((row["kind"], row["text"]) for row in revisions) == [
        ("derived", "Friday."),
        ("instruction", "Summarise."),
        ("source", "Launch on Friday."),
        ("source", "Launch on Monday."),
    ]


def test_pieces_are_bounded_and_give_each_text_once(
    make_unit: Callable[..., Unit], make_bundle: Callable[..., Bundle]
) -> None:
    units = [make_unit(f"u{number}", stale=f"Answer {number // 2}.") for number in range(10_000)]
    pieces = list(bundle_pieces(make_bundle(*units)))
    assert max(len(table) for piece in pieces for table in piece.values()) < 10_000
    ids = [
        key
        for piece in pieces
        if "revisions" in piece
        for key in piece["revisions"]["revision_id"].to_pylist()
    ]
    assert len(ids) == len(set(ids)) == 5_003
