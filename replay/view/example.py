"""The race that the page begins with: a small edit of one value."""

from replay.view.race_values import RaceRequest, RaceSource

_BEFORE = """\
Minutes, 4 March. Present: Ava, Leo, Mina.

The launch moves to Friday, 20 March. Ava writes the
announcement and sends it to all customers. The price is
49 euros a month. Leo checks the payment page on Thursday.
Mina trains the support team, which answers questions from
Monday to Saturday. The old version stays online for thirty days.
"""

EXAMPLE = RaceRequest(
    instruction="List what was decided, one line per point.",
    sources=[
        RaceSource(name="minutes", before=_BEFORE, after=_BEFORE.replace("49 euros", "59 euros")),
    ],
)
