r"""Privacy measures: pure epsilon, or rho (zCDP) with a delta, and the noise that a loss allows.

A run has one privacy measure, and so has its ledger with all parts. Methods state shares of a
budget. This module computes the noise for a share, so that a method's code is the same for both
measures.

epsilon   Pure differential privacy. A loss of x allows Laplace noise of scale D_1 / x for an L1
          sensitivity of D_1, and an exponential mechanism whose exponent changes by at most x.
rho       Zero-concentrated differential privacy (zCDP): between neighbors, the Rényi divergence of
          every order alpha > 1 is at most rho alpha (Bun and Steinke 2016). A loss of x allows
          Gaussian noise of variance D_2^2 / 2x for an L2 sensitivity of D_2, and an exponential
          mechanism whose exponent changes by sqrt(8 x).

Losses in rho
  sum       Losses of queries about the same rows add up, also of adaptive queries (Lemma 2.3 there;
            under a cap that is never exceeded: Feldman and Zrnic 2021). Of queries about disjoint
            rows the largest loss counts.
  persons   k rows of one person: k^2 rho in total (Proposition 1.9 there).
  Gaussian  Discrete Gaussian noise of parameter sigma, P(z) proportional to exp(-z^2 / 2 sigma^2),
            on an integer of sensitivity d has a loss of d^2 / 2 sigma^2, as continuous noise has
            (Canonne, Kamath and Steinke 2020, Proposition 5). Divergences of independent cells add:
            D_2^2 / 2 sigma^2.
  choice    Under the exponential mechanism the log L(r) of the ratio of candidate r's two
            probabilities, on the two data sets, lies in an interval of length x (`Bounds.loss`),
            for every r. K(s) = log E exp(s L), under the second data set, is 0 at 0 and at 1, and
            K'' is a variance on that interval, hence at most x^2 / 4. So K(s) - x^2 s (s - 1) / 8
            is concave with these two zeros, and below 0 beyond: K(s) / (s - 1) <= s x^2 / 8, which
            is x^2 / 8 of rho (Cesar and Rogers 2021; Dong, Durfee and Rogers 2020).
            Permute-and-flip has no such interval: its loss is that of the next line.
  pure      A loss of epsilon is a loss of epsilon^2 / 2 in rho (Proposition 1.4 there).

From rho to epsilon. With a delta in (0, 1), rho gives (epsilon, delta)-differential privacy for
    epsilon = rho alpha + log(1 / (alpha delta)) / (alpha - 1) + log(1 - 1 / alpha)
with any alpha > 1 (Canonne, Kamath and Steinke 2020, Proposition 12). The least epsilon is at rho
(alpha - 1)^2 = log(1 / (alpha delta)), which has one solution, because the left side rises with
alpha and the right side falls. Every alpha gives a valid bound, so bisection need not be precise;
the epsilon is rounded up. The other way round, the largest rho for an epsilon is (epsilon - the
other terms) / alpha, rounded down.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import exp, inf, isinf, log, log1p, nextafter, pi, sqrt
from typing import Any, Literal

from dpcore.accounting.relation import Epsilon, Relation, exact
from dpcore.arguments import is_number
from dpcore.errors import ParameterError
from dpcore.language import phrase

NoiseKind = Literal["laplace", "gaussian"]
"""Distribution of additive noise, discrete or continuous."""
PrivacyLoss = Epsilon
"""An exact loss in the run's privacy measure, epsilon or rho; infinity is a float."""

ROUNDING = 2.0**-46  # relative: far above the error of a dozen operations
LEAST = 1e-300  # smallest delta above 0
WIDEST = 2.0**53  # largest scale of noise; wider noise counts as no answer at all
HALVINGS = 200
DELTA = phrase(
    "Delta is {delta}: one in {runs:,}. With a person in the data, each event is at most exp(epsilon) times as "
    "probable as without, plus delta. The stated bound on how sure someone can become holds except with "
    "probability delta, and is larger than the bound by epsilon alone."
)


