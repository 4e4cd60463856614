"""What a row can be: a frozen `Domain`, inferred from column values or declared in a file.

A domain is knowledge that the adversary is granted (DRAFT, ICML 2024, section 2: the domains of the
attributes and their one-hot groups). When it is inferred from the training data, it grants the adversary each
column's code book, the values that occur: what a column's codes are is no secret of anybody, and whether yes and no
are written as 0 and 1 or as 0 and 30 must not change a judgement. `Domain.granted` says what was taken from the data.
"""

from pytest_draft.domain.attribute import MAX_ORDINAL_VALUES, MAX_WHOLE, MISSING_SHARE, Attribute, Kind, nearest
from pytest_draft.domain.declaration import declared
from pytest_draft.domain.domain import Domain
from pytest_draft.domain.inference import infer

__all__ = [
    "MAX_ORDINAL_VALUES",
    "MAX_WHOLE",
    "MISSING_SHARE",
    "Attribute",
    "Domain",
    "Kind",
    "declared",
    "infer",
    "nearest",
]
