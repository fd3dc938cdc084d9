"""Reading files: what is found in good ones, and what bad ones are told.

Every bad file holds `SECRET` in a cell where it can; no message may repeat it.
"""

import bz2
import csv
import datetime
import functools
import gzip
import io
import lzma
import traceback
import zipfile

import numpy as np
import openpyxl
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpcore import datasets
from dpcore.datasets import reading
from dpcore.datasets.delimited import MISSING_CELLS
from dpcore.datasets.formats import FORMATS
from dpcore.domain.schema import Schema
from dpcore.errors import DataError

SECRET = "s3cret"
read_frame = functools.partial(reading.read_frame, trusted=True)  # in this process; tests/hostile has the other one
TABLE = f"name;height;city\n{SECRET};1,75;Besançon\nb;2,25;?\n"


def refused(source, name="", **options) -> str:
    """The message of the refusal, after checking that it is one a person can use and nothing leaks."""
    with pytest.raises(DataError) as caught:
        read_frame(source, name, **options)
    assert caught.value.cause.endswith(".")
    assert caught.value.remedy.endswith(".")
    shown = "".join(traceback.format_exception(caught.value))  # what a log would hold, chained errors too
    assert SECRET not in str(caught.value)
    assert "Arrow" not in shown
    assert "During handling" not in shown
    assert caught.value.__cause__ is None
    return str(caught.value)


def workbook(rows, **cells) -> bytes:
    book = openpyxl.Workbook()
    for row in rows:
        book.active.append(row)
    for place, value in cells.items():
        book.active[place] = value
    file = io.BytesIO()
    book.save(file)
    return file.getvalue()


def parquet(frame: pd.DataFrame | pa.Table) -> bytes:
    file = io.BytesIO()
    if isinstance(frame, pd.DataFrame):
        frame.to_parquet(file)
    else:
        pq.write_table(frame, file)
    return file.getvalue()


def zipped(**members: bytes) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name.replace("__", "."), content)
    return file.getvalue()


# --- how a text is read: by its declaration, its header and rules


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "cp1252"])
@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_header_marks_and_declarations_say_how_a_text_is_read(encoding, delimiter):
    mark = "," if delimiter == ";" else "."
    raw = TABLE.replace(",", mark).replace(";", delimiter).encode(encoding)
    declared = {"encoding": encoding} if encoding in ("utf-16-le", "utf-16-be", "cp1252") else {}
    frame = read_frame(raw, **declared)
    assert frame.columns.tolist() == ["name", "height", "city"]
    assert frame["height"].tolist() == ["1.75", "2.25"]
    assert frame["city"].tolist()[0] == "Besançon"
    assert frame["city"].isna().tolist() == [False, True]
    assert frame.attrs["read_as"] == {"format": "csv", "delimiter": delimiter, "encoding": encoding, "decimal": mark}


@pytest.mark.parametrize(
    ("encoding", "text"),
    [
        ("gb18030", "姓名,年龄,城市\n张三,23,北京\n李四,45,上海\n王五,31,广州\n赵六,52,深圳\n"),
        ("shift_jis", "名前,年齢,都市\n山田太郎,23,東京\n鈴木花子,31,大阪\n"),
        ("cp1251", "имя,возраст,город\nИван,23,Москва\nПётр,12,Казань\n"),
        ("latin-1", "größe,b\n\x81,2\n"),
        ("cp1252", "a,b\nZürich,2\n"),
        ("utf-16-le", "a,b\nx,2\n"),
        ("utf-16-be", "größe,b\nx,2\n"),
    ],
)
def test_another_encoding_is_guessed_for_the_person_and_used_only_if_declared(encoding, text):
    raw = text.encode(encoding)
    assert f"it looks like {encoding}" in refused(raw)
    frame = read_frame(raw, encoding=encoding)
    assert frame.columns.tolist() == text.split("\n")[0].split(",")


