"""How close a release is to the real data set.

Everything here reads the real rows without noise. The results are therefore never private, whatever
the release was: show them to people who may see the data, and leave them out of what is published.
All are aggregates; none holds a row, and what pictures are drawn of is made of counts and means
(`statistics`).
"""

from dpcore.arguments import check_public
from dpcore.domain.range_query import query_names
from dpcore.evaluate.distances import marginal_avd, marginals, noise_floor, pair_marginal, validity
from dpcore.evaluate.evaluator import baselines
from dpcore.evaluate.learners import MODELS, Label, misclassification, real_data_baseline, tstr
from dpcore.evaluate.ranges import errors_by_query_size, range_answers, range_queries, uniform_baseline_answers

__all__ = [
    "MODELS", "Label", "baselines", "errors_by_query_size", "marginal_avd", "marginals", "misclassification",
    "noise_floor", "pair_marginal", "query_names", "range_answers", "range_queries", "real_data_baseline", "tstr",
    "uniform_baseline_answers", "validity",
]  # fmt: skip
check_public(globals(), __all__)
