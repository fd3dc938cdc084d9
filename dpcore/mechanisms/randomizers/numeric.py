"""Randomized numbers."""

from collections.abc import Callable
from math import inf
from typing import Self

import numpy as np

from dpcore.accounting.relation import Epsilon, exact
from dpcore.arguments import Floats
from dpcore.errors import ParameterError
from dpcore.mechanisms.randomizers.base import LOTS, Channel, Lots

SMALLEST = 2.0**-54  # half of the smallest lot above 0
STEP, SMALLEST_STEP = 2.0**-20, 2.0**-1000


class TRR(Channel):
    """Report y = a x + b with a and b drawn from public sets, or x with Laplace noise.

    Paper 004, section 4.

    Parameters
    ----------
    factors, offsets : float arrays, optional
        The sets A and B; their own moments are used, whatever distribution they were drawn from. No
        finite epsilon.
    lower, upper : float, optional
        Public bounds, which epsilon needs; numbers are moved into them first.
    epsilon : float or Fraction, optional
        Instead of the sets: a = 1, and b of Laplace noise of scale (upper - lower) / epsilon.

    Attributes
    ----------
    scale : float
        Of the Laplace noise; 0 with sets, infinite if epsilon is 0, or so small that reports would
        tell nothing.
    moments : tuple of four floats
        Mean and variance of a, mean and variance of b.

    Raises
    ------
    ParameterError
        If sets, bounds or epsilon do not fit each other, or the factors have the mean 0.
    """

    def __init__(
        self,
        *,
        factors: Floats | None = None,
        offsets: Floats | None = None,
        lower: float = -inf,
        upper: float = inf,
        epsilon: Epsilon | None = None,
    ) -> None:
        self.lower, self.upper = lower, upper
        self.sets: tuple[Floats, Floats] | None = None
        self.scale, self.mechanism, self.given = 0.0, "linear transformation", {}
        if epsilon is not None and factors is None and offsets is None:
            if not -inf < lower < upper < inf:
                raise ParameterError("Noise of a finite epsilon needs public bounds.", "Declare them, lower first.")
            self.epsilon, self.mechanism = exact(epsilon), "laplace"
            self.given = {"lower": lower, "upper": upper, "epsilon": str(self.epsilon)}
            self.scale = (upper - lower) / float(epsilon) if epsilon * LOTS >= 1 else inf
            self.moments = 1.0, 0.0, 0.0, 2 * self.scale * self.scale
            return
        if epsilon is not None or factors is None or offsets is None:
            raise ParameterError("TRR is set by its sets A and B, or by epsilon.", "Give one of them.")
        factors, offsets = np.array(factors, dtype=float), np.array(offsets, dtype=float)
        if not (len(factors) and len(offsets) and np.isfinite([*factors, *offsets]).all() and lower <= upper):
            raise ParameterError("TRR's sets or bounds hold no numbers.", "Give finite ones, the lower bound first.")
        if not np.mean(factors):
            raise ParameterError("The factors of TRR have the mean 0: nothing can be told.", "Use another set A.")
        self.epsilon, self.sets = inf, (factors, offsets)
        self.moments = float(factors.mean()), float(factors.var()), float(offsets.mean()), float(offsets.var())

    @classmethod
    def drawn(
        cls, a: tuple[float, float], b: tuple[float, float], rng: np.random.Generator, *, size: int = 1000
    ) -> Self:
        """Return a channel whose sets are drawn from normal distributions.

        Parameters
        ----------
        a, b : (float, float)
            Mean and variance of the factors, and of the offsets.
        rng : numpy.random.Generator
            What draws.
        size : int, default=1000
            How many numbers each set has.

        Returns
        -------
        TRR
            The channel, with no finite epsilon.
        """
        factors, offsets = (mean + np.sqrt(variance) * rng.standard_normal(size) for mean, variance in (a, b))
        return cls(factors=factors, offsets=offsets)

    def report(self, numbers: Floats, lots: Lots, laplace: Callable[..., Floats]) -> Floats:
        """Randomize true numbers.

        Parameters
        ----------
        numbers : float array of shape (n,)
            The true numbers.
        lots : callable
            From a number to so many independent uniform numbers in [0, 1).
        laplace : callable
            What adds noise of a scale to numbers, on a grid if it is sampled exactly
            (`noise.Noise.reals`): of 2^20 steps from one bound to the other. Dividing by a step and
            rounding keep the order of numbers, so that no two of them are more than 2^20 steps
            apart: the grid costs nothing.

        Returns
        -------
        float array of shape (n,)
            The reports; zeros if epsilon is 0.
        """
        inside = np.clip(numbers, self.lower, self.upper)
        if self.sets is None and not np.isfinite(self.scale):
            return np.zeros(len(inside))
        if self.sets is None:
            step = max((self.upper - self.lower) * STEP, SMALLEST_STEP)
            return laplace(inside, self.scale, grid=step, origin=self.lower)
        a, b = (values[(lots(len(inside)) * len(values)).astype(np.intp)] for values in self.sets)
        return np.asarray(a * inside + b, dtype=float)

    @property
    def truthful(self) -> bool:
        """Whether reports are true up to a factor and an offset that are public."""
        return not self.moments[1] and not self.moments[3]

    def mean(self, reports: Floats) -> float:
        """Estimate the mean of the true numbers, without bias.

        It is (mean of y - mean of b) / mean of a (paper 004, formula 2).

        Parameters
        ----------
        reports : float array of shape (n,)
            The reports.

        Returns
        -------
        float
            The mean.
        """
        a, _, b, _ = self.moments
        return float((reports.mean() - b) / a)

    def variance(self, reports: Floats, *, as_printed: bool = False) -> float:
        """Estimate the variance of the true numbers; it may be negative.

        Parameters
        ----------
        reports : float array of shape (n,)
            The reports, 2 or more.
        as_printed : bool, default=False
            As printed (paper 004, formula 3), the square of the reports' mean stands for that of
            its expectation, which is less by Var(y) / n: a bias of -S_A^2 Var(y) / (n A^2 (S_A^2 +
            A^2)). Otherwise without bias.

        Returns
        -------
        float
            The variance.
        """
        a, var_a, b, var_b = self.moments
        spread, squared = float(reports.var(ddof=1)), float(reports.mean() - b) ** 2
        squared -= 0.0 if as_printed else spread / len(reports)
        return (spread - var_b - var_a * squared / a**2) / (var_a + a**2)


