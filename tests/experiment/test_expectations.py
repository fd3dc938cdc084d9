"""What is expected of a run before it: from public facts, close to what runs have, with no way to a row."""

import ast
import inspect
import time
from dataclasses import replace
from itertools import combinations, pairwise
from typing import Any, cast

import numpy as np
import pytest
from sample_tables import hospital
from tables import SMALL, make_frame

import dpcore as dp
from dpcore.door.door import Door
from dpcore.errors import ParameterError
from dpcore.evaluate import marginal_avd
from dpcore.evaluate.distances import CLOSE, TIED, dependence, fidelity
from dpcore.experiment import forecast as front
from dpcore.experiment import forecasts
from dpcore.experiment.forecasts import Band, Expectation, ExpectedUtility, Forecast, expect_errors, public_table
from dpcore.methods import METHODS
from dpcore.methods.base import Synthesizer

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
    text = [expect_errors(offered(name, offer, epsilon), SMALL, ROWS) for epsilon in (0.1, 1.0, 10.0)]
    for one in text:
        assert one.pairs == len(SMALL) * (len(SMALL) - 1) // 2
        assert one.columns is None or 0 <= one.columns <= 1
        assert one.measurable is None or 0 <= one.measurable <= one.pairs
        assert one.seconds > 0
    if text[0].columns is not None:
        errors, pairs = [one.columns for one in text], [one.measurable for one in text]
        assert errors == sorted(errors, reverse=True)
        assert pairs == sorted(pairs)
    silent = issubclass(METHODS[name], Synthesizer) and text[0].columns is None
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
    text = method.measurements(public_table(method, BOUNDED, ROWS))
    method.fit(make_frame(ROWS, seed=1), schema=BOUNDED)
    factor = 1 if method.delta else 2  # a Gaussian's variance, and Laplace's
    counts = [entry for entry in method.ledger_.entries if entry.name.startswith("counts of")]
    charged = {round(factor * entry.scale**2, 6) for entry in counts}
    assert {round(one.variance, 6) for one in text} == charged


def test_errors_fall_with_rows_and_enough_is_the_least_step_that_is():
    method, steps = METHODS["Adaptive marginals"](), (0.1, 0.3, 1.0, 3.0, 10.0)
    for few, many in pairwise([300, 3_000, 30_000]):
        less, more = (expect_errors(method, SMALL, rows, steps=steps) for rows in (few, many))
        assert more.columns < less.columns
        assert (more.enough or 99) <= (less.enough or 99)
    found = expect_errors(method, SMALL, ROWS, steps=steps)
    assert found.enough in steps
    assert expect_errors(method.set_params(epsilon=found.enough), SMALL, ROWS).columns <= CLOSE
    plain = METHODS["Independent marginals"]()
    noise = [expect_errors(plain.set_params(epsilon=one), SMALL, ROWS).class_noise for one in (0.5, 1.0)]
    assert noise[0] / noise[1] == pytest.approx(2, rel=0.05)
    assert expect_errors(plain, replace(SMALL, target=None), ROWS).class_noise is None


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


MARGINS = dp.METHODS["Independent marginals"]
STEPS = (0.1, 1.0, 10.0)


@pytest.fixture(scope="module")
def margins() -> Forecast:
    """What to expect of independent margins on the small schema."""
    return front(MARGINS(), SMALL, 1_000, epsilons=STEPS)


def test_more_epsilon_and_more_rows_make_columns_closer_and_groups_smaller(margins: Forecast) -> None:
    for first, second in pairwise(margins.steps):
        assert second.columns.high < first.columns.high
        assert second.columns.middle < first.columns.middle
        assert (second.group or 1) < (first.group or 1)
    many = front(MARGINS(), SMALL, 4_000, epsilons=[1.0]).steps[0]
    assert many.columns.high < margins.steps[1].columns.high / 2
    assert margins.noiseless.columns.high < 0.002  # rounding alone


def test_the_same_facts_give_the_same_forecast_and_nothing_else_is_taken(margins: Forecast) -> None:
    found = front(MARGINS(random_state=7, epsilon=3), SMALL, 1_000, epsilons=STEPS[:1])
    assert (found.steps, found.noiseless) == (margins.steps[:1], margins.noiseless)


