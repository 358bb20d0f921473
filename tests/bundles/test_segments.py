import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bundles.segments import (
    HEADER_BYTES,
    LOST,
    RECORD,
    Damage,
    Frame,
    Header,
    decode_header,
    encode_header,
    encode_lost,
    encode_record,
    scan,
)

ID = b"j" * 16


def frames(data: bytes) -> list[tuple[int, int, bytes]]:
    return [(f.kind, f.sequence, f.payload) for f in scan(data, ID) if isinstance(f, Frame)]


@given(payloads=st.lists(st.binary(max_size=40), max_size=5), first=st.integers(1, 2**60))
def test_what_was_written_is_read(payloads: list[bytes], first: int) -> None:
    data = encode_header(ID, first) + b"".join(
        encode_record(ID, sequence, payload) for sequence, payload in enumerate(payloads, first)
    )
    assert decode_header(data) == Header(1, ID, first)
    pieces = list(scan(data, ID))
    assert frames(data) == [(RECORD, first + place, payload) for place, payload in enumerate(payloads)]
    assert [piece.start for piece in pieces] == [HEADER_BYTES, *(piece.end for piece in pieces)][:-1]


def test_a_notice_says_what_it_stands_for() -> None:
    (frame,) = scan(encode_header(ID, 5) + encode_lost(ID, 5, 8), ID)
    assert isinstance(frame, Frame)
    assert (frame.kind, frame.sequence, frame.last) == (LOST, 5, 8)


@settings(max_examples=200)
@given(data=st.data(), place=st.integers(0, 10**6), flip=st.integers(1, 255))
def test_a_flipped_byte_costs_one_frame_and_never_changes_one(
    data: st.DataObject, place: int, flip: int
) -> None:
    payloads = data.draw(st.lists(st.binary(max_size=12), min_size=1, max_size=4))
    whole = encode_header(ID, 1) + b"".join(
        encode_record(ID, sequence, payload) for sequence, payload in enumerate(payloads, 1)
    )
    place %= len(whole)
    damaged = whole[:place] + bytes([whole[place] ^ flip]) + whole[place + 1 :]
    if place < HEADER_BYTES:
        assert decode_header(damaged) is None
        assert frames(damaged) == frames(whole)
    else:
        assert len(frames(damaged)) == len(payloads) - 1
        assert set(frames(damaged)) <= set(frames(whole))
        assert sum(isinstance(piece, Damage) for piece in scan(damaged, ID)) == 1


def test_another_journals_frame_is_no_frame_not_even_inside_a_damaged_one() -> None:
    foreign = encode_record(b"k" * 16, 2, b"theirs")
    data = encode_header(ID, 1) + encode_record(ID, 1, foreign)
    assert list(scan(data[:-1], ID)) == [Damage(HEADER_BYTES, len(data) - 1)]


@pytest.mark.parametrize("length", [0, 1, HEADER_BYTES - 1])
def test_a_cut_header_is_none(length: int) -> None:
    assert decode_header(encode_header(ID, 1)[:length]) is None
