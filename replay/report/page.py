"""What all HTML pages of reports share: their style and script, and how values are written into them.

Invariant: every value is escaped and shows the characters that would hide, and a browser loads and runs
nothing but the one style and the one script that the page's policy names.
"""

import re
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from importlib.resources import files

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from replay.report.figures import count, interval, percent, points, times
from replay.report.visible import visible

_MOST_NAME, _MOST_LINE = 60, 600


@dataclass(frozen=True, slots=True)
class Assets:
    """A page's only style and script, and the policy that lets a browser take no others."""

    style: Markup
    script: Markup
    policy: str


@cache
def assets() -> Assets:
    """From the files beside this module."""
    folder = files("replay.report")
    style, script = (folder.joinpath(name).read_text("utf-8") for name in ("report.css", "report.js"))
    policy = (
        f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}';"
        " base-uri 'none'; form-action 'none'"
    )
    return Assets(Markup(style), Markup(script), policy)


def render_page(template: str, values: Mapping[str, object]) -> str:
    """A page's text."""
    return _environment().get_template(template).render(values, assets=assets(), interval=interval)


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("replay", "report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=lambda value: value if isinstance(value, Markup) else _shown(value),
    )
    environment.filters |= {
        "times": times,
        "percent": percent,
        "points": points,
        "count": count,
        "breakable": _breakable,
        "brief": lambda text: _cut(text, _MOST_NAME),
        "cut": lambda text: _cut(text, _MOST_LINE),
        "length_of": lambda marked: sum(len(piece.text) for piece in marked),
    }
    return environment


def _shown(value: object) -> object:
    return visible(value) if isinstance(value, str) else value


def _breakable(arm: str) -> Markup:
    """An arm's name, to be broken after a colon or a comma where it does not fit."""
    return Markup("<wbr>").join(re.split(r"(?<=[:,])", visible(arm)))


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[:most]}…"


def _hash(text: str) -> str:
    return f"sha256-{b64encode(sha256(text.encode()).digest()).decode()}"