def test_one_row_does_not_change_how_the_others_are_read():
    """What was found out from the rows would differ: the encoding, the decimal mark, the delimiter, or the types."""
    rows = [f"Genf|{i},5|{i}" for i in range(9)]
    for other in ("a;b|c;d|e;f", "1.5|2.5|3.5", "Zürich|x|007", "|".join(["1,234"] * 3), "1\t2|3\t4|5\t6"):
        frame = read_frame(("town|height|n\n" + "\n".join([*rows, other])).encode())
        assert frame.attrs["read_as"]["delimiter"] == "|"
        assert frame.attrs["read_as"]["decimal"] == "."
        assert frame.head(9).to_numpy().tolist() == [["Genf", f"{i},5", str(i)] for i in range(9)]


def test_what_is_asked_for_wins():
    raw = "a|b;c\n1|2,5;é\n".encode("cp850")
    frame = read_frame(raw, delimiter=";", encoding="cp850", decimal=".")
    assert frame.columns.tolist() == ["a|b", "c"]
    assert frame.iloc[0].tolist() == ["1|2,5", "é"]
    assert read_frame(b"a,b\nNA,x\n", missing=("x",)).iloc[0].tolist()[0] == "NA"
    assert read_frame(b'a,b\n"1,234",1\n')["a"].tolist() == ["1,234"]  # a thousand, not 1.234
    assert read_frame(b'a,b\n"1,234",1\n', decimal=",")["a"].tolist() == ["1.234"]


def test_a_decimal_comma_becomes_a_point_cell_by_cell():
    cells = ["1,5", "-,5", "+2,", "1,5e3", "1.5", "1.234,5", "1,2,3", "a,b", "01,5", ","]
    frame = read_frame(("a;b\n" + "".join(f"{cell};x\n" for cell in cells)).encode())
    assert frame["a"].tolist() == ["1.5", "-.5", "+2.", "1.5e3", "1.5", "1.234,5", "1,2,3", "a,b", "01.5", ","]


def test_missing_cells_and_spaces():
    cells = "\n".join(f" {cell} ,{i}" for i, cell in enumerate(MISSING_CELLS))
    frame = read_frame(f"a , b\n{cells}\n x y ,7\n".encode())
    assert frame.columns.tolist() == ["a", "b"]
    assert frame["a"].isna().sum() == len(MISSING_CELLS)
    assert frame["a"].iloc[-1] == "x y"


def test_cells_stay_text():
    cells = ["1", "+2", "007", "1e3", "inf", "0x1F", "=1+1", "@SUM(A1)", "99999999999999999999", "NULL byte \0"]
    frame = read_frame(b"a,b\n" + "".join(f"{cell},x\n" for cell in cells).encode(), encoding="utf-8")
    assert frame["a"].tolist() == cells


def test_long_cells_and_headers_are_read_and_change_no_other_line():
    long = "x" * 200_000
    frame = read_frame(f"a,b,{long}\n{long},1,2\n\n3,4,5\n".encode())
    assert frame.shape == (3, 3)
    assert frame.columns[2] == long


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        ("a,b\n1,2\n\ufeffa,b\n3,4\n", "Line 3 has a byte order mark"),
        ("a,b\n\x1b$B;3ED\x1b(B,1\n", "ISO-2022-JP"),
        ("a,b\nZ\ufffdrich,1\n", "replacement characters"),
        ("a,b\n1,2\n\n\n3,4\n", "2 blank lines"),
        ("a\u200b,b\n1,2\n", "The name of column 1 holds characters that nobody sees"),
        ("a\u200b,a\n1,2\n", "columns 1 and 2 look alike"),
        ('a,b\n1,"x\n2,y\n3,z"\n4,w\n', "Column 'b' has a cell of several lines that look like rows"),
        ("a,b\nZÃ¼rich,1\n", "Column 'a' has cells that look like UTF-8 read as another encoding"),
        ('a,b\n"1,234",1\n', "Column 'a' has cells in which commas seem to separate thousands"),
        ("a;b\n1.234;1\n", "points may separate thousands"),
        ("a\tb\n1,75\t1\n", "decimal comma"),
        ("a\tb\n1 234\t1\n", "spaces or apostrophes between thousands"),
        ("a\tb\tc\td\te\n" + "\t".join(["1,5"] * 5) + "\n", "Each of the columns 'a', 'b', 'c' and 2 more"),
    ],
)
def test_what_may_be_misread_is_said_and_changes_nothing(raw, words):
    frame = read_frame(raw.encode())
    assert words in frame.attrs["read_as"]["doubts"]
    assert words in datasets.read(raw.encode()).note
    assert len(frame) >= 1


