"""The candidates of a growing network and their scores, against brute force after every step."""

from itertools import combinations, product
from math import comb

import numpy as np
import pytest
from scipy.special import logsumexp

from dpcore.accounting.relation import Relation
from dpcore.door import exact_counts as bits_module
from dpcore.door import exact_family_scores as module
from dpcore.door.exact_counts import PackedBits, joint_counts
from dpcore.door.exact_family_scores import Block, FamilySearch
from dpcore.mechanisms.scores import LinearF, MutualInformation, R

ADD, REPLACE = Relation.ADD_REMOVE, Relation.REPLACE
SCORES = [MutualInformation(), R(), LinearF()]


def zeros_and_ones(n=90, d=7, seed=0):
    """Columns that depend on each other, so that scores differ."""
    rng = np.random.default_rng(seed)
    base = rng.random((n, d)) < rng.uniform(0.2, 0.8, d)
    copied = rng.integers(0, d, d)
    return np.asfortranarray(np.where(rng.random((n, d)) < 0.6, base[:, copied], base).astype(np.uint8))


def expected(codes, columns, placed, most, score, relation, related):
    """{child: {set of parents: score}}, every family counted by itself."""
    found = {}
    for child in set(columns) - set(placed):
        allowed = [p for p in placed if related is None or related[columns.index(child), columns.index(p)]]
        sets = combinations(allowed, most) if len(allowed) > most else [tuple(allowed)]
        tables = [(each, joint_counts(codes, [2] * codes.shape[1], [(child, *each)])[0]) for each in sets]
        found[child] = {frozenset(each): score.of(table.reshape(2, -1), relation) for each, table in tables}
    return found


def held(search):
    """The same of a search; no set of parents may be there twice."""
    found = {}
    for child, blocks in search.blocks.items():
        families = [
            (frozenset(parents), value)
            for block in blocks
            for parents, value in zip(block.parents.tolist(), block.scores, strict=True)
        ]
        assert all(len(block.scores) for block in blocks)
        found[child] = dict(families)
        assert len(found[child]) == len(families)
    return found


def assert_grows_as_by_brute_force(codes, order, most, score=SCORES[1], relation=ADD, related=None, columns=None):
    columns = sorted(order) if columns is None else columns
    search = FamilySearch(PackedBits(codes), columns, score, relation, max_parents=most, related=related)
    for step in range(len(order) + 1):
        here, wanted = held(search), expected(codes, columns, order[:step], most, score, relation, related)
        assert here.keys() == wanted.keys()
        for child, families in wanted.items():
            assert here[child] == pytest.approx(families, abs=1e-12), (step, child)
        if step < len(order):
            search.place(order[step])
    assert not search.blocks


def test_every_step_equals_brute_force():
    for most, (score, relation) in product((1, 2, 3, 4), zip(SCORES * 2, (ADD, REPLACE) * 3, strict=True)):
        if (most + SCORES.index(score)) % 2:  # pairwise: they do not know of each other
            order = np.random.default_rng(most).permutation(7).tolist()
            assert_grows_as_by_brute_force(zeros_and_ones(seed=most), order, most, score, relation)
    for n, score in product((0, 1, 64, 65), SCORES):
        assert_grows_as_by_brute_force(zeros_and_ones(n, 5), [3, 1, 0, 4, 2], 2, score, (ADD, REPLACE)[n % 2])
    for most, d in product((1, 4, 9), (1, 2, 4)):  # fewer columns than parents allowed
        assert_grows_as_by_brute_force(zeros_and_ones(d=d), list(range(d)), most)


def test_a_column_takes_only_the_parents_that_it_may(seeds):
    """Any matrix, asymmetric ones too: the first axis is the child."""
    for seed, most, share in product(seeds(12), (1, 2, 4), (0.0, 0.4, 0.9)):
        rng = np.random.default_rng(seed)
        related = rng.random((7, 7)) < share
        assert_grows_as_by_brute_force(
            zeros_and_ones(seed=seed), rng.permutation(7).tolist(), most, R(), REPLACE, related
        )


def test_a_child_that_may_take_no_parent_keeps_the_empty_set():
    related = np.ones((7, 7), dtype=bool)
    related[3] = False
    search = FamilySearch(PackedBits(zeros_and_ones()), range(7), R(), ADD, max_parents=2, related=related)
    for column in (0, 1, 2, 4, 5):
        search.place(column)
    (block,) = search.blocks[3]
    assert (block.parents.shape, block.scores.tolist()) == ((1, 0), [0.0])
    assert sum(len(block.scores) for block in search.blocks[6]) == comb(5, 2)
    assert search.shapes == [(2,), (2, 2), (2, 2, 2)]  # of all rounds


def test_some_columns_of_a_table():
    """Columns in their own order; the matrix goes by that order, the parents by the table's positions."""
    codes, columns, order = zeros_and_ones(d=9, seed=4), [8, 2, 5, 0, 6], [5, 8, 6, 0, 2]
    for most, related in product((1, 3), (None, np.tri(5, dtype=bool))):
        assert_grows_as_by_brute_force(codes, order, most, SCORES[0], REPLACE, related, columns)


def test_work_in_slices(monkeypatch):
    """Slices of three words and of three families give what whole rounds give."""
    monkeypatch.setattr(bits_module, "CHUNK", 7)
    monkeypatch.setattr(module, "SCORED", 3)
    for related in (None, np.random.default_rng(9).random((8, 8)) < 0.7):
        codes = zeros_and_ones(n=120, d=8)
        assert_grows_as_by_brute_force(codes, [4, 1, 7, 2, 0, 3, 6, 5], 3, R(), REPLACE, related)


class Counted(R):
    """R that counts the tables it rates."""

    def __init__(self):
        self.rated = []

    def of_many(self, tables, relation):
        self.rated.append(tables.shape)
        return super().of_many(tables, relation)


@pytest.mark.parametrize(("d", "most"), [(8, 3), (8, 1), (6, 4)])
def test_every_family_is_scored_once(d, most):
    score = Counted()
    search = FamilySearch(PackedBits(zeros_and_ones(d=d)), range(d), score, ADD, max_parents=most)
    seen, sets = {}, []

    def look():
        for child, blocks in search.blocks.items():
            for block in blocks:
                if id(block) not in seen:
                    seen[id(block)] = block  # held, so that no other block gets its id
                    sets.extend(frozenset((child, *parents)) for parents in block.parents.tolist())

    look()
    for column in np.random.default_rng(1).permutation(d).tolist():
        search.place(column)
        look()
    small = sum(d - placed for placed in range(most))  # while fewer than l columns stand, one family per open column
    full = [columns for columns in sets if len(columns) == most + 1]
    assert len(full) == len(set(full)) == comb(d, most + 1)
    assert len(sets) == comb(d, most + 1) + small
    assert sum(shape[-1] for shape in score.rated) == len(sets)


def test_the_weight_of_a_block():
    """Remembered, and not for another factor."""
    scores = np.random.default_rng(0).normal(size=50) * 3
    block = Block(np.zeros((50, 1), dtype=np.intp), scores)
    for factor in (0.0, 0.0, 1e-3, 1.0, 1.0, 700.0, 1e6, 1.0):
        assert block.weight(factor) == pytest.approx(logsumexp(factor * scores))
