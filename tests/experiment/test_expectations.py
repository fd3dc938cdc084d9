"""What is expected of a run before it: from public facts, close to what runs have, and at no question."""

import inspect
import time
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from tables import SMALL, make_frame

import dpcore as dp
from dpcore.door.door import Door
from dpcore.errors import ParameterError
from dpcore.evaluate import marginal_avd
from dpcore.evaluate.verdict import CLOSE
from dpcore.experiment.expectations import Expectation, expect_errors, public_table
from dpcore.methods import METHODS
from dpcore.methods.synthesizer import Synthesizer

ROWS = 2_000
BOUNDED = replace(SMALL, max_rows=ROWS)
OFFERED = [(name, offer) for name, kind in METHODS.items() for offer in kind.presets]


def offered(name, offer, epsilon=1.0):
    """A method as the dashboard offers it."""
    kind = METHODS[name]
    relation = kind.relations_in(offer.mode)[0]
    return kind(epsilon=epsilon, mode=offer.mode, relation=relation, **offer.parameters)


@pytest.mark.parametrize(("name", "offer"), OFFERED)
def test_every_offer_says_what_it_can_and_asks_nothing(name, offer, monkeypatch):
    monkeypatch.setattr(Door, "answer", lambda *_: pytest.fail("a question was asked"))
    told = [expect_errors(offered(name, offer, epsilon), SMALL, ROWS) for epsilon in (0.1, 1.0, 10.0)]
    for one in told:
        assert one.pairs == len(SMALL) * (len(SMALL) - 1) // 2
        assert one.columns is None or 0 <= one.columns <= 1
        assert one.measurable is None or 0 <= one.measurable <= one.pairs
        assert one.seconds > 0
    if told[0].columns is not None:
        errors, pairs = [one.columns for one in told], [one.measurable for one in told]
        assert errors == sorted(errors, reverse=True)
        assert pairs == sorted(pairs)
    silent = issubclass(METHODS[name], Synthesizer) and told[0].columns is None
    assert not silent or (name, offer.mode) == ("JTree", "published")


@pytest.mark.parametrize("name", ["Independent marginals", "NB-Synth", "PrivBayes refined"])
@pytest.mark.parametrize("epsilon", [0.1, 1.0])
def test_expected_errors_are_near_those_of_runs(name, epsilon):
    frame = make_frame(ROWS, seed=1)
    method, real = METHODS[name](epsilon=epsilon, noise="laplace"), BOUNDED.encode(frame)
    if name == "NB-Synth":
        method.set_params(x_source="model")
    found = []
    for seed in range(9):
        made = method.set_params(random_state=seed).fit(frame, schema=BOUNDED).sample(ROWS)
        found.append(marginal_avd(real, BOUNDED.encode(made), BOUNDED, 1)["avd"].mean())
    ratio = expect_errors(method, SMALL, ROWS).columns / np.median(found)
    assert 0.5 < ratio < 2


MEASURED = [("Independent marginals", {}), ("Independent marginals", {"delta": 1e-9}), ("MST", {})]
MEASURED += [("NB-Synth", {"relation": "replace"}), ("PrivBayes", {"beta": 0.2})]
MEASURED += [("JTree", {"edges": 0, "max_cells": 1}), ("TaxonomyRelease", {"measure": "leaves", "with_class": False})]


@pytest.mark.parametrize(("name", "given"), MEASURED)
def test_what_is_measured_has_the_noise_that_a_fit_is_charged_for(name, given):
    method = METHODS[name](noise="laplace", random_state=0, **given)
    told = method.measurements(public_table(method, BOUNDED, ROWS))
    method.fit(make_frame(ROWS, seed=1), schema=BOUNDED)
    factor = 1 if method.delta else 2  # a Gaussian's variance, and Laplace's
    counts = [entry for entry in method.ledger_.entries if entry.name.startswith("counts of")]
    charged = {round(factor * entry.scale**2, 6) for entry in counts}
    assert {round(one.variance, 6) for one in told} == charged


def test_errors_fall_with_rows_and_enough_is_the_least_step_that_is():
    method, steps = METHODS["Adaptive marginals"](), (0.1, 0.3, 1.0, 3.0, 10.0)
    for few, many in pairwise([300, 3_000, 30_000]):
        less, more = (expect_errors(method, SMALL, rows, steps=steps) for rows in (few, many))
        assert more.columns < less.columns
        assert (more.enough or 99) <= (less.enough or 99)
    found = expect_errors(method, SMALL, ROWS, steps=steps)
    assert found.enough in steps
    assert expect_errors(method.set_params(epsilon=found.enough), SMALL, ROWS).columns <= CLOSE


def test_a_person_with_several_rows_has_more_noise_in_each():
    unit = dp.PrivacyUnit(max_contributions=4, id_column="who")
    method = METHODS["Independent marginals"](epsilon=4.0)
    persons = expect_errors(method, replace(SMALL, unit=unit), ROWS)
    assert persons.columns == expect_errors(method.set_params(epsilon=1.0), SMALL, ROWS).columns


def test_there_is_no_way_to_a_row_and_numbers_of_rows_are_checked():
    taken = inspect.signature(expect_errors).parameters.values()
    assert [p.annotation for p in taken] == ["PrivateEstimator", "Schema", "int", "Sequence[float]"]
    assert isinstance(expect_errors(METHODS["AIM"](), SMALL, 1), Expectation)
    for rows in (0, -3, 2.5):
        with pytest.raises(ParameterError):
            expect_errors(METHODS["AIM"](), SMALL, rows)


def test_it_follows_a_slider_on_a_wide_schema():
    columns = [replace(SMALL.columns[0], name=f"c{i}") for i in range(59)]
    wide = dp.Schema(columns=(*columns, SMALL["grade"]), target="grade", max_rows=20_000)
    for name in ("Adaptive marginals", "PrivBayes refined", "JTree", "HMPrivBayes", "TaxonomyRelease", "DiffPRFs"):
        took = []
        for epsilon in (0.3, 1.0, 3.0):
            start = time.process_time()
            expect_errors(METHODS[name](epsilon=epsilon), wide, 20_000)
            took.append(time.process_time() - start)
        assert min(took) < 0.25, name
