r"""Randomizers: what a person does to one answer before anybody collects it. Public rules, no rows.

A report Y of a true value X is drawn from a public channel P(Y | X). Whoever collects sees reports and rules only, so
all that is made of them is post-processing. The local epsilon of a channel is the largest |ln P(y | x) / P(y | x')|.

Categories. Every channel here is "pure" (Wang, Blocki, Li and Jha 2017): a report supports some of the k values, and
    P(the report supports j | X = i) = gain 1[i = j] + base_j,
so (support_j - base_j n) / gain is an unbiased estimate of how many of n people have j, with the variance
    n s_j (1 - s_j) / gain^2,   s_j = gain pi_j + base_j.

ERRPH    the truth with probability p_0, otherwise a_j with probability p_j: gain p_0, base p_j, and
         epsilon = max_j ln(1 + p_0 / p_j); with equal p_j it is ln(1 + k p_0 / (1 - p_0)).
RRPH     ERRPH with two values. Warner's: the truth with probability p, otherwise the other value; it is RRPH with
         p_0 = 2p - 1, the same channel.
OUE      one bit per value: the true one is kept with probability 1/2, each other is set with q = 1/(e^epsilon + 1).
         Two people differ in two bits: epsilon = ln (1/2 (1 - q)) / (q 1/2). Better than ERRPH if k > 3 e^epsilon + 2.
OLH      a hash of the value to g = e^epsilon + 1 places, by a function that each person draws, reported by ERRPH.

Numbers (TRR). y = a x + b with a and b from public sets: no finite epsilon, because at two x the densities' tails
differ without bound, and so do the supports of finite sets. With a = 1 and Laplace noise of scale (U - L) / epsilon on
numbers that are first moved into public bounds [L, U], epsilon is what it says.
"""

from dpcore.arguments import check_public
from dpcore.mechanisms.randomizers.base import CategoryChannel, Channel, Lots
from dpcore.mechanisms.randomizers.categorical import ERRPH, OLH, OUE, RRPH, KeepOrDraw, Warner, best_channel
from dpcore.mechanisms.randomizers.numeric import TRR, Noised

__all__ = [
    "ERRPH", "OLH", "OUE", "RRPH", "TRR", "CategoryChannel", "Channel", "KeepOrDraw", "Lots", "Noised", "Warner",
    "best_channel",
]  # fmt: skip

check_public(globals(), __all__)