@dataclass(frozen=True)
class PrivacyMeasure:
    """Measure in which a run counts privacy losses: pure epsilon, or rho (zCDP) at `delta` > 0."""

    delta: float = 0.0

    @staticmethod
    def from_delta(delta: float) -> PrivacyMeasure:
        """Return the privacy measure of a delta: pure epsilon for 0, otherwise rho (zCDP).

        ParameterError if delta is neither 0 nor a probability below 1.
        """
        if not is_number(delta) or not (delta == 0 or LEAST <= delta < 1):
            raise ParameterError(f"`delta` must be 0, or in [{LEAST:g}, 1).", "Use 0, or far below 1 / rows: 1e-9.")
        return PrivacyMeasure(float(delta)) if delta else PURE

    @property
    def distribution(self) -> NoiseKind:
        """Distribution of the additive noise: "laplace" for epsilon, "gaussian" for rho."""
        return "gaussian" if self.delta else "laplace"

    @property
    def unit(self) -> Literal["epsilon", "rho"]:
        """Name of the counted loss: "epsilon" or "rho"."""
        return "rho" if self.delta else "epsilon"

    def loss_of(self, epsilon: Epsilon) -> PrivacyLoss:
        """Return the largest loss in this measure with at most this epsilon, rounded down."""
        most = exact(epsilon)
        return rho_from_epsilon(float(most), self.delta) if self.delta and 0 < most < inf else most

    def epsilon(self, budget: PrivacyLoss) -> float:
        """Return the epsilon of a loss in this measure, at the measure's delta, rounded up."""
        return epsilon_from_rho(round_up(budget), self.delta) if self.delta and 0 < budget < inf else float(budget)

    def log_odds_gained(self, budget: PrivacyLoss) -> float:
        """Return a bound on how far one release changes the log-odds that a person is in the data.

        `budget` is the loss of the release in this measure; in pure epsilon it is the bound itself.
        In rho the bound holds except with probability delta, and is rounded up. There the privacy
        loss L, a random number, satisfies E exp(s L) <= exp(s (s + 1) rho) for s > 0. So P(L > t)
        is below exp(s (s + 1) rho - s t). At the best s, with t = rho + 2 sqrt(rho log(1 / delta)),
        that is delta (Bun and Steinke 2016, in the proof of Proposition 1.3).
        """
        if not (self.delta and 0 < budget < inf):
            return float(budget)
        rho = round_up(budget)
        return (rho + 2 * sqrt(rho * -log(self.delta))) * (1 + ROUNDING)

    def group_factor(self, many: int) -> int:
        """Return the factor from the loss of one row to that of a person with `many` rows."""
        return many * many if self.delta else many

    def group_epsilon(self, epsilon: float, many: float) -> float:
        """Return the epsilon of a person with `many` rows, from the epsilon of one row.

        With `many` = 1 / k it is the epsilon of a run whose noise is k times as wide.
        """
        if not self.delta:
            return many * epsilon
        return self.epsilon(self.loss_of(epsilon * (1 + ROUNDING)) * Fraction(many) ** 2)

    def histogram_sensitivity(self, relation: Relation) -> float:
        """Return the sensitivity of a marginal of counts: in L1 norm for epsilon, in L2 for rho.

        One row changes `relation.histogram_l1` cells by one each.
        """
        return sqrt(relation.histogram_l1) if self.delta else relation.histogram_l1

    def scale(self, share: PrivacyLoss, sensitivity: float, values: int = 1) -> float:
        """Return the noise scale at which releasing `values` noisy numbers has the loss `share`.

        `sensitivity` is that of each number; a whole marginal of counts is one of the `values`. In
        rho the scale is a standard deviation, in pure epsilon that of Laplace noise. It is infinite
        if the share is 0 or the noise would be wider than `WIDEST`.
        """
        loss = float(share)
        if not loss:
            return inf
        scale = sensitivity * sqrt(values / (2 * loss)) if self.delta else values * sensitivity / loss
        return scale if scale <= WIDEST else inf

    def mean_abs_error(self, scale: float) -> float:
        """Return a count's mean absolute error under noise of `scale`; approximate if discrete."""
        return scale * sqrt(2 / pi) if self.delta else scale

    @property
    def allocation_power(self) -> float:
        """Power p to divide a budget: shares in proportion to error^p minimize the total error.

        The error is what a query would have if all queries had equal shares.
        """
        return 2 / 3 if self.delta else 1 / 2

    def selection_exponent(self, share: PrivacyLoss) -> float:
        """Return how much the exponential mechanism's exponent may change for the loss `share`.

        The exponent is a factor times a candidate's score. The change is that between neighboring
        data sets.
        """
        return sqrt(8 * float(share)) if self.delta else float(share)

    def __str__(self) -> str:
        """Return the measure as text for people."""
        return f"rho at delta {self.delta:g}" if self.delta else "pure epsilon"


