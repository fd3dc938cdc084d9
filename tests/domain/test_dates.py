"""Dates: texts that are read as dates, starts of calendar units, and columns of dates."""

import datetime as dt
import json

import numpy as np
import pandas as pd
import pytest

from dpcore.domain.column import Column
from dpcore.domain.dates import DATE_FORMS, as_day, as_days, default_unit, iso
from dpcore.domain.range_query import RangeQuery, query_names
from dpcore.domain.schema import Schema
from dpcore.domain.splits import attributes_of
from dpcore.domain.taxonomy_tree import Hierarchy
from dpcore.errors import DataError, SchemaError

VISIT = {"name": "visit", "kind": "date", "lower": "2019-01-15", "upper": "2023-12-31"}
DAY = as_day("2021-03-05")
SAME = ["2021-03-05", "2021/3/5", "2021.03.05", "20210305", "2021年3月5日", " 2021-03-05 10:20 ", 20210305]
SAME += ["2021-03-05 11:59 PM", "2021-03-05T10:20:30+02:00", dt.date(2021, 3, 5), dt.datetime(2021, 3, 5, 23)]
NONE = ["2021-02-29", "2021-13-01", "0000-01-01", "2021-03", "21-03-05", "2021-03/05", "2021-03-05x", "", None, 18691]


def test_a_date_is_read_by_its_own_text_alone():
    for form in DATE_FORMS:
        assert as_days(pd.Series(SAME, dtype=object), form).tolist() == [DAY] * len(SAME)
        assert np.isnan(as_days(pd.Series(NONE, dtype=object), form)).all()
    either = pd.Series(["05/03/2021", "5.3.2021", "05-03-2021 10:20", "13/12/2021"])
    assert np.isnan(as_days(either)).all()  # nobody has said which is the day
    assert list(map(iso, as_days(either, "d/m/y"))) == ["2021-03-05"] * 3 + ["2021-12-13"]
    assert list(map(iso, as_days(either, "m/d/y")[:3])) == ["2021-05-03"] * 3
    for form, text in (("d.m.y", "05.03.2021"), ("ymd", "20210305"), ("d-MON-y", "05-MAR-2021"), ("", "2021-03-05")):
        column = Column(**VISIT, bins="day", number_format=form)
        codes = column.encode(pd.Series([text] * 2))
        assert column.decode(codes, np.random.default_rng(1)).tolist() == [text] * 2  # as it was read
    assert np.isnan(as_days(either, "m/d/y")[3])
    times = pd.to_datetime(pd.Series(["2021-03-05 23:59", "1960-01-01 00:01", None]))
    np.testing.assert_array_equal(as_days(times), [DAY, as_day("1960-01-01"), np.nan])
    there = times.dt.tz_localize("US/Pacific")
    np.testing.assert_array_equal(as_days(there), as_days(times))  # the day on its own wall
    assert [as_day(text) for text in ("2021-3-5", "20210305", "2021-W10-5", "x" * 10, pd.NaT, 1.5)] == [None] * 6


@pytest.mark.parametrize(
    ("bins", "labels", "codes"),
    [
        ("year", ("2019", "2020", "2021", "2022", "2023"), (0, 2, 4)),
        ("quarter", ("2019 Q1", "2019 Q2", "2019 Q3"), (0, 8, 19)),
        ("month", ("2019-01", "2019-02", "2019-03"), (0, 26, 59)),
        ("week", ("2019-W03", "2019-W04", "2019-W05"), (0, 111, 258)),
        ("day", ("2019-01-15", "2019-01-16", "2019-01-17"), (0, 780, 1811)),
        (("2020-01-01", dt.date(2022, 1, 1)), ("2019-01-15 to 2019-12-31", "2020-01-01 to 2021-12-31"), (0, 1, 2)),
        (2, ("2019-01-15 to 2021-07-08", "2021-07-09 to 2023-12-31"), (0, 0, 1)),
    ],
)
def test_bins_lie_at_the_calendar_s_boundaries_and_are_called_so(bins, labels, codes):
    column = Column(**VISIT, bins=bins)
    assert column.labels[: len(labels)] == labels
    assert column.encode(pd.Series(["2019-01-15", "2021-03-05", "2023-12-31"])).tolist() == list(codes)
    assert (column.numeric, column.whole, column.is_plain_number) == (True, True, False)
    assert (column.lower, column.upper) == (as_day("2019-01-15"), as_day("2023-12-31"))
    assert column.edges[-1] == column.upper + 1
    cells = column.decode(np.repeat(np.arange(column.size), 50), np.random.default_rng(0))
    assert cells.str.fullmatch("[0-9]{4}-[0-9]{2}-[0-9]{2}").all()
    months = column.decode(np.zeros(400, dtype=int), np.random.default_rng(0))
    first = [iso(column.edges[0]), iso(column.edges[1] - 1)]
    assert [months.min(), months.max()] == first or column.edges[1] > 400  # every day of a bin can be drawn


