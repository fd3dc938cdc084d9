"""Hostile files, made small: each with its name, its bytes, and what it must end in."""

from __future__ import annotations

import gzip
import io
import lzma
import struct
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import openpyxl
import pyarrow as pa
import pyarrow.parquet as pq

MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
HEADER = '<row r="1"><c r="A1" t="inlineStr"><is><t>a</t></is></c><c r="B1" t="inlineStr"><is><t>b</t></is></c></row>'
ROW = '<row><c t="inlineStr"><is><t>x</t></is></c><c><v>1</v></c></row>'


@dataclass(frozen=True)
class Case:
    """A file: how it is made, and words of its refusal; None if it must be read."""

    file: str
    make: Callable[[], bytes]
    words: str | None = None
    slow: bool = False


def zipped(members: dict[str, bytes | str]) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return file.getvalue()


def workbook(rows: str, *, shared: str = "", after: str = "", dtd: str = "") -> bytes:
    """A workbook of a sheet that has these rows, as XML."""
    file = io.BytesIO()
    openpyxl.Workbook().save(file)
    with zipfile.ZipFile(file) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    sheet = f'<worksheet xmlns="{MAIN}"><sheetData>{rows}</sheetData>{after}</worksheet>'
    members["xl/worksheets/sheet1.xml"] = f'<?xml version="1.0"?>{dtd}{sheet}'
    members["xl/sharedStrings.xml"] = f'<?xml version="1.0"?>{shared or strings("", 0)}'
    return zipped(members)


def strings(text: str, times: int = 1) -> str:
    """A workbook's shared texts."""
    return f'<sst xmlns="{MAIN}">{f"<si>{text}</si>" * times}</sst>'


def parquet(columns: dict[str, object], **options: object) -> bytes:
    file = io.BytesIO()
    pq.write_table(pa.table(columns), file, **options)
    return file.getvalue()


def varint(number: int) -> bytes:
    """A whole number as Thrift's compact protocol writes it."""
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    return bytes([*out, number])


def many_groups(rows: int, groups: int) -> bytes:
    """A Parquet file of one group of constant rows, which its footer lists again and again but counts once."""
    raw = parquet({name: np.zeros(rows, dtype=np.int64) for name in "ab"}, store_schema=False)
    footer = len(raw) - 8 - struct.unpack("<I", raw[-8:-4])[0]
    meta = raw[footer:-8]
    first = meta.index(b"\x19\x1c") + 2  # the field of groups: a list of one structure
    last = meta.index(b"parquet-cpp") - 2
    meta = meta[: first - 1] + b"\xfc" + varint(groups) + meta[first:last] * groups + meta[last:]
    return raw[:footer] + meta + struct.pack("<I", len(meta)) + b"PAR1"


def forged_rows(true: int, false: int) -> bytes:
    """A Parquet file whose footer and pages state another number of rows."""
    raw = parquet({"a": np.arange(true), "b": ["x"] * true})
    footer = len(raw) - 8 - struct.unpack("<I", raw[-8:-4])[0]
    body, meta = raw[:footer], raw[footer:-8]
    body, meta = (part.replace(varint(2 * true), varint(2 * false)) for part in (body, meta))  # signed: doubled
    return body + meta + struct.pack("<I", len(meta)) + b"PAR1"


