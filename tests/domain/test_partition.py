"""Product partitions of a domain: plain enumeration and numbers by hand."""

import numpy as np
from partitions import SCHEMA, cell_of, domain, random_chain
from scipy import stats

from dpcore.domain.column import MISSING
from dpcore.domain.partition import Axis, Partition
from dpcore.domain.taxonomy_tree import ANY


def test_an_axis_and_the_whole_domain_by_hand():
    axis = Axis(np.array([1, 0, 1, 2]), ("x", "y", "z"))
    assert axis.sizes.tolist() == [1, 2, 1]
    assert axis.codes_by_block.tolist() == [1, 0, 2, 3]
    assert axis.shares(np.array([True, False, False, True])).tolist() == [0, 0.5, 1]
    assert axis.draw(np.array([0, 2, 0]), np.random.default_rng(0)).tolist() == [1, 3, 1]
    whole = Partition.whole(SCHEMA)
    assert (whole.shape, whole.size, whole.divided_columns) == ((1, 1, 1, 1), 1, ())
    assert [axis.names for axis in whole.axes] == [(ANY,)] * 4
    finer = whole.refine("n", np.array([0, 0, 1, 1, 1, 2]), ["low", "high", MISSING])
    assert (finer.shape, finer.size, finer.divided_columns) == ((1, 3, 1, 1), 3, ("n",))
    assert whole.size == 1  # nothing is changed in place
    blocks = np.array([2, 0, 1, 1])
    schema, rules = whole.refine("a", blocks, ["x", "y", "z"]).recoding()  # the blocks' numbers are the codes
    assert (schema.sizes, schema.names, rules[0][0]) == ((3, 1, 1, 1), SCHEMA.names, "a")
    np.testing.assert_array_equal(rules[0][1], blocks)


def test_parents_hold_their_children_and_weights_are_covered_shares_of_cells(seeds):
    for seed in seeds(20):
        schema, chain, rng = random_chain(seed)
        rows = domain(schema)
        # an empty set covers nothing
        sets = {column.name: rng.random(column.size) < 0.6 for column in schema if rng.random() < 0.7}
        covered = [
            all(sets.get(n, np.ones(9))[code] for n, code in zip(schema.names, row, strict=True)) for row in rows
        ]
        cells = [np.array([cell_of(partition, row) for row in rows]) for partition in chain]
        for i, (fine, held) in enumerate(zip(chain, cells, strict=True)):
            for coarse, above in zip(chain[: i + 1], cells, strict=False):
                parents = fine.parents(coarse)
                assert parents.shape == (fine.size,)
                np.testing.assert_array_equal(parents[held], above)
            share = np.bincount(held, weights=covered, minlength=fine.size) / np.bincount(held, minlength=fine.size)
            np.testing.assert_allclose(fine.weights(sets), share, atol=1e-12)
        np.testing.assert_allclose(chain[-1].weights({}), 1)


def test_draws_stay_in_their_cell_and_are_uniform():
    every = domain(SCHEMA)
    partition = Partition.whole(SCHEMA).refine("a", np.array([1, 0, 1, 1]), ["x", "y"])
    partition = partition.refine("n", np.array([0, 1, 1, 0, 2, 2]), ["p", "q", "r"])
    cells = np.repeat(np.arange(partition.size), 4_000)
    codes = partition.draw(cells, np.random.default_rng(0))
    assert codes.shape == (len(cells), 4)
    assert np.array_equal([cell_of(partition, row) for row in codes[::37]], cells[::37])
    flat = np.ravel_multi_index(tuple(codes.T.astype(int)), SCHEMA.sizes)
    observed = np.bincount(flat, minlength=len(every))
    cell = np.array([cell_of(partition, row) for row in every])
    np.testing.assert_array_equal(np.bincount(cell, weights=observed), 4_000)  # none left its cell
    expected = 4_000 / np.bincount(cell)[cell]
    freedom = len(every) - partition.size
    assert stats.chi2.sf(((observed - expected) ** 2 / expected).sum(), freedom) > 1e-3
