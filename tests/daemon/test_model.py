"""Sections, revisions and tenants over the ASGI application, against a model a page long."""

import asyncio
import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import pytest
from fastapi import FastAPI
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

TOKENS = {"ada": {"t"}, "eve": {"u"}, "all": {"t", "u", "v"}, "nobody": set()}
MOST, MOST_PER_TENANT = 5, 3
IDS = [f"{tenant}/{rest}" for tenant in "tuv" for rest in ("doc-1/s", "doc-10/s", "doc-1/r")]
PREFIXES = ["t/", "t/doc-1/", "u/doc-1/", "v/doc-10/"]
ANY_TOKEN = st.sampled_from(["all"] * 6 + list(TOKENS))
PICK = st.integers(0, 59)
LINES = st.lists(st.sampled_from(["a", "b\u2028", "🧂", ""]), max_size=3)
EDITS = st.lists(
    st.builds(
        lambda target, start, size, lines: {
            **{"target": target, "start": start, "end": start + size, "lines": lines},
            **({"source": "doc"} if target == "source" else {}),
        },
        st.sampled_from(["source", "derived"]),
        st.integers(0, 3),
        st.integers(0, 2),
        LINES,
    ),
    max_size=2,
)


@dataclass(frozen=True)
class Section:
    """What the model knows of one."""

    revision: int
    source: list[str]
    derived: list[str] | None
    edited: bool = False

    def after(self, edits: list[dict[str, Any]]) -> "Section | None":
        """None where a range is not there."""
        source, derived, edited = list(self.source), list(self.derived or [""]), self.edited
        written = self.derived is not None
        for edit in edits:
            lines = source if edit["target"] == "source" else derived
            if edit["end"] > len(lines):
                return None
            lines[edit["start"] : edit["end"]] = edit["lines"]
            lines[:] = lines or [""]
            if edit["target"] == "derived":
                edited = written = True
        return replace(
            self,
            revision=self.revision + 1,
            source=source,
            derived=derived if written else None,
            edited=edited,
        )

    def prompt(self) -> str:
        """What the scripted engine answers."""
        blocks = ["## doc\n" + "\n".join(self.source)]
        if self.edited:
            blocks.append("## Current draft\n" + "\n".join(self.derived or [""]))
            blocks.append(
                "The draft was edited by hand. Where it differs from the rest, the hand-made edits win."
            )
        return "<user>" + "\n\n".join([*blocks, "Sum up."]) + "<assistant>"


async def ask(app: FastAPI, token: str, method: str, path: str, body: object) -> tuple[int, bytes]:
    """One request, without a client's own work."""
    path, _, query = path.partition("?")
    messages = [{"type": "http.request", "body": b"" if body is None else json.dumps(body).encode()}]
    sent: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        return messages.pop() if messages else await asyncio.get_running_loop().create_future()

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    headers = [(b"authorization", f"Bearer {token}".encode()), (b"content-type", b"application/json")]
    scope = {"type": "http", "method": method, "path": path, "query_string": query.encode()}
    await app({**scope, "headers": headers, "root_path": "", "scheme": "http"}, receive, send)
    return sent[0]["status"], b"".join(message.get("body", b"") for message in sent)


@pytest.fixture
def start_app(make_app, tmp_path):
    lines = [("ada", "t"), ("eve", "u"), ("all", "*")]
    digests = [f"sha256:{hashlib.sha256(token.encode()).hexdigest()} {it}" for token, it in lines]
    (tmp_path / "tokens").write_text("\n".join(digests))
    config = {
        "tokens_file": tmp_path / "tokens",
        "max_sessions": MOST,
        "max_tenant_sessions": MOST_PER_TENANT,
    }
    return lambda: make_app(config, answer="{prompt}")


