from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from judge.claim_cache import ReplyCache

KEY = "ab" + "0" * 62


def test_a_reply_is_there_for_the_next_process(tmp_path: Path) -> None:
    ReplyCache(tmp_path / "replies").put(KEY, '{"a": "é 🧂"}')
    assert ReplyCache(tmp_path / "replies").get(KEY) == '{"a": "é 🧂"}'


def test_an_unknown_key_has_none(tmp_path: Path) -> None:
    assert ReplyCache(tmp_path).get(KEY) is None
    assert list(tmp_path.iterdir()) == []


def test_many_writers_of_one_key_leave_one_whole_file(tmp_path: Path) -> None:
    cache = ReplyCache(tmp_path)
    texts = [str(number) * 10_000 for number in range(8)]
    with ThreadPoolExecutor() as pool:
        list(pool.map(lambda text: cache.put(KEY, text), texts))
    assert cache.get(KEY) in texts
    assert len([path for path in tmp_path.rglob("*") if path.is_file()]) == 1


def test_bytes_that_are_no_text_do_no_harm(tmp_path: Path) -> None:
    cache = ReplyCache(tmp_path)
    cache.put(KEY, "good")
    (file,) = (path for path in tmp_path.rglob("*") if path.is_file())
    file.write_bytes(b"\xff\xfe{")
    assert cache.get(KEY) != "good"
