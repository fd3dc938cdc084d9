"""Taxonomies: valid trees are accepted, and every broken one is refused by its row."""

from dataclasses import replace
from functools import partial

import pytest

from dpcore.datasets import adult_schema, big5_schema
from dpcore.domain.column import Column
from dpcore.domain.schema import Schema
from dpcore.domain.taxonomy import MAX_LEAVES, MAX_LEVELS, MAX_TEXT, Taxonomy
from dpcore.domain.taxonomy_tree import Hierarchy, intervals
from dpcore.errors import SchemaError

PATHS = (("Berlin", "Germany", "Europe"), ("Hamburg", "Germany", "Europe"), ("Paris", "France", "Europe"))


def cause_of(make, *given):
    """Why something is refused."""
    with pytest.raises(SchemaError) as caught:
        make(*given)
    assert caught.value.remedy
    assert len(caught.value.cause) < 200
    return caught.value.cause


def test_trees_by_hand_and_broken_ones_by_their_row():
    assert (Taxonomy(PATHS).root, Taxonomy(PATHS).leaves) == ("Europe", ("Berlin", "Hamburg", "Paris"))
    assert Taxonomy((("a", "root"), ("b", "inner", "root"))).leaves == ("a", "b")  # paths may differ in length
    assert Taxonomy.flat(["a", "b"]).paths == (("a", "(any)"), ("b", "(any)"))
    assert Taxonomy.flat(("a",), root="all").root == "all"
    for path in ("Tokyo Japan Asia", "Rome Rome Europe", "Mitte Berlin Germany Europe", "Nice France South Europe"):
        assert "row 4" in cause_of(Taxonomy, (*PATHS, tuple(path.split())))
    for paths, cause in (
        ((*PATHS, ("Paris", "Germany", "Europe")), "row 4 repeats"),
        ((), "one path or more"),
        (((),), "row 1 is empty"),
        ((("a", "all"), ("\ud800", "all")), "row 2"),  # no file can hold it
        ((("a", "r" * 10_000), ("b", "s" * 10_000)), "row 2"),  # long names are cut
    ):
        assert cause in cause_of(Taxonomy, paths)


def test_tables_read_back_to_equal_trees_whatever_their_delimiters_spaces_and_empty_ends():
    for names in ("abc", "éü中", ('"', "a,b", ";"), ("a\nb", "a\tb", "#"), ("1", "1.0", "-")):
        leaf, inner, root = names
        tree = Taxonomy(((leaf, inner, root), (f"{leaf}2", root)))
        assert Taxonomy.from_csv(tree.to_csv()) == tree
        assert Taxonomy.from_csv(b"\xef\xbb\xbf" + tree.to_csv().encode()) == tree
    for text in (
        "Berlin,Germany,Europe\nHamburg,Germany,Europe\nParis,France,Europe\n",
        "Berlin;Germany;Europe\r\nHamburg;Germany;Europe\r\nParis;France;Europe",
        "Berlin\tGermany\tEurope\rHamburg\tGermany\tEurope\rParis\tFrance\tEurope\r",
        ' Berlin ,"Germany",Europe,,\nHamburg,Germany ,Europe\nParis,France,Europe,,,,\n\n,,\n',
    ):
        assert Taxonomy.from_csv(text) == Taxonomy(PATHS)
    paths = (("Holland, NL", "Europe"), ("Washington, DC", "Europe"))  # a name may hold another delimiter
    assert Taxonomy.from_csv("Holland, NL;Europe\nWashington, DC;Europe\n").paths == paths


def test_wrong_tables_are_named_by_their_row():
    causes = {b"": "is no table", b"\n\n": "is no table", b'"a,b\nc,b': "unclosed quotes"}
    encoded = ("München,Bayern,Welt".encode("cp1252"), "a,b".encode("utf-16"), b"a,b\0,c", b"\x89PNG\r\n\x1a\n\0\0")
    causes |= dict.fromkeys(encoded, "not UTF-8 text")
    causes |= {
        b"x" * (MAX_TEXT + 1): "at most 2",
        b"a,r\n\nb,r": "row 2 is empty",
        b"a,,r\nb,g,r": "row 1 has an empty name at level 2",
        b"a,r\n,r": "row 2 has an empty name at level 1",
        b"a,r\nb,r\na,r": "row 3 repeats the leaf 'a' of row 1",
        b"a,r\nb,s": "row 2 ends in the root 's', but row 1 ends in 'r'",
        "a," + ",".join(map(str, range(MAX_LEVELS))): f"at most {MAX_LEVELS}",
        "\n".join(f"{i},r" for i in range(MAX_LEAVES + 1)): "10,001 rows; at most 10,000",
    }
    for content, cause in causes.items():
        assert cause in cause_of(Taxonomy.from_csv, content)


def test_a_column_names_the_first_leaf_that_does_not_fit():
    def column(*leaves, categories=("Paris", "Rome"), **more):
        tree = Taxonomy(tuple(path if isinstance(path, tuple) else (path, "(any)") for path in leaves))
        return Column(name="city", kind="categorical", categories=categories, taxonomy=tree, **more)

    assert column("Rome", "Paris").size == 2
    assert "'city': 'Rome' has no path" in cause_of(column, "Paris")
    assert "row 2 starts with 'Oslo'" in cause_of(column, "Paris", "Oslo", "Rome")
    assert "row 1 starts with 'Oslo'" in cause_of(column, "Oslo", "Rome")
    for path in (("a",), ("a", "(missing)")):  # what is missing needs a place beside the taxonomy
        assert column(path, categories=("a",)).size == 1
        assert "no place for" in cause_of(partial(column, path, categories=("a",), missing=True))


def test_bins_carry_a_taxonomy_until_they_change():
    column = Column(name="age", kind="integer", lower=0, upper=99, bins=4, missing=True)
    column = replace(column, taxonomy=intervals(column, 3))
    assert column.taxonomy.leaves == column.labels[:-1]
    assert Schema.from_json(Schema(columns=(column,)).to_json())["age"] == column
    for change in ({"bins": 5}, {"upper": 120}, {"kind": "continuous"}):
        with pytest.raises(SchemaError, match=r"'age'.*no value of the column.*Rebuild the intervals"):
            replace(column, **change)


def test_published_columns_carry_balanced_taxonomies():
    adult = ["workclass", "education", "marital-status", "occupation", "relationship", "native-country"]
    for schema, carrying in ((adult_schema(), adult), (big5_schema(), ["country"])):
        assert [column.name for column in schema if column.taxonomy] == carrying
        for name in carrying:
            tree = Hierarchy.from_column(schema[name])
            assert 2 <= tree.depth <= 4
            assert min(len(below) for below in tree.children if below) >= 2  # no step without a choice
