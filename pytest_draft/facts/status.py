"""How an examination ended: the statuses, in one word or two."""

from __future__ import annotations

from typing import Literal, get_args

SolverStatus = Literal[
    "unique",
    "consistent",
    "optimal",
    "likeliest",
    "not converged",
    "infeasible",
    "no solution",
    "not asked",
    "refused",
    "not covered",
    "no data",
    "out of memory",
    "error",
    "killed",
    "overran",
    "no answer",
]
"""The status of a reconstruction, or why there is none.

Of a reconstruction:

- ``unique``: residual 0, and proved that the domain allows no other dataset with residual 0;
- ``consistent``: residual 0;
- ``optimal``, in reports of earlier versions: counts noisy, and proved that no dataset of the domain is likelier;
- ``likeliest``: occurrences unknown or counts noisy, and no likelier dataset was found;
- ``not converged``: a dataset with a residual;
- ``infeasible``: proved that no dataset of the domain has residual 0;
- ``no solution``: the time was out before there was one.

Of an examination without one:

- ``not asked``: no attack was run, as the policy asks for none or the verdict was certain before;
- ``refused``: the model file, the data or an option cannot be used;
- ``not covered``: the attack does not cover the forest or the domain;
- ``no data``: nothing was examined yet;
- ``out of memory``, ``error``: the attack ended so.

Of an examination in a process of its own:

- ``killed``: by a signal;
- ``overran``: the time box was over and the process did not end;
- ``no answer``: the process ended, or did not begin, without an answer.
"""

SOLVER_STATUSES: tuple[SolverStatus, ...] = get_args(SolverStatus)
"""All statuses, as the JSON report's schema lists them."""

RECONSTRUCTION_STATUSES: tuple[SolverStatus, ...] = SOLVER_STATUSES[:7]
"""The statuses that a reconstruction can have."""
