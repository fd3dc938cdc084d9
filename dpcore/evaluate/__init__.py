"""How close a release is to the real table.

Everything here reads the real rows without noise. The results are therefore never private, whatever the release was:
show them to people who may see the data, and leave them out of what is published. All are aggregates; none holds a row,
and what pictures are drawn of is made of counts and means (`statistics`).
"""

from dpcore.domain.range_query import query_names
from dpcore.evaluate.baselines import references
from dpcore.evaluate.distances import marginal_avd, marginals, noise_floor, pair, validity
from dpcore.evaluate.labels import Label, misclassification
from dpcore.evaluate.learners import MODELS, real_ceiling, tstr
from dpcore.evaluate.ranges import by_size, flat_answers, range_answers, range_queries

__all__ = [
    "MODELS", "Label", "by_size", "flat_answers", "marginal_avd", "marginals", "misclassification", "noise_floor",
    "pair", "query_names", "range_answers", "range_queries", "real_ceiling", "references", "tstr", "validity",
]  # fmt: skip
