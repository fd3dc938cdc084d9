"""DTPD and DTCRD: formulas, unbiased shares, trees of true rows, intervals, and epsilon by hand."""

import math
from itertools import product

import numpy as np
import pandas as pd
import pytest

from dpcore.domain.column import Column
from dpcore.domain.schema import Schema
from dpcore.mechanisms.randomizers import TRR, Warner
from dpcore.methods import DTCRD, DTPD
from dpcore.methods.local.base import entropy, gini
from dpcore.methods.local.dtcrd import IntervalTreeBuilder, interval_grid
from dpcore.methods.local.dtpd import BitEncoding, ConjunctionShares
from dpcore.postprocess.reports import assign_intervals, width


def grown_by_hand(sides, labels, impurity, classes, *, most, pure=0.0, depth=0, whole=None):
    """Grow a tree of true rows: (split, left, right) or class shares; `sides` marks the rows right of each split."""
    whole = whole or len(labels)
    counts = np.bincount(labels, minlength=classes)
    gains = {}
    for point, right in sides.items():
        parts = np.array([np.bincount(labels[right == side], minlength=classes) for side in (False, True)])
        if parts.sum(axis=1).all():
            gains[point] = round(float(impurity(counts) - parts.sum(axis=1) / len(labels) @ impurity(parts)), 11)
    enough = depth < most and len(labels) >= 0.02 * whole and impurity(counts) > pure
    if not enough or max(gains.values(), default=0.0) < 1e-9:
        return (counts / counts.sum()).round(9).tolist()
    best = max(gains, key=gains.get)
    below = []
    for side in (False, True):
        inside = sides[best] == side
        own = {point: right[inside] for point, right in sides.items()}
        how = {"most": most, "pure": pure, "depth": depth + 1, "whole": whole}
        below.append(grown_by_hand(own, labels[inside], impurity, classes, **how))
    return best, *below


def as_nested(forest, cut_of, index=0):
    """Return a grown forest in the form of `grown_by_hand`."""
    if forest.column[index] < 0:
        return forest.probabilities[index].round(9).tolist()
    first = int(forest.first[index])
    return cut_of(index), as_nested(forest, cut_of, first), as_nested(forest, cut_of, first + 1)


BITS = np.array(list(product((0, 1), repeat=4)))
CONJUNCTIONS = [
    {bit: value for bit, value in enumerate(pattern) if value is not None}
    for pattern in product((0, 1, None), repeat=4)
]


def true_share(bits, literals):
    return np.logical_and.reduce([bits[:, bit] == value for bit, value in literals.items()] or [np.ones(len(bits))])


def estimates(groups, theta, reports):
    """Return estimated shares of all conjunctions, from a distribution `reports` over all records."""
    known = ConjunctionShares(BITS, groups, theta)
    assert known.counts.tolist() == [1] * 16
    order = known.bits.T @ [8, 4, 2, 1]
    return [reports[order] @ known.weights(literals) for literals in CONJUNCTIONS]


def channel_matrix(groups, theta):
    """Return the matrix of P(report | record), a Kronecker product over groups kept or flipped."""
    found = np.eye(1)
    for group in groups:
        size = 2 ** len(group)
        found = np.kron(found, theta * np.eye(size) + (1 - theta) * np.eye(size)[::-1])
    return found


@pytest.mark.parametrize("theta", [0.1, 0.7])
@pytest.mark.parametrize("groups", [[[0, 1, 2, 3]], [[0], [1, 2, 3]], [[0], [1], [2], [3]]])
def test_shares_are_the_kronecker_inverse_and_for_one_group_the_published_formula(groups, theta):
    reports = np.random.default_rng(1).dirichlet(np.ones(16))
    shares = np.linalg.solve(channel_matrix(groups, theta), reports)
    for found, literals in zip(estimates(groups, theta, reports), CONJUNCTIONS, strict=True):
        assert found == pytest.approx(shares @ true_share(BITS, literals))
        opposite = {bit: 1 - value for bit, value in literals.items()}
        plain, other = reports @ true_share(BITS, literals), reports @ true_share(BITS, opposite)
        assert len(groups) > 1 or found == pytest.approx((theta * plain - (1 - theta) * other) / (2 * theta - 1))


