import hashlib
import hmac
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from daemon.auth import EVERYBODY, EVERYTHING, Access, Scope, read_tokens
from daemon.errors import AccessDenied


def digest(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()


@pytest.fixture
def access(tmp_path: Path):
    def of(*lines: str) -> Access:
        path = tmp_path / "tokens"
        path.write_text("\n".join(lines))
        return read_tokens(path)

    return of


def test_a_token_covers_the_tenants_of_its_lines(access) -> None:
    tokens = access(
        "# operators",
        f"sha256:{digest('ops')} *",
        "",
        f"sha256:{digest('ada')} acme",
        f"sha256:{digest('ada').upper()}\tacme-2  \r",
        f"sha256:{digest('bo')} bolt",
    )
    assert tokens.scope(b"Bearer ada") == Scope(frozenset({"acme", "acme-2"}))
    assert tokens.scope(b"bearer  bo ") == Scope(frozenset({"bolt"}))
    assert tokens.scope(b"Bearer ops") == EVERYTHING


@pytest.mark.parametrize(
    "header",
    [None, b"", b"Bearer", b"Bearer ", b"Bearer other", b"ada", b"Basic ada", b"Bearer ada x", b"\xff"],
)
def test_without_a_token_of_ours_nobody_gets_in(access, header: bytes | None) -> None:
    with pytest.raises(AccessDenied, match="unauthorized") as caught:
        access(f"sha256:{digest('ada')} acme").scope(header)
    assert caught.value.status == 401


def test_without_tokens_everybody_may_do_everything() -> None:
    assert EVERYBODY.scope(None) == EVERYTHING
    EVERYTHING.require("anyone")


@pytest.mark.parametrize("tenant", ["acme1", "acm", "ACME", "", "*", "acme/doc"])
def test_a_scope_covers_whole_names_only(tenant: str) -> None:
    scope = Scope(frozenset({"acme"}))
    scope.require("acme")
    with pytest.raises(AccessDenied, match="forbidden_tenant") as caught:
        scope.require(tenant)
    assert caught.value.status == 403


def test_a_token_is_compared_with_every_entry_wherever_it_differs(access, monkeypatch) -> None:
    tokens = access(*(f"sha256:{digest(str(number))} t{number}" for number in range(5)))
    compared: list[bytes] = []
    real = hmac.compare_digest

    def compare(left: bytes, right: bytes) -> bool:
        compared.append(right)
        return real(left, right)

    monkeypatch.setattr("daemon.auth.hmac.compare_digest", compare)
    entries = [bytes.fromhex(digest(str(number))) for number in range(5)]
    for token in ("0", "4", "none", ""):
        compared.clear()
        try:
            tokens.scope(f"Bearer {token}".encode())
        except AccessDenied:
            assert token in {"none", ""}
        assert compared == entries


SECRET = "s3cr3t-t0k3n"


@pytest.mark.parametrize(
    ("lines", "what"),
    [
        ([f"sha256:{digest('x')} acme", SECRET], "line 2 is not `sha256:DIGEST TENANT`"),
        ([f"{SECRET} acme"], "line 1 is not"),
        ([f"sha256:{SECRET} acme"], "line 1 is not"),
        ([f"sha256:{digest('x')}"], "line 1 is not"),
        ([f"sha256:{digest('x')} acme {SECRET}"], "line 1 is not"),
        ([f"md5:{digest('x')} acme"], "line 1 is not"),
        (["", f"sha256:{digest('x')} {SECRET}/"], "line 2 names no tenant"),
        ([f"sha256:{digest('x')} .."], "line 1 names no tenant"),
        ([], "holds no token"),
        (["# sha256:nothing", "  "], "holds no token"),
    ],
)
def test_a_bad_file_is_one_line_that_tells_no_secret(access, lines: list[str], what: str) -> None:
    with pytest.raises(ValueError, match=what) as caught:
        access(*lines)
    assert SECRET not in str(caught.value)
    assert digest("x") not in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_file_that_cannot_be_read_says_why(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="cannot be read: No such file"):
        read_tokens(tmp_path / "nothing")
    (tmp_path / "binary").write_bytes(b"\xff\xfe")
    with pytest.raises(ValueError, match="is no UTF-8 text"):
        read_tokens(tmp_path / "binary")


@given(st.binary(max_size=40))
def test_no_header_breaks_the_check(header: bytes) -> None:
    with pytest.raises(AccessDenied):
        Access(((hashlib.sha256(b"ada").digest(), "acme"),)).scope(header)
