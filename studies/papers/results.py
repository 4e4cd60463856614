"""All results of papers: in goes nothing, out come the `PaperResult`s by name."""

from __future__ import annotations

from studies.papers import (
    dp_figures,
    dp_rows,
    dp_tables,
    icml_example,
    icml_forests,
    icml_milp,
    icml_occurrences,
    icml_partial,
    icml_scalability,
    probabilistic,
)
from studies.papers.result import PaperResult

_MODULES = (icml_example, icml_forests, icml_milp, icml_occurrences, icml_scalability, icml_partial, probabilistic)
_DP = (*dp_tables.RESULTS, *dp_rows.RESULTS, *dp_figures.RESULTS)

RESULTS: dict[str, PaperResult] = {result.name: result for result in (*(one.RESULT for one in _MODULES), *_DP)}
"""By name, in the order of the papers."""
