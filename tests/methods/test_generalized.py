"""What is said of a tree's noise holds for every source of noise, and odd names and huge counts break nothing."""

import numpy as np
import pandas as pd
import pytest
from variants import fitted

from dpcore.accounting.ledger import Ledger
from dpcore.domain.column import Column
from dpcore.domain.range_query import RangeQuery
from dpcore.domain.schema import Schema
from dpcore.door import PrivateTable
from dpcore.errors import ParameterError
from dpcore.export import release_of
from dpcore.mechanisms.noise import make_noise
from dpcore.methods import DiffGen, PrivSCBN, TaxonomyRelease
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
CODES = GRID.encode(ROWS)
CELLS = [RangeQuery.of({"a": [a], "b": [b]}) for a in range(0, 32, 2) for b in range(0, 16, 2)]


def door(noise, relation="add_remove"):
    return PrivateTable(CODES, GRID, Ledger(relation), make_noise(noise, 0))


@pytest.mark.parametrize(
    ("epsilon", "noise", "relation"),
    [
        (0.1, "geometric", "replace"),
        (1.0, "laplace", "add_remove"),
        (5.0, "geometric", "add_remove"),
        (20.0, "geometric", "replace"),
        (20.0, "laplace", "replace"),
    ],
)
def test_leaves_first_keeps_its_word_for_every_noise(epsilon, noise, relation):
    how = {"epsilon": epsilon, "relation": relation, "noise": noise, "with_class": False, "iterations": 9}
    trees = [
        TaxonomyRelease(**how, **extra, random_state=1).fit(ROWS, schema=GRID).tree_
        for extra in ({}, {"measure": "leaves"})
    ]
    assert {tree.whole_noise for tree in trees} == {noise == "geometric"}
    queries = group_queries(trees[0], 60) + CELLS[:20]
    first, alone = (
        np.sqrt([tree.consistent.query_variance(tree.leaves.weights(q.sets(GRID))) for q in queries]) for tree in trees
    )
    assert (first <= 1.1 * (1 + 1e-6) * alone).all()


def test_continuous_noise_leaves_a_tenth_of_a_share_and_whole_numbers_less():
    assert leaf_share(door("laplace"), 1.0) == pytest.approx(10 / 11)
    shares = [leaf_share(door("geometric"), epsilon) for epsilon in (0.01, 1.0, 5.0, 20.0)]
    assert shares[0] == pytest.approx(10 / 11, abs=1e-3)
    assert shares == sorted(shares)
    assert shares[-1] > 0.98


def test_counts_beyond_all_numbers_are_refused_and_not_rounded():
    tree = fitted("TaxonomyRelease").tree_
    with pytest.raises(ParameterError, match="noise"):
        tree.rows(np.full(tree.leaves.size, 1e30))


@pytest.mark.parametrize("method", [TaxonomyRelease, DiffGen])
def test_a_class_called_missing_is_not_the_missing_class(method):
    schema = Schema(
        columns=(
            Column(name="(rows)", kind="categorical", categories=("u", "v")),
            Column(name="y", kind="categorical", categories=("yes", "(missing)"), missing=True),
        ),
        target="y",
    )
    frame = pd.DataFrame({"(rows)": ["u"] * 60, "y": ["(missing)"] * 60})
    fitted = method(epsilon=1e6, random_state=0).fit(frame, schema=schema)
    assert fitted.sample(60)["y"].eq("(missing)").all()
    rows = fitted.generalized()
    assert rows["(rows)'"].sum() == 60  # the column of that name keeps it
    assert set(rows["(rows)"]) == {"u"}


@pytest.mark.parametrize(("method", "how"), [(TaxonomyRelease, {"measure": "all"}), (PrivSCBN, {})])
def test_what_is_reconstructed_is_not_put_into_a_papers_mouth(method, how):
    paper, corrected = (
        release_of(known, "it", known.sample(5), data_name="d.csv")
        for known in (
            fitted(method.title, how, mode=mode, relation="replace", random_state=None)
            for mode in ("paper", "corrected")
        )
    )
    assert method.reconstructed in paper.guarantee_void
    assert "paper claims" not in paper.guarantee_void
    assert corrected.reconstructed == ""
