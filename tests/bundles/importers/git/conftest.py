"""Repositories made by `git fast-import`: any bytes, any number of commits, no clock and no user settings."""

import random
import re
import subprocess
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

import pytest

# Paths to contents as of a commit; None removes the path. A tuple is (mode, content).
Files = Mapping[bytes, "bytes | tuple[bytes, bytes] | None"]
MakeRepository = Callable[..., Path]

START = 1_700_000_000  # 2023-11-14T22:13:20Z, and an hour more for each commit


def stream_of(commits: Iterable[Files]) -> Iterator[bytes]:
    """What `git fast-import` reads to make these commits, one after the other."""
    for number, files in enumerate(commits, 1):
        when = START + number * 3600
        yield b"commit refs/heads/main\nmark :%d\n" % number
        yield b"author A <a@x> %d +0000\ncommitter A <a@x> %d +0000\ndata 1\nc" % (when, when)
        yield b"\n" if number == 1 else b"\nfrom :%d\n" % (number - 1)
        for path, content in files.items():
            name = b'"%s"' % path.replace(b"\\", b"\\\\").replace(b'"', b'\\"').replace(b"\n", b"\\n")
            if content is None:
                yield b"D " + name + b"\n"
                continue
            mode, data = (b"100644", content) if isinstance(content, bytes) else content
            if mode == b"160000":
                yield b"M 160000 %s %s\n" % (data, name)
            else:
                yield b"M %s inline %s\ndata %d\n%s\n" % (mode, name, len(data), data)


@pytest.fixture
def make_repository(tmp_path: Path) -> MakeRepository:
    """Makes a repository of commits, each the files that it changes."""

    def make(*commits: Files, name: str = "guides", bare: bool = False) -> Path:
        path = tmp_path / name
        subprocess.run(
            ["git", "init", "--quiet", "-b", "main", *(["--bare"] if bare else []), path], check=True
        )
        with subprocess.Popen(
            ["git", "-C", path, "fast-import", "--quiet"], stdin=subprocess.PIPE
        ) as process:
            assert process.stdin is not None
            process.stdin.writelines(stream_of(commits))
        assert process.returncode == 0
        return path

    return make


WORDS = tuple(
    re.findall(
        r"\w+",
        "the service reads its settings from this file and writes what it finds into the log so that a reader"
        " can see later which of them was used when a request took longer than it should have on that day",
    )
)


def edited_documents(commits: int, *, seed: int, count: int = 5, sections: int = 4) -> Iterator[Files]:
    """Commits that each edit one section of one document: a value, a name, a word, more or less text."""
    random_ = random.Random(seed)

    def section(title: str) -> list[str]:
        prose = " ".join(random_.choice(WORDS) for _ in range(40))
        return [
            f"## {title}",
            "",
            f"Set `limit_{random_.randrange(10**6)}` to {random_.randrange(100, 10**6)} requests. {prose}.",
        ]

    state = {
        b"docs/guide-%d.md" % number: [section(f"Part {part}") for part in range(sections)]
        for number in range(count)
    }
    content = dict.fromkeys(state, b"# Guide\n\n")

    def text(path: bytes) -> bytes:
        return content[path] + "\n\n".join("\n".join(lines) for lines in state[path]).encode() + b"\n"

    yield {path: text(path) for path in state}
    for _ in range(commits - 1):
        path = random_.choice(list(state))
        lines = random_.choice(state[path])
        words = lines[2].split(" ")
        match random_.randrange(6):
            case 0 | 1:
                words[3] = str(random_.randrange(100, 10**6))
            case 2:
                words[1] = f"`{random_.choice(WORDS)}_{random_.choice(WORDS)}`"
            case 3:
                words[random_.randrange(5, len(words))] = random_.choice(WORDS)
            case 4 if len(words) > 60:
                del words[-20:]
            case _:
                words += [random_.choice(WORDS) for _ in range(12)]
        lines[2] = " ".join(words)
        yield {path: text(path)}


@pytest.fixture(name="documents")
def documents_() -> Callable[..., Iterator[Files]]:
    return edited_documents
