"""Reading files: the cells of good files, and the warnings about doubtful ones."""

import bz2
import gzip
import io
import lzma
import re
import zipfile
from itertools import product

import pandas as pd
import pytest
from files import SECRET, TABLE, parquet, read_frame, refused, workbook, zipped

from dpcore.dashboard.intake import ENCODINGS
from dpcore.datasets.delimited_text import MISSING_CELLS


def test_header_marks_and_declarations_say_how_a_text_is_read():
    for encoding, delimiter in product(("utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "cp1252"), ",;\t|"):
        mark = "," if delimiter == ";" else "."
        raw = TABLE.replace(",", mark).replace(";", delimiter).encode(encoding)
        declared = {"encoding": encoding} if encoding in ("utf-16-le", "utf-16-be", "cp1252") else {}
        frame = read_frame(raw, **declared)
        read = {"name": [SECRET, "b"], "height": ["1.75", "2.25"], "city": ["Besançon", ""]}
        assert frame.fillna("").to_dict("list") == read
        found = {"format": "csv", "delimiter": delimiter, "encoding": encoding, "decimal": mark}
        assert frame.attrs["read_as"] == found


RUSSIAN = "номер,город,возраст\n" + "".join(f"{i},{town},{i + 20}\n" for i, town in enumerate(["Москва", "Казань"] * 9))
JAPANESE = "番号,都市,年齢\n1,東京,23\n2,大阪,31\n3,ひらがな,52\n4,カタカナ,8\n"
WRITTEN = [
    ("koi8_r", RUSSIAN),
    ("cp1251", RUSSIAN.replace("номер,город,возраст", "n,town,age")),
    ("shift_jis", JAPANESE),
    ("iso2022_jp", JAPANESE.replace("番号,都市,年齢", "n,town,age")),
    ("gb18030", "姓名,年龄,城市\n张三,23,北京\n李四,45,上海\n王五,31,广州\n赵六,52,深圳\n"),
    ("utf-16-be", JAPANESE),
    ("cp1250", "imię,źródło\n1,Łódź\n2,Gdańsk\n3,Kraków\n"),
    ("cp1252", "größe,b\nit’s – Zürich,2\n"),
    ("cp1252", "id,city\n" + "1,Rome\n" * 50 + "2,Orléans\n"),
]


@pytest.mark.parametrize(("encoding", "text"), WRITTEN, ids=[encoding for encoding, _ in WRITTEN])
def test_encodings_are_offered_with_the_header_as_each_would_read_it_and_used_only_if_declared(encoding, text):
    raw, header = text.encode(encoding), text.split("\n")[0]
    words = refused(raw)
    offered = re.split("[:;.] ", words.split(" may be ")[-1].split(" seems to be ")[-1].split(". Declare")[0])
    assert offered[0].partition(", with")[0] == encoding
    assert header.isascii() or offered[0] == f"{encoding}, with the header {header!r}"
    sure = encoding.startswith(("utf-16", "iso2022"))
    assert (len(offered) == 1) == sure  # a few bytes are no proof of one of the others
    assert {name.partition(", with")[0] for name in offered} <= {*ENCODINGS}  # the page offers all of them
    assert read_frame(raw, encoding=encoding).columns.tolist() == header.split(",")


def test_a_header_is_cut_where_no_quotation_mark_protects_it():
    frame = read_frame(b'a,"b ""x;y;z"" c;d","two\nli;;;;nes"\n' * 2)
    assert frame.columns.tolist() == frame.iloc[0].tolist() == ["a", 'b "x;y;z" c;d', "two\nli;;;;nes"]


def test_one_row_does_not_change_how_the_others_are_read():
    rows = [f"Genf|{i},5|{i}" for i in range(9)]
    for other in ("a;b|c;d|e;f", "1.5|2.5|3.5", "Zürich|x|007", "|".join(["1,234"] * 3), "1\t2|3\t4|5\t6"):
        frame = read_frame(("town|height|n\n" + "\n".join([*rows, other])).encode())
        assert (frame.attrs["read_as"]["delimiter"], frame.attrs["read_as"]["decimal"]) == ("|", ".")
        assert frame.head(9).to_numpy().tolist() == [["Genf", f"{i},5", str(i)] for i in range(9)]


def test_declared_settings_override_the_defaults():
    raw = "a|b;c\n1|2,5;é\n".encode("cp850")
    frame = read_frame(raw, delimiter=";", encoding="cp850", decimal=".")
    assert [frame.columns.tolist(), frame.iloc[0].tolist()] == [["a|b", "c"], ["1|2,5", "é"]]
    assert read_frame(b"a,b\nNA,x\n", missing=("x",)).iloc[0].tolist()[0] == "NA"
    assert read_frame(b'a,b\n"1,234",1\n', decimal=",")["a"].tolist() == ["1.234"]


def test_cells_stay_text_but_for_decimal_commas_missing_ones_and_spaces_around():
    cells = {"-,5": "-.5", "+2,": "+2.", "1,5e3": "1.5e3", "1.5": "1.5", "01,5": "01.5"}
    cells |= {"-1.234,5": "-1234.5", "1 234,5": "1234.5"}
    cells |= {cell: cell for cell in ("1.234", "12.34,5", "1,2,3", "a,b", ",")}
    frame = read_frame(("a;b\n" + "".join(f"{cell};x\n" for cell in cells)).encode())
    assert frame["a"].tolist() == list(cells.values())
    cells = "\n".join(f" {cell} ,{i}" for i, cell in enumerate(MISSING_CELLS))
    frame = read_frame(f"a , b\n{cells}\n x y ,7\n".encode())
    assert (frame["a"].isna().sum(), frame["a"].iloc[-1]) == (len(MISSING_CELLS), "x y")
    cells = ["1", "+2", "007", "1e3", "inf", "0x1F", "=1+1", "@SUM(A1)", "99999999999999999999", "NULL byte \0"]
    frame = read_frame(b"a,b\n" + "".join(f"{cell},x\n" for cell in cells).encode(), encoding="utf-8")
    assert frame["a"].tolist() == cells


def test_doubtful_readings_cause_warnings():
    for raw, words in (
        ("a,b\n1,2\n\ufeffa,b\n3,4\n", "byte order mark"),
        ("a,b\nZ\ufffdrich,1\n", "replacement characters"),
        ("a\u200b,a\n1,2\n", "look alike"),
        ('a,b\n1,"x\n2,y\n3,z"\n4,w\n', "look like rows"),
        ("a,b\nZÃ¼rich,1\n", "UTF-8 read as another encoding"),
        ('a,b\n"1,234",1\n', "commas seem to separate thousands"),
        ("a\tb\n1,75\t1\n", "decimal comma"),
        ("a\tb\n1 234\t1\n", "spaces or apostrophes between thousands"),
        ("a,b\n" + "x,2\n" * 11 + ",22\n", "The last row looks like a sum"),
        ("a,b\nx,22\n" + "x,2\n" * 11, "The first row looks like a sum"),
        ("a,b\nx total,5\ny total,8\nx,4\ny,9\n", "Several rows look like sums"),
    ):
        frame = read_frame(raw.encode())
        assert words in frame.attrs["read_as"]["doubts"]
        if end := {"The last row": "skip_last", "The first row": "skip_first"}.get(words[: words.find(" looks")]):
            rest = read_frame(raw.encode(), **{end: 1})
            assert ("doubts" in rest.attrs["read_as"], rest["b"].tolist()) == (False, ["2"] * 11)
            assert read_frame(raw.encode(), skip_first=99, skip_last=1).empty
    read = "a|b\naverage|1\n" + "".join(f"1,{i:03}|{i}\n" for i in range(12)) + "average|none\n" * 12
    for raw in ('a,b\n"two\nlines",2\nZürich,-3.5\nA BÂ,1e3\n', "a|b\n1,2,3|x 100 y\n", read):  # which is plain
        assert "doubts" not in read_frame(raw.encode()).attrs["read_as"], raw


def test_header_names_are_kept_verbatim():
    names = ["a.b[0]:Q", "<b>x</b>", "größe", 'say "hi"', "two\nlines", "=1+1"]
    frame = pd.DataFrame([range(len(names))], columns=names)
    assert read_frame(frame.to_csv(index=False).encode()).columns.tolist() == names
    assert read_frame(parquet(frame), "a.parquet").columns.tolist() == names


def test_line_ends_blank_lines_and_quoted_cells_are_read():
    for end in ("\n", "\r\n", "\r"):
        text = end.join(["", "a,b", '"x, y",1', "", '"say ""hi""",2', f'"two{end}{end}lines",3', ",", "", ""])
        frame = read_frame(text.encode())
        assert frame["a"].fillna("?").tolist() == ["x, y", "?", 'say "hi"', f"two{end}{end}lines", "?"]
        assert frame["b"].fillna("?").tolist() == ["1", "?", "2", "3", "?"]


def test_packed_and_plain_files_by_path(tmp_path):
    pack = {"gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress, "zip": lambda raw: zipped(t__csv=raw)}
    for name in ("T.CSV", "t.csv.gz", "t.tsv.bz2", "t.txt.xz", "t.csv.zip", "t.zip"):
        path = tmp_path / name
        path.write_bytes(pack.get(name.rpartition(".")[2], bytes)(TABLE.encode()))
        assert read_frame(path).shape == read_frame(path.read_bytes(), name).shape == (2, 3), name


def test_parquet_becomes_text_numbers_and_booleans():
    columns = {
        "n": [1, 2],
        "x": pd.array([0.5, None], dtype="Float32"),
        "word": [" a", "?"],
        "level": pd.Categorical([3, 4]),
        "day": pd.to_datetime(["2020-01-01", None]),
        "flag": [True, False],
        "none": [None, None],
    }
    frame = pd.DataFrame(columns, index=["p", "q"])
    read = read_frame(parquet(frame), "a.parquet")
    assert read.columns.tolist() == frame.columns.tolist()  # the stored index is no column
    assert read.isna().sum().to_dict() == {**dict.fromkeys(frame, 0), "x": 1, "word": 1, "day": 1, "none": 2}
    assert read["level"].tolist() == [3, 4]
    assert read["day"].iloc[0].startswith("2020-01-01")


def test_formula_cells_give_their_last_value_and_are_never_computed():
    plain = workbook(["a", "b"], [1, 2], [3, "=A2+40"])
    assert read_frame(plain, "a.xlsx")["b"].isna().tolist() == [False, True]  # never computed by a spreadsheet
    source, target = zipfile.ZipFile(io.BytesIO(plain)), io.BytesIO()
    with zipfile.ZipFile(target, "w") as archive:  # the value that a spreadsheet would have stored beside it
        for item in source.infolist():
            archive.writestr(item, re.sub(rb"</f><v>?(></v>| ?/>)", b"</f><v>41</v>", source.read(item)))
    assert read_frame(target.getvalue(), "a.xlsx")["b"].tolist() == ["2", "41"]
