import pytest
from hypothesis import given
from hypothesis import strategies as st

from bundles.importers.git.sections import DocumentKind, document_kind, sections_of

MARKDOWN = """---
title: settings of a site
---
Intro
# Guide
text
```
# not a heading
```
## Setup ##
x
Also
---
> # quoted
- # listed

    # indented code

## Setup
y
### Setup
z
"""
RST = """=====
Guide
=====

Intro::

  Code
  ----

Setup
-----
text

Too long a title
---

Other
-----
==== ====
a    b
==== ====

a paragraph
goes on
-------
"""
TEXT = """Some prose
of two lines.

INSTALL

do it.

1. First steps

foo

1.2 Second

2. ends like a sentence.

Guide
=====
x
"""


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("README.md", "markdown"),
        ("a.b/X.MARKDOWN", "markdown"),
        ("x.rst", "rst"),
        ("a.md/notes", "text"),
        ("notes.txt", "text"),
        (".md", "markdown"),
    ],
)
def test_the_name_says_how_headings_are_written(path: str, kind: str) -> None:
    assert document_kind(path) == kind


def test_headings_of_markdown() -> None:
    sections = sections_of(MARKDOWN, "markdown")
    assert [section.key for section in sections] == [
        (),
        ("Guide",),
        ("Guide", "Setup"),
        ("Guide", "x Also"),
        ("Guide", "Setup", "(2)"),
        ("Guide", "Setup", "Setup"),
    ]
    assert sections[0].text == "---\ntitle: settings of a site\n---\nIntro"
    assert sections[1].text == "# Guide\ntext\n```\n# not a heading\n```"
    assert sections[3].text.endswith("    # indented code")


def test_headings_of_restructured_text() -> None:
    sections = sections_of(RST, "rst")
    assert [section.key for section in sections] == [("Guide",), ("Guide", "Setup"), ("Guide", "Other")]
    assert sections[0].text.endswith("  Code\n  ----")
    assert sections[1].text.endswith("Too long a title\n---")
    assert sections[2].text.endswith("goes on\n-------")


def test_headings_of_plain_text() -> None:
    keys = [section.key for section in sections_of(TEXT, "text")]
    assert keys == [(), ("INSTALL",), ("1. First steps",), ("1. First steps", "1.2 Second"), ("Guide",)]


def test_line_ends_of_any_kind_are_the_same() -> None:
    assert sections_of(MARKDOWN.replace("\n", "\r\n"), "markdown") == sections_of(MARKDOWN, "markdown")


@given(
    text=st.text(st.sampled_from("#=-`>\n\r a1A.:\0\u2028\ufeff")) | st.text(),
    kind=st.sampled_from(["markdown", "rst", "text"]),
)
def test_sections_hold_all_lines_under_keys_of_their_own(text: str, kind: DocumentKind) -> None:
    sections = sections_of(text, kind)
    assert len({section.key for section in sections}) == len(sections)
    together = "".join("".join(section.text.split()) for section in sections)
    assert together == "".join(text.split())
