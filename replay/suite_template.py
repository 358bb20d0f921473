"""The suite that an author starts from.

Invariant: it is a suite that can be imported and has no problem, and it shows each thing that most
suites need once.
"""

TEMPLATE = '''\
#:schema suite.schema.json
# The line above lets an editor complete the keys and underline mistakes.
# Try the file with: redraft suite check FILE, then: redraft run FILE

# The name of the suite.
suite = "my-suite"

# One edit. Ask for the edited fact directly: an answer that may leave it out proves nothing.
[[units]]
id = "workshop-fee"
category = "value"            # the kind of edit; reports group by it
tags = ["announcement"]       # whatever --filter is to find
canary = true                 # the edit flips a fact: the new value is expected, the old one forbidden
instruction = "In one sentence: what does the workshop cost?"
max_tokens = 40               # the longest answer
expect_new = "35 euros"
forbid_new = "28 euros"
[units.before]                # the sources by name, as they were
announcement = """
The weaving workshop costs 28 euros and lasts three hours. Yarn is included.
"""
[units.after]                 # and as they are after the edit
announcement = """
The weaving workshop costs 35 euros and lasts three hours. Yarn is included.
"""

# Facts that need more than a text. `near` wants its values in one sentence or list item: who does what.
# An advisory fact is reported and never fails a gate.
[[units]]
id = "fair-owners"
category = "owner-swap"
canary = true
instruction = "List each task with its owner and its date."
max_tokens = 120
facts = [
  { expect = ["Bruno", "posters", { value = "2 May", matcher = "date" }], matcher = "near" },
  { forbid = ["Selma", "posters"], matcher = "near" },
  { expect = "40", matcher = "number", severity = "advisory" },
]
before = """
- Selma prints 40 posters by 2 May
- Bruno books the band by 9 May
"""
after = """
- Bruno prints 40 posters by 2 May
- Selma books the band by 9 May
"""

# A person changed the derived text: `stale` is what it was, `edited` what it became. The pinned lines must
# come back exactly. The sources stay as they are, so there is no `after`.
[[units]]
id = "greeting-by-hand"
category = "append"
kind = "revise"
instruction = "Write the invitation again."
max_tokens = 120
expect_new = "cake"
pinned = ["Please ring twice."]
stale = """
We open the garden on Sunday at three.
Please ring twice."""
edited = """
We open the garden on Sunday at three. There will be cake.
Please ring twice."""
before = """
Open garden on Sunday at three o'clock. The bell is weak.
"""

# Several edits of one session: each starts from the text that the one before left, and takes over what it
# does not give itself. Intervals count them as one piece of evidence.
[[units]]
id = "reading-room"
category = "value"
canary = true
instruction = "In one sentence: until when is the reading room open on Friday?"
max_tokens = 40
facts = [
  { expect = ["20:00", "8 pm", "8 p.m."] },
  { forbid = ["18:00", "6 pm", "6 p.m."] },
]
before = "The reading room is open until 18:00 on Friday. The lamps may be moved."
after = "The reading room is open until 20:00 on Friday. The lamps may be moved."

[[units.edits]]               # an addition that must change nothing
category = "irrelevant"
facts = [{ expect = ["20:00", "8 pm", "8 p.m."] }]
after = "The reading room is open until 20:00 on Friday. The lamps may be moved. The clock has been oiled."
'''
