"""Hierarchies: levels have every code once, leaves stay leaves, and intervals divide bins."""

from itertools import product

import numpy as np
import pytest

from dpcore.datasets.catalog import adult_schema
from dpcore.domain.column import Column
from dpcore.domain.splits import flat_hierarchy
from dpcore.domain.taxonomy import Taxonomy
from dpcore.domain.taxonomy_tree import ANY, Hierarchy, intervals
from dpcore.errors import ParameterError

PATHS = (
    ("Paris", "France", "Europe", "World"),
    ("Berlin", "Germany", "Europe", "World"),
    ("Bonn", "Germany", "Europe", "World"),
    ("Singapore", "World"),
)
NAMES = ("Bonn", "Singapore", "Paris", "Berlin")
CITY = Column(name="city", kind="categorical", categories=NAMES, missing=True, taxonomy=Taxonomy(PATHS))


def numbers(kind: str = "integer", missing: bool = False, bins: object = 16, upper: float = 99) -> Column:
    return Column(name="x", kind=kind, lower=0, upper=upper, bins=bins, missing=missing)


COLUMNS = [
    CITY,
    *(numbers(), numbers("continuous", missing=True, bins=7), numbers(bins=(1.0, 50.0))),
    *(numbers(bins=1), numbers(bins=1, missing=True)),
    Column(name="one", kind="categorical", categories=("a",)),
    Column(name="one or none", kind="categorical", categories=("a",), missing=True),
    Column(name="flat", kind="ordered", categories=("a", "b", "c")),
    adult_schema()["education"],
]


def test_every_level_holds_every_code_once_and_divides_the_one_above():
    for column, fanout in product(COLUMNS, (2, 3, 10)):
        tree = Hierarchy.from_column(column, fanout)
        assert tree.size == column.size
        assert tree.nodes[0].codes == tuple(range(column.size))
        above = np.zeros(column.size, dtype=int)
        for depth in range(tree.depth + 1):
            level = tree.level(depth)
            held = tree.blocks(level)  # raises if a code is lacking or held twice
            assert sorted(set(held)) == list(range(len(level))), column.name
            assert all(len(set(above[held == block])) == 1 for block in range(len(level)))
            assert [tree.nodes[i].codes for i in level] == sorted(tree.nodes[i].codes for i in level)
            above = held
        assert len(tree.level(tree.depth)) == column.size
        assert tree.level(tree.depth + 3) == tree.level(tree.depth)


def test_leaves_are_the_codes_under_their_labels_and_missing_stands_under_the_root():
    for column in COLUMNS:
        tree = Hierarchy.from_column(column)
        pairs = list(zip(tree.nodes, tree.children, strict=True))
        leaves = {node.codes: node.name for node, below in pairs if not below}
        assert leaves == {(i,): label for i, label in enumerate(column.labels)}
        for index, (node, below) in enumerate(pairs):
            assert all(tree.nodes[child].parent == index for child in below)
            assert sorted(code for child in below for code in tree.nodes[child].codes) == list(node.codes) * bool(below)
        assert [node.parent for node in tree.nodes if node.name == "(missing)"] == [0] * column.missing
    assert Hierarchy.from_column(numbers(missing=True)).nodes[0].name == ANY
    # A category called missing is not what is missing: trees would not tell them apart.
    column = Column(name="a", kind="categorical", categories=("(missing)", "b"), missing=True)
    assert column.labels == ("(missing)", "b", "(missing)'")
    assert len(flat_hierarchy(column).nodes) == 4


def test_a_taxonomy_by_hand_and_nodes_that_are_no_partition():
    tree = Hierarchy.from_column(CITY)
    named = [[tree.nodes[i].name for i in tree.level(depth)] for depth in range(4)]
    assert named[0] == ["World"]
    assert named[1] == ["Europe", "Singapore", "(missing)"]
    assert named[2] == ["Germany", "Singapore", "France", "(missing)"]  # a leaf stays where its branch has ended
    assert named[3] == ["Bonn", "Singapore", "Paris", "Berlin", "(missing)"]
    np.testing.assert_array_equal(tree.blocks(tree.level(2)), [0, 1, 2, 0, 3])
    twice = (*tree.level(3)[1:], tree.level(3)[1])  # one code lacks, another is held twice
    for point in [(0, 1), tree.level(1)[1:], (), (*tree.level(2), tree.level(2)[0]), twice]:
        with pytest.raises(ParameterError, match="no partition"):
            tree.blocks(point)


def test_intervals_have_nearly_equal_parts():
    for fanout, sizes in ((2, [1, 2, 4, 8, 16]), (3, [1, 3, 9, 16]), (4, [1, 4, 16]), (16, [1, 16])):
        tree = Hierarchy.from_column(numbers(), fanout)
        assert [len(tree.level(depth)) for depth in range(tree.depth + 1)] == sizes
        for below in tree.children:
            held = [len(tree.nodes[i].codes) for i in below]
            assert not held or max(held) - min(held) <= 1
        assert all(node.codes == tuple(range(node.codes[0], node.codes[-1] + 1)) for node in tree.nodes)


def test_intervals_are_named_like_the_bins_of_numbers_in_two_parts_or_more():
    age = numbers(bins=4)
    assert intervals(age).paths[0] == ("0–24", "0–49", "0–99")
    assert age.interval(1, 2) == age.labels[1] == "25–49"
    assert numbers(bins=4, upper=3).interval(2, 3) == "2"
    height = numbers("continuous", bins=2, upper=2.5)
    assert intervals(height).paths[1] == ("1.25 to 2.5", "0 to 2.5")
    narrow = Column(name="x", kind="continuous", lower=1e6, upper=1e6 + 1, bins=2)
    assert intervals(narrow).paths[0] == ("1000000 to 1000000.5", "1000000 to 1000001")
    with pytest.raises(ParameterError, match="no bins"):
        intervals(CITY)
    for fanout in (1, 0, -2, 2.5):
        with pytest.raises(ParameterError, match="fanout"):
            intervals(numbers(), fanout)
