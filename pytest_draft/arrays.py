"""Names for the types of arrays in this package."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

IntArray = NDArray[np.int64]
"""Numbers of rows, positions, and indices of values and classes."""

Int32Array = NDArray[np.int32]
"""Like `IntArray`, where there are so many that memory counts."""

BoolArray = NDArray[np.bool_]
"""Masks."""

FloatArray = NDArray[np.float64]
"""Weights, probabilities and logarithms of them."""

Rows = NDArray[np.float32]
"""Feature vectors as a forest compares them: encoded, shape (n_rows, n_columns) unless something else is said."""

Flag = NDArray[np.uint8]
"""One number that compiled code looks at: other than 0 when it shall stop."""

AnyArray = NDArray[Any]
"""Arrays whose kind is looked at where they are used, as those that a file holds."""
