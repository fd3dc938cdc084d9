"""DTCRD: the Gini tree on true intervals without noise, sorted assignment, its variants, and what it costs."""

import math

import numpy as np
import pandas as pd
import pytest
from plain_trees import as_nested, grown_by_hand

from dpcore.domain.column import Column
from dpcore.domain.schema import Schema
from dpcore.mechanisms.randomizers import TRR
from dpcore.methods import DTCRD
from dpcore.methods.local.dtcrd import Reconstruction, cells_of
from dpcore.methods.local.estimated_nodes import gini
from dpcore.postprocess.deconvolution import assigned, width

SCHEMA = Schema(
    columns=(
        Column(name="age", kind="integer", lower=10, upper=60),
        Column(name="y", kind="categorical", categories=("a", "b", "c")),
        Column(name="size", kind="continuous", lower=-1.0, upper=2.0, missing=True),
        Column(name="town", kind="categorical", categories=("u", "v")),
        Column(name="same", kind="integer", lower=3, upper=3),
    ),
    target="y",
)


def rows(n=1_500, seed=0):
    rng = np.random.default_rng(seed)
    age, size = rng.integers(10, 61, n), rng.uniform(-1, 2, n)
    code = np.where(age > 42, 2, np.where(size > 1, 1, 0))
    code = np.where(rng.random(n) < 0.1, rng.integers(0, 3, n), code)
    town = np.array(["u", "v"])[code // 2]
    return pd.DataFrame({"age": age, "y": np.array(list("abc"))[code], "size": size, "town": town, "same": 3})


@pytest.mark.parametrize(
    ("variant", "randomizer"), [("by_class", "uniform"), ("global", "normal"), ("local", "uniform")]
)
def test_without_noise_it_is_the_gini_tree_on_the_intervals(variant, randomizer):
    frame = rows()
    how = {"variant": variant, "randomizer": randomizer, "intervals": 17, "max_depth": 4}
    method = DTCRD(mode="published", privacy=1e-9, random_state=0, **how).fit(frame, schema=SCHEMA)
    boundaries = {"age": 9.5 + 51 / 17 * np.arange(1, 17), "size": -1 + 3 / 17 * np.arange(1, 17)}
    intervals = {name: np.searchsorted(at, frame[name]) for name, at in boundaries.items()}
    labels, forest = frame["y"].map({"a": 0, "b": 1, "c": 2}).to_numpy(), method.forest_
    sides = {(name, cut): own > cut for name, own in intervals.items() for cut in range(16)}

    def cut_of(place):
        name = SCHEMA.names[forest.column[place]]
        at = forest.attributes[int(forest.column[place])].at(forest.cut[[place]])[0]
        cut = int(np.abs(boundaries[name] - at).argmin())
        assert boundaries[name][cut] == pytest.approx(at, abs=1e-6)
        return name, cut

    assert as_nested(forest, cut_of) == grown_by_hand(sides, labels, gini, 3, most=4)
    method.forest_._check()
    for name, own in intervals.items():
        own_labels = np.zeros_like(labels) if variant == "global" else labels
        shares = [np.bincount(own[own_labels == c], minlength=17) / (own_labels == c).sum() for c in set(own_labels)]
        assert method.distributions_[name] == pytest.approx(np.array(shares))


def test_people_of_a_class_are_given_to_intervals_in_the_order_of_their_reports():
    frame = rows(2_000)
    method = DTCRD(mode="published", random_state=2).fit(frame, schema=SCHEMA)
    known = Reconstruction(method.reports_, "y", "by_class")
    label = method.reports_.values["y",]
    for j, name in enumerate(("age", "size")):
        for own in range(3):
            reports, found = method.reports_.values[name,][label == own], known.root.intervals[j][label == own]
            assert (np.diff(found[np.argsort(reports)]) >= 0).all()
            shares = known.distributions[name][own]
            assert np.abs(np.bincount(found, minlength=len(shares)) - shares * len(found)).max() <= 1
            assert found.tolist() == assigned(reports, shares).tolist()


def test_what_is_asked_and_what_it_costs():
    frame = rows(200)
    paper = DTCRD(mode="published", privacy=1.5).fit(frame, schema=SCHEMA)
    assert list(paper.reports_.channels) == [("age",), ("size",), ("y",)]  # no category, and no number that is known
    assert {entry.epsilon_nominal for entry in paper.ledger_.entries} == {math.inf}
    noise, reports = paper.reports_.channels["age",], paper.reports_.values["age",]
    assert width("uniform", noise.scale) == pytest.approx(1.5 * 50)
    assert 10 - noise.scale <= reports.min() < reports.max() <= 60 + noise.scale
    corrected = DTCRD(epsilon=3.0).fit(frame, schema=SCHEMA)
    assert [entry.epsilon_nominal for entry in corrected.ledger_.entries] == [1, 1, 1]
    assert corrected.reports_.channels["size",].scale == 3.0


def test_missing_numbers_are_the_middle_and_go_right():
    frame = rows(1_000)
    frame.loc[:99, "size"] = np.nan
    method = DTCRD(mode="published", privacy=1e-6).fit(frame, schema=SCHEMA)
    assert method.reports_.values["size",][:100] == pytest.approx(0.5, abs=1e-4)
    forest = method.forest_
    place = int(np.flatnonzero(forest.column == 2)[0])
    assert np.isfinite(method.predict_proba(frame.head(100))).all()
    side = forest.attributes[2].side(np.array([np.nan]), forest.cut[[place]], forest.low[[place]])
    assert side.tolist() == [1]


@pytest.mark.parametrize(("n", "intervals"), [(300, [10, 10]), (2_500, [25, 25]), (20_000, [51, 100])])
def test_how_many_intervals_there_are(n, intervals):
    """There are 51 whole numbers of age."""
    found = DTCRD(mode="published", max_depth=1).fit(rows(n), schema=SCHEMA).distributions_
    assert [len(found[name][0]) for name in ("age", "size")] == intervals


def test_intervals_of_dates_are_whole_days():
    """Ten days in at most four intervals, from half a day before the first to half a day after the last."""
    days = Column(name="day", kind="date", lower="2021-03-01", upper="2021-03-10", bins="day")
    first = float(days.lower)
    found = cells_of(days, TRR(lower=first, upper=first + 9, epsilon=1), 40)
    assert (found.lower, found.upper, found.intervals) == (first - 0.5, first + 9.5, 10)
    assert cells_of(days, TRR(lower=first, upper=first + 9, epsilon=1), 4).intervals == 4