@pytest.mark.parametrize(
    "raw",
    [
        'a,b\n"two\nlines",2\n',
        "a,b\nZürich,-3.5\nA BÂ,1e3\n",
        "a;b\n1,5;2.25\n",
        "größe,naïve\n2020-01-01,x 100 y\n",
        "a|b\n1,2,3|x\n",
    ],
)
def test_what_is_plain_raises_no_doubt(raw):
    assert "doubts" not in read_frame(raw.encode()).attrs["read_as"]


def test_two_encodings_in_one_file_are_named():
    raw = b"a,b\n" + "Zürich,1\n".encode() * 3 + "Zürich,2\n".encode("cp1252")
    assert "two encodings are mixed" in refused(raw)
    assert "two encodings may be mixed" in read_frame(raw, encoding="cp1252").attrs["read_as"]["doubts"]


def test_header_names_are_kept_verbatim():
    names = ["a.b[0]:Q", "<b>x</b>", "'; DROP", "größe", 'say "hi"', "two\nlines", "=1+1"]
    file = io.StringIO(newline="")
    csv.writer(file).writerows([names, range(len(names))])
    assert read_frame(file.getvalue().encode()).columns.tolist() == names
    frame = pd.DataFrame([range(len(names))], columns=names)
    assert read_frame(parquet(frame), "a.parquet").columns.tolist() == names
    assert (
        read_frame(workbook([[*names[:-1], "x"], [*range(len(names))]]), "a.xlsx").columns.tolist()[:-1] == names[:-1]
    )


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_line_ends_blank_lines_and_quoted_cells(end):
    text = end.join(["", "a,b", '"x, y",1', "", '"say ""hi""",2', f'"two{end}{end}lines",3', ",", "", ""])
    frame = read_frame(text.encode())
    assert frame["a"].fillna("?").tolist() == ["x, y", "?", 'say "hi"', f"two{end}{end}lines", "?"]
    assert frame["b"].fillna("?").tolist() == ["1", "?", "2", "3", "?"]
    assert "1 blank lines" in frame.attrs["read_as"]["doubts"]


@given(
    st.lists(
        st.tuples(
            st.text(st.characters(codec="utf-8", exclude_categories=["Cs", "Cc"]), max_size=12), st.integers(-9, 9)
        ),
        min_size=1,
        max_size=20,
    )
)
def test_what_a_csv_writer_wrote_is_read(rows):
    file = io.StringIO(newline="")
    writer = csv.writer(file, quoting=csv.QUOTE_ALL)
    writer.writerows([["word", "number"], *rows])
    frame = read_frame(file.getvalue().encode(), delimiter=",", decimal=".", missing=("",))
    assert frame["number"].tolist() == [str(number) for _, number in rows]
    assert frame["word"].fillna("").tolist() == [word.strip() for word, _ in rows]


