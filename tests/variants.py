"""Every protecting method with the parameters that tests of all methods use, and when two fits are the same."""

import numpy as np

__all__ = ["VARIANTS", "alike", "fitted_state"]

VARIANTS = {
    "NB-Synth": ({}, {"x_source": "model"}, {"variant": "C2"}, {"kappa": "argmax"}),
    "HMPrivBayes": ({}, {"score": "MI", "affinity": "paper"}, {"partition": "public", "n_clusters": 2}),
    "PrivSCBN": ({}, {"score": "MI", "max_parents": 1}),
    "PrivBayes": ({}, {"variant": "binary"}, {"variant": "binary", "score": "MI", "theta": 0.01}, {"score": "MI"}),
    "JTree": ({}, {"score": "MI"}, {"edges": 0}),
    "PrivBayes refined": ({}, {"target": "grade"}),
    "TaxonomyRelease": (
        {},
        {"with_class": False, "iterations": 3, "level_shares": (0, 1, 0, 2)},
        {"measure": "leaves", "score": "entropy", "fanout": 4, "max_per_attribute": 1},
        {"level_shares": "geometric", "order": "chosen", "consistency": False, "non_negative": False},
        {"level_shares": "equal"},
    ),
    "DiffGen": ({}, {"score": "IG", "rounds": 3}, {"rounds": 20, "max_leaves": 60}),
    "DT-Diff": ({}, {"criterion": "InfoGain", "rounds": 3}, {"rounds": 20, "max_leaves": 60}),
    "DiffGen tree": ({}, {"criterion": "InfoGain", "rounds": 3}, {"rounds": 20, "max_leaves": 60}),
    "DiffPRFs": (
        {},
        {"n_trees": 4, "max_depth": 3, "resample": "poisson", "rate": 0.5, "criterion": "entropy", "steps": "two"},
        {"n_trees": 3, "max_depth": 2, "resample": "full", "cuts": "bins", "count_share": 0.0, "leaf_share": 0.4},
        {
            "n_trees": 1,
            "max_features": 2,
            "vote": "probability",
            "consistency": False,
            "children": "values",
            "count_share": 0.4,
        },
    ),
    "DiffPRF": ({}, {"n_trees": 2, "max_features": "all"}, {"n_trees": 2, "resample": "full", "criterion": "Gini"}),
    "SuLQ-ID3": ({}, {"max_depth": 1}),
    "PINQ-ID3": ({}, {"max_depth": 4}),
    "DiffP-ID3": ({}, {"criterion": "InfoGain"}),
    "DiffP-C4.5": ({}, {"criterion": "Gini", "max_depth": 3, "cuts": "bins", "prune": False}),
    "PPNB": (
        {},
        {"numbers": "moments", "protocol": "ERRPH", "reconstruction": "likelihood", "class_share": 0.4},
        {"asked": 1, "pairs": False, "protocol": "OUE", "reconstruction": "project", "alpha": 1.0},
        {"asked": 3, "protocol": "OLH", "numbers": "moments"},
        {"asked": None, "reconstruction": "likelihood", "merge": False},
        {"asked": 2, "protocol": "OUE", "reconstruction": "project"},
        {"pairs": False, "asked": None, "alpha": 0.5},
    ),
    "DTPD": ({}, {"max_depth": 2, "min_support": 0.2, "min_entropy": 0.0, "certainty": 0.0}),
    "DTCRD": ({}, {"variant": "global", "intervals": 7}, {"variant": "local", "max_depth": 2, "min_support": 0.1}),
}


def fitted_state(method):
    """What a fit has learned, without the schema and the ledger."""
    skip = {"ledger_", "schema_"}
    return {key: value for key, value in vars(method).items() if key.endswith("_") and key not in skip}


def alike(one, other):
    """Whether two values are the same to the last bit, whatever they are made of."""
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
