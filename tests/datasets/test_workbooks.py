"""Workbooks: which sheet and rows are read, and how cells become text."""

import datetime

import pytest
from files import book_of, read_frame, saved

from dpcore.errors import DataError


def read(book):
    return read_frame(saved(book), "t.xlsx")


def test_hidden_sheets_and_charts_are_not_read_and_that_is_said():
    book = book_of(["secret", "of"], [1, 2])
    book.active.sheet_state = "hidden"
    for title in ("shown", "other"):
        sheet = book.create_sheet(title)
        sheet.append(["a", "b"])
        sheet.append([title, 1])
    book.create_sheet("deep").sheet_state = "veryHidden"
    frame = read(book)
    assert frame["a"].tolist() == ["shown"]
    text = frame.attrs["read_as"]
    assert (text["sheet"], text["other sheets"]) == ("shown", "3 not read, 2 of them hidden")
    book = book_of(["a", "b"], ["x", 1])
    book.create_chartsheet("chart", 0)
    book["Sheet"].sheet_state = "hidden"
    with pytest.raises(DataError, match="no visible sheet"):
        read(book)


def test_each_cell_becomes_text_by_itself():
    cells = {3: "3", 3.5: "3.5", True: "True", "03": "03", " x ": "x", datetime.time(1, 2): "01:02:00"}
    cells |= {datetime.date(2020, 2, 3): "2020-02-03", datetime.datetime(2020, 2, 3, 4, 5): "2020-02-03 04:05:00"}
    frame = read(book_of([], ["a", " b "], *[[cell, "k"] for cell in cells]))
    assert frame.columns.tolist() == ["a", "b"]
    assert frame["a"].tolist() == list(cells.values())
    assert frame.attrs["read_as"] == {"format": "xlsx", "sheet": "Sheet"}
    for cell in (3, True, datetime.date(2020, 2, 3)):  # the others of the column make no difference
        assert str(read(book_of(["a", "b"], [cell, "k"], ["word", "k"]))["a"].iloc[0]) == cells[cell]
    assert read(book_of(["a", "b"], [None, "?"], ["?", 1])).isna().to_numpy().tolist() == [[True, True], [True, False]]


def test_errors_and_all_but_the_first_of_merged_cells_are_missing():
    book = book_of(["a", "b"], ["#N/A", "x"], ["z", "z"])
    book.active["A2"].data_type = "e"
    assert read(book)["a"].isna().tolist() == [True, False]
    book = book_of(["a", "b"], ["x", 1], [None, 2], ["y", 3])
    book.active.merge_cells("A2:A3")
    frame = read(book)
    assert frame["a"].isna().tolist() == [False, True, False]
    assert "merged cells" in frame.attrs["read_as"]["doubts"]


def test_the_table_may_stand_anywhere_and_ends_with_the_last_row_that_has_a_cell():
    book = book_of(["a", "b"], ["x", 1], [None, None], [None, None], ["y", 2])
    for index in ("A8", "B9", "C12"):  # formats without content
        book.active[index].number_format = "0.00"
    assert read(book)["a"].isna().tolist() == [False, True, True, False]
    book = book_of([], [None, "a", "b"], [None, "x"], [None, None, "y"])
    assert read(book)["a"].isna().tolist() == [False, True]


def test_invisible_characters_in_headers_are_refused_or_reported():
    with pytest.raises(DataError, match="column 2"):
        read(book_of(["a", "\u200b\u2060"], ["x", 1]))
    assert "look alike" in read(book_of(["a", "a\u200b"], ["x", 1])).attrs["read_as"]["doubts"]
