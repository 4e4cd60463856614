"""One judgement, end to end: one flow, and a file for each kind of attack."""