def test_there_is_no_way_to_a_row() -> None:
    taken = inspect.signature(front).parameters.values()
    assert [p.annotation for p in taken] == [
        "Synthesizer", "Schema", "int", "int | None", "Sequence[float]", "int", "Progress",
    ]  # fmt: skip
    nodes = ast.walk(ast.parse(inspect.getsource(forecasts)))
    imported = {node.module for node in nodes if isinstance(node, ast.ImportFrom)}
    assert not {name for name in imported if name and ("dataset" in name or "evaluator" in name)}


def test_between_steps_bands_lie_on_lines_of_logarithms() -> None:
    def step(epsilon: float, end: float, group: float | None, kept: float) -> ExpectedUtility:
        return ExpectedUtility(epsilon, Band(0.01, end / 2, end), None, group, {("a", "b"): kept})

    found = Forecast(9, (step(0.1, 0.4, None, 0), step(1, 0.1, 0.5, 0), step(10, 0.025, 0.125, 1)), step(1e9, 0, 0, 1))
    at = found.expected_at
    assert at(10**0.5).columns.high == pytest.approx(0.05)
    assert at(10**0.5).group == pytest.approx(0.25)
    assert at(0.2).group is None
    assert at(0.5).group == 0.5
    assert (at(0.0001), at(1e6)) == (found.steps[0], found.steps[-1])
    assert (at(2).lost_ties, at(5).lost_ties, at(2).pairs) == ((("a", "b"),), (), None)


def test_the_pair_that_cannot_be_measured_is_named_before_and_after_the_run() -> None:
    frame, schema = hospital()
    pair, method = ("department", "diagnosis_code"), MARGINS(epsilon=1.0, random_state=0)
    text = front(method, schema, len(frame), epsilons=[1.0]).expected_at(1.0)
    assert pair in text.lost_ties
    assert len(text.lost_ties) == len(list(combinations(schema.names, 2)))
    made = method.fit(frame, schema=schema).sample(len(frame))
    assert [(tie.first, tie.second) for tie in fidelity(frame, made, schema).lost_ties] == [pair]


def test_a_pair_that_is_measured_is_not_lost() -> None:
    text = front(dp.NaiveBayesSynthesizer(x_source="model"), SMALL, 1_000, epsilons=[10.0]).steps[0]
    assert all(("ill" in pair) == (pair not in text.lost_ties) for pair in combinations(SMALL.names, 2))


def test_what_has_no_forecast_is_refused() -> None:
    for given, match in (
        ((dp.METHODS["DiffPRF"](), SMALL, 10), "takes Synthesizer"),
        ((MARGINS(), SMALL, 0), "number of rows"),
        ((MARGINS(), cast(Any, make_frame(50, 0)), 10), "takes Schema"),
        ((dp.NaiveBayesSynthesizer(), SMALL.select(["age", "height"]), 10), "class column"),
    ):
        with pytest.raises(ParameterError, match=match):
            front(*given)
    for wrong in ([], [1.0, 0.5], [0.0, 1.0]):
        with pytest.raises(ParameterError, match="ascend"):
            front(MARGINS(), SMALL, 10, epsilons=wrong)


def test_the_smallest_group_is_where_nine_of_ten_are_off_by_half_at_most() -> None:
    size = np.repeat([0.4, 0.2, 0.1, 0.05], 10)
    off = np.concatenate([np.full(10, 0.1), [0.3], np.full(9, 0.02), np.full(2, 0.09), np.zeros(8), np.zeros(10)])
    assert forecasts.smallest_group(np.array([size, off])) == 0.125
    assert forecasts.smallest_group(np.array([[0.5] * 10, [0.4] * 10])) is None


def test_made_up_tables_are_inside_the_schema_and_functions_are_tied() -> None:
    met = [pair for round in forecasts.matchings(5) for pair in round]
    assert sorted(met) == list(combinations(range(5), 2))
    rng = np.random.default_rng(0)
    for codes in (forecasts.made_up(SMALL, 2_000, 0.9, rng), forecasts.functions(SMALL, 2_000, [(0, 1)], rng)):
        assert codes.shape == (2_000, len(SMALL))
        assert (codes.max(axis=0) < np.array(SMALL.sizes)).all()
    shares = np.zeros(SMALL.sizes[:2])
    np.add.at(shares, (codes[:, 0], codes[:, 1]), 1 / len(codes))
    assert (np.count_nonzero(shares, axis=1) == 1).all()
    assert dependence(shares, len(codes)) > 5 * TIED
