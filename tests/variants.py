"""Every method with the parameters that general tests use, cached fits, and comparison of fits."""

from functools import cache

import numpy as np
from tables import SMALL, make_frame

from dpcore.methods import METHODS
from dpcore.methods.base import PrivateClassifier, Synthesizer

__all__ = ["CLASSIFIERS", "CORRECTED", "EVERY_FIT", "PUBLISHED", "RELATED", "SYNTHESIZERS", "VARIANTS"]
__all__ += ["CLAIM_NONE", "GIVEN", "alike", "fitted", "fitted_state"]

GIVEN = {"epsilon": 1.0, "noise": "auto", "random_state": 3}  # of all fits that tests share
# What tests of all methods fit in corrected mode, besides the defaults.
OTHERS = {
    "NB-Synth": [{"x_source": "model"}, {"variant": "C2"}, {"kappa": "argmax"}, {"delta": 1e-9}],
    **{name: [{"target": "grade"}, {"delta": 1e-9}] for name in ("Adaptive marginals", "PrivBayes refined")},
    **{name: [{"delta": 1e-9}] for name in ("MST", "AIM", "Independent marginals")},
    "HMPrivBayes": [{"score": "MI", "affinity": "published"}, {"partition": "public", "n_clusters": 2}],
    "PrivSCBN": [{"score": "MI", "max_parents": 1}],
    "PrivBayes": [{"variant": "binary"}, {"variant": "binary", "score": "MI", "theta": 0.01}, {"score": "MI"},
                  {"delta": 1e-9}, {"delta": 1e-6, "variant": "binary"}],
    "JTree": [{"score": "MI"}, {"edges": 0}],
    "TaxonomyRelease": [
        {"with_class": False, "iterations": 3, "level_shares": (0, 1, 0, 2)},
        {"measure": "leaves", "score": "entropy", "fanout": 4, "max_per_attribute": 1},
        {"level_shares": "geometric", "order": "chosen", "consistency": False, "non_negative": False},
        {"level_shares": "equal"}],
    "DiffGen": [{"score": "IG", "rounds": 3}, {"rounds": 20, "max_leaves": 60}],
    "DiffPRFs": [
        {"n_trees": 4, "max_depth": 3, "resample": "poisson", "rate": 0.5, "criterion": "entropy",
         "split_selection": "two_stage"},
        {"n_trees": 3, "max_depth": 2, "resample": "full", "cuts": "bins", "count_share": 0.0, "leaf_share": 0.4},
        {"n_trees": 1, "max_features": 2, "vote": "probability", "consistency": False, "categorical_splits": "values",
         "count_share": 0.4}],
    "DiffPRF": [{"n_trees": 2, "max_features": "all"}, {"n_trees": 2, "resample": "full", "criterion": "Gini"}],
    "DiffP-C4.5": [{"criterion": "Gini", "max_depth": 3, "cuts": "bins", "prune": False}],
    "DiffP-ID3": [{"criterion": "InfoGain"}],
    "PINQ-ID3": [{"max_depth": 4}],
    "SuLQ-ID3": [{"max_depth": 1}],
    **{name: [{"criterion": "InfoGain", "rounds": 3}, {"rounds": 20, "max_leaves": 60}]
       for name in ("DT-Diff", "DiffGen tree")},
    "PPNB": [
        {"numbers": "moments", "protocol": "ERRPH", "reconstruction": "likelihood", "class_share": 0.4},
        {"n_questions": 1, "pairs": False, "protocol": "OUE", "reconstruction": "project", "alpha": 1.0},
        {"n_questions": 3, "protocol": "OLH", "numbers": "moments"},
        {"n_questions": None, "reconstruction": "likelihood", "merge": False},
        {"n_questions": 2, "protocol": "OUE", "reconstruction": "project"},
        {"pairs": False, "n_questions": None, "alpha": 0.5}],
    "DTPD": [{"max_depth": 2, "min_support": 0.2, "min_entropy": 0.0, "certainty": 0.0}],
    "DTCRD": [{"variant": "global", "intervals": 7}, {"variant": "local", "max_depth": 2, "min_support": 0.1}],
}  # fmt: skip
VARIANTS = {name: ({}, *OTHERS.get(name, ())) for name, kind in METHODS.items() if "corrected" in kind.modes}
CORRECTED = [(name, extra) for name, variants in VARIANTS.items() for extra in variants]
RELATED = [(name, extra, str(relation)) for name, extra in CORRECTED for relation in METHODS[name].relations]
# What can be proved of published mode, beside what it claims: more, nothing at all, or, if it is right, no more.
PUBLISHED = [
    ("NB-Synth", {}, "more"),
    ("NB-Synth", {"variant": "Alg1"}, "nothing"),
    ("NB-Synth", {"prior": "frequency"}, "nothing"),
    ("HMPrivBayes", {}, "nothing"),
    ("PrivSCBN", {}, "more"),
    ("PrivBayes", {}, "no more"),
    ("PrivBayes", {"variant": "binary"}, "no more"),
    ("JTree", {}, "nothing"),
    ("NoPrivacy", {}, "nothing"),
    ("TaxonomyRelease", {}, "no more"),
    ("TaxonomyRelease", {"measure": "all"}, "more"),
    ("DiffGen", {}, "nothing"),
    ("DT-Diff", {}, "no more"),
    ("DT-Diff rows", {}, "no more"),
    ("DiffGen tree", {}, "nothing"),
    ("DiffPRFs", {}, "nothing"),
    ("DiffPRFs", {"criterion": "InfoGain"}, "nothing"),
    ("DiffPRF", {"n_trees": 1, "max_depth": 1}, "more"),
    ("SuLQ-ID3", {}, "no more"),
    ("PINQ-ID3", {}, "no more"),
    ("DiffP-ID3", {}, "no more"),
    ("DiffP-C4.5", {}, "no more"),
    ("Non-private forest", {}, "nothing"),
    ("PPNB", {}, "nothing"),
    ("DTPD", {}, "nothing"),
    ("DTPD", {"groups": "each"}, "no more"),
    ("DTCRD", {}, "nothing"),
    ("DTCRD", {"randomizer": "normal", "variant": "local"}, "nothing"),
    ("Non-private naive Bayes", {}, "nothing"),
]
CLAIM_NONE = {"NoPrivacy", "Non-private forest", "Non-private naive Bayes", "PPNB", "DTPD", "DTCRD"}  # know no epsilon
EVERY_FIT = CORRECTED + [(name, {"mode": "published", **extra}) for name, extra, _ in PUBLISHED]
SYNTHESIZERS = [name for name, kind in METHODS.items() if issubclass(kind, Synthesizer)]
CLASSIFIERS = [name for name, kind in METHODS.items() if issubclass(kind, PrivateClassifier)]


def fitted(name, extra=(), **more):
    """Return a method fitted to 600 rows with seed 3; all tests share it and must not change it."""
    method = METHODS[name](**GIVEN | dict(extra) | more)
    return _fitted(name, tuple(method.get_params().items()))


@cache
def _fitted(name, parameters):
    return METHODS[name](**dict(parameters)).fit(make_frame(600, 1), schema=SMALL)


def fitted_state(method):
    """Return the fitted attributes of a method, without schema and ledger."""
    skip = {"ledger_", "schema_"}
    return {key: value for key, value in vars(method).items() if key.endswith("_") and key not in skip}


def alike(one, other):
    """Return whether two values of any type are equal to the last bit."""
    if type(one) is not type(other):
        return False
    if isinstance(one, np.ndarray):
        nan = one.dtype.kind == "f"
        return one.dtype == other.dtype and np.array_equal(one, other, equal_nan=nan)
    if isinstance(one, dict):
        return list(one) == list(other) and all(alike(one[key], other[key]) for key in one)
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(alike(a, b) for a, b in zip(one, other, strict=True))
    if isinstance(one, float):
        return one == other or (one != one and other != other)
    if hasattr(one, "__dict__") and not callable(one):
        return alike(vars(one), vars(other))
    return bool(one == other)
