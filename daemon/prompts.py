"""The one user message that a section is generated from.

Invariant: TEMPLATE_VERSION changes whenever any rendered text changes. Sources come first, so that an
edit of the draft alone keeps their prefix in the engine's cache.
"""

from daemon.sections import Section

TEMPLATE_VERSION = 1


def render_message(section: Section) -> str:
    """Sources, pinned lines, for `revise` the current draft, last the instruction."""
    blocks = [f"## {source.name}\n{source.text}" for source in section.sources]
    if section.pinned:
        blocks.append("\n".join(["## Keep these lines exactly as they are", *section.pinned]))
    if section.kind == "revise":
        blocks.append(f"## Current draft\n{section.derived or ''}")
        blocks.append(
            "The draft was edited by hand. Where it differs from the rest, the hand-made edits win."
        )
    blocks.append(section.instruction)
    return "\n\n".join(blocks)
