"""All results of papers: in goes nothing, out come the `PaperResult`s by name."""

from __future__ import annotations

from studies.papers import (
    icml_example,
    icml_forests,
    icml_milp,
    icml_occurrences,
    icml_partial,
    icml_scalability,
)
from studies.papers.result import PaperResult

_MODULES = (icml_example, icml_forests, icml_milp, icml_occurrences, icml_scalability, icml_partial)

RESULTS: dict[str, PaperResult] = {module.RESULT.name: module.RESULT for module in _MODULES}
"""By name, in the order of the papers."""
