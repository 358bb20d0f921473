from collections.abc import Callable

from prometheus_client.parser import text_string_to_metric_families

from engine.fake_model import FakeModel


def read(text: str) -> dict[tuple[str, ...], float]:
    families = text_string_to_metric_families(text)
    return {
        (sample.name.removeprefix("redraft_engine_"), *sorted(sample.labels.values())): sample.value
        for family in families
        for sample in family.samples
    }


def test_work_is_counted(in_process: Callable) -> None:
    engine = in_process(FakeModel(answer=None, slots=2))
    prompt = [n % 200 for n in range(90)]
    draft = {"old_output": [1, 2, 3], "tau": 1000, "floor": 1000}
    answers = engine.ask(
        ("POST", "/completion", {"json": {"prompt": prompt, "n_predict": 5, "id_slot": 0}}),
        ("POST", "/completion", {"json": {"prompt": [7] * 60, "n_predict": 5, "id_slot": 0}}),
        (
            "POST",
            "/completion",
            {"json": {"prompt": prompt, "n_predict": 3, "id_slot": 0, "redraft_stabilize": draft}},
        ),
        ("POST", "/completion", {"json": {"prompt": []}}),
        ("GET", "/nowhere", {}),
        ("GET", "/metrics", {}),
    )
    told = read(answers[-1].text)
    results = [answer.json() for answer in answers[:3]]
    assert answers[-1].headers["content-type"].startswith("text/plain")
    assert told["completions_total", "limit"] == 3
    assert told["predicted_tokens_total",] == 13
    assert told["prompt_tokens_total",] + told["cached_tokens_total",] == 240
    assert told["cached_tokens_total",] == sum(result["timings"]["cache_n"] for result in results)
    assert told["held_tokens_total",] == round(3 * results[2]["redraft_held_fraction"])
    assert told["rows_total",] >= told["prompt_tokens_total",] + told["wasted_rows_total",]
    assert told["passes_total",] > 3
    assert told["decode_seconds_total",] > 0
    assert told["host_seconds_total",] > 0
    assert (told["parked_states_total",], told["restored_states_total",]) == (0, 0)
    assert (told["slots",], told["busy_slots",], told["queued",]) == (2, 0, 0)
    assert told["slot_tokens",] == len(engine.ready.worker.slots[0].cache)
    assert told["http_requests_total", "/completion", "200"] == 3
    assert told["http_requests_total", "/completion", "400"] == 1
    assert told["http_requests_total", "404", "other"] == 1


def test_no_text_of_a_request_is_told(in_process: Callable) -> None:
    engine = in_process(FakeModel())
    answers = engine.ask(
        ("POST", "/completion", {"json": {"prompt": "KIWI-1", "n_predict": 5, "stop": ["KIWI-1"]}}),
        ("POST", "/slots/KIWI-1?action=KIWI-1", {}),
        ("GET", "/KIWI-1", {}),
        ("GET", "/metrics", {}),
    )
    assert "redraft_engine_passes_total" in answers[-1].text
    assert "KIWI" not in answers[-1].text


def test_failed_completions_are_counted(in_process: Callable) -> None:
    engine = in_process(FakeModel(answer=None))
    bad = {"prompt": [1], "grammar": 'root ::= "\\uD800"'}
    told = read(engine.ask(("POST", "/completion", {"json": bad}), ("GET", "/metrics", {}))[-1].text)
    assert told["completions_total", "error"] == 1