def test_equal_records_count_together():
    rng = np.random.default_rng(2)
    bits = rng.integers(0, 2, (500, 11))
    known = ConjunctionShares(bits, [[bit] for bit in range(11)], 1.0)
    for literals in ({0: 1}, {0: 1, 10: 0, 5: 1}):
        assert known.share(literals) == pytest.approx(true_share(bits, literals).mean())
    assert ConjunctionShares(bits[:0], [range(11)], 0.7).share({0: 1}) == 0
    for gap in (0.0, 1e-16, -1e-9):  # at 1/2 both values are equally frequent
        known = ConjunctionShares(bits[:5], [[0], [1], [2], [3]], 0.5 + gap)
        assert [known.share(literals) for literals in ({}, {0: 1}, {1: 0, 2: 1, 3: 1})] == [1, 0.5, 0.125]


def test_certainty_is_the_z_of_a_covariance():
    rng = np.random.default_rng(3)
    bits = rng.integers(0, 2, (400, 4))
    bits[:, 1] = np.where(rng.random(400) < 0.8, bits[:, 0], 1 - bits[:, 0])
    known = ConjunctionShares(bits, [[0], [1], [2], [3]], 1.0)
    here = bits[bits[:, 3] == 1]
    each = np.zeros(400)
    each[bits[:, 3] == 1] = (here[:, 0] - here[:, 0].mean()) * (here[:, 1] - here[:, 1].mean())
    assert known.certainty({3: 1}, {0: 1}, {1: 1}) == pytest.approx(each.mean() / (each.std() / 20))
    assert known.certainty({3: 1}, {0: 1}, {1: 0}) == pytest.approx(known.certainty({3: 1}, {0: 1}, {1: 1}))
    assert known.certainty({3: 1}, {0: 1}, {2: 1}) < 3
    assert known.certainty({0: 0, 1: 0, 2: 0}, {3: 1}, {3: 1}) > 3
    assert ConjunctionShares(bits[:0], [range(4)], 0.7).certainty({}, {0: 1}, {1: 1}) == 0


SCHEMA = Schema(columns=(
    Column(name="y", kind="categorical", categories=("a", "b", "c", "d", "e")),
    Column(name="y bit 2", kind="categorical", categories=("k", "l", "m")),
    Column(name="age", kind="integer", lower=0, upper=9, bins=5, missing=True),
    Column(name="one", kind="ordered", categories=("only",)),
), target="y")  # fmt: skip


def test_columns_and_classes_as_bits():
    found = BitEncoding(SCHEMA, "y")
    assert found.schema.names == ("y bit 2", "age", "y bit 1", "y bit 2'", "y bit 3")
    assert found.schema["y bit 2"].categories == ("k, l", "m")
    assert found.schema["age"].categories == ("0–5", "6–9 or (missing)")
    assert found.bit_of == {1: 0, 2: 1}
    assert [(name, rule.tolist()) for name, rule in found.rules] == [
        ("y bit 2", [0, 0, 1]),
        ("age", [0, 0, 0, 1, 1, 1]),
        ("y", [0, 0, 0, 0, 1]),
        ("y", [0, 0, 1, 1, 0]),
        ("y", [0, 1, 0, 1, 0]),
    ]
    assert found.classes[3:] == [{2: 0, 3: 1, 4: 1}, {2: 1, 3: 0, 4: 0}]
    one = BitEncoding(SCHEMA, "one")
    assert (one.classes, one.schema["one"].categories[0]) == ([{3: 0}], "only")


def rows(n=800, seed=0):
    rng = np.random.default_rng(seed)
    age = rng.integers(0, 10, n).astype(float)
    code = np.where(age > 5, 3, rng.integers(0, 3, n))
    code = np.where(rng.random(n) < 0.15, rng.integers(0, 5, n), code)
    letter = np.where(code == 1, "m", rng.choice(list("klm"), n))
    age[rng.random(n) < 0.05] = np.nan
    return pd.DataFrame({"y": np.array(list("abcde"))[code], "y bit 2": letter, "age": age, "one": "only"})


