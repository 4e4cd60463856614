"""In how many ways draws can hit the rows of a leaf, in whole numbers: an oracle for likelihoods of counts."""

from __future__ import annotations

import math
from functools import cache
from itertools import product


@cache
def stirling(n, d):
    """Return the exact Stirling number of the second kind, by its recurrence."""
    if n == 0 or d == 0:
        return int(n == d)
    return d * stirling(n - 1, d) + stirling(n - 1, d - 1)


@cache
def ways(rows, counts, distinct):
    """Return in how many ways draws in a given order of leaves and classes hit so many rows of one leaf."""
    if distinct < 0:
        return math.prod(s**n for s, n in zip(rows, counts, strict=True))
    found = 0
    for shares in product(*(range(n + 1) for n in counts)):
        if sum(shares) == distinct:
            terms = zip(rows, counts, shares, strict=True)
            found += math.prod(stirling(n, d) * math.perm(s, d) for s, n, d in terms)
    return found


def left_out(counts, distinct):
    """Return the factor by leaf that no dataset changes and that `LeafDraws` leaves out."""
    return math.prod(
        stirling(int(sum(n)), int(d)) if sum(one > 0 for one in n) == 1 and d >= 0 else 1
        for n, d in zip(counts, distinct, strict=True)
    )


@cache
def leaf_value(rows, counts, distinct):
    """Return a leaf's log-likelihood without its constant factors."""
    number = ways(rows, counts, distinct)
    return math.log(number // left_out([counts], [distinct])) if number else -math.inf
