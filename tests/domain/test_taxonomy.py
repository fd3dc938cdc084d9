"""Taxonomies: well-formed trees pass, and every way to break one is named by its row."""

import time
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpcore.datasets import adult_schema, big5_schema, load
from dpcore.domain.column import Column
from dpcore.domain.schema import Schema
from dpcore.domain.taxonomy import MAX_LEAVES, MAX_LEVELS, MAX_TEXT, Taxonomy
from dpcore.domain.taxonomy_tree import Hierarchy, intervals
from dpcore.errors import SchemaError
from dpcore.text import is_writable

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


# Tables


NAME = (
    st.text(st.characters(codec="utf-8"), min_size=1, max_size=6)
    .filter(is_writable)
    .filter(lambda name: name == name.strip() and "\0" not in name)
)


@st.composite
def trees(draw) -> Taxonomy:
    """Any tree: every node but the root chooses its parent among the groups before it."""
    names = draw(st.lists(NAME, min_size=2, max_size=14, unique=True))
    groups = draw(st.integers(1, len(names) - 1))
    above: dict[int, int] = {}
    for node in range(1, len(names)):
        above[node] = draw(st.integers(0, min(node, groups) - 1))
    paths = []
    for node in range(1, len(names)):
        if node in above.values():
            continue
        path = [node]
        while path[-1]:
            path.append(above[path[-1]])
        paths.append(tuple(names[place] for place in path))
    return Taxonomy(tuple(paths))


@given(trees(), st.booleans())
def test_tables_read_back_to_equal_trees(tree, mark):
    text = tree.to_csv()
    assert Taxonomy.from_csv(text) == tree
    assert Taxonomy.from_csv((b"\xef\xbb\xbf" if mark else b"") + text.encode()) == tree


@pytest.mark.parametrize(
    "text",
    [
        "Berlin,Germany,Europe\nHamburg,Germany,Europe\nParis,France,Europe\n",
        "Berlin;Germany;Europe\r\nHamburg;Germany;Europe\r\nParis;France;Europe",
        "Berlin\tGermany\tEurope\rHamburg\tGermany\tEurope\rParis\tFrance\tEurope\r",
        ' Berlin ,"Germany",Europe,,\nHamburg,Germany ,Europe\nParis,France,Europe,,,,\n\n,,\n',
    ],
    ids=["comma", "semicolon", "tab", "spaces and empty cells"],
)
def test_delimiters_spaces_and_empty_ends(text):
    assert Taxonomy.from_csv(text) == Taxonomy(PATHS)


def test_a_name_may_hold_another_delimiter():
    paths = (("Holland, NL", "Europe"), ("Washington, DC", "Europe"))
    assert Taxonomy.from_csv("Holland, NL;Europe\nWashington, DC;Europe\n") == Taxonomy(paths)
    assert Taxonomy.from_csv(Taxonomy(paths).to_csv()).paths == paths


@pytest.mark.parametrize(
    ("content", "cause"),
    [
        (b"", "not a table"),
        (b"\n\n", "not a table"),
        (b"\x89PNG\r\n\x1a\n\x00\x00\x00", "not UTF-8 text"),
        ("München,Bayern,Welt".encode("cp1252"), "not UTF-8 text"),
        ("a,b".encode("utf-16"), "not UTF-8 text"),
        (b"a,b\0,c", "not UTF-8 text"),
        (b"x" * (MAX_TEXT + 1), "at most 2"),
        (b'"a,b\nc,b', "quotes do not close"),
        (b"a,r\n\nb,r", "row 2 is empty"),
        (b"a,,r\nb,g,r", "row 1 has an empty name at level 2"),
        (b"a,r\n,r", "row 2 has an empty name at level 1"),
        (b"a,r\nb,r\na,r", "row 3 repeats the leaf 'a' of row 1"),
        (b"a,g,r\nb,g,s,r", "row 2 puts 'g' below 's', but an earlier row below 'r'"),
        (b"a,r\nb,s", "row 2 ends in another root, 's', than row 1, which ends in 'r'"),
        (b"value,group\na,r\nb,r", "row 2 ends in another root"),
        (b"a,r\nb,a,r", "row 2 uses 'a', the leaf of row 1"),
        (b"a,x,x,r", "row 1 repeats the node 'x'"),
        ("a," + ",".join(map(str, range(MAX_LEVELS))), f"at most {MAX_LEVELS}"),
        ("\n".join(f"{i},r" for i in range(MAX_LEAVES + 1)), "10,001 rows; at most 10,000"),
    ],
)
def test_wrong_tables_are_named_by_their_row(content, cause):
    with pytest.raises(SchemaError) as caught:
        Taxonomy.from_csv(content)
    assert cause in caught.value.cause
    assert caught.value.remedy
    assert len(caught.value.cause) < 200


