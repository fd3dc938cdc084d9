"""What a refusal says of the rows: "some" in logs and scripts; how many, and where, on the screens of their owners."""

import ast
import pickle
import re
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import dpcore as dp
from dpcore.audit.cases import own_row
from dpcore.datasets import reading
from dpcore.domain.column import Column
from dpcore.errors import DPCoreError
from dpcore.experiment.commands.base import carried_out

pytestmark = pytest.mark.usefixtures("parsed_once")
ROOT = Path(__file__).resolve().parents[2]
NUMBER = Column(name="n", kind="integer", lower=0, upper=9, bins=5)
WORDS = Column(name="w", kind="categorical", categories=("a", "b"))
SCHEMA = dp.Schema(columns=(NUMBER,))
FEW, MORE = 3, 12
read_frame = partial(reading.read_frame, trusted=True)  # in this process
# What may stand in a refusal, as it is public: limits, headers, and numbers of files and of persons under replace.
PUBLIC = {
    "limit / 2 ** 20", "max_bytes / 2 ** 20", "len(members)", "len(lacking) - 1", "self.max_contributions", "len(many)",
    "max(MOST_PLACES // len(many), 1)",
}  # fmt: skip


def encoding(column: Column, wrong: object, right: object) -> Callable[[int], object]:
    """A column of which so many cells do not fit."""
    return lambda some: column.encode(pd.Series([wrong] * some + [right] * 9, dtype=object))


CASES: dict[str, Callable[[int], object]] = {
    "not numbers": encoding(NUMBER, "x", 1),
    "beyond bounds": encoding(NUMBER, 50, 1),
    "unknown categories": encoding(WORDS, "c", "a"),
    "a line's cells": lambda some: read_frame(b"a,b\n" + b"1,2\n" * some + b"3\n"),
    "a person's row": lambda some: own_row(
        dp.methods.PrivBayes(), SCHEMA, pd.DataFrame({"n": [1] * some}), 99, "add_remove"
    ),
}


def raised(work: Callable[[int], object], some: int) -> DPCoreError:
    with pytest.raises(DPCoreError) as caught:
        work(some)
    return caught.value


@pytest.mark.parametrize("case", CASES)
def test_refusals_of_tables_that_differ_in_a_count_are_alike_but_for_the_screen(case):
    few, more = (raised(CASES[case], some) for some in (FEW, MORE))
    assert str(few) == str(more)
    assert repr(few) == repr(more)
    assert few.private != more.private
    assert few.private not in f"{few} {few!r} {few.args}"
    assert re.search(r"\d", few.private)
    again = pickle.loads(pickle.dumps(few))  # as it comes from another process
    assert (str(again), again.private) == (str(few), few.private)


def test_rows_that_are_encoded_to_a_folder_are_refused_alike(tmp_path):
    def encode(some: int) -> None:
        pq.write_table(pa.table({"n": [50] * some + [1]}), tmp_path / "table.parquet")
        dp.encode(tmp_path / "table.parquet", tmp_path / "codes", schema=SCHEMA)

    few, more = (raised(encode, some) for some in (FEW, MORE))
    assert str(few) == str(more)
    assert few.private == "3 cells of column 'n' lie outside the declared bounds 0 to 9."


def test_commands_write_no_count_of_rows(capsys):
    assert carried_out(encoding(NUMBER, 50, 1), 133) == 1
    assert "133" not in capsys.readouterr().err


def numbers_told(source: str) -> Iterator[tuple[int, str]]:
    """Numbers that refusals of data write into what is printed: into their cause or remedy, there or just before."""
    for scope in ast.walk(ast.parse(source)) if "DataError(" in source else ():
        if not isinstance(scope, ast.FunctionDef):
            continue
        stores = [node for node in ast.walk(scope) if isinstance(node, ast.Assign)]
        named = {target.id: node.value for node in stores for target in node.targets if hasattr(target, "id")}
        for call in ast.walk(scope):
            if isinstance(call, ast.Call) and ast.unparse(call.func) == "DataError":
                for given in call.args[:2]:
                    told = named.get(given.id, given) if isinstance(given, ast.Name) else given
                    yield from ((call.lineno, field) for field in fields(told))


def fields(told: ast.AST) -> Iterator[str]:
    """What is formatted as a number, or is a length, and is neither public nor a constant."""
    for node in ast.walk(told):
        if isinstance(node, ast.FormattedValue):
            value = ast.unparse(node.value)
            names = {part.id for part in ast.walk(node.value) if isinstance(part, ast.Name)}
            if (node.format_spec or "len(" in value) and value not in PUBLIC and not all(map(str.isupper, names)):
                yield value
        elif isinstance(node, ast.Constant) and re.search(r"\{\w+:", str(node.value)):  # for `say`, or `str.format`
            yield str(node.value)


def test_no_refusal_of_data_formats_a_number_of_the_rows():
    files = [*(ROOT / "dpcore").rglob("*.py"), *(ROOT / "pages").rglob("*.py")]
    found = [(path.name, *one) for path in files for one in numbers_told(path.read_text(encoding="utf-8"))]
    assert found == []
    for planted in (
        'raise DataError("Some cells lie outside.", f"Leave out {len(rows)} rows.")',
        'cause = f"{far:,} cells"\n    raise DataError(cause, "Widen.")',
        'return DataError(say("It has {rows:,} rows.", rows=found.rows), "Widen.")',
    ):
        assert len(list(numbers_told(f"def f():\n    {planted}"))) == 1, planted
    private = 'raise DataError("Some lie outside.", "Widen.", f"{far:,} lie outside.")'
    assert not list(numbers_told(f"def f():\n    {private}"))