def overlapping(members: int, size: int) -> bytes:
    """A zip archive in which many members are the same bytes."""
    raw = zipped({"a.csv": b"a,b\n" + b"1,2\n" * (size // 4)})
    end = raw.index(b"PK\x01\x02")
    entry = raw[end : raw.index(b"PK\x05\x06")]
    directory = b"".join(entry[:46] + b"%05d" % i for i in range(members))
    total = struct.pack("<4s4H2IH", b"PK\x05\x06", 0, 0, members, members, len(directory), end, 0)
    return raw[:end] + directory + total


def lying_zip(text: bytes) -> bytes:
    """A zip archive whose member says that it has ten bytes."""
    raw = bytearray(zipped({"a.csv": text}))
    for header, at in ((b"PK\x03\x04", 22), (b"PK\x01\x02", 24)):
        index = raw.index(header) + at
        raw[index : index + 4] = struct.pack("<I", 10)
    return bytes(raw)


def deep_parquet(depth: int) -> bytes:
    kind = pa.int8()
    for _ in range(depth):
        kind = pa.struct([("a", kind)])
    return parquet({"a": pa.nulls(1, kind)})


def ole(marker: str) -> bytes:
    """The beginning of an old Office document."""
    return b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(504) + marker.encode("utf-16-le") + bytes(2_000)


def xz_of_much_memory(text: bytes) -> bytes:
    """An xz file that asks for a dictionary of 1.5 GB."""
    filters = [{"id": lzma.FILTER_LZMA2, "preset": 0, "dict_size": 3 << 29}]
    packed = bytearray(lzma.compress(text, filters=[{**filters[0], "dict_size": 1 << 16}]))
    index = packed.index(bytes([0x21, 0x01, 8]))  # filter 0x21, one byte of properties: the dictionary's size
    packed[index + 2] = 37  # 1.5 GiB
    header = packed[12 : 12 + 4 * (packed[12] + 1) - 4]
    packed[12 + len(header) : 16 + len(header)] = struct.pack("<I", zlib.crc32(bytes(header)))
    return bytes(packed)


LONG = "x" * 32_000
TABLE = b"a,b\n" + b"1,2\n" * 10
PAIR = '<row><c t="s"><v>0</v></c><c><v>1</v></c></row>'
LAUGHS = "".join(f'<!ENTITY {chr(98 + i)} "{(f"&{chr(97 + i)};") * 10}">' for i in range(9))
MUCH = "more than 1,024 MiB"  # of memory
LARGE, DAMAGED, NO_ROWS = "Unpacked", "damaged", "no rows below its header"
WIDE = "more than 1,000 columns"
GOOD = parquet({"a": np.arange(50), "b": ["x"] * 50})

CASES = [
    # workbooks
    Case("rows.xlsx", lambda: workbook(HEADER + ROW * 1_000_000), slow=True),
    Case("empty rows.xlsx", lambda: workbook(HEADER + "<row/>" * 300_000), NO_ROWS),
    Case(
        "one text for all.xlsx",
        lambda: workbook(HEADER + PAIR * 50_000, shared=strings(f"<t>{LONG}</t>")),
        MUCH,
        slow=True,
    ),
    Case("many texts.xlsx", lambda: workbook(HEADER + ROW, shared=strings("", 20_000_000)), MUCH, slow=True),
    Case("corner.xlsx", lambda: workbook(HEADER + '<row r="1048576"><c r="XFD1048576"><v>1</v></c></row>'), MUCH),
    Case("wide.xlsx", lambda: workbook(HEADER + '<row r="2"><c r="XFD2"><v>1</v></c></row>'), WIDE),
    Case("wraps.xlsx", lambda: workbook('<row r="99999999999"><c r="A99999999999"><v>1</v></c></row>'), "last row"),
    Case("deep.xlsx", lambda: workbook(HEADER + "<a>" * 1_000_000), NO_ROWS),
    Case("laughs.xlsx", lambda: workbook(HEADER + ROW.replace("x<", "&j;<"), dtd=f"<!DOCTYPE a [{LAUGHS}]>"), DAMAGED),
    Case("merged.xlsx", lambda: workbook(HEADER + ROW, after='<mergeCell ref="A1:B2"/>' * 2_000_000), slow=True),
    Case("overlapping.xlsx", lambda: overlapping(10_000, 100_000), LARGE),
    Case("locked.xlsx", lambda: ole("EncryptedPackage"), "password"),
    Case("old.xlsx", lambda: ole("Workbook"), "old Excel"),
    Case("ods.xlsx", lambda: zipped({"content.xml": ""}), "OpenDocument"),
    Case("binary.xlsx", lambda: zipped({"xl/workbook.bin": ""}), "xlsb"),
    # Parquet
    Case("groups.parquet", lambda: many_groups(1_000_000, 200), MUCH),
    Case("forged.parquet", lambda: forged_rows(1_234, 10**6), DAMAGED),
    Case("far forged.parquet", lambda: forged_rows(1_234, 10**9), LARGE),
    Case("constant.parquet", lambda: parquet({f"c{i}": np.zeros(10**6, np.int8) for i in range(40)}), LARGE),
    Case(
        "texts.parquet",
        lambda: parquet(dict.fromkeys("ab", pa.array([LONG] * 7_500).dictionary_encode())),
        LARGE,
        slow=True,
    ),
    Case("wide.parquet", lambda: parquet({f"c{i}": [1] for i in range(1_100)}), WIDE),
    Case("deep.parquet", lambda: deep_parquet(900), ""),
    Case("encrypted.parquet", lambda: GOOD[:-4] + b"PARE", "encrypted"),
    Case("garbage.parquet", lambda: b"PAR1" + bytes(990) + struct.pack("<I", 900) + b"PAR1", DAMAGED),
    # packed text
    Case("zeros.csv.gz", lambda: gzip.compress(bytes(10**7)), "not text"),
    Case("300 MB.csv.gz", lambda: gzip.compress(b"a,b\n" + b"1,2\n" * 75_000_000, 1), LARGE, slow=True),
    Case("240 MB.csv.gz", lambda: gzip.compress(b"a,b\n" + b"1,2\n" * 60_000_000, 1), MUCH, slow=True),
    Case("memory.csv.xz", lambda: xz_of_much_memory(TABLE), MUCH),
    Case("twice.csv.gz", lambda: gzip.compress(gzip.compress(TABLE)), "packed as gz"),
    Case("members.zip", lambda: overlapping(10_000, 1_000), "10,000 files"),
    Case("lying.zip", lambda: lying_zip(b"a,b\n" + b"1,2\n" * 100_000), DAMAGED),
    # text that is none
    Case("records.csv", lambda: b'[{"a":1,"b":2},\n{"a":3,"b":4}]', "JSON"),
    Case("page.csv", lambda: b"\n<!DOCTYPE HTML><html><body>Sign in</body></html>", "HTML"),
    Case("document.csv", lambda: b"%PDF-1.7\n1,2\n", "PDF"),
    Case("table.csv", lambda: GOOD, "Parquet"),
    Case("brackets.csv", lambda: b"[" * 10**6, ""),
    # lines and cells
    Case("answers.csv", lambda: b"a,b\n" + ",".join([LONG * 10] * 2).encode() + b"\n"),
    Case("one cell.csv", lambda: b"a,b\n1," + b"x" * 17_000_000 + b"\n", "Line 2 has more than 8 MiB"),
    Case("commas.csv", lambda: b"," * 1_000_000, "columns"),
    Case("quotes.csv", lambda: b"a,b\n" + b'"' * 10**6, "Line 2"),
    Case("latin.csv", lambda: b"a,b\n" + b"\xe9,\xe8\n" * 20_000, "cp1252"),
    Case("blank.csv", lambda: b"a,b\n" + b"\n" * 10**6 + b"1,2\n", slow=True),
]
