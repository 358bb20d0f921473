from daemon.prompts import TEMPLATE_VERSION, render_message
from daemon.sections import Section
from daemon.wire import Edit, EditsRequest, OpenRequest, Source


def section(**fields: object) -> Section:
    sources = [Source(name="price.md", text="It costs 3.\n"), Source(name="terms", text="Net 30.")]
    return Section.opened("t/d/s", OpenRequest(**{"instruction": "Sum up.", "sources": sources, **fields}))


def revised(start: Section) -> Section:
    return start.changed(EditsRequest(edits=[Edit(target="derived", start=0, end=1, lines=["It costs 4."])]))


REDERIVE = """## price.md
It costs 3.


## terms
Net 30.

Sum up."""

REVISE = """## price.md
It costs 3.


## terms
Net 30.

## Keep these lines exactly as they are
Net 30.
Signed.

## Current draft
It costs 4.

The draft was edited by hand. Where it differs from the rest, the hand-made edits win.

Sum up."""


def test_the_rendered_text_belongs_to_its_version() -> None:
    """Whoever changes one of these texts raises TEMPLATE_VERSION."""
    assert TEMPLATE_VERSION == 1
    assert render_message(section(derived="old")) == REDERIVE
    assert render_message(revised(section(derived="old", pinned=["Net 30.", "Signed."]))) == REVISE


def test_a_draft_only_edit_keeps_the_sources_as_prefix() -> None:
    sources = "## price.md\nIt costs 3.\n\n\n## terms\nNet 30.\n\n"
    assert render_message(section(derived="old")).startswith(sources)
    assert render_message(revised(section(derived="old"))).startswith(sources)


def test_no_sources_leave_the_instruction_alone() -> None:
    assert render_message(section(sources=[])) == "Sum up."