@pytest.mark.parametrize("how", [{"mode": "published", "theta": 1.0}, {"epsilon": 1e9, "certainty": 0.0}])
def test_with_true_answers_the_tree_is_the_id3_tree_of_the_rows(how):
    frame = rows()
    method = DTPD(random_state=0, **how).fit(frame, schema=SCHEMA)
    codes, forest = SCHEMA.encode(frame), method.forest_
    halves = {"y bit 2": codes[:, 1] >= 2, "age": codes[:, 2] >= 3}
    expected = grown_by_hand(halves, codes[:, 0].astype(int), entropy, 5, most=5, pure=0.05)
    assert as_nested(forest, lambda index: SCHEMA.names[forest.column[index]]) == expected
    forest._check()
    assert forest.counts[0] == pytest.approx(len(frame))
    assert method.score(frame) > 0.4


def test_epsilon_of_dtpd():
    frame = rows(50)
    each = DTPD(mode="published", theta=0.8, groups="each").fit(frame, schema=SCHEMA)
    assert float(each.ledger_.epsilon_nominal) == pytest.approx(5 * math.log(4))
    coin = DTPD(epsilon=2.0).fit(frame, schema=SCHEMA).reports_.channels["age",]
    assert isinstance(coin, Warner)
    assert coin.p == pytest.approx(math.exp(0.4) / (1 + math.exp(0.4)))


def test_bits_flipped_together_hide_a_record_from_its_complement_only():
    bits = tuple(Column(name=name, kind="categorical", categories=("0", "1")) for name in "pqy")

    def seen(record, **how):
        frame = pd.DataFrame([record] * 400, columns=list("pqy")).astype(str)  # as many runs as there are rows
        reports = DTPD(random_state=0, **how).fit(frame, schema=Schema(columns=bits, target="y")).reports_
        return {tuple(row) for row in np.stack([reports.values[name,] for name in "pqy"], axis=1).tolist()}

    one = {"mode": "published", "theta": 0.7}
    assert seen((0, 1, 1), **one) == {(0, 1, 1), (1, 0, 0)} == seen((1, 0, 0), **one)
    assert not seen((0, 1, 1), **one) & seen((0, 0, 1), **one)  # of probability 1 here, and 0 there
    for how in ({**one, "groups": "each"}, {"epsilon": 3.0}):
        assert len(seen((0, 1, 1), **how)) == 8


NUMBERS = Schema(columns=(
    Column(name="age", kind="integer", lower=10, upper=60),
    Column(name="y", kind="categorical", categories=("a", "b", "c")),
    Column(name="size", kind="continuous", lower=-1.0, upper=2.0, missing=True),
    Column(name="town", kind="categorical", categories=("u", "v")),
    Column(name="same", kind="integer", lower=3, upper=3),
), target="y")  # fmt: skip


def rows_of_numbers(n=1_500, seed=0):
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
    frame = rows_of_numbers()
    how = {"variant": variant, "randomizer": randomizer, "intervals": 17, "max_depth": 4}
    method = DTCRD(mode="published", privacy=1e-9, random_state=0, **how).fit(frame, schema=NUMBERS)
    boundaries = {"age": 9.5 + 51 / 17 * np.arange(1, 17), "size": -1 + 3 / 17 * np.arange(1, 17)}
    intervals = {name: np.searchsorted(at, frame[name]) for name, at in boundaries.items()}
    labels, forest = frame["y"].map({"a": 0, "b": 1, "c": 2}).to_numpy(), method.forest_
    sides = {(name, point): own > point for name, own in intervals.items() for point in range(16)}

    def cut_of(index):
        name = NUMBERS.names[forest.column[index]]
        at = forest.attributes[int(forest.column[index])].at(forest.cut[[index]])[0]
        point = int(np.abs(boundaries[name] - at).argmin())
        assert boundaries[name][point] == pytest.approx(at, abs=1e-6)
        return name, point

    assert as_nested(forest, cut_of) == grown_by_hand(sides, labels, gini, 3, most=4)
    method.forest_._check()
    for name, own in intervals.items():
        own_labels = np.zeros_like(labels) if variant == "global" else labels
        shares = [np.bincount(own[own_labels == c], minlength=17) / (own_labels == c).sum() for c in set(own_labels)]
        assert method.distributions_[name] == pytest.approx(np.array(shares))


