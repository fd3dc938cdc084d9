r"""Score functions for selection and noisy scoring, each with a sensitivity that is derived and brute-force tested.

A score maps a contingency table of counts N (rows: values of a child or an attribute; columns: values of its parents
or of the class) to a number. Under ``replace`` the number of rows n is public and information scores are per record;
under ``add_remove`` the same scores are multiplied by n, because per-record values of tiny tables jump. The unit of
information is the bit.

Notation: D_b(n) = (1/n) log2 n + ((n-1)/n) log2(n/(n-1)),
D_g(n) = (2/n) log2((n+1)/2) + ((n-1)/n) log2((n+1)/(n-1)), and g(m) = (m+1) log2(m+1) - m log2 m, which increases.
"""

from dpcore.scores.base import Score, TableScore
from dpcore.scores.information import Entropy, Jaccard, LinearF, MutualInformation, R
from dpcore.scores.margins import DistanceFromMargins
from dpcore.scores.naive_bayes import ClassLogScore
from dpcore.scores.specialization import IntervalSplit, JointSpecialization, Specialization
from dpcore.scores.trees import ConditionalEntropy, Gini, InfoGain, Max, SplitScore

__all__ = [
    "ClassLogScore",
    "ConditionalEntropy",
    "DistanceFromMargins",
    "Entropy",
    "Gini",
    "InfoGain",
    "IntervalSplit",
    "Jaccard",
    "JointSpecialization",
    "LinearF",
    "Max",
    "MutualInformation",
    "R",
    "Score",
    "Specialization",
    "SplitScore",
    "TableScore",
]
