"""Taxonomies: well-formed trees pass, and every way to break one is named by its row."""

import pytest

from dpcore.column import Column
from dpcore.errors import SchemaError
from dpcore.taxonomy import Taxonomy

PATHS = (("Berlin", "Germany", "Europe"), ("Hamburg", "Germany", "Europe"), ("Paris", "France", "Europe"))


def test_leaves_and_root():
    tree = Taxonomy(PATHS)
    assert tree.root == "Europe"
    assert tree.leaves == ("Berlin", "Hamburg", "Paris")


def test_paths_may_differ_in_length():
    assert Taxonomy((("a", "root"), ("b", "inner", "root"))).leaves == ("a", "b")


@pytest.mark.parametrize(
    ("paths", "row"),
    [
        ((*PATHS, ("Tokyo", "Japan", "Asia")), "row 4"),  # two roots
        ((*PATHS, ("Paris", "Germany", "Europe")), "repeats"),  # a leaf twice
        ((*PATHS, ("Rome", "Rome", "Europe")), "row 4"),  # a node twice on its path
        ((*PATHS, ("Mitte", "Berlin", "Germany", "Europe")), "row 4"),  # a leaf inside
        ((*PATHS, ("Nice", "France", "South", "Europe")), "row 4"),  # two parents
        ((), "at least one path"),
        (((),), "no empty ones"),
    ],
)
def test_broken_trees_are_named(paths, row):
    with pytest.raises(SchemaError, match=row) as caught:
        Taxonomy(paths)
    assert caught.value.remedy


def test_a_column_wants_its_categories_as_leaves():
    good = Column(name="city", kind="categorical", categories=("Paris", "Berlin", "Hamburg"), taxonomy=Taxonomy(PATHS))
    assert good.size == 3
    with pytest.raises(SchemaError, match="taxonomy") as caught:
        Column(name="city", kind="categorical", categories=("Paris", "Rome"), taxonomy=Taxonomy(PATHS))
    assert caught.value.remedy
