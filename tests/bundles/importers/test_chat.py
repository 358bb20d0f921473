import json
from pathlib import Path
from typing import Any

import pytest

from bundles import EmptySuite, Reference, Session, Source, SuiteError, read_chat
from bundles.importers import chat

PLAN = "The launch is on Friday, in Bergen. Ava leads it, and Ben keeps the list of what is still to be done."


def line(user: str, answer: str = "It is on Friday.", *before: tuple[str, str], **more: Any) -> str:
    messages = [{"role": role, "content": text} for role, text in (*before, ("user", user))]
    choices = [{"message": {"role": "assistant", "content": answer}, "finish_reason": "stop"}]
    return json.dumps(
        {"request": {"model": "m", "messages": messages}, "response": {"choices": choices}} | more
    )


def log(folder: Path, *lines: str) -> Path:
    path = folder / "log.jsonl"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def test_a_request_that_repeats_another_with_an_edited_text_is_a_unit(tmp_path: Path) -> None:
    path = log(
        tmp_path,
        line(f"Sum up:\n\n{PLAN}"),
        line("What is 2 + 2?\n\nSay it in words."),
        line(f"Sum up:\n\n{PLAN.replace('Friday', 'Monday')}", "It is on Monday."),
        line(f"Sum up:\n\n{PLAN.replace('Friday', 'Sunday')}", "It is on Sunday.", id="mine"),
    )
    found = read_chat(path)
    assert found.bundle.name == "log"
    assert found.bundle.sessions == (Session("line-1", "chat", section_id="line-1"),)
    first, second = found.bundle.units
    assert (first.unit_id, first.instruction, first.stale) == ("line-1/1", "Sum up:", "It is on Friday.")
    assert first.sources_before == (Source("context", PLAN),)
    assert first.reference == Reference("It is on Monday.")
    assert (second.unit_id, second.stale, second.sources_before) == (
        "mine",
        "It is on Monday.",
        first.sources_after,
    )
    assert found.reasons == {"request that repeats no earlier one": 2}


def test_the_instruction_may_come_last_or_in_a_message_of_its_own(tmp_path: Path) -> None:
    edited = PLAN.replace("Friday", "Monday")
    system = ("system", "You write plans.")
    path = log(
        tmp_path,
        line(f"{PLAN}\n \nSum it up.", "a", system),
        line(f"{edited}\n \nSum it up.", "b", system),
        line("Sum it up.", "c", system, ("user", PLAN)),
        line("Sum it up.", "d", system, ("user", edited)),
    )
    first, second = read_chat(path).bundle.units
    assert first.sources_after == (Source("system 1", "You write plans."), Source("context", edited))
    assert first.instruction == second.instruction == "Sum it up."
    assert second.sources_before == (Source("system 1", "You write plans."), Source("user 2", PLAN))


def test_of_several_texts_the_one_that_is_most_like_it_was_edited(tmp_path: Path) -> None:
    other = "Rain is expected in the north all week, with some sun along the coast and little wind by Sunday."
    path = log(
        tmp_path,
        line(f"Sum up:\n\n{PLAN}", "a"),
        line(f"Sum up:\n\n{other}", "b"),
        line(f"Sum up:\n\n{PLAN}!", "c"),
        line(f"Sum up:\n\n{other}!", "d"),
        line("Sum up:\n\nSomething else.", "e"),
    )
    found = read_chat(path)
    assert [unit.stale for unit in found.bundle.units] == ["a", "b"]
    assert [session.session_id for session in found.bundle.sessions] == ["line-1", "line-2"]


def test_sessions_that_are_told_apart_are_not_mixed(tmp_path: Path) -> None:
    path = log(
        tmp_path,
        line(f"Sum up:\n\n{PLAN}", "a", session="x"),
        line(f"Sum up:\n\n{PLAN}.", "b", session="y"),
        line(f"Sum up:\n\n{PLAN}!", "c", session="x"),
        line(f"Sum up:\n\n{PLAN}!", "d", session="x"),
    )
    found = read_chat(path)
    (unit,) = found.bundle.units
    assert (unit.unit_id, unit.session_id, unit.stale) == ("x/1", "x", "a")
    assert found.reasons["request that repeats an earlier one unchanged"] == 1


def test_other_shapes_of_a_line(tmp_path: Path) -> None:
    parts = [{"type": "text", "text": "Sum up:"}, {"type": "text", "text": f"\n{PLAN}."}]
    messages = [{"role": "user", "content": parts}]
    choices = {"choices": [{"message": {"content": "b"}}]}
    path = log(
        tmp_path,
        json.dumps({"messages": [{"role": "user", "content": f"Sum up:\n\n{PLAN}"}], "response": "a"}),
        json.dumps({"custom_id": "1", "body": {"messages": messages}, "response": {"body": choices}}),
    )
    (unit,) = read_chat(path).bundle.units
    assert (unit.stale, unit.reference) == ("a", Reference("b"))


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        ("{", "not JSON"),
        ("[]", "line: must be an object"),
        ('{"response": "x"}', "`messages` is missing"),
        ('{"messages": [], "response": "x"}', "no message of the user"),
        ('{"messages": [{"role": "user", "content": "One line."}], "response": "x"}', "nothing beside the"),
        ('{"messages": [{"role": "user", "content": "a\\n\\nb"}]}', "`response` is missing"),
        ('{"messages": [], "response": {"choices": []}}', "`choices` is empty"),
        (
            '{"messages": [], "response": {"choices": [{"message": {"content": null}}]}}',
            "`content` is missing",
        ),
        (
            '{"messages": [{"role": "user", "content": 7}], "response": "x"}',
            "must be a text or a list of parts",
        ),
        (
            '{"messages": [{"role": "user", "content": [{"type": "image_url"}]}], "response": "x"}',
            "message 1, part 1: is no text",
        ),
        (line(f"Sum up:\n\n{PLAN}!", id="\n"), r"unit id '\n' must be one line"),
    ],
)
def test_a_broken_line_is_named_and_skipped(broken: str, message: str, tmp_path: Path) -> None:
    path = log(tmp_path, line(f"Sum up:\n\n{PLAN}"), broken, line(f"Sum up:\n\n{PLAN}."))
    found = read_chat(path)
    assert len(found.bundle.units) == 1
    (skipped,) = found.skipped
    assert skipped.startswith(f"{path}:2: ")
    assert message in skipped
    with pytest.raises(SuiteError, match=r"log.jsonl:2: "):
        read_chat(path, strict=True)


def test_what_is_remembered_has_a_bound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chat, "_REMEMBERED", 3)
    between = (line(f"Task {number}:\n\n{PLAN}") for number in range(3))
    path = log(tmp_path, line(f"Sum up:\n\n{PLAN}"), *between, line(f"Sum up:\n\n{PLAN}!"))
    with pytest.raises(
        EmptySuite, match="no usable unit, 5 skipped because: 5 request that repeats no earlier"
    ):
        read_chat(path)


def test_a_missing_log_is_said(tmp_path: Path) -> None:
    with pytest.raises(SuiteError, match=r"gone.jsonl: cannot read the log: No such file"):
        read_chat(tmp_path / "gone.jsonl")
