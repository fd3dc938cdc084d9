"""Number formats: which texts are which numbers, and how synthetic numbers are written."""

import numpy as np
import pandas as pd
import pytest

from dpcore.domain.cells import NumberFormat
from dpcore.domain.column import Column
from dpcore.errors import DataError, SchemaError

FORMS = ["1234.50", "$1,234.50", "1.234,50 €", "1234.5 %", "1234", "1 234,5 kr", "1'234.50", "¥1,234"]


@pytest.mark.parametrize("text", FORMS)
def test_a_number_format_reads_what_it_writes(text):
    form = NumberFormat.from_example(text)
    assert str(form) == text
    numbers = np.round([-1234567.5, -0.5, 0, 1, 999, 1000, 1234.5], form.decimals)
    written = pd.Series([form.write(number) for number in numbers])
    np.testing.assert_array_equal(form.numbers(written), numbers)
    np.testing.assert_array_equal(form.numbers(written.astype("category")), numbers)
    assert form.is_plain == (text in ("1234.50", "1234"))


def test_text_is_read_in_its_format_and_numbers_as_they_are():
    cells = ["1.234", "1.234,5 €", "-3", "€", "12.5", "1,2,3", "+-3", None, 1.234, " 7 €"]
    found = NumberFormat.from_example("1.234,50 €").numbers(pd.Series(cells, dtype=object))
    none = np.nan
    np.testing.assert_array_equal(found, [1234, 1234.5, -3, none, none, none, none, none, 1.234, 7])
    cells = ["-$5", "$-5", "$1,23", "1e3", "$ 12.345", "12,345", "€3", "0,012"]
    dollars = NumberFormat.from_example("$1,234.50").numbers(pd.Series(cells))
    np.testing.assert_array_equal(dollars, [-5, -5, none, 1000, 12.345, 12345, none, none])


@pytest.mark.parametrize("text", ["", "12", "1234,5,0", "1.234.50", "e1234", "1,234,5", "1234.51", "-1234", "1234.000"])
def test_texts_that_show_no_number_format(text):
    assert NumberFormat.from_example(text) is None
    if text:
        with pytest.raises(SchemaError, match="number_format"):
            Column(name="c", kind="continuous", lower=0, upper=1, number_format=text)


def test_drawn_numbers_are_as_fine_as_declared_and_reach_both_bounds():
    column = Column(name="bill", kind="continuous", lower=0.1, upper=0.7, bins=3, number_format="$1,234.5")
    assert column.edges.tolist() == [0.1, 0.3, 0.5, 0.7]
    assert column.labels == ("$0.1 to $0.3", "$0.3 to $0.5", "$0.5 to $0.7")
    cells = column.decode(np.repeat([0, 1, 2], 400), np.random.default_rng(0))
    found = [set(cells[start : start + 400]) for start in (0, 400, 800)]
    assert found == [{"$0.1", "$0.2"}, {"$0.3", "$0.4"}, {"$0.5", "$0.6", "$0.7"}]
    few = Column("x", "continuous", lower=0.1, upper=0.4, number_format="1234.5")  # never more bins than numbers
    assert few.edges.tolist() == [0.1, 0.2, 0.3, 0.4]
    plain = few.decode(np.repeat([0, 1, 2], 50), np.random.default_rng(0))
    assert sorted(set(plain)) == [0.1, 0.2, 0.3, 0.4]
    assert (few.is_plain_number, column.is_plain_number) == (True, False)
    whole = Column(name="n", kind="integer", lower=0, upper=20_000, bins=2, number_format="1,234")
    assert whole.labels == ("0–10,000", "10,001–20,000")
    assert whole.encode(pd.Series(["10,000", "10,001", 3])).tolist() == [0, 1, 0]
    assert set(whole.encode(whole.decode(np.ones(50, dtype=int), np.random.default_rng(0)))) == {1}


def test_declarations_finer_than_the_format_are_refused():
    fine = {"name": "c", "kind": "continuous", "lower": 0, "upper": 1, "number_format": "1234.5"}
    for change in ({"upper": 0.95}, {"bins": (0.25,)}, {"upper": 1e16}, {"kind": "integer"}):
        with pytest.raises(SchemaError):
            Column(**fine | change)
    with pytest.raises(SchemaError, match="only numeric"):
        Column(name="c", kind="categorical", categories=("a",), number_format="1234")
    with pytest.raises(DataError, match=r"declared bounds 0\.0 to 1\.0"):
        Column(**fine).encode(pd.Series(["2"]))
