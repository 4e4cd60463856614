"""What an attack rebuilt: a validated `Reconstruction` of rows, labels and what is proved of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pytest_draft.facts.certificate import Certificate
from pytest_draft.facts.status import RECONSTRUCTION_STATUSES, SolverStatus

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from pytest_draft.arrays import BoolArray, FloatArray, IntArray


@dataclass(frozen=True, eq=False, repr=False)
class Reconstruction:
    """What the attack rebuilt. Its repr shows no row."""

    status: SolverStatus
    """One of `RECONSTRUCTION_STATUSES`; `SolverStatus` says what each means."""
    rows: NDArray[np.float32] | None
    """Shape (n_rows, n_columns). Encoded feature vectors: the guess with the least expected error. Where several
    datasets are consistent, it can be their consensus, which differs from each of them.
    """
    labels: IntArray | None
    """Shape (n_rows,). Indices into the forest's classes."""
    cells: IntArray | None
    """Shape (n_rows,). The problem's cell of each row of `consistent`; with a residual, of `rows`, or of those nearest
    to them.
    """
    free: BoolArray | None
    """Shape (n_rows, n_attributes). Attributes that the row's cell leaves open, and all of a row that no tree has seen:
    filled with a guess, never recovered.
    """
    ordered: bool
    """Whether row ``i`` stands for training row ``i``."""
    residual: int | None
    """Sum of absolute differences between what the file publishes and what the reconstruction gives; with unknown
    occurrences, the rows that its leaves lack.
    """
    reproduced_trees: int | None = None
    """Trees that grow again from the reconstruction; None where that was not tried."""
    cut_short: bool = False
    """Whether the clock ended a step: with more time the reconstruction could be closer to the truth."""
    consistent: NDArray[np.float32] | None = None
    """Shape (n_rows, n_columns). A whole dataset with the stated residual, the one that statuses and certificates speak
    of.
    """
    log_posterior: float | None = None
    """With noise or unknown draws: the highest log-likelihood among the datasets that the guess was made of, and one
    standard deviation of it, which the truth's must not exceed.
    """
    log_likelihood: float | None = None
    """With noise: of `consistent`."""
    certificate: Certificate | None = None
    """What is proved of it; None where it has a residual or the occurrences are unknown."""
    proved: NDArray[np.float32] | None = None
    provable: NDArray[np.float32] | None = None
    """`proved` and `provable`, shape (n_proved, n_columns) and (n_provable, n_columns): the feature vectors that
    `certificate` proves to be in every consistent dataset, repeated as often as they are; and those that every known
    dataset has. None without a certificate.
    """
    seen: BoolArray | None = None
    """Shape (n_rows,). Rows that some tree has seen; of the others the file says nothing. None stands for all."""
    certain: BoolArray | None = None
    """Shape (n_rows, n_attributes). Values of `rows` that equations of the file alone fix, proved; None where nothing
    is proved value by value.
    """
    proved_values: Mapping[int, FloatArray] | None = None
    """Each of shape (n_values,). By column, different values that are proved to be in some training row, though not in
    which.
    """
    statistics: Mapping[str, float] = field(default_factory=dict)
    """Sizes of the problem and seconds of each stage."""

    def __post_init__(self) -> None:
        if self.status not in RECONSTRUCTION_STATUSES:
            raise ValueError(f"a reconstruction has no status {self.status!r}")
        if self.residual is not None and self.residual < 0:
            raise ValueError("a reconstruction's residual is below 0")
        n_columns = None
        for name in ("rows", "consistent", "proved", "provable"):
            table = getattr(self, name)
            if table is None:
                continue
            if table.ndim != 2:
                raise ValueError(f"a reconstruction's {name} have shape {table.shape}, not 2 dimensions")
            n_columns = table.shape[1] if n_columns is None else n_columns
            if table.shape[1] != n_columns:
                raise ValueError(f"a reconstruction's {name} have {table.shape[1]} columns, not {n_columns}")
        for name, n_dimensions in (
            ("consistent", 2),
            ("labels", 1),
            ("cells", 1),
            ("free", 2),
            ("seen", 1),
            ("certain", 2),
        ):
            self._check_rows_of(name, n_dimensions)
        if self.free is not None and self.certain is not None and self.free.shape != self.certain.shape:
            raise ValueError(
                f"a reconstruction's free and certain values have shapes {self.free.shape} and {self.certain.shape}"
            )
        for column, values in (self.proved_values or {}).items():
            if values.ndim != 1 or (n_columns is not None and not 0 <= column < n_columns):
                raise ValueError(f"a reconstruction's proved values of column {column} have shape {values.shape}")

    def _check_rows_of(self, name: str, n_dimensions: int) -> None:
        """Raise where an array does not say one thing of each rebuilt row."""
        array = getattr(self, name)
        if array is None:
            return
        if self.rows is None:
            raise ValueError(f"a reconstruction without rows has {name} of shape {array.shape}")
        if array.ndim != n_dimensions or len(array) != len(self.rows):
            raise ValueError(
                f"a reconstruction's {name} have shape {array.shape}: not {n_dimensions} dimensions and "
                f"{len(self.rows)} rows"
            )

    def __repr__(self) -> str:
        n_rows = 0 if self.rows is None else len(self.rows)
        return f"<Reconstruction: {self.status}, {n_rows} rows, residual {self.residual}>"