@pytest.mark.parametrize("name", ["T.CSV", "t.tsv", "t.txt", "t.csv.gz", "t.tsv.bz2", "t.txt.xz", "t.csv.zip", "t.zip"])
def test_packed_and_plain_files_by_path(tmp_path, name):
    raw = TABLE.encode()
    pack = {"gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress, "zip": lambda raw: zipped(t__csv=raw)}
    path = tmp_path / name
    path.write_bytes(pack.get(name.rpartition(".")[2], bytes)(raw))
    for source in (path, str(path)):
        assert read_frame(source).shape == (2, 3)
    assert read_frame(path.read_bytes(), name).shape == (2, 3)


def test_parquet_becomes_text_numbers_and_booleans():
    frame = pd.DataFrame(
        {
            "n": [1, 2],
            "x": pd.array([0.5, None], dtype="Float32"),
            "word": [" a", "?"],
            "kind": pd.Categorical(["u", "v"]),
            "level": pd.Categorical([3, 4]),
            "day": pd.to_datetime(["2020-01-01", None]),
            "flag": [True, False],
            "none": [None, None],
        },
        index=["p", "q"],
    )
    read = read_frame(parquet(frame), "a.parquet")
    assert read.columns.tolist() == frame.columns.tolist()  # the stored index is no column
    assert read["word"].tolist()[0] == "a"
    assert read.isna().sum().to_dict() == {**dict.fromkeys(frame, 0), "x": 1, "word": 1, "day": 1, "none": 2}
    assert read["kind"].tolist() == ["u", "v"]
    assert read["level"].tolist() == [3, 4]
    assert read["day"].iloc[0].startswith("2020-01-01")
    schema = Schema.infer(read)
    assert "none" not in schema.names
    assert schema.encode(read).shape == (2, 7)


def test_workbooks():
    raw = workbook(
        [
            [],
            ["n", " word ", "mixed", "day", "flag", "code"],
            [1, " a", 1.5, datetime.date(2020, 1, 1), True, "01"],
            [],
            [None, "?", "x", None, False, "02"],
        ]
    )
    frame = read_frame(raw, "a.XLSX")
    assert frame.columns.tolist() == ["n", "word", "mixed", "day", "flag", "code"]
    assert len(frame) == 3  # a row is a row: its cells may be emptied, and n is public under replace
    assert frame["n"].tolist()[0] == "1"
    assert frame["mixed"].tolist()[::2] == ["1.5", "x"]
    assert frame["flag"].tolist()[::2] == ["True", "False"]
    assert frame["code"].tolist()[::2] == ["01", "02"]
    assert frame["day"].tolist()[0] == "2020-01-01"
    assert frame.iloc[1].isna().all()
    assert frame[["n", "word", "day"]].iloc[2].isna().all()
    assert frame.attrs["read_as"] == {"format": "xlsx", "sheet": "Sheet"}


def test_formula_cells_give_their_last_value_and_are_never_computed():
    plain = workbook([["a", "b"], [1, 2], [3, "=A2+40"]])
    assert read_frame(plain, "a.xlsx")["b"].isna().tolist() == [False, True]  # never computed by a spreadsheet
    source, target = zipfile.ZipFile(io.BytesIO(plain)), io.BytesIO()
    with zipfile.ZipFile(target, "w") as archive:  # the value that a spreadsheet would have stored beside it
        for item in source.infolist():
            archive.writestr(
                item,
                source.read(item)
                .replace(b"</f><v></v>", b"</f><v>41</v>")
                .replace(b"</f><v/>", b"</f><v>41</v>")
                .replace(b"</f><v />", b"</f><v>41</v>"),
            )
    assert read_frame(target.getvalue(), "a.xlsx")["b"].tolist() == ["2", "41"]


# --- what is refused


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "empty"),
        (" \n\n", "empty"),
        ("a,b\n", "no rows"),
        ("a,b", "no rows"),
        (f"a\n{SECRET}\n", "delimiter"),
        (f"a b c\n{SECRET} 1 2\n", "delimiter"),
        (f"a,,c\n{SECRET},2,3\n", "column 2"),
        (f"a,b,\n{SECRET},2,\n", "column 3"),
        (f"a,b,a\n{SECRET},2,3\n", "1 and 3"),
        (f"a,b, a \n{SECRET},2,3\n", "1 and 3"),
        (f"{SECRET},{SECRET}\n1,2\n", "1 and 2"),  # a file without a header: its first row is private
        (f"a,b\n1,2\n{SECRET}\n4,5\n", "Line 3"),
        (f"a,b\n1,2\n{SECRET},3,4\n4,5\n", "Line 3"),
        (f"\n\na,b\n1,2\n\n{SECRET},3,4\n", "Line 6"),
        (f'a,b\n"x\ny",2\n{SECRET}\n', "Line 4"),
        (f'a,b\n1,2\n3,"{SECRET}\n4,5\n', "Line 3"),
        (f"a,b\n{SECRET},\0\n", "not text"),
        (",".join(f"c{i}" for i in range(1_001)) + "\n" + ",".join(["1"] * 1_001), "1,001 columns"),
    ],
)
def test_bad_texts(text, words):
    assert words in refused(text.encode())


