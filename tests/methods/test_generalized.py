"""What is said of a tree's noise holds for every source of noise, and odd names and huge counts break nothing."""

import numpy as np
import pandas as pd
import pytest

from dpcore.accounting.ledger import Ledger
from dpcore.domain.column import Column
from dpcore.domain.range_query import RangeQuery
from dpcore.domain.schema import Schema
from dpcore.door import PrivateTable
from dpcore.mechanisms.noise import make_noise
from dpcore.methods import DiffGen, TaxonomyRelease
from dpcore.methods.groups.base import leaf_share
from dpcore.postprocess.count_tree_frames import group_queries

GRID = Schema(
    columns=(
        Column(name="a", kind="integer", lower=0, upper=31, bins=32),
        Column(name="b", kind="integer", lower=0, upper=15, bins=16),
    ),
    max_rows=2_000,
)
RNG = np.random.default_rng(8)
ROWS = pd.DataFrame({"a": RNG.integers(0, 32, 1_000), "b": RNG.integers(0, 16, 1_000)})

CELLS = [RangeQuery.of({"a": [a], "b": [b]}) for a in range(0, 32, 16) for b in range(0, 16, 2)]


@pytest.mark.parametrize(
    ("epsilon", "noise", "relation"),
    [(0.1, "geometric", "replace"), (5.0, "geometric", "add_remove"), (20.0, "laplace", "replace")],
)
def test_leaves_first_keeps_its_word_for_every_noise(epsilon, noise, relation):
    how = {"epsilon": epsilon, "relation": relation, "noise": noise, "with_class": False, "iterations": 9}
    trees = [
        TaxonomyRelease(**how, **extra, random_state=1).fit(ROWS, schema=GRID).tree_
        for extra in ({}, {"measure": "leaves"})
    ]
    assert {tree.whole_noise for tree in trees} == {noise == "geometric"}
    queries = group_queries(trees[0], 60) + CELLS
    first, alone = (
        np.sqrt([tree.consistent.query_variance(tree.leaves.weights(q.sets(GRID))) for q in queries]) for tree in trees
    )
    assert (first <= 1.1 * (1 + 1e-6) * alone).all()


def test_continuous_noise_leaves_a_tenth_of_a_share_and_whole_numbers_less():
    plain, whole = (
        PrivateTable(GRID.encode(ROWS), GRID, Ledger("add_remove"), make_noise(noise, 0))
        for noise in ("laplace", "geometric")
    )
    assert leaf_share(plain, 1.0) == pytest.approx(10 / 11)
    shares = [leaf_share(whole, epsilon) for epsilon in (0.01, 1.0, 5.0, 20.0)]
    assert shares[0] == pytest.approx(10 / 11, abs=1e-3)
    assert shares == sorted(shares)
    assert shares[-1] > 0.98


def test_a_class_called_missing_is_not_the_missing_class():
    y = Column(name="y", kind="categorical", categories=("yes", "(missing)"), missing=True)
    schema = Schema(columns=(Column(name="(rows)", kind="categorical", categories=("u", "v")), y), target="y")
    frame = pd.DataFrame({"(rows)": ["u"] * 60, "y": ["(missing)"] * 60})
    method = DiffGen(epsilon=1e6, random_state=0).fit(frame, schema=schema)
    assert method.sample(60)["y"].eq("(missing)").all()
    rows = method.generalized()
    assert rows["(rows)'"].sum() == 60  # the column of that name keeps it
    assert set(rows["(rows)"]) == {"u"}
