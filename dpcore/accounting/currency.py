r"""In what a run counts: in epsilon, or in rho, of which a delta that was chosen before makes an epsilon.

A run has one currency, and so has its ledger with all parts. Methods state shares of a budget; what
a share buys (which noise, and how little of it) is worked out here, so that a method is the same in
both.

epsilon   Pure differential privacy. A share x buys Laplace noise of scale D_1 / x for an L1 sensitivity of D_1, and
          a choice whose exponent moves by x at most.
rho       Zero-concentrated differential privacy (zCDP): between neighbors, the Rényi divergence of every order
          alpha > 1 is at most rho alpha (Bun and Steinke 2016). A share x buys Gaussian noise of variance D_2^2 / 2x
          for an L2 sensitivity of D_2, and a choice whose exponent moves by sqrt(8 x).

What rho is the price of
  sum       Questions about the same rows add up, also if later ones hang on answers to earlier ones (Lemma 2.3 there;
            with a total that is never exceeded: Feldman and Zrnic 2021). Of disjoint rows the dearest part counts.
  persons   k rows of one person: k^2 rho, for the whole (Proposition 1.9 there).
  Gaussian  Moving a whole number by d under discrete Gaussian noise of parameter sigma, P(z) proportional to
            exp(-z^2 / 2 sigma^2), costs d^2 / 2 sigma^2, as it does under the continuous one (Canonne, Kamath and
            Steinke 2020, Proposition 5). Divergences of independent cells add: D_2^2 / 2 sigma^2.
  choice    Under the exponential mechanism the log L(r) of how much more probable a candidate is on one table than on
            the other lies in an interval of length x (`Bounds.loss`), whatever r. K(s) = log E exp(s L), under the
            other table, is 0 at 0 and at 1, and K'' is a variance on that interval, hence at most x^2 / 4. So
            K(s) - x^2 s (s - 1) / 8 is concave with these two zeros, and below 0 beyond: K(s) / (s - 1) <= s x^2 / 8,
            which is x^2 / 8 of rho (Cesar and Rogers 2021; Dong, Durfee and Rogers 2020). Permute-and-flip has no such
            interval: it is worth no more than is said next.
  pure      Whatever costs epsilon costs epsilon^2 / 2 of rho (Proposition 1.4 there).

What rho says. With a delta in (0, 1), rho gives (epsilon, delta)-differential privacy for
    epsilon = rho alpha + log(1 / (alpha delta)) / (alpha - 1) + log(1 - 1 / alpha)
with any alpha > 1 (Canonne, Kamath and Steinke 2020, Proposition 12); the least is at rho (alpha - 1)^2 =
log(1 / (alpha delta)), which has one solution, because the left side rises with alpha and the right side falls. As any
alpha will do, bisection need not be right; what is worked out from it is rounded up. The other way round, the largest
rho that is worth an epsilon is (epsilon - the other terms) / alpha, rounded down.
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
"""The distribution that noise has, as whole numbers or not."""
PrivacyLoss = Epsilon
"""An exact amount in a run's currency: of epsilon, or of rho; infinity is a float."""

ROUNDING = 2.0**-46  # relative: far more than a dozen operations are out
LEAST = 1e-300  # delta
# a scale; beyond, a share buys nothing: noise would only drown what is computed from it
WIDEST = 2.0**53
HALVINGS = 200
DELTA = phrase(
    "Delta is {delta}: with a person in the data no event is more than exp(epsilon) times as probable as without, "
    "plus one in {runs:,}. So epsilon alone does not limit what someone may learn; how sure they can become is said "
    "but for a chance of delta, and is more than epsilon alone would say."
)