def test_long_names_are_cut_in_messages():
    with pytest.raises(SchemaError) as caught:
        Taxonomy((("a", "r" * 10_000), ("b", "s" * 10_000)))
    assert len(caught.value.cause) < 200


def test_the_largest_tree_is_checked_in_linear_time():
    paths = tuple((f"leaf{i}", f"group{i % 100}", "root") for i in range(MAX_LEAVES))
    start = time.perf_counter()
    Taxonomy(paths)
    assert time.perf_counter() - start < 1  # 0.03 s; counting every leaf in all rows took 1.5 s


def test_flat():
    assert Taxonomy.flat(["a", "b"]).paths == (("a", "(any)"), ("b", "(any)"))
    assert Taxonomy.flat(("a",), root="all").root == "all"


# Columns


AGE = Column(name="age", kind="integer", lower=0, upper=99, bins=4, missing=True)


@pytest.mark.parametrize(
    ("leaves", "cause"),
    [
        (("Paris",), "'Rome' has no path"),
        (("Paris", "Oslo", "Rome"), "row 2 starts with 'Oslo'"),
        (("Oslo", "Rome"), "row 1 starts with 'Oslo'"),
    ],
)
def test_a_column_names_the_first_leaf_that_does_not_fit(leaves, cause):
    with pytest.raises(SchemaError) as caught:
        Column(name="city", kind="categorical", categories=("Paris", "Rome"), taxonomy=Taxonomy.flat(leaves))
    assert cause in caught.value.cause
    assert "'city'" in caught.value.cause


@pytest.mark.parametrize("kind", ["integer", "continuous"])
def test_bins_carry_a_taxonomy_until_they_change(kind):
    column = replace(AGE, kind=kind)
    column = replace(column, taxonomy=intervals(column, 3))
    assert column.taxonomy.leaves == column.labels[:-1]
    schema = Schema(columns=(column,))
    assert Schema.from_json(schema.to_json()) == schema
    for change in ({"bins": 5}, {"upper": 120}, {"kind": "continuous" if kind == "integer" else "integer"}):
        with pytest.raises(SchemaError, match=r"'age'.*none of its values.*make the intervals again"):
            replace(column, **change)


def test_missing_needs_a_place_beside_the_taxonomy():
    for tree in (Taxonomy((("a",),)), Taxonomy((("a", "(missing)"),))):
        Column(name="x", kind="categorical", categories=("a",), taxonomy=tree)
        with pytest.raises(SchemaError, match="no place for"):
            Column(name="x", kind="categorical", categories=("a",), missing=True, taxonomy=tree)


@pytest.mark.parametrize("tree", [["ab", "cb"], "ab", [["a", []], 3], {"a": "b"}, [[]]])
def test_malformed_trees_of_documents(tree):
    with pytest.raises(SchemaError):
        Column.from_dict({"name": "x", "kind": "categorical", "categories": ["a", "c"], "taxonomy": tree})


@pytest.mark.parametrize(
    ("low", "high", "first"),
    [(0, 1, "0 to 0.0625"), (1_000_000, 1_000_001, "1000000 to 1000000.06"), (1, 1 + 1e-12, "1 to 1.00000000000006")],
)
def test_labels_of_narrow_bins_differ(low, high, first):
    column = Column(name="x", kind="continuous", lower=low, upper=high)
    assert column.labels[0] == first
    assert len(set(column.labels)) == column.size
    assert intervals(column).leaves == column.labels


# The package's own


@pytest.mark.parametrize(
    ("schema", "carrying"),
    [
        (adult_schema(), "workclass education marital-status occupation relationship native-country"),
        (big5_schema(), "country"),
    ],
    ids=["Adult", "Big5"],
)
def test_published_columns_carry_balanced_taxonomies(schema, carrying):
    assert [column.name for column in schema if column.taxonomy] == carrying.split()
    assert Schema.from_json(schema.to_json()) == schema
    for name in carrying.split():
        tree = Hierarchy.of(schema[name])
        assert 2 <= tree.depth <= 4
        splits = [len(below) for below in tree.children if below]
        assert min(splits) >= 2  # no step without a choice
        assert max(splits[:-1]) <= 6 or name == "country"


def test_the_sample_carries_adults():
    adult, sample = adult_schema(), load("sample").schema
    assert {c.name: c.taxonomy for c in sample} == {c.name: c.taxonomy for c in adult}
