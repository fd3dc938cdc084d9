"""Every protecting method with the parameters that tests of all methods use, and when two fits are the same."""

import numpy as np

from dpcore.methods import METHODS

__all__ = ["VARIANTS", "alike", "fitted_state"]

VARIANTS = {name: kind.variants for name, kind in METHODS.items() if "corrected" in kind.modes}


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
