"""Files to read, and checks of the errors for files that cannot be read.

Every bad file holds `SECRET` in a cell where it can; no message may repeat it.
"""

import functools
import io
import traceback
import zipfile

import openpyxl
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dpcore.datasets import reading
from dpcore.errors import DataError

SECRET = "s3cret"
read_frame = functools.partial(reading.read_frame, trusted=True)  # in this process; tests/hostile has the other one
TABLE = f"name;height;city\n{SECRET};1,75;Besançon\nb;2,25;?\n"


def refused(source, name="", **options) -> str:
    """Return the message of a refusal; check that it is useful and quotes no cell."""
    with pytest.raises(DataError) as caught:
        read_frame(source, name, **options)
    assert caught.value.remedy.endswith(".")
    shown = "".join(traceback.format_exception(caught.value))  # what a log would hold, chained errors too
    assert SECRET not in str(caught.value)
    assert "Arrow" not in shown
    assert "During handling" not in shown
    assert caught.value.__cause__ is None
    return f"{caught.value} {caught.value.private}"


def saved(book) -> bytes:
    file = io.BytesIO()
    book.save(file)
    return file.getvalue()


def book_of(*rows) -> openpyxl.Workbook:
    book = openpyxl.Workbook()
    for row in rows:
        book.active.append(row)
    return book


def workbook(*rows) -> bytes:
    return saved(book_of(*rows))


def parquet(table: pd.DataFrame | pa.Table, **options) -> bytes:
    file = io.BytesIO()
    if isinstance(table, pd.DataFrame):
        table.to_parquet(file)
    else:
        pq.write_table(table, file, **options)
    return file.getvalue()


def zipped(**members: bytes) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name.replace("__", "."), content)
    return file.getvalue()
