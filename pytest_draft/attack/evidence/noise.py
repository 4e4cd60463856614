"""How probable each released count is under the noise of a mechanism with a given `Privacy`.

A released count is a whole number: ``int(n + Y)`` or ``n + int(Y)``, where ``int`` cuts towards 0 and ``Y`` is Laplace
or Gaussian noise (DRAFT-DP, SaTML 2026, sections II-B and III, appendix C-B). Its probability given the true count
``n`` is an integral of the density over one interval, here in closed form and exact in the far tails too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.special import log_ndtr

from pytest_draft.arrays import FloatArray, IntArray
from pytest_draft.facts.privacy import Privacy, Rounding

_WIDE = 1_000.0
"""Scale above which noise is as good as continuous."""

_REACH = 30.0
"""Standard deviations of noise that are summed over."""


@dataclass(frozen=True)
class CountNoise:
    """The noise on one count."""

    density: Literal["laplace", "gaussian"]
    scale: float
    """``b`` of the Laplace distribution or the standard deviation, in rows."""
    rounding: Rounding
    """What is cut to a whole number: ``int(n + Y)``, or ``n + int(Y)``."""

    @classmethod
    def of(cls, privacy: Privacy | None) -> CountNoise:
        """Return the noise on each count of a forest that releases noisy counts."""
        if privacy is None or privacy.exact:
            raise ValueError("this forest releases exact counts")
        if privacy.mechanism == "permute-and-flip" or privacy.rounding is None:
            raise ValueError("this forest releases labels, not counts")
        return cls(privacy.mechanism, privacy.scale, privacy.rounding)

    @property
    def deviation(self) -> float:
        """The standard deviation of the noise, before it is cut."""
        return self.scale * (np.sqrt(2.0) if self.density == "laplace" else 1.0)

    def log_probability(self, released: IntArray, true: IntArray) -> FloatArray:
        """Return the log-probability of released counts given true ones; both broadcast.

        Parameters
        ----------
        released : ndarray of int64
        true : ndarray of int64
            At least 0.
        """
        return self._log_mass(released - true, released)

    def log_moments(self, true: int) -> tuple[float, float]:
        """Return the mean and the variance of the log-probability of what is released for one true count.

        Wide noise is as good as continuous: then these are those of its density.
        """
        if self.scale > _WIDE:
            if self.density == "laplace":
                return -1.0 - float(np.log(2 * self.scale)), 1.0
            return -0.5 * float(np.log(2 * np.pi * np.e * self.scale**2)), 0.5
        reach = int(np.ceil(_REACH * self.deviation)) + 2
        logs = self.log_probability(np.arange(true - reach, true + reach + 1), np.array(true))
        chance = np.exp(logs)
        mean = float(chance @ logs)
        return mean, float(chance @ (logs - mean) ** 2)

    def table(self, least: int, most: int) -> FloatArray:
        """Return the log-probability of each difference ``released - true``.

        Parameters
        ----------
        least, most : int
            The smallest and the largest difference.

        Returns
        -------
        ndarray of float64, shape (3, most - least + 1)
            For released counts below, at and above 0.
        """
        difference = np.arange(least, most + 1)
        return self._log_mass(*np.broadcast_arrays(difference, np.array([-1, 0, 1])[:, None]))

    def _log_mass(self, difference: IntArray, released: IntArray) -> FloatArray:
        """Return the log-probability of the noise that makes a difference, where something of a sign is released.

        What is cut to 0 lies between -1 and 1, anything else in an interval of width 1 on the far side from 0.
        """
        cut = released if self.rounding == "sum" else difference
        below, above = (difference - (cut <= 0)).astype(np.float64), (difference + (cut >= 0)).astype(np.float64)
        if self.density == "laplace":
            return self._log_laplace(below, above)
        # Symmetric: on the side where the tail is thin, differences of the distribution function stay exact.
        flip = below + above > 0
        low, high = np.where(flip, -above, below) / self.scale, np.where(flip, -below, above) / self.scale
        log_high = log_ndtr(high)
        result: FloatArray = log_high + np.log1p(-np.exp(np.minimum(log_ndtr(low) - log_high, -1e-300)))
        return result

    def _log_laplace(self, below: FloatArray, above: FloatArray) -> FloatArray:
        nearest = np.where(below >= 0, below, np.where(above <= 0, -above, 0.0))
        width = above - below
        beside = -nearest / self.scale - np.log(2.0) + np.log(-np.expm1(-width / self.scale))
        across = np.log(-np.expm1(-width / 2 / self.scale))  # only ever from -1 to 1
        return np.where((below < 0) & (above > 0), across, beside)
