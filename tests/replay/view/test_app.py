import re
from collections.abc import Callable
from dataclasses import replace
from html import unescape
from pathlib import Path

import duckdb
import pytest
from fastapi.testclient import TestClient

from bundles import Fact, Source, Store
from replay.view.app import link

RUN = "20260101-120000-abcd"
HOSTILE = (
    "</textarea></script><img src=x onerror=alert(1)>\N{RIGHT-TO-LEFT OVERRIDE}\0 'q' \"Q\" & "
    "{{ 7777 * 7777 }}"
)
LINKS = re.compile(r'(?:href|action)="([^"]*)"')


def links_in(page: str) -> list[str]:
    return [unescape(found) for found in LINKS.findall(page)]


def test_an_empty_store_says_what_to_do(view: TestClient) -> None:
    page = view.get("/")
    assert page.status_code == 200
    assert "redraft run builtin:smoke" in page.text


def test_runs_come_newest_first_with_their_arms(view: TestClient, keep: Callable[..., None], make) -> None:
    evaluated = make.evaluated()
    keep(evaluated)
    later = tuple(replace(attempt, run_id="later") for attempt in evaluated.attempts)
    keep(replace(evaluated, run=replace(evaluated.run, run_id="later"), attempts=later))
    page = view.get("/").text
    assert page.index("/run?id=later") < page.index(f"/run?id={RUN}")
    assert "2.00x" in page
    assert "<bdi>suite</bdi>, 2026-01-01 12:00" in page


def test_runs_are_shown_ten_a_page(view: TestClient, path: Path, keep: Callable[..., None], make) -> None:
    evaluated = make.evaluated()
    keep(evaluated)
    with Store.open(path) as store:
        for number in range(11):
            store.create_run(replace(evaluated.run, run_id=f"r{number}"))
    first, second = view.get("/").text, view.get("/?page=2").text
    assert (first.count("<article"), second.count("<article")) == (10, 2)
    assert "/?page=2" in links_in(first)
    assert f"/run?id={RUN}" in links_in(second)


def test_every_link_leads_somewhere(view: TestClient, keep: Callable[..., None], make) -> None:
    """From the list of runs on, over run and unit, to the race."""
    keep(make.evaluated(2))
    todo, seen = ["/"], set[str]()
    while todo:
        url = todo.pop()
        if url in seen or url.startswith("#"):
            continue
        seen.add(url)
        answer = view.get(url)
        assert answer.status_code == (422 if url == "/run" else 200) or url == "/run", url
        if answer.headers["content-type"].startswith("text/html"):
            todo += links_in(answer.text)
    assert {"/race", f"/run?id={RUN}", f"/unit?run={RUN}&id=u1", f"/race?run={RUN}&unit=u1"} <= seen


def test_a_run_begins_with_its_verdict(view: TestClient, keep: Callable[..., None], make) -> None:
    evaluated = make.evaluated().changed("u0", "redraft", text="Bo owns it.")
    keep(evaluated)
    page = view.get("/run", params={"id": RUN}).text
    assert "<h1>Regression</h1>" in page
    assert evaluated.summary().reasons[0] in unescape(page)
    assert view.get("/verdict", params={"id": RUN}).json()["verdict"] == "regression"


def test_an_unjudged_run_says_so(view: TestClient, keep: Callable[..., None], make) -> None:
    keep(make.evaluated(), judged=False)
    said = f"run {RUN} has attempts that are not judged: redraft judge {RUN}"
    assert view.get("/verdict", params={"id": RUN}).json() == {"verdict": None, "why": said}
    page = view.get("/run", params={"id": RUN}).text
    assert "<h1>No verdict</h1>" in page
    assert said in page


def test_units_are_filtered_sorted_and_searched(view: TestClient, keep: Callable[..., None], make) -> None:
    evaluated = make.evaluated(3).changed("u1", "redraft", text="Bo owns it.", wall_ms=10.0)
    keep(evaluated)

    def units(**query: str) -> list[str]:
        page = view.get("/run", params={"id": RUN, **query}).text
        return [found.partition("id=")[2] for found in links_in(page) if found.startswith("/unit?")]

    assert units() == ["u0", "u1", "u2"]
    assert units(order="speedup", direction="down") == ["u1", "u0", "u2"]
    assert units(show="lost") == ["u1"]
    assert units(show="lost", arm="control") == []
    assert units(q="U2") == ["u2"]
    assert units(page="7") == []


