"""Merged bins and shrunk tables: the public rules, their formulas, and what they do to noise."""

import math

import numpy as np
import pytest

from dpcore import datasets
from dpcore.domain.column import Column
from dpcore.domain.schema import Schema
from dpcore.mechanisms.randomizers import ERRPH, OUE
from dpcore.methods import PPNB
from dpcore.methods.local.bayes_from_reports import class_shares, joint_shares
from dpcore.postprocess.reports import Reports
from dpcore.postprocess.shrinkage import affordable_bins, merged, merging, shrunk, spread

COLUMNS = [
    Column(name="a", kind="integer", lower=0, upper=99, bins=16),
    Column(name="b", kind="continuous", lower=-1.0, upper=2.5, bins=11, missing=True),
    Column(name="c", kind="integer", lower=3, upper=9, bins=(4, 7, 8)),
    Column(name="d", kind="continuous", lower=0.0, upper=1.0, bins=(0.1, 0.2, 0.9)),
]


@pytest.mark.parametrize("column", COLUMNS)
@pytest.mark.parametrize("bins", [1, 2, 3, 5, 40])
def test_a_merged_column_encodes_as_the_rule_says(column, bins):
    rule, rng = merging(column, bins), np.random.default_rng(0)
    cells = column.decode(rng.integers(0, column.size, 500).astype(np.uint8), rng)
    coarse = merged(column, rule)
    assert coarse.size == min(bins, column.size - column.missing) + column.missing
    assert (coarse.encode(cells) == rule[column.encode(cells)]).all()
    assert (np.diff(rule) >= 0).all()
    sizes = np.bincount(rule)[: coarse.size - coarse.missing]
    assert sizes.max() - sizes.min() <= 1


def test_categories_stay():
    column = Column(name="x", kind="ordered", categories=tuple("abcdefgh"))
    rule = merging(column, 3)
    assert (rule == np.arange(8)).all()
    assert merged(column, rule) is column


def test_affordable_bins_by_hand():
    assert affordable_bins(1_000, 4.0, 2) == round(math.sqrt(math.sqrt(1000) * math.sinh(2) / 2)) == 8
    assert affordable_bins(1_000, 0.0, 2) == affordable_bins(0, 4.0, 2) == 3
    assert affordable_bins(1_000, 1e9, 2) > 1_000


def test_spreading_keeps_what_a_class_has():
    table = np.array([[0.2, 0.5, 0.3], [0.6, 0.1, 0.3]])
    rule = np.array([0, 0, 1, 1, 1, 2])
    found = spread(table, rule)
    np.testing.assert_allclose(found.sum(axis=1), 1)
    np.testing.assert_allclose(found[0], [0.1, 0.1, 0.5 / 3, 0.5 / 3, 0.5 / 3, 0.3])


def test_without_noise_it_is_smoothing_toward_all_classes():
    joint = np.array([[0.30, 0.10, 0.0], [0.06, 0.24, 0.30]])
    prior = joint.sum(axis=1)
    found = shrunk(joint, np.zeros((2, 3)), prior, 1.0)
    np.testing.assert_allclose(found, joint / prior[:, None], atol=2e-6)  # what is known for sure is kept


def test_noise_alone_says_nothing():
    joint = np.array([[0.30, 0.10, 0.0], [0.06, 0.24, 0.30]])
    prior = joint.sum(axis=1)
    for variance in (np.full((2, 3), 1e6), np.full((2, 3), np.inf)):
        found = shrunk(joint, variance, prior, 1.0)
        np.testing.assert_allclose(found, np.tile(joint.sum(axis=0), (2, 1)), atol=1e-5)


PRIOR, VALUES = np.array([0.3, 0.7]), np.array([0.5, 0.2, 0.3])
TWO = Schema(
    columns=(
        Column(name="x", kind="categorical", categories=("a", "b", "c")),
        Column(name="y", kind="categorical", categories=("no", "yes")),
    ),
    target="y",
)


