from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bundles import Bundle, export_bundle, read_tables
from bundles.schema import UNITS


@pytest.mark.parametrize("shape", ["arrow", "parquet"])
def test_any_bundle_survives(full_bundle: st.SearchStrategy[Bundle], shape: str) -> None:
    @settings(max_examples=15)
    @given(bundle=full_bundle)
    def check(bundle: Bundle) -> None:
        with TemporaryDirectory() as folder:
            target = Path(folder) / "x"
            export_bundle(bundle, target, shape)  # type: ignore[arg-type]
            assert read_tables(target) == bundle

    check()


@pytest.mark.parametrize("shape", ["arrow", "parquet"])
def test_a_large_bundle_survives(large_bundle: Bundle, shape: str, tmp_path: Path) -> None:
    export_bundle(large_bundle, tmp_path / "x", shape)  # type: ignore[arg-type]
    assert read_tables(tmp_path / "x") == large_bundle


def test_files_are_what_other_tools_read(large_bundle: Bundle, tmp_path: Path) -> None:
    for shape in ("arrow", "parquet"):
        export_bundle(large_bundle, tmp_path / shape, shape)  # type: ignore[arg-type]
    with pa.ipc.open_file(str(tmp_path / "arrow" / "units.arrow")) as reader:
        assert reader.schema.equals(UNITS, check_metadata=True)
    found = pq.read_table(tmp_path / "parquet" / "facts.parquet")
    assert found.num_rows == 9_999
    assert found["values"][0].as_py() == ["Limit 1"]
