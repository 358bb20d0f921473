from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bundles import EmptySuite, Fact
from replay.arms import parse_arm
from replay.canary import ENDINGS, Canaries, CanaryResult, CanaryRound, canary_arm, canary_units
from replay.errors import NothingToRun, ServiceDown, SettingsError

NEW, OLD = "Ava owns it.", "Bo owns it."


def keeps(make: Any, text: str, *, plain: str = NEW, held: bool = True, mode: str = "redraft") -> Any:
    """A daemon that answers an edit with `text`, and with `plain` when asked for plain generation."""

    def refuse(request: httpx.Request) -> httpx.Response | None:
        if not request.url.path.endswith("/refresh"):
            return None
        body = httpx.Response(200, content=request.content).json()
        after = plain if body["baseline"] else text
        said = after if body["sources"] else OLD
        events = make.sse("delta", text=said, kind="new")
        if held and body["sources"] and said == OLD:
            events += make.sse("span", kind="held", old=[0, len(OLD)], new=[0, len(OLD)])
        return httpx.Response(200, content=events + make.done(said, mode=mode))

    return make.daemon(refuse)


def checked(daemon: Any, *units: Any, arm: str = "redraft") -> CanaryRound:
    heard: list[CanaryResult] = []
    done = Canaries(units, parse_arm(arm), "ours", 64).check(daemon.client(), heard.append)
    assert tuple(heard) == done.results
    return done


def test_a_daemon_that_follows_the_edit_passes(make: Any) -> None:
    daemon = keeps(make, NEW)
    done = checked(daemon, make.unit())
    assert [result.ending for result in done.results] == ["passed"]
    assert done.exit_code == 0
    calls = [(method, path.rpartition("/")[2]) for method, path, _ in daemon.calls]
    assert calls == [
        ("GET", "healthz"),
        ("PUT", "canary"),
        ("POST", "refresh"),
        ("POST", "refresh"),
        ("DELETE", "canary"),
    ]
    opened, first, second = (body for _, _, body in daemon.calls[1:4])
    assert opened["sources"] == [{"name": "plan", "text": OLD}]
    assert (opened["derived"], opened["max_tokens"]) == (None, 64)
    assert (first["sources"], first["edits"]) == (None, [])
    assert (second["sources"], second["baseline"]) == ([{"name": "plan", "text": NEW}], False)
    assert daemon.calls[1][1].startswith("/v1/sessions/ours/")


def test_a_daemon_that_keeps_the_stale_fact_fails(make: Any) -> None:
    daemon = keeps(make, OLD)
    done = checked(daemon, make.unit())
    (result,) = done.results
    assert (result.ending, result.attribution, done.exit_code) == ("failed", "held", 1)
    assert "old: " in result.reason
    assert result.plain is not None
    assert result.plain.text == NEW
    assert "1 failed" in done.line
    assert "u failed: " in done.line
    plain = daemon.calls[-2][2]
    assert (daemon.calls[-3][2]["derived"], plain["baseline"]) == (OLD, True)
    assert daemon.calls[-1][0] == "DELETE"


def test_a_fault_that_the_model_decoded_itself_is_not_called_held(make: Any) -> None:
    assert checked(keeps(make, OLD, held=False), make.unit()).results[0].attribution == "decoded"


def test_a_canary_that_plain_generation_gets_wrong_too_is_blind(make: Any) -> None:
    done = checked(keeps(make, OLD, plain="Cy owns it."), make.unit())
    assert [(result.ending, result.attribution) for result in done.results] == [("blind", None)]
    assert done.exit_code == 3


def test_advisory_facts_do_not_decide(make: Any) -> None:
    tone = Fact("tone", "expect", ("ahoy",), severity="advisory")
    unit = make.unit(facts=(Fact("new", "expect", ("Ava",)), tone))
    assert checked(keeps(make, NEW), unit).results[0].ending == "passed"
    silent = make.unit(facts=(tone,))
    assert checked(keeps(make, NEW), silent).results[0].ending == "unscored"


def test_a_person_s_edit_of_the_text_is_sent_as_one(make: Any) -> None:
    daemon = keeps(make, NEW)
    checked(daemon, make.unit(kind="revise", edited="Ava, she\nowns it."))
    (edit,) = daemon.calls[3][2]["edits"]
    assert (edit["target"], edit["start"], edit["end"], edit["lines"]) == (
        "derived",
        0,
        1,
        ["Ava, she", "owns it."],
    )


