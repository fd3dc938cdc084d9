"""Fitted methods are pickled, copied and cloned: they release the same, and their ledger is a record."""

import copy
import pickle

import pandas as pd
import pytest
from variants import fitted

from dpcore.accounting.ledger import Entry, Ledger
from dpcore.errors import ParameterError
from dpcore.methods import METHODS

MORE = dict.fromkeys(("epsilon_claimed", "epsilon_nominal", "sensitivity", "claimed_sensitivity", "scale"), 1)


def stands_for(copied, method, frame, case):
    both = (method, copied)
    made, again = (pd.DataFrame(one.sample(5) if hasattr(one, "sample") else one.predict_proba(frame)) for one in both)
    assert made.equals(again), case
    assert copied.get_params() == method.get_params(), case
    assert copied.ledger_.to_json() == method.ledger_.to_json(), case
    assert copied.ledger_.totals == method.ledger_.totals, case
    with pytest.raises(ParameterError, match="closed"):
        copied.ledger_.charge(Entry(name="more", mechanism="laplace", **MORE, unit=copied.ledger_.currency.unit))


def test_a_copy_releases_the_same_and_charges_nothing(small_frame):
    for name in METHODS:
        method = fitted(name)
        stands_for(pickle.loads(pickle.dumps(method)), method, small_frame.head(30), name)
        assert copy.copy(method).ledger_ is method.ledger_, name


def test_so_does_a_copy_of_what_somebodys_ledger_paid_for(small_frame, small_schema):
    frame = small_frame.head(30)
    for name in ("NB-Synth", "JTree", "TaxonomyRelease", "DT-Diff", "DiffPRFs", "PPNB"):  # one of each family
        kind = METHODS[name]
        somebody, method = Ledger(kind().relation), kind(random_state=1)
        method.fit(frame, schema=small_schema, ledger=somebody)
        for copied in (pickle.loads(pickle.dumps(method)), copy.deepcopy(method)):
            stands_for(copied, method, frame, name)
        assert somebody.epsilon_claimed == method.ledger_.epsilon_claimed, name
