import gzip
from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest

from bundles import Bundle, Store, StoreError, Unit, verify_stored


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE units SET category = 'else' WHERE unit_id = 'u1'",
        "UPDATE revisions SET text = text || '.' WHERE kind = 'source'",
        "UPDATE facts SET \"values\" = ['Tuesday'] WHERE fact_id = 'expect-1'",
        "UPDATE facts SET severity = 'grave'",
        "UPDATE sessions SET tenant = 'x'",
        "DELETE FROM facts WHERE fact_id = 'forbid-1'",
        "DELETE FROM units WHERE unit_id = 'u2'",
        "DELETE FROM sessions",
        "DELETE FROM revisions WHERE kind = 'instruction'",
        "UPDATE bundles SET bundle_id = 'x'",
    ],
)
def test_what_others_did_to_a_bundle_is_found(
    statement: str, make_bundle: Callable[..., Bundle], make_unit: Callable[..., Unit], tmp_path: Path
) -> None:
    bundle = make_bundle(make_unit(), make_unit("u2"))
    path = tmp_path / "s.duckdb"
    with Store.open(path) as store:
        store.add_bundle(bundle)
        assert verify_stored(store, bundle.bundle_id) == bundle
    with duckdb.connect(path) as connection:
        connection.execute(statement)
        for name in ("units", "sessions", "facts"):
            if "UPDATE bundles" in statement:
                connection.execute(f"UPDATE {name} SET bundle_id = 'x'")
    with Store.open(path) as store, pytest.raises(StoreError, match=r"s.duckdb: bundle .* is damaged"):
        verify_stored(store, "plans")


def test_bundles_of_the_first_version_are_whole(tmp_path: Path) -> None:
    old = Path(__file__).parents[1] / "data" / "store-v1.duckdb.gz"
    (tmp_path / "s.duckdb").write_bytes(gzip.decompress(old.read_bytes()))
    with Store.open(tmp_path / "s.duckdb") as store:
        found = [verify_stored(store, info.bundle_id) for info in store.bundles()]
    assert len(found) == 2