def test_weeks_begin_on_mondays_even_in_the_year_1():
    weeks = Column(name="d", kind="date", lower="1969-12-24", upper="1970-02-01", bins="week")
    assert {dt.date.fromisoformat(iso(day)).weekday() for day in weeks.edges[1:-1]} == {0}
    ends = Column(name="d", kind="date", lower="0001-01-01", upper="9999-12-31", bins="year")
    assert (ends.labels[0], ends.labels[-1], ends.size) == ("0001", "9999", 9_999)


def test_cells_outside_are_treated_as_numbers_are():
    odd = pd.Series(["2018-01-01", "2024-06-01", "soon", None, "2021-03-05"])
    clipped = Column(**VISIT, bins="year", outside="clip", missing=True)
    assert clipped.encode(odd).tolist() == [0, 4, 5, 5, 2]
    assert Column(**VISIT, bins="year", outside="clip").encode(odd).tolist() == [0, 4, 0, 0, 2]
    for index, cause in enumerate(("2019-01-15 to 2023-12-31", "2019-01-15", "cells that are not dates", "missing")):
        with pytest.raises(DataError, match=cause):
            Column(**VISIT).encode(odd[[index]])


def test_documents_write_dates_as_iso_text_and_take_nothing_else():
    for bins in ("month", 7, ("2020-01-01", "2021-01-01")):
        column = Column(**VISIT, bins=bins, number_format="d/m/y", missing=True)
        document = json.loads(json.dumps(column.to_dict()))
        assert (document["lower"], document["upper"]) == ("2019-01-15", "2023-12-31")
        assert document["bins"] == (list(bins) if isinstance(bins, tuple) else bins)
        assert Column.from_dict(document) == column
        for change in ({"lower": 17_911}, {"lower": "2019-1-15"}, {"bins": [18_000]}, {"number_format": 3}):
            with pytest.raises(SchemaError):
                Column.from_dict(document | change)
    assert "number_format" not in Column(**VISIT).to_dict()


def test_declarations_that_contradict_themselves_are_refused():
    wrong = [{"lower": "soon"}, {"lower": "2024-01-01"}, {"lower": 10**9}, {"number_format": "y/d/m"}]
    wrong += [{"bins": bins} for bins in ("decade", ("2018-01-01",), ("2021-01-01", "2020-01-01"))]
    wrong += [{"lower": "1900-01-01", "bins": "day"}, {"kind": "integer", "lower": 0, "upper": 9, "bins": "month"}]
    for change in wrong:
        with pytest.raises(SchemaError) as caught:
            Column(**VISIT | change)
        assert caught.value.remedy, change


def test_bounds_of_dates_are_read_as_dates_everywhere():
    schema = Schema(columns=(Column(**VISIT, bins="month", missing=True),))
    (column,) = schema
    assert column.interval(0, 3) == "2019-01 to 2019-03"
    assert Column(**VISIT, bins="quarter").interval(1, 1 + 1) == "2019 Q2"
    assert query_names([RangeQuery.from_codes({"visit": range(1, 5)})], schema) == ["visit 2019-02 to 2019-05"]
    assert Hierarchy.from_column(column).nodes[1].name in ("2019-01 to 2023-12", "(missing)")
    texts = []
    for points in ("numbers", "lengths", "bins"):
        (wanted,) = attributes_of(schema, "", cuts=points, children="grouped").values()
        middle = (wanted.start[0] + wanted.start[1]) // 2
        texts += [wanted.text(wanted.start[0], middle, child) for child in (0, 1)]
    assert texts == ["≤ 2021-06-30", "> 2021-06-30", "≤ 2021-07-08", "> 2021-07-08", "< 2021-07-01", "≥ 2021-07-01"]


def test_the_default_unit_makes_a_few_dozen_bins():
    units = {"2020-01-20": "day", "2020-05-01": "week", "2022-12-31": "month", "2030-12-31": "quarter"}
    units["2120-01-01"] = "year"
    assert {last: default_unit(as_day("2020-01-01"), as_day(last)) for last in units} == units