def test_bad_line_far_down_is_found():
    rows = [f"{i},x" for i in range(200_000)]
    rows[150_000] = f"1,{SECRET},3"
    assert "Line 150,002" in refused(("a,b\n" + "\n".join(rows)).encode())


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"delimiter": ";"}, "delimiter"),
        ({"delimiter": "::"}, "one plain character"),
        ({"delimiter": '"'}, "one plain character"),
        ({"encoding": "utf-9"}, "encoding"),
        ({"encoding": "hex"}, "encoding"),
        ({"encoding": "utf-8\0"}, "encoding"),
        ({"encoding": "ascii"}, "not valid ascii"),
        ({"decimal": "'"}, "decimal"),
        ({"max_bytes": 10}, "MiB"),
    ],
)
def test_bad_wishes(options, words):
    assert words in refused(f"a,b\n{SECRET},é\n".encode(), **options)


@pytest.mark.parametrize("name", ["data.xls", "data.pkl", "data", "data.gz", "data.parquet.gz", "data.json"])
def test_unknown_extensions_list_the_allowed_ones(name, tmp_path):
    for source in (b"a,b\n1,2\n", tmp_path / name):
        message = refused(source, name)
        assert all(known in message for known in FORMATS)


def test_files_that_are_not_there(tmp_path):
    assert "no file" in refused(tmp_path / "none.csv")
    (tmp_path / "folder.csv").mkdir()
    message = refused(tmp_path / "folder.csv")
    assert str(tmp_path) not in message


def test_a_file_over_the_limit_is_refused_by_path(tmp_path):
    path = tmp_path / "large.csv"
    path.write_text("a,b\n" + "1,2\n" * 1_000)
    assert "MiB" in refused(path, max_bytes=100)


BOMB = ("a,b\n" + f"{SECRET},2\n" * 100_000).encode()


@pytest.mark.parametrize(
    ("name", "raw"),
    [
        ("b.csv.gz", gzip.compress(BOMB)),
        ("b.csv.bz2", bz2.compress(BOMB)),
        ("b.csv.xz", lzma.compress(BOMB)),
        ("b.csv.zip", zipped(b__csv=BOMB)),
        ("b.xlsx", zipped(a__xml=BOMB)),
        ("b.parquet", parquet(pd.DataFrame({"a": np.zeros(1_000_000), "b": 1}))),
        (
            "b.parquet",
            parquet(pa.table({"a": pa.array([SECRET * 5_000] * 3_000).dictionary_encode(), "b": [1] * 3_000})),
        ),
    ],
)
def test_bombs_are_not_unpacked(name, raw):
    assert len(raw) < 100_000
    assert "Unpacked" in refused(raw, name, max_bytes=100_000)


def test_a_long_shared_text_does_not_multiply_in_a_workbook():
    raw = workbook([["a", "b"], *[[SECRET * 1_000, 1]] * 500])
    assert "Unpacked" in refused(raw, "b.xlsx", max_bytes=len(raw) + 100_000)