@dataclass(frozen=True)
class PrivacyMeasure:
    """What a share buys, and what an amount says: of pure epsilon, or with a delta of rho; see the module."""

    delta: float = 0.0

    @staticmethod
    def of(delta: float) -> PrivacyMeasure:
        """Pure epsilon for 0, rho for a delta above; ParameterError if it is no probability below 1."""
        if not is_number(delta) or not (delta == 0 or LEAST <= delta < 1):
            raise ParameterError(f"`delta` must be 0, or in [{LEAST:g}, 1).", "Use 0, or far below 1 / rows: 1e-9.")
        return PrivacyMeasure(float(delta)) if delta else PURE

    @property
    def distribution(self) -> NoiseKind:
        """The noise that a share buys."""
        return "gaussian" if self.delta else "laplace"

    @property
    def unit(self) -> Literal["epsilon", "rho"]:
        """What amounts count."""
        return "rho" if self.delta else "epsilon"

    def loss_of(self, epsilon: Epsilon) -> PrivacyLoss:
        """The most that may be spent for the total to say no more than `epsilon`, rounded down."""
        most = exact(epsilon)
        return rho_of(float(most), self.delta) if self.delta and 0 < most < inf else most

    def epsilon(self, budget: PrivacyLoss) -> float:
        """The epsilon that goes with the delta, rounded up."""
        return epsilon_of(round_up(budget), self.delta) if self.delta and 0 < budget < inf else float(budget)

    def log_odds_gained(self, budget: PrivacyLoss) -> float:
        """The most that one look moves the log-odds of who is in the data, but for a chance of delta; rounded up.

        The loss L of rho has E exp(s L) <= exp(s (s + 1) rho) for s > 0: P(L > t) is below exp(s
        (s + 1) rho - s t). At the best s, with t = rho + 2 sqrt(rho log(1 / delta)), that is delta
        (Bun and Steinke 2016, in the proof of Proposition 1.3).
        """
        if not (self.delta and 0 < budget < inf):
            return float(budget)
        rho = round_up(budget)
        return (rho + 2 * sqrt(rho * -log(self.delta))) * (1 + ROUNDING)

    def rows(self, many: int) -> int:
        """How many times more a person with so many rows pays than one with a single row."""
        return many * many if self.delta else many

    def for_rows(self, epsilon: float, many: float) -> float:
        """What an epsilon of one row is for somebody with so many rows; with it, noise is so many times less."""
        if not self.delta:
            return many * epsilon
        return self.epsilon(self.loss_of(epsilon * (1 + ROUNDING)) * Fraction(many) ** 2)

    def histogram(self, relation: Relation) -> float:
        """How much one person moves one contingency table of counts, in the norm that the noise answers to.

        In L2 as many cells as in L1, each by one.
        """
        return sqrt(relation.histogram_l1) if self.delta else relation.histogram_l1

    def scale(self, share: PrivacyLoss, sensitivity: float, values: int = 1) -> float:
        """The scale of the noise that a share buys for values that one person moves by a sensitivity each.

        A table of counts counts as one value. Infinite if the share buys nothing, or noise wider
        than `WIDEST`.
        """
        chosen_pairs = float(share)
        if not chosen_pairs:
            return inf
        scale = sensitivity * sqrt(values / (2 * chosen_pairs)) if self.delta else values * sensitivity / chosen_pairs
        return scale if scale <= WIDEST else inf

    def error(self, scale: float) -> float:
        """The mean distance of a noisy count from the true one under noise of that scale, roughly if it is whole."""
        return scale * sqrt(2 / pi) if self.delta else scale

    @property
    def balance(self) -> float:
        """A sum of errors is least if things have shares in proportion to this power of the error with equal shares."""
        return 2 / 3 if self.delta else 1 / 2

    def exponent(self, share: PrivacyLoss) -> float:
        """By how much a share lets the exponent of a choice move."""
        return sqrt(8 * float(share)) if self.delta else float(share)

    def __str__(self) -> str:
        return f"rho at delta {self.delta:g}" if self.delta else "pure epsilon"


PURE = PrivacyMeasure()


def describe_measure(delta: float) -> dict[str, Any]:
    """What `DELTA` says of a delta above 0."""
    return {"delta": f"{delta:g}", "runs": int((1 + ROUNDING) / delta)}


def rho_of_pure(epsilon: Epsilon) -> PrivacyLoss:
    """What is worth an epsilon costs so much rho."""
    return epsilon * epsilon / 2


@lru_cache(maxsize=1_024)
def epsilon_of(rho: float, delta: float) -> float:
    """An epsilon for which a positive rho gives (epsilon, delta)-differential privacy; see the module."""
    # of log(alpha - 1): from there on, log(1 / (alpha delta)) is negative
    low, high = -700.0, -log(delta)
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        left = -log(delta) - log1p(exp(middle))
        low, high = (middle, high) if left > 0 and log(rho) + 2 * middle < log(left) else (low, middle)
    parts = [rho, rho * exp(low), *fixed_terms(exp(low), delta)]
    return max(nextafter(sum(parts) + ROUNDING * sum(map(abs, parts)), inf), 0.0)


@lru_cache(maxsize=1_024)
def rho_of(epsilon: float, delta: float) -> Fraction:
    """A rho whose `epsilon_of` is at most a positive epsilon, and the largest but for rounding."""
    low, high = -700.0, -log(delta)
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        x, left = exp(middle), -log(delta) - log1p(exp(middle))
        # With the rho that this alpha is the best for, left / x^2; epsilon falls as alpha rises.
        more = left > 0 and left / x / x * (1 + x) + sum(fixed_terms(x, delta)) > epsilon
        low, high = (middle, high) if more else (low, middle)
    rho = (epsilon - sum(fixed_terms(exp(low), delta))) / (1 + exp(low))
    while rho > 0 and epsilon_of(rho, delta) > epsilon:
        rho = nextafter(rho * (1 - 2 * ROUNDING), 0.0)
    return Fraction(max(rho, 0.0))


def fixed_terms(x: float, delta: float) -> tuple[float, float, float]:
    """What is added to rho alpha, for alpha = 1 + x."""
    return -log(delta) / x, -log1p(x) / x, -log1p(1 / x)


def round_up(budget: PrivacyLoss) -> float:
    """A float that is no less."""
    found = float(budget)
    return found if isinf(found) or Fraction(found) >= budget else nextafter(found, inf)