def test_people_of_a_class_are_assigned_to_intervals_in_the_order_of_their_reports():
    frame = rows_of_numbers(2_000)
    method = DTCRD(mode="published", random_state=2).fit(frame, schema=NUMBERS)
    known = IntervalTreeBuilder(method.reports_, "y", "by_class")
    label = method.reports_.values["y",]
    for j, name in enumerate(("age", "size")):
        for own in range(3):
            reports, found = method.reports_.values[name,][label == own], known.root.intervals[j][label == own]
            assert (np.diff(found[np.argsort(reports)]) >= 0).all()
            shares = known.distributions[name][own]
            assert np.abs(np.bincount(found, minlength=len(shares)) - shares * len(found)).max() <= 1
            assert found.tolist() == assign_intervals(reports, shares).tolist()


def test_questions_of_dtcrd_and_their_epsilon():
    frame = rows_of_numbers(200)
    paper = DTCRD(mode="published", privacy=1.5).fit(frame, schema=NUMBERS)
    assert list(paper.reports_.channels) == [("age",), ("size",), ("y",)]  # no category, and no constant number
    assert {entry.epsilon_nominal for entry in paper.ledger_.entries} == {math.inf}
    noise, reports = paper.reports_.channels["age",], paper.reports_.values["age",]
    assert width("uniform", noise.scale) == pytest.approx(1.5 * 50)
    assert 10 - noise.scale <= reports.min() < reports.max() <= 60 + noise.scale
    corrected = DTCRD(epsilon=3.0).fit(frame, schema=NUMBERS)
    assert [entry.epsilon_nominal for entry in corrected.ledger_.entries] == [1, 1, 1]
    assert corrected.reports_.channels["size",].scale == 3.0


def test_missing_numbers_become_the_middle_and_are_sent_right():
    frame = rows_of_numbers(1_000)
    frame.loc[:99, "size"] = np.nan
    method = DTCRD(mode="published", privacy=1e-6).fit(frame, schema=NUMBERS)
    assert method.reports_.values["size",][:100] == pytest.approx(0.5, abs=1e-4)
    forest = method.forest_
    index = int(np.flatnonzero(forest.column == 2)[0])
    assert np.isfinite(method.predict_proba(frame.head(100))).all()
    side = forest.attributes[2].side(np.array([np.nan]), forest.cut[[index]], forest.low[[index]])
    assert side.tolist() == [1]


@pytest.mark.parametrize(("n", "intervals"), [(300, [10, 10]), (2_500, [25, 25]), (20_000, [51, 100])])
def test_number_of_intervals(n, intervals):
    """There are 51 whole numbers of age."""
    found = DTCRD(mode="published", max_depth=1).fit(rows_of_numbers(n), schema=NUMBERS).distributions_
    assert [len(found[name][0]) for name in ("age", "size")] == intervals


def test_intervals_of_dates_are_whole_days():
    """Ten days in at most four intervals, from half a day before the first to half a day after the last."""
    days = Column(name="day", kind="date", lower="2021-03-01", upper="2021-03-10", bins="day")
    first = float(days.lower)
    found = interval_grid(days, TRR(lower=first, upper=first + 9, epsilon=1), 40)
    assert (found.lower, found.upper, found.intervals) == (first - 0.5, first + 9.5, 10)
    assert interval_grid(days, TRR(lower=first, upper=first + 9, epsilon=1), 4).intervals == 4
