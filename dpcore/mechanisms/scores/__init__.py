r"""Score functions for selection and noisy scoring, each with a sensitivity that is derived and brute-force tested.

A score maps a contingency table of counts N (rows: values of a child or an attribute; columns: values of its parents
or of the class) to a number. Under ``replace`` the number of rows n is public and information scores are per record;
under ``add_remove`` the same scores are multiplied by n, because per-record values of tiny tables jump. The unit of
information is the bit.

Notation: D_b(n) = (1/n) log2 n + ((n-1)/n) log2(n/(n-1)),
D_g(n) = (2/n) log2((n+1)/2) + ((n-1)/n) log2((n+1)/(n-1)), and g(m) = (m+1) log2(m+1) - m log2 m, which increases.

Floating point. A score c that is worked out in floats is out by some e, |e| <= h, from the q of the formulas. So it
moves by up to `sensitivity` + 2h, and a difference of two scores by up to 4h more than in the formulas. Every score
derives its 2h (`Bounds.rounding`) from what is public: the shapes of tables, and a bound on the number of rows. A unit
is 2^-53; an operation is right to one, NumPy's logarithms to 16 at worst, and K numbers add up to within K units of the
sum of their sizes, in any order. Exactly sampled noise takes the computed scores as they are, as the rational numbers
that floats stand for, and its exponents are so much smaller, its scales so much larger, that what is booked covers
`rounding` too (`door.prices`). NumPy's noise, whose own floats can be attacked, leaves it out.
"""

from dpcore.mechanisms.scores.base import Bounds, Score, TableScore
from dpcore.mechanisms.scores.dependence import DistanceFromMargins, Entropy, Jaccard, LinearF, MutualInformation, R
from dpcore.mechanisms.scores.naive_bayes import ClassLogScore
from dpcore.mechanisms.scores.splits import (
    ConditionalEntropy,
    Gini,
    InfoGain,
    IntervalSplit,
    JointSpecialization,
    Max,
    Specialization,
    SplitScore,
)

__all__ = [
    "Bounds", "ClassLogScore", "ConditionalEntropy", "DistanceFromMargins", "Entropy", "Gini", "InfoGain",
    "IntervalSplit", "Jaccard", "JointSpecialization", "LinearF", "Max", "MutualInformation", "R", "Score",
    "Specialization", "SplitScore", "TableScore",
]  # fmt: skip
