"""The order of mutants: in goes a number of a run, out come the target and the number that its mutant has there."""

from __future__ import annotations

from collections.abc import Sequence

SHARES = {
    "pickles": 10,
    "trees": 10,
    "pipelines": 2,
    "skops": 2,
    "onnx": 5,
    "rules": 4,
    **dict.fromkeys(
        (
            *("xgboost-json", "xgboost-ubj", "xgboost-pickled", "lightgbm", "lightgbm-pickled"),
            *("catboost-json", "catboost-cbm", "catboost-pickled", "histograms", "gradients", "boosted-skops"),
        ),
        2,
    ),
    "policy": 2,
    "domain": 2,
    "csv": 1,
    "npz": 2,
    "parquet": 1,
    "report": 1,
}
"""How many mutants of each target are in a round: most of what a stranger may supply."""

SECONDS = 2.0
"""Processor time that reading one mutant may take."""


def drawn(number: int, names: Sequence[str]) -> tuple[str, int]:
    """Return the target of a mutant, and its number there.

    Parameters
    ----------
    number : int
        From 0.
    names : sequence of str
        Of the targets.
    """
    turns, at = divmod(number, sum(SHARES[name] for name in names))
    for name in names:
        if at < SHARES[name]:
            return name, turns * SHARES[name] + at
        at -= SHARES[name]
    raise AssertionError
