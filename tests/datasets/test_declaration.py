"""Lines that were read from rows: how their bounds are rounded, and what makes them declared."""

from dataclasses import replace

import numpy as np
import pytest
from sample_tables import customers, visits

from dpcore import Column, Schema, Taxonomy
from dpcore.datasets.proposals import round_bounds_outward, round_columns, undeclared_columns
from dpcore.domain.taxonomy_tree import intervals


def number(low: float, high: float, kind: str = "continuous", form: str = "") -> Column:
    return Column(name="x", kind=kind, lower=low, upper=high, number_format=form)


@pytest.mark.parametrize(
    ("column", "told"),
    [
        (number(296.05, 19848.43, form="1234.50"), "0.00 to 20000.00"),
        (number(17, 88, "integer"), "15 to 89"),  # in bins of five years
        (number(31, 100, "integer"), "30 to 100"),  # an end that is round stays
        (number(1, 196, "integer"), "1 to 200"),
        (number(0, 20, "integer"), "0 to 20"),  # a small range stays: all values
        (number(3, 88.5), "0.0 to 90.0"),  # never across 0
        (number(3, 4, "integer"), "3 to 4"),
        (number(-3.94, 3.39), "-4.0 to 3.5"),
        (number(-7, -3, "integer"), "-7 to -3"),
        (Column(name="x", kind="date", lower="1969-03-05", upper="2021-08-01"), "1969-01-01 to 2021-12-31"),
        (Column(name="x", kind="date", lower="2020-01-09", upper="2020-12-11"), "2020-01-01 to 2020-12-31"),
        (Column(name="x", kind="date", lower="2021-03-05", upper="2021-03-20"), "2021-03-05 to 2021-03-20"),
    ],
)
def test_bounds_become_round_numbers(column: Column, told: str) -> None:
    found = round_bounds_outward(column)
    if column.kind == "date" or column.number_format:
        ends = [found.format_value(end) for end in (found.lower, found.upper)]
    else:
        ends = [str(int(end)) if column.whole else str(end) for end in (found.lower, found.upper)]
    assert " to ".join(ends) == told
    assert round_bounds_outward(found) == found


def test_rounding_leaves_no_row_outside_and_is_done_once() -> None:
    rng = np.random.default_rng(2)
    for low, high in np.sort(rng.choice([-1, 1], (100, 2)) * 10 ** rng.uniform(-6, 11, (100, 2))).tolist():
        for column in (number(low, high), number(np.floor(low), np.ceil(high), "integer")):
            found = round_bounds_outward(column)
            assert found.lower <= column.lower < column.upper <= found.upper
            assert round_bounds_outward(found) == found
            edges = round_bounds_outward(replace(column, bins=16)).edges
            assert edges[1] > column.lower
            assert edges[-2] <= column.upper  # no bin at an end is empty
    for frame in (visits(400), customers(400)):
        schema = Schema.infer(frame)
        wide = round_columns(schema, schema.names)
        wide.encode(frame)
        assert wide.source == "inferred"  # nobody has said anything
        assert round_columns(schema, ()) == schema


def test_bounds_that_can_be_no_rounder_stay() -> None:
    vast = number(-1.7e308, 1e300)
    few = replace(number(296, 19848), bins=(1000.0, 5000.0))
    assert round_bounds_outward(vast) == vast
    assert round_bounds_outward(few).bins == few.bins
    tree = replace(number(17, 90, "integer"), taxonomy=intervals(number(17, 90, "integer"), 4))
    assert round_bounds_outward(tree).upper == 90


WORDS = {"town": ("a", "b"), "own": ("c",)}
WORDED = [Column(name=name, kind="categorical", categories=values) for name, values in WORDS.items()]
SCHEMA = Schema(columns=(number(17, 90, "integer"), *WORDED), source="inferred")


@pytest.mark.parametrize(
    ("name", "given", "declares"),
    [
        ("x", {"lower": 0}, True),
        ("x", {"kind": "continuous"}, False),
        ("x", {"bins": 4}, False),
        ("town", {"categories": ("a", "b", "z")}, True),
        ("town", {"categories": ("b", "a"), "kind": "ordered"}, False),
        ("town", {"taxonomy": Taxonomy.flat(("a", "b"), "any")}, False),
    ],
)
def test_a_change_of_bounds_or_categories_declares_a_line(name: str, given: dict[str, object], declares: bool) -> None:
    columns = [replace(each, **given) if each.name == name else each for each in SCHEMA.columns]
    left = [one for one in ("x", "town") if one != name or not declares]
    assert [*undeclared_columns(replace(SCHEMA, columns=tuple(columns)), SCHEMA, ["x", "town"], [])] == left
    assert undeclared_columns(SCHEMA, SCHEMA, ["x", "town"], ["town", "own"]) == ("x",)  # a tick declares it, too
    assert undeclared_columns(SCHEMA.select(["own", "town"]), SCHEMA, ["x", "town"], []) == ("town",)