PURE = PrivacyMeasure()


def describe_measure(delta: float) -> dict[str, Any]:
    """Return the values of {delta} and {runs} in `DELTA`, the screens' text on a delta above 0."""
    return {"delta": f"{delta:g}", "runs": int((1 + ROUNDING) / delta)}


def rho_from_pure(epsilon: Epsilon) -> PrivacyLoss:
    """Return the rho of a mechanism with pure differential privacy: epsilon^2 / 2."""
    return epsilon * epsilon / 2


@lru_cache(maxsize=1_024)
def epsilon_from_rho(rho: float, delta: float) -> float:
    """Return an epsilon such that a positive rho gives (epsilon, delta)-DP, rounded up.

    It is the least over alpha > 1 of rho alpha + log(1 / (alpha delta)) / (alpha - 1) + log(1 - 1 /
    alpha).
    """
    low, high = -700.0, -log(delta)  # of log(alpha - 1); above, log(1 / (alpha delta)) is negative
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        left = -log(delta) - log1p(exp(middle))
        low, high = (middle, high) if left > 0 and log(rho) + 2 * middle < log(left) else (low, middle)
    parts = [rho, rho * exp(low), *fixed_terms(exp(low), delta)]
    return max(nextafter(sum(parts) + ROUNDING * sum(map(abs, parts)), inf), 0.0)


@lru_cache(maxsize=1_024)
def rho_from_epsilon(epsilon: float, delta: float) -> Fraction:
    """Return the largest rho, but for rounding, whose `epsilon_from_rho` is at most `epsilon`."""
    low, high = -700.0, -log(delta)
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        x, left = exp(middle), -log(delta) - log1p(exp(middle))
        # This alpha is the best one for rho = left / x^2, whose epsilon falls as alpha rises.
        more = left > 0 and left / x / x * (1 + x) + sum(fixed_terms(x, delta)) > epsilon
        low, high = (middle, high) if more else (low, middle)
    rho = (epsilon - sum(fixed_terms(exp(low), delta))) / (1 + exp(low))
    while rho > 0 and epsilon_from_rho(rho, delta) > epsilon:
        rho = nextafter(rho * (1 - 2 * ROUNDING), 0.0)
    return Fraction(max(rho, 0.0))


def fixed_terms(x: float, delta: float) -> tuple[float, float, float]:
    """Return the terms of epsilon(rho, delta) that do not depend on rho, for alpha = 1 + x.

    Their sum is log(1 / (alpha delta)) / (alpha - 1) + log(1 - 1 / alpha).
    """
    return -log(delta) / x, -log1p(x) / x, -log1p(1 / x)


def round_up(budget: PrivacyLoss) -> float:
    """Return an exact loss (`budget`) as a float that is not smaller."""
    found = float(budget)
    return found if isinf(found) or Fraction(found) >= budget else nextafter(found, inf)