def test_two_runs_are_compared(view: TestClient, keep: Callable[..., None], make) -> None:
    evaluated = make.evaluated(2)
    keep(evaluated)
    worse = evaluated.changed("u1", "redraft", text="Bo owns it.", token_ids=(1,), token_src=(-1,))
    attempts = tuple(replace(attempt, run_id="later") for attempt in worse.attempts)
    provenance = evaluated.run.provenance | {"kv_type": "f16"}
    keep(replace(worse, run=replace(worse.run, run_id="later", provenance=provenance), attempts=attempts))
    refused = view.get("/compare", params={"before": RUN, "after": "later"})
    assert "not comparable: kv_type" in unescape(refused.text)
    (across,) = [found for found in links_in(refused.text) if "across=1" in found]
    page = view.get(across).text
    assert "ACROSS DIFFERENT RUNS" in page
    assert {f"/unit?run={RUN}&id=u1", "/unit?run=later&id=u1"} <= set(links_in(page))
    assert "2 units compared" in page
    same = view.get("/compare", params={"before": RUN, "after": RUN})
    assert (same.status_code, "cannot be compared with itself" in same.text) == (400, True)
    assert '<option value="later" selected>' in view.get("/").text


@pytest.mark.parametrize(
    ("url", "status", "said"),
    [
        pytest.param("/run?id=nope", 404, "run nope is not in the store", id="run"),
        pytest.param("/verdict?id=nope", 404, "run nope is not in the store", id="verdict"),
        pytest.param(f"/unit?run={RUN}&id=nope", 404, "unit 'nope' is not in the bundle", id="unit"),
        pytest.param(f"/race?run={RUN}&unit=nope", 404, "unit 'nope' is not in the bundle", id="race"),
        pytest.param("/nowhere", 404, "there is no page /nowhere", id="page"),
        pytest.param(f"/run?id={RUN}&arm=fast", 400, "has no arm 'fast'", id="arm"),
        pytest.param(f"/run?id={RUN}&order=luck", 400, "order: Input should be 'plan'", id="order"),
        pytest.param("/?page=0", 400, "page: Input should be greater than or equal to 1", id="page number"),
        pytest.param("/run", 400, "id: Field required", id="no id"),
    ],
)
def test_what_is_not_there_is_a_page_of_one_line(
    view: TestClient, keep: Callable[..., None], make, url: str, status: int, said: str
) -> None:
    keep(make.evaluated())
    answer = view.get(url)
    assert answer.status_code == status
    assert said in unescape(answer.text)
    assert "<h1>" in answer.text


def test_a_store_that_is_gone_is_said(view: TestClient, path: Path) -> None:
    path.unlink()
    answer = view.get("/")
    assert (answer.status_code, "no such store" in answer.text) == (503, True)


def test_any_text_is_shown_and_does_nothing(view: TestClient, keep: Callable[..., None], make) -> None:
    name = HOSTILE.replace("\0", "")
    unit = make.unit(
        name,
        instruction=HOSTILE,
        category=name,
        tags=(name,),
        sources_before=(Source(name, "y" * 1_000_000),),
        sources_after=(Source(name, HOSTILE),),
        pinned=(HOSTILE,),
        edited=HOSTILE,
        kind="revise",
        attribution={HOSTILE: HOSTILE},
        facts=(Fact("f'\"><b>", "expect", (HOSTILE,)),),
    )
    evaluated = make.evaluated()
    attempts = [replace(a, unit_id=name, text=HOSTILE) for a in evaluated.attempts[:2]]
    attempts.append(replace(attempts[0], arm="redraft", status="error", error=HOSTILE, text=""))
    run = make.run((unit,), provenance={HOSTILE: HOSTILE}, max_tokens=40)
    keep(replace(evaluated, run=run, units=(unit,), attempts=tuple(attempts)))
    pages = [view.get("/").text, view.get("/run", params={"id": RUN}).text]
    pages.append(view.get(next(found for found in links_in(pages[1]) if found.startswith("/unit?"))).text)
    pages.append(view.get(next(found for found in links_in(pages[2]) if found.startswith("/race?"))).text)
    for page in pages:
        assert "<img" not in page
        assert "60481729" not in page
    assert all(name in unescape(page) for page in pages[1:])
    assert "800,000 more characters are not shown" in pages[2]