class Noised(TRR):
    """x, moved into public bounds, with uniform or normal noise (Agrawal and Srikant 2000). No finite epsilon.

    Two x next to the bounds have other largest reports (uniform), or densities whose ratio has no bound (normal). The
    scale is half the width of the uniform noise, or the standard deviation of the normal one.
    """

    def __init__(self, kind: str, scale: float, *, lower: float, upper: float) -> None:
        if kind not in ("uniform", "normal") or not 0 <= scale < inf:
            raise ParameterError("This is no noise for numbers.", "Use uniform or normal, of a scale of 0 or more.")
        self.lower, self.upper, self.kind, self.scale = lower, upper, kind, float(scale)
        self.epsilon, self.mechanism, self.sets = inf, f"{kind} noise", None
        self.given = {}
        self.moments = 1.0, 0.0, 0.0, self.scale**2 / (3 if kind == "uniform" else 1)

    def report(self, numbers: Floats, lots: Lots, laplace: Callable[..., Floats]) -> Floats:
        """See `TRR.report`; one lot per person, through the inverse distribution function."""
        from scipy.special import ndtri  # here, because it takes longer to load than all channels

        drawn = lots(len(numbers))
        noise = 2 * drawn - 1 if self.kind == "uniform" else ndtri(np.maximum(drawn, SMALLEST))
        return np.asarray(np.clip(numbers, self.lower, self.upper) + self.scale * noise, dtype=float)