@pytest.mark.parametrize("protocol", ["ERRPH", "OUE"])
@pytest.mark.parametrize("pairs", [True, False])
def test_the_noise_of_a_difference_is_what_is_measured(protocol, pairs):
    """2,000 rounds of 2,000 people who do not depend on their class: variances to within 16 % (1 in 1,000 each is off
    by 11 %), and for pairs by ERRPH, whose cells exclude each other, 25 % too little at most."""
    rng = np.random.default_rng(5)
    make = {"ERRPH": ERRPH, "OUE": OUE}[protocol]
    found, said = [], None
    for _ in range(2_000):
        true = np.stack([rng.choice(3, 2_000, p=VALUES), rng.choice(2, 2_000, p=PRIOR)], axis=1)
        if pairs:
            family, channel = ("y", "x"), make(6, epsilon=2.0)
            values = {family: channel.report(true[:, 1] * 3 + true[:, 0], rng.random)}
            reports = Reports(TWO, 2_000, {family: channel}, values)
            joint = reports.counts(family).reshape(2, 3) / 2_000
        else:
            family, channel, label = ("x",), make(3, epsilon=1.0), ERRPH(2, epsilon=1.0)
            values = {("y",): label.report(true[:, 1], rng.random), family: channel.report(true[:, 0], rng.random)}
            reports = Reports(TWO, 2_000, {("y",): label, family: channel}, values)
            joint = reports.counts(family, ("y",)) / 2_000
        found.append(joint / PRIOR[:, None] - joint.sum(axis=0))
        said = joint_shares(reports, "y", family, PRIOR)[1] if said is None else said
    ratio = said / np.var(found, axis=0)
    assert ratio.max() < 1.16
    assert ratio.min() > (0.75 if pairs and protocol == "ERRPH" else 0.84)


def test_merging_reads_nothing_but_public_numbers():
    """The same questionnaire for very different rows of the same number."""
    data = datasets.load("bank cards")
    first, second = data.train.head(800), data.train.iloc[[0] * 800]
    asked = [PPNB(epsilon=1.0, random_state=0).fit(rows, schema=data.schema).reports_ for rows in (first, second)]
    assert asked[0].schema == asked[1].schema
    assert [channel.size for channel in asked[0].channels.values()] == [c.size for c in asked[1].channels.values()]
    assert asked[0].schema["income"].size == 3 < data.schema["income"].size
    whole = PPNB(epsilon=1.0, merge=False, random_state=0).fit(first, schema=data.schema).reports_
    assert whole.schema == data.schema


def test_the_released_tables_are_of_the_schemas_own_bins():
    data = datasets.load("bank cards")
    fitted = PPNB(epsilon=1.0, random_state=0).fit(data.train.head(800), schema=data.schema)
    assert fitted.bayes_.schema == data.schema
    assert fitted.bayes_.tables["income"].shape == (3, data.schema["income"].size)
    np.testing.assert_allclose(fitted.predict_proba(data.test.head(50)).sum(axis=1), 1)


@pytest.mark.parametrize("pairs", [True, False])
def test_shrinking_helps_where_noise_is_large(pairs):
    """Balanced accuracy over 12 seeds at epsilon 2 on 4,000 simulated customers: more than 3 standard errors better."""
    data = datasets.load("bank cards")
    train, test = data.train.head(4_000), data.test.head(2_000)

    def scores(**given):
        found = []
        for seed in range(12):
            fitted = PPNB(epsilon=2.0, pairs=pairs, random_state=seed, **given).fit(train, schema=data.schema)
            said = fitted.predict(test)
            found.append(np.mean([(said == c)[test["customer-value"] == c].mean() for c in fitted.classes_]))
        return np.array(found)

    plain, ours = scores(reconstruction="clip", merge=False), scores()
    assert ours.mean() - plain.mean() > 3 * math.hypot(ours.std(ddof=1), plain.std(ddof=1)) / math.sqrt(12)


def test_classes_from_pairs_weigh_what_they_tell():
    schema = Schema(
        columns=(
            Column(name="x", kind="categorical", categories=("a", "b")),
            Column(name="y", kind="categorical", categories=("no", "yes")),
        ),
        target="y",
    )
    channel = ERRPH(4, p0=1.0)
    reports = Reports(schema, 4, {("y", "x"): channel}, {("y", "x"): np.array([0, 1, 1, 3])})
    np.testing.assert_allclose(class_shares(reports, "y", [("y", "x")], "shrink"), [0.75, 0.25])