def test_a_unit_is_taken_to_the_race_as_it_is(view: TestClient, keep: Callable[..., None], make) -> None:
    unit = make.unit("u0", instruction="\nSay it.\n", stale="\nBo owns it.", max_tokens=77)
    evaluated = make.evaluated()
    keep(replace(evaluated, run=make.run((unit,)), units=(unit,)))
    page = view.get("/race", params={"run": RUN, "unit": "u0"}).text
    # A textarea's first line break is not part of it.
    areas = re.findall(r"<textarea[^>]*>\n([^<]*)</textarea>", page)
    assert areas == ["\nSay it.\n", "Bo owns it.", "Ava owns it.", "\nBo owns it."]
    assert 'value="77"' in page


def test_a_race_is_streamed(view: TestClient) -> None:
    asked = {"instruction": "Say it.", "sources": [{"name": "a", "before": "Bo did.", "after": "Ava did."}]}
    answer = view.post("/race", json=asked)
    assert answer.headers["content-type"].startswith("text/event-stream")
    assert answer.text.rstrip().splitlines()[-2] == "event: outcome"


@pytest.mark.parametrize(
    ("body", "headers", "status"),
    [
        pytest.param(b"{}", {"content-type": "application/json"}, 400, id="empty"),
        pytest.param(b"not json", {"content-type": "application/json"}, 400, id="no JSON"),
        pytest.param(b"a=1", {"content-type": "application/x-www-form-urlencoded"}, 400, id="a form"),
        pytest.param(b"{}", {"origin": "http://evil.example"}, 403, id="another page"),
    ],
)
def test_what_is_no_race_is_refused(view: TestClient, body: bytes, headers: dict, status: int) -> None:
    assert view.post("/race", content=body, headers=headers).status_code == status


def test_links_carry_any_text() -> None:
    assert link("/unit", id="a/b?c&d#e\n", repeat=None) == "/unit?id=a%2Fb%3Fc%26d%23e%0A"


def test_a_hundred_thousand_attempts_are_shown_a_page_at_a_time(
    view: TestClient, path: Path, keep: Callable[..., None], make
) -> None:
    units = tuple(make.unit(f"u{number}") for number in range(500))
    keep(replace(make.evaluated(), units=units, run=make.run(units, repeats=50), attempts=()))
    with duckdb.connect(path) as connection:
        connection.execute(_ATTEMPTS)
        connection.execute(_VERDICTS)
    page = view.get("/run", params={"id": RUN, "order": "wall_ms", "direction": "down"})
    assert page.status_code == 200
    assert "100,000 of 100,000 attempts" in page.text
    assert page.text.count('href="/unit?') == 50
    assert "a run of 100000 attempts is too large to be summed up here" in page.text
    assert len(page.content) < 100_000
    assert "2.00x" in view.get("/").text
    lost = view.get("/run", params={"id": RUN, "show": "lost", "page": 2}).text
    assert "500 units" in lost
    assert view.get("/unit", params={"run": RUN, "id": "u7", "repeat": 49}).text.count("Ava owns it.") == 4


_ATTEMPTS = """
    INSERT INTO attempts BY NAME
    SELECT run_id, unit_id, arm, repeat, 1 AS order, 'ok' AS status, 'Ava owns it.' AS text,
        [1, 2, 3] AS token_ids, [0, 1, -1] AS token_src, [] AS spans,
        CASE WHEN arm LIKE 'redraft%' THEN 50 ELSE 100 END AS wall_ms, 0 AS queued_ms, 1 AS prompt_ms,
        9 AS prompt_tokens, 1 AS divergences, 2 AS passes, 3 AS rows, 0 AS wasted_rows, 0 AS host_ms,
        0 AS patched_tokens, 0 AS strict_tokens, 3 AS tokens, 2 AS held
    FROM (SELECT run_id, unnest(unit_ids) AS unit_id FROM runs), (SELECT unnest(arms) AS arm FROM runs),
        range(50) AS repeats(repeat)"""
_VERDICTS = """
    INSERT INTO verdicts BY NAME
    SELECT run_id, unit_id, arm, repeat, unnest(['new', 'old']) AS fact_id,
        CASE WHEN arm = 'redraft' AND repeat = 3 THEN 'fail' ELSE 'pass' END AS outcome,
        'facts' AS judge, 1 AS judge_version, '' AS reason
    FROM attempts"""
