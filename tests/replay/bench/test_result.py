import json
from typing import Any

from replay.bench.result import SCHEMA_VERSION, BenchResult


def test_the_keys_that_are_promised(bench: Any) -> None:
    found = json.loads(bench.result(bench.measured()).to_json())
    assert found["schema_version"] == SCHEMA_VERSION == 1
    assert (found["units"], found["repeats"]) == (1, 5)
    assert set(found["arms"]) == {"plain", "control", "redraft"}
    assert {
        "speedup_median", "speedup_low", "speedup_high", "slowest_unit", "slowest", "exact_match",
        "share_lb1", "share_lb0", "passes", "rows", "host_ms", "facts_passed", "facts_total",
    } <= set(found["arms"]["redraft"])  # fmt: skip
    assert {
        "cpu", "cores", "threads", "load_start", "load_end", "os", "llama_cpp_python", "redraft", "model",
        "model_sha256", "quantisation", "pass_cost_ms",
    } <= set(found["machine"])  # fmt: skip
    (unit,) = found["per_unit"]
    assert unit["arms"]["redraft"]["speedup"] == 2
    assert set(unit["limits"]) == {"lb0", "lb1"}


def test_it_reads_back_as_it_was(bench: Any) -> None:
    result = bench.result(bench.measured("a"), bench.measured("b"))
    assert BenchResult.model_validate_json(result.to_json()) == result


def test_errors_are_those_of_all_arms(bench: Any) -> None:
    assert bench.result(bench.measured()).errors == 0
