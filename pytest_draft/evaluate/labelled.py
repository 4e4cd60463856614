"""Figures with the label as one more attribute.

The label is no attribute, and all figures leave it out. But to people whose features are known it can be what matters.
So the figures on all rows are also taken with the label as one more attribute (`Labelled`), for policies that ask.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from pytest_draft.arrays import IntArray
from pytest_draft.evaluate.compared import Compared
from pytest_draft.facts.findings import WITH_LABELS, Labelled


def labelled_figures(compared: Compared, labels: IntArray, n_classes: int | None) -> Labelled | None:
    """Return the figures with the label as one more attribute; None where there is none, or none was rebuilt.

    Parameters
    ----------
    labels : ndarray of int64, shape (n_training_rows,)
    """
    if compared.labels is None or n_classes is None or n_classes < 2:
        return None
    columns = np.eye(n_classes, dtype=np.float32)
    part = replace(
        compared,
        on=WITH_LABELS,
        rows=np.hstack([compared.rows, columns[labels]]),
        rebuilt=np.hstack([compared.rebuilt, columns[compared.labels]]),
        n_classes=n_classes,
    )
    without, commonest = compared.perfect.rows, labels == np.bincount(labels).argmax()
    return Labelled(part.figures(), len(without), int(commonest[compared.unknown[without]].sum()))
