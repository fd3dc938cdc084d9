"""Numbers that mean missing values, outliers, few levels, words among numbers, and one-hot flags."""

import numpy as np
import pandas as pd
import pytest

from dpcore.datasets.proposals import column_of_flags, round_bounds_outward, round_columns
from dpcore.datasets.recognition import recognize
from dpcore.datasets.spread import number_spread
from dpcore.domain.column import Column
from dpcore.domain.schema import Schema
from dpcore.errors import DataError

RNG = np.random.default_rng(5)


def one(name, cells):
    return recognize(pd.DataFrame({name: cells}))[0]


def spread(cells, whole=True):
    numbers, counts = np.unique(np.asarray(cells, dtype=float), return_counts=True)
    return number_spread(numbers, counts, None, whole=whole, per_unit=0)


def test_words_among_numbers_count_as_missing_and_are_named():
    cells = [*map(str, RNG.integers(900, 90_000, 500)), *["refused"] * 6, "N"]
    found = one("rent", cells)
    assert (found.role, found.odd) == ("integer", ("refused", "N"))
    assert "refused, N (7×): these values count as missing." in found.doubt
    column = Schema.infer(pd.DataFrame({"rent": cells}))["rent"]
    assert (column.missing, column.outside) == (True, "clip")
    assert (column.encode(pd.Series(["refused"])) == column.size - 1).all()
    assert one("rent", ["12", "x"] * 200).role == "category"  # half of them are words


@pytest.mark.parametrize("mark", [-9, 999, 99_999])
def test_marks_of_a_missing_number_set_no_bounds(mark):
    cells = [*RNG.integers(15, 60, 400), *[mark] * 8]
    assert spread(cells).marks == (mark,)
    column = Schema.infer(pd.DataFrame({"score": cells}))["score"]
    assert (column.lower, column.upper, column.missing_values) == (min(cells[:400]), max(cells[:400]), (mark,))
    assert (column.encode(pd.Series([mark])) == column.size - 1).all()
    assert spread([*RNG.integers(15, 60, 400), mark]).marks == ()  # one cell is no rule


def test_a_few_numbers_far_away_go_to_the_nearest_bound():
    found = spread([*RNG.integers(0, 40, 900), 1_048])
    assert (found.high, found.outliers, found.levels) == (39, True, ())
    assert "up to 1048 (1×)" in found.remarks[0]
    assert not spread(RNG.exponential(100, 900), whole=False).outliers


def test_few_levels_stay_as_they_are():
    assert spread([*range(0, 60, 5)] * 40).levels == tuple(map(str, range(0, 60, 5)))
    assert spread([17.5, 22.0, 27.0, 32.5] * 50, whole=False).levels == ("17.5", "22", "27", "32.5")
    assert spread([1, 2, 3, 4, 6] * 50).levels == ()  # counts
    assert Schema.infer(pd.DataFrame({"x": [*range(0, 60, 5)] * 40 + [999] * 9}))["x"].missing
    assert spread([201_503, 201_612, 201_701]).levels[:2] == ("201501", "201502")  # all months of the years


def test_small_numbers_mostly_have_bins_that_grow():
    cells = RNG.lognormal(5, 1.5, 2_000).round()
    assert spread(cells).bin_ends[-4:] == (5_000, 10_000, 20_000, 50_000)
    column = Schema.infer(pd.DataFrame({"cost": cells}))["cost"]
    assert column.lower == 0
    assert spread(RNG.integers(0, 100, 2_000)).bin_ends == ()
    assert spread([*cells, *-cells[cells < 900]]).bin_ends[:5] == (-1_000, -500, -200, -100, -50)
    assert spread(RNG.normal(0, 9, 2_000), whole=False).bin_ends == ()


MONTHS = [f"{month:02}/01/{year}" for year in range(2015, 2021) for month in range(1, 13)] * 3


@pytest.mark.parametrize(
    ("cells", "step"),
    [
        (RNG.integers(20, 95, 900) * 1_000, 1_000),
        (RNG.integers(0, 60, 900) / 2, 0.5),
        (RNG.lognormal(5, 1.5, 900).round() * 5, 5),
        (RNG.integers(0, 60, 900), None),
        (MONTHS, "month"),
        (pd.to_datetime(pd.Series(MONTHS[::12]), format="%m/%d/%Y"), "year"),
    ],
)
def test_a_grid_is_proposed_and_synthetic_values_lie_on_it(cells, step):
    rows = pd.DataFrame({"x": cells})
    proposed = Schema.infer(rows)["x"]
    for column in (proposed, round_bounds_outward(proposed)):
        assert column.step == step
        drawn = column.decode(column.encode(rows["x"]), np.random.default_rng(1))
        again = Schema.infer(pd.DataFrame({"x": drawn}))["x"]
        assert (again.step, again.number_format) == (step, column.number_format)


def test_one_hot_flags_are_proposed_as_one_column():
    flags = np.eye(4, dtype=int)[RNG.integers(0, 4, 300)]
    rows = pd.DataFrame(flags, columns=list("abcd")).assign(other=RNG.integers(0, 2, 300))
    first, *others = recognize(rows)
    assert "4 columns 'a' to 'd'" in first.doubt
    assert not any(found.doubt for found in others)
    column = column_of_flags(first.flags, rows.columns)
    assert (column.name, column.categories) == ("a to d", ("a", "b", "c", "d"))
    schema = Schema((column,))
    assert schema.encode(rows).tolist() == flags.argmax(axis=1)[:, None].tolist()
    assert Schema.from_json(schema.to_json()) == schema
    with pytest.raises(DataError):
        schema.encode(rows * 0)
    words = rows.drop(columns="other").replace({0: "no", 1: "yes"})
    words.insert(1, "age", RNG.integers(20, 60, 300))  # between them
    words.loc[words.index < 9, list("abcd")] = None  # rows that say nothing
    assert recognize(words)[0].flags == ("a", "b", "c", "d")
    fewer = rows[["a", "b", "c"]].add_prefix("is ").assign(male=rows["other"], female=1 - rows["other"])
    first, _, _, male, _ = recognize(fewer)
    assert (first.flags, male.flags) == (("is a", "is b", "is c"), ("male", "female"))
    assert "at most one 1" in first.doubt
    assert not any(found.flags for found in recognize(fewer[["is a", "is b", "male"]].rename(columns=str.title)[:20]))


@pytest.mark.parametrize(
    "cells",
    [
        [*[0, 20, 40, 60, 80, 100] * 90, 999],  # one far away beside few levels
        ["$5", "$10", "$20", "$50"] * 90,  # levels in a form
        [0.0] * 90 + [1e-9 * i for i in range(1, 400)],  # too small for a step
    ],
)
def test_no_column_keeps_a_table_from_being_proposed(cells):
    rows = pd.DataFrame({"x": cells})
    schema = round_columns(Schema.infer(rows), ["x"])
    assert (schema.encode(rows) < schema.sizes[0] - schema["x"].missing).sum() >= len(rows) - 1


def test_a_mark_of_a_missing_number_is_not_drawn():
    column = Column("x", "integer", lower=0, upper=99, bins=10, missing=True, missing_values=(0,))
    assert 0 not in column.decode(np.zeros(900, dtype=np.uint8), RNG).tolist()
