"""One judgement, end to end: one flow, and a file for each kind of attack.

`flow` reads (`inputs`, `settled_domain`), audits once (`audit`), lets `kinds` choose an attack (`counted`, `numeric`,
`private`: each an `attack.Attack`), and measures what it rebuilt (`evaluation`). What is known so far is in a
`record.FlowRecord`, and its time in `limits.Limits`. A new kind of model adds an implementation of `Attack` and a line
in `kinds`, and touches nothing else.
"""