@pytest.mark.parametrize(
    ("name", "raw"),
    [
        ("t.csv.gz", gzip.compress(BOMB)),
        ("t.csv.bz2", bz2.compress(BOMB)),
        ("t.csv.xz", lzma.compress(BOMB)),
        ("t.csv.zip", zipped(t__csv=BOMB)),
        ("t.xlsx", workbook([["a", "b"], [SECRET, 1]])),
        ("t.parquet", parquet(pd.DataFrame({"a": [SECRET] * 9, "b": range(9)}))),
    ],
)
def test_truncated_and_renamed_files(name, raw):
    for cut in (4, len(raw) // 2, len(raw) - 9):
        assert "damaged" in refused(raw[:cut], name)
    assert "damaged" in refused(b"a,b\n1,2\n" * 20, name)
    refused(raw, "t.csv")  # the wrong extension
    spoiled = bytearray(raw)
    spoiled[len(raw) // 2 : len(raw) // 2 + 40] = bytes(40)
    if name != "t.xlsx":  # the middle of a workbook may be its styles
        refused(bytes(spoiled), name)


def test_zip_archives_hold_one_text_table():
    raw = TABLE.encode()
    assert "2 files" in refused(zipped(a__csv=raw, b__csv=raw), "t.zip")
    assert "0 files" in refused(zipped(), "t.zip")
    assert "no text table" in refused(zipped(a__parquet=raw), "t.zip")
    assert "no text table" in refused(zipped(a__zip=raw), "t.zip")
    assert "extension" in refused(zipped(a__pkl=raw), "t.zip")
    assert "empty" in refused(zipped(a__csv=b""), "t.zip")
    locked = bytearray(zipped(a__csv=raw))
    for header, at in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        locked[locked.index(header) + at] |= 1  # the flag that says "encrypted"
    assert "password" in refused(bytes(locked), "t.zip")


def test_bad_workbooks():
    assert "no rows" in refused(workbook([["a", "b"]]), "t.xlsx")
    assert "no rows" in refused(workbook([]), "t.xlsx")
    assert "column 2" in refused(workbook([["a", None, "c"], [SECRET, 1, 2]]), "t.xlsx")
    assert "1 and 2" in refused(workbook([["a", "a"], [SECRET, 1]]), "t.xlsx")
    assert "Row 3" in refused(workbook([["a", "b"], [1, 2], [1, 2, SECRET]]), "t.xlsx")


def test_bad_parquet_tables():
    assert "no rows" in refused(parquet(pd.DataFrame({"a": []})), "t.parquet")
    assert "lists" in refused(parquet(pd.DataFrame({"a": [[SECRET]]})), "t.parquet")
    assert "lists" in refused(parquet(pd.DataFrame({"a": [SECRET.encode()]})), "t.parquet")
    assert "1 and 2" in refused(parquet(pa.table([[SECRET], [1]], names=["a", "a"])), "t.parquet")


# --- and on to a schema


def test_hard_columns_reach_the_schema_as_notes():
    rows = [f"{i},,{'x' if i % 2 else i},same,{i % 7}\n" for i in range(5_000)]
    frame = read_frame(("id,empty,mixed,constant,day\n" + "".join(rows)).encode())
    words = frame.assign(id=[f"person {i}" for i in range(5_000)])
    schema = Schema.infer(words)
    assert schema.names == ("constant", "day")
    assert [note.split("'")[1] for note in schema.notes] == ["id", "empty", "mixed", "constant"]
    assert "5,000 different values" in schema.notes[0]
    assert not any("person" in note for note in schema.notes)
    few = Schema.infer(words.iloc[:100])
    assert "mixes numbers and text in 50 rows" in few.notes[2 - 1]
    assert few.encode(words.iloc[:100]).shape == (100, len(few))
