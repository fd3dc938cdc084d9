"""How close a release is to the real table. Reads real rows: nothing here is private."""

from dpcore.domain.range_query import query_names
from dpcore.evaluate.distances import marginal_avd, marginal_avd_codes, marginals, noise_floor, pair, validity
from dpcore.evaluate.labels import Label, misclassification
from dpcore.evaluate.learners import MODELS, real_ceiling, tstr, tstr_codes
from dpcore.evaluate.ranges import by_size, flat_answers, range_answers, range_queries, range_sweep

__all__ = [
    "MODELS",
    "Label",
    "by_size",
    "flat_answers",
    "marginal_avd",
    "marginal_avd_codes",
    "marginals",
    "misclassification",
    "noise_floor",
    "pair",
    "query_names",
    "range_answers",
    "range_queries",
    "range_sweep",
    "real_ceiling",
    "tstr",
    "tstr_codes",
    "validity",
]