def test_the_daemon_does_what_the_model_does(start_app) -> None:
    class Machine(RuleBasedStateMachine):
        def __init__(self) -> None:
            super().__init__()
            self.app = start_app()
            self.runner = asyncio.Runner()
            self.sections: dict[str, Section] = {}  # longest unused first

        @initialize(picks=st.sets(PICK, min_size=5))
        def start(self, picks: set[int]) -> None:
            for pick in sorted(picks):
                self.open("all", pick, ["a", "b"], None)

        def teardown(self) -> None:
            self.runner.close()

        def call(self, token: str, method: str, path: str, body: object = None) -> tuple[int, Any]:
            status, answer = self.runner.run(ask(self.app, token, method, f"/v1/sessions{path}", body))
            return status, answer if answer.startswith(b"event") else json.loads(answer)

        def picked(self, pick: int) -> str:
            """Mostly one that is there."""
            known = list(self.sections) if pick < 50 else []
            return (known or IDS)[pick % len(known or IDS)]

        def base(self, pick: int, off: int | None) -> int | None:
            section = self.sections.get(self.picked(pick))
            return None if off is None else off + (section.revision if section else 0)

        def refused(self, token: str, session_id: str, status: int) -> bool:
            """Whether the token does not cover the section, or there is none; then as which it must be
            answered."""
            tenant = session_id.split("/")[0]
            expected = 401 if token == "nobody" else 403 if tenant not in TOKENS[token] else 404
            if expected == 404 and session_id in self.sections:
                self.sections[session_id] = self.sections.pop(session_id)
                return False
            assert status == expected
            return True

        @rule(token=ANY_TOKEN, pick=PICK, source=LINES, derived=st.none() | LINES)
        def open(self, token: str, pick: int, source: list[str], derived: list[str] | None) -> None:
            session_id = IDS[pick % len(IDS)]
            source, derived = source or [""], derived if derived is None else derived or [""]
            body = {"instruction": "Sum up.", "sources": [{"name": "doc", "text": "\n".join(source)}]}
            given = {} if derived is None else {"derived": "\n".join(derived)}
            status, answer = self.call(token, "PUT", f"/{session_id}", {**body, **given})
            if token == "nobody" or session_id.split("/")[0] not in TOKENS[token]:
                assert status == (401 if token == "nobody" else 403)
                return
            previous = self.sections.pop(session_id, None)
            revision = previous.revision + 1 if previous else 1
            self.sections[session_id] = Section(revision, source, derived)
            if previous is None:
                tenant = session_id.partition("/")[0]
                own = [other for other in self.sections if other.split("/")[0] == tenant]
                for among, most in ((own, MOST_PER_TENANT), (list(self.sections), MOST)):
                    for other in among[: max(0, len(among) - most)]:
                        self.sections.pop(other, None)
            assert (status, answer["revision"]) == (200, revision)

        @rule(
            token=ANY_TOKEN,
            pick=PICK,
            edits=EDITS,
            off=st.sampled_from([None, 0, 0, 1]),
        )
        def edit(self, token: str, pick: int, edits: list, off: int | None) -> None:
            session_id, base = self.picked(pick), self.base(pick, off)
            body = {"edits": edits} | ({} if base is None else {"base_revision": base})
            status, answer = self.call(token, "POST", f"/{session_id}/edits", body)
            if after := self.changed(token, session_id, edits, base, status):
                self.sections[session_id] = after
                assert answer["revision"] == after.revision

        @rule(
            token=ANY_TOKEN,
            pick=PICK,
            edits=EDITS,
            off=st.sampled_from([None, 0, 0, 1]),
        )
        def refresh(self, token: str, pick: int, edits: list, off: int | None) -> None:
            session_id, base = self.picked(pick), self.base(pick, off)
            body = {"edits": edits} | ({} if base is None else {"base_revision": base})
            status, answer = self.call(token, "POST", f"/{session_id}/refresh", body)
            if after := self.changed(token, session_id, edits, base, status):
                text = after.prompt()
                self.sections[session_id] = replace(after, derived=text.split("\n"), edited=False)
                assert answer.count(b"event: open\n") == answer.count(b"event: done\n") == 1
                deltas = [
                    json.loads(block.split(b"data: ")[1])
                    for block in answer.split(b"\n\n")
                    if b"delta" in block
                ]
                assert "".join(delta["text"] for delta in deltas) == text

        def changed(
            self, token: str, session_id: str, edits: list, base: int | None, status: int
        ) -> Section | None:
            """The section after the edits; None for a refusal, which is as it must be."""
            if self.refused(token, session_id, status):
                return None
            section = self.sections[session_id]
            after = section.after(edits)
            expected = 409 if base not in {None, section.revision} else 422 if after is None else 200
            assert status == expected
            return after if status == 200 else None

        @rule(token=ANY_TOKEN, pick=PICK)
        def get(self, token: str, pick: int) -> None:
            session_id = self.picked(pick)
            status, answer = self.call(token, "GET", f"/{session_id}")
            if not self.refused(token, session_id, status):
                section = self.sections[session_id]
                assert answer["revision"] == section.revision
                assert answer["sources"] == [{"name": "doc", "text": "\n".join(section.source)}]
                assert answer["derived"] == (None if section.derived is None else "\n".join(section.derived))

        @precondition(lambda self: len(self.sections) > 3)
        @rule(token=ANY_TOKEN, pick=PICK)
        def delete(self, token: str, pick: int) -> None:
            session_id = IDS[pick % len(IDS)]
            self.deleted(token, session_id, f"/{session_id}", lambda it: it == session_id)

        @precondition(lambda self: len(self.sections) > 3)
        @rule(token=ANY_TOKEN, prefix=st.sampled_from(PREFIXES))
        def delete_under(self, token: str, prefix: str) -> None:
            self.deleted(token, prefix, f"?prefix={prefix}", lambda it: it.startswith(prefix))

        def deleted(self, token: str, where: str, path: str, is_gone: Callable[[str], bool]) -> None:
            status, answer = self.call(token, "DELETE", path)
            if token == "nobody" or where.split("/")[0] not in TOKENS[token]:
                assert status == (401 if token == "nobody" else 403)
                return
            gone = [session_id for session_id in self.sections if is_gone(session_id)]
            for session_id in gone:
                del self.sections[session_id]
            assert (status, answer["deleted"]) == (200, len(gone))

        @invariant()
        def same_sections(self) -> None:
            table = self.app.state.service.table
            assert table.under("") == list(self.sections)

    run_state_machine_as_test(Machine, settings=settings(max_examples=50, stateful_step_count=40))