def test_the_arm_s_tolerance_is_asked_for(make: Any) -> None:
    daemon = keeps(make, NEW)
    checked(daemon, make.unit(), arm="redraft:tau=2,floor=1")
    body = daemon.calls[3][2]
    assert (body["mode"], body["tau"], body["floor"]) == ("tolerant", 2.0, 1.0)


def test_an_engine_that_cannot_replay_is_an_error_and_not_a_pass(make: Any) -> None:
    daemon = keeps(make, NEW, mode="baseline")
    done = checked(daemon, make.unit())
    assert (done.results[0].ending, done.exit_code) == ("error", 4)
    assert "cannot replay" in done.results[0].reason
    assert [method for method, _, _ in daemon.calls].count("DELETE") == 1


@pytest.mark.parametrize("at", ["PUT", "POST", "DELETE"])
def test_a_refusal_is_one_canary_s_error_and_the_section_goes(at: str, make: Any) -> None:
    seen: list[str] = []

    def refuse(request: httpx.Request) -> httpx.Response | None:
        seen.append(request.method)
        if request.method == at and seen.count(at) == 1:
            return httpx.Response(400, json={"error": "no"})
        return None

    daemon = make.daemon(refuse)
    done = checked(daemon, make.unit("u1"), make.unit("u2"))
    assert [result.ending for result in done.results] == ["error", "passed"]
    assert "400" in done.results[0].reason
    assert done.exit_code == 4
    assert seen.count("DELETE") == 2


def test_an_interrupted_canary_leaves_no_section(make: Any) -> None:
    def refuse(request: httpx.Request) -> httpx.Response | None:
        if request.url.path.endswith("/refresh"):
            raise KeyboardInterrupt
        return None

    daemon = make.daemon(refuse)
    with pytest.raises(KeyboardInterrupt):
        checked(daemon, make.unit())
    assert daemon.calls[-1][0] == "DELETE"


def test_a_daemon_that_is_gone_ends_the_round(make: Any) -> None:
    def refuse(request: httpx.Request) -> httpx.Response | None:
        raise httpx.ConnectError("refused")

    with pytest.raises(ServiceDown, match="no daemon answers"):
        checked(make.daemon(refuse), make.unit())
    gone = Canaries((make.unit(),), parse_arm("redraft"), "ours", 64).all_in_error("gone")
    assert (gone.exit_code, gone.line) == (
        4,
        "0 passed, 0 failed, 0 blind, 0 unscored, 1 error; u error: gone",
    )


def test_every_canary_has_a_section_of_its_own(make: Any) -> None:
    daemon = keeps(make, NEW)
    checked(daemon, make.unit("u1"), make.unit("u2"))
    assert len({path for method, path, _ in daemon.calls if method == "PUT"}) == 2


@given(endings=st.lists(st.sampled_from(ENDINGS), min_size=1))
def test_a_round_passes_only_if_something_passed_and_nothing_is_wrong_or_unknown(endings: list[Any]) -> None:
    done = CanaryRound(tuple(CanaryResult("u", ending) for ending in endings))
    assert (done.exit_code == 0) == ("passed" in endings and set(endings) <= {"passed", "blind"})
    assert (done.exit_code == 1) == ("failed" in endings)
    assert sum(map(done.count, ENDINGS)) == len(endings)


def test_canaries_come_from_a_suite(tmp_path: Any) -> None:
    assert len(canary_units("builtin:smoke")) == 3
    path = tmp_path / "none.toml"
    path.write_text('suite = "n"\n[[units]]\nid = "u"\ninstruction = "i"\nbefore = "a"\nafter = "b"\n')
    with pytest.raises(NothingToRun, match="has no canary"):
        canary_units(str(path))
    with pytest.raises(SettingsError, match="nix: no such file"):
        canary_units("nix")
    path.write_text('suite = "n"\nunits = []\n')
    with pytest.raises(EmptySuite):
        canary_units(str(path))


def test_plain_generation_is_no_arm_for_a_canary() -> None:
    assert canary_arm("redraft").name == "redraft"
    with pytest.raises(SettingsError, match="replays the stale answer"):
        canary_arm("plain")
