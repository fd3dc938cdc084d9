"""Every method with the parameters that tests of all methods use, one fit of each, and when two are the same."""

from functools import cache

import numpy as np
from tables import SMALL, make_frame

from dpcore.methods import METHODS
from dpcore.methods.base import PrivateClassifier
from dpcore.methods.synthesizer import Synthesizer

__all__ = ["CLASSIFIERS", "CORRECTED", "EVERY_FIT", "PUBLISHED", "RELATED", "SYNTHESIZERS", "VARIANTS"]
__all__ += ["GIVEN", "alike", "fitted", "fitted_state"]

GIVEN = {"epsilon": 1.0, "noise": "auto", "random_state": 3}  # of all fits that tests share
VARIANTS = {name: kind.variants for name, kind in METHODS.items() if "corrected" in kind.modes}
CORRECTED = [(name, extra) for name, variants in VARIANTS.items() for extra in variants]
RELATED = [(name, extra, str(relation)) for name, extra in CORRECTED for relation in METHODS[name].relations]
# What can be proved of published mode, beside what it claims: more, nothing at all, or, where the paper is right, no
# more.
PUBLISHED = [
    ("NB-Synth", {}, "more"),
    ("NB-Synth", {"variant": "Alg1"}, "nothing"),
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
EVERY_FIT = CORRECTED + [(name, {"mode": "published", **extra}) for name, extra, _ in PUBLISHED]
SYNTHESIZERS = [name for name, kind in METHODS.items() if issubclass(kind, Synthesizer)]
CLASSIFIERS = [name for name, kind in METHODS.items() if issubclass(kind, PrivateClassifier)]


def fitted(name, extra=(), **more):
    """A method fitted to 600 rows of the small table with the seed 3, once for all tests: none may change it."""
    method = METHODS[name](**GIVEN | dict(extra) | more)
    return _fitted(name, tuple(method.get_params().items()))


@cache
def _fitted(name, parameters):
    return METHODS[name](**dict(parameters)).fit(make_frame(600, 1), schema=SMALL)


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
