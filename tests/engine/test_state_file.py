import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine.errors import InvalidRequest
from engine.fake_model import FakeModel
from engine.state_file import SlotState, read, read_tokens, write

FACTS = FakeModel().facts
STATE = SlotState((5, 461, 0), b"what the model remembers")


def test_a_state_comes_back_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "slot.state"
    size = write(path, STATE, FACTS)
    state, read_bytes = read(path, FACTS)
    assert (list(state.tokens), state.data) == (list(STATE.tokens), STATE.data)
    assert size == read_bytes == path.stat().st_size
    assert read_tokens(path, FACTS) == list(STATE.tokens)
    assert path.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize(
    ("name", "value"), [("fingerprint", "other"), ("kv_type", "f16"), ("build_info", "llama-cpp-python 9")]
)
def test_another_engines_state_is_refused(name: str, value: str, tmp_path: Path) -> None:
    write(tmp_path / "slot.state", STATE, FACTS)
    with pytest.raises(InvalidRequest, match=f"^the state is not of this engine: .*{value}"):
        read(tmp_path / "slot.state", FACTS._replace(**{name: value}))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_any_damage_is_refused(data: st.DataObject, tmp_path: Path) -> None:
    path = tmp_path / "slot.state"
    write(path, STATE, FACTS)
    whole = path.read_bytes()
    place = data.draw(st.integers(0, len(whole) - 1))
    byte = data.draw(st.integers(0, 255).filter(lambda it: it != whole[place]))
    damaged = data.draw(
        st.sampled_from([whole[:place], whole + b"x", whole[:place] + bytes([byte]) + whole[place + 1 :]])
    )
    path.write_bytes(damaged)
    with pytest.raises(InvalidRequest, match=r"^the (file|state) "):
        read(path, FACTS)


def test_a_file_that_cannot_be_written_leaves_the_old_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "slot.state"
    write(path, STATE, FACTS)

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(OSError, match="No space left"):
        write(path, SlotState((1,), b"other"), FACTS)
    assert read(path, FACTS)[0].data == STATE.data
    assert list(tmp_path.iterdir()) == [path]
