"""Public functions of a row's numbers whose sums over rows give the moments of columns.

A number is first scaled to t in [0, 1] by its column's public bounds. The Bernstein polynomials of
degree d, b_j(t) = C(d, j) t^j (1 - t)^(d - j), are not negative and sum to 1. So a row that is
added changes the vector of their sums by 1 in the L1 norm, and by at most 1 in the L2 norm: no more
than it changes a marginal. And t^i is the sum over j of C(j, i) / C(d, i) b_j(t). So one noisy
vector gives the number of rows and all moments up to degree d, each as a sum with weights in [0,
1]. Of two columns the functions are the products b_j(t) b_k(u), which also sum to 1.

Where the number of rows is public (`rows_public`: relation replace, one group, no missing cells),
fewer functions do for the mean and the variance: t and t (1 - t). For two rows t and x their sums
change by |t - x| (1 + |1 - t - x|) in the L1 norm, which is at most 1 (for t >= x: if t + x <= 1,
it is (2t - t^2) - (2x - x^2), and otherwise t^2 - x^2). The L2 norm is not larger.

Functions are rounded to multiples of 1 / GRID. Bernstein polynomials are rounded so that they still
sum to 1; of the two functions each changes by up to 1 / GRID more.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import comb

import numpy as np

from dpcore.arguments import Floats

GRID = 1 << 20


class MomentBasis:
    """The functions of one or two scaled numbers that are summed over rows.

    `degrees` has the highest power of each column's moments. With `rows_public` (one column,
    degree 2) the number of rows is not among the moments.
    """

    def __init__(self, degrees: tuple[int, ...], *, rows_public: bool = False) -> None:
        self.degrees, self.rows_public = degrees, rows_public
        self.size = 2 if rows_public else int(np.prod([d + 1 for d in degrees]))

    def steps(self, numbers: Sequence[Floats]) -> Floats:
        """Return the functions of rows, in whole steps of 1 / GRID: shape (rows, size).

        `numbers` has the scaled numbers of each column, shape (rows,), NaN if missing. A row with a
        missing number counts nowhere: all its functions are 0.
        """
        missing = np.asarray(np.isnan(numbers).any(axis=0), dtype=bool)
        scaled = [np.clip(np.where(missing, 0.0, own), 0.0, 1.0) for own in numbers]
        if self.rows_public:
            steps: Floats = np.rint(GRID * np.stack([scaled[0], scaled[0] * (1 - scaled[0])], axis=1))
        else:
            shares = np.ones((len(missing), 1))
            for t, degree in zip(scaled, self.degrees, strict=True):
                powers = [comb(degree, j) * t**j * (1 - t) ** (degree - j) for j in range(degree + 1)]
                shares = (shares[:, :, None] * np.stack(powers, axis=1)[:, None, :]).reshape(len(t), -1)
            ends = np.rint(GRID * np.cumsum(shares, axis=1))
            ends[:, -1] = GRID
            steps = np.diff(ends, axis=1, prepend=0.0)
        steps[missing] = 0.0
        return steps

    def steps_of_values(self, sizes: Sequence[int]) -> Floats:
        """Return the functions of every combination of values: shape (combinations, functions).

        `sizes` has the number of codes of each column: evenly spaced values from 0 to 1, and last
        the code of missing numbers.
        """
        values = [np.append(np.arange(size - 1) / max(size - 2, 1), np.nan) for size in sizes]
        return self.steps([own.ravel() for own in np.meshgrid(*values, indexing="ij")])

    def sensitivity(self, marginal: float, groups: int) -> float:
        """Return the sensitivity of the sums by group; `marginal` is that of a marginal."""
        exact = 1.0 if self.rows_public and groups == 1 else marginal
        return exact * (1 + 2 / GRID * self.rows_public)

    def moments(self, sums: Floats, rows: float = np.nan) -> Floats:
        """Return sums of powers, from sums of the functions (last axis): one axis per column.

        Entry i (or i, k) of the last axes is the sum of t^i (u^k); entry 0 the number of rows,
        which is `rows` if it is public.
        """
        if self.rows_public:
            t, rest = sums[..., 0], sums[..., 1]
            return np.stack([np.full(t.shape, rows), t, t - rest], axis=-1)
        found: Floats = sums.reshape(*sums.shape[:-1], *(d + 1 for d in self.degrees))
        for axis, degree in enumerate(self.degrees, start=-len(self.degrees)):
            table = np.array([[comb(j, i) / comb(degree, i) for j in range(degree + 1)] for i in range(degree + 1)])
            found = np.moveaxis(np.tensordot(found, table.T, axes=(axis, 0)), -1, axis)
        return found
