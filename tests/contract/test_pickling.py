"""Fitted methods are pickled, copied and cloned: they release the same, and their ledger is a record."""

import copy
import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from dpcore.accounting.ledger import Entry, Ledger
from dpcore.errors import ParameterError
from dpcore.methods import METHODS
from dpcore.methods.base import Synthesizer

RESAMPLES = ({}, {"resample": "disjoint"}, {"resample": "poisson"}, {"resample": "full"}, {"resample": "bootstrap"})
CASES = [
    pytest.param(name, {"mode": mode, "relation": str(relation), **extra}, id=f"{name}-{mode}-{relation}-{extra}")
    for name, method in METHODS.items()
    for mode in method.modes
    for relation in method.relations
    for extra in (RESAMPLES if "resample" in method().get_params() else RESAMPLES[:1])
]


@pytest.mark.parametrize(("name", "given"), CASES)
@pytest.mark.parametrize("child", [False, True], ids=["own ledger", "somebody's ledger"])
def test_a_copy_releases_the_same_and_charges_nothing(name, given, child, small_frame, small_schema):
    frame, somebody = small_frame.head(30), Ledger(given["relation"])
    method = METHODS[name](random_state=1, **given)
    try:
        method.fit(frame, schema=small_schema, ledger=somebody if child else None)
    except ParameterError:
        assert not somebody.entries  # no such combination
        return
    copies = [pickle.loads(pickle.dumps(method)), copy.deepcopy(method), copy.copy(method)]
    for copied in copies[:2]:
        made, again = (
            one.sample(5) if isinstance(one, Synthesizer) else pd.DataFrame(one.predict_proba(frame))
            for one in (method, copied)
        )
        assert made.equals(again)
        assert copied.get_params() == method.get_params()
        assert copied.ledger_.to_json() == method.ledger_.to_json()
        assert copied.ledger_.totals == method.ledger_.totals
        with pytest.raises(ParameterError, match="closed"):
            copied.ledger_.charge(
                Entry(
                    name="more",
                    mechanism="laplace",
                    epsilon_claimed=1,
                    epsilon_of_noise=1,
                    sensitivity=1,
                    claimed_sensitivity=1,
                    scale=1,
                )
            )
    assert copies[2].ledger_ is method.ledger_
    assert not [key for key in vars(clone(method)) if key.endswith("_")]
    assert np.isclose(method.ledger_.epsilon_claimed, somebody.epsilon_claimed) or not child
