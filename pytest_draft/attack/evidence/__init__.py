"""What a file says of its rows, one file for each kind of evidence, which registers itself with `evidence_of`."""

from pytest_draft.attack.evidence import answers as answers
