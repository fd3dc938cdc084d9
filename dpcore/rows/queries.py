"""A table or a query of a DuckDB file, whose rows are read once, as `writing.encode` reads a file.

The file is opened read-only, with nothing that leads out of it: no other file, no address, no extension, no variable
of this program, and nothing that is written beside it while it answers. One SELECT is asked; whatever else there is, is
refused before it runs. What the engine itself says may quote cells, so none of it leaves (`engines.asked`).

A query that says no order may give its rows in another one each time, so nobody goes on in the middle of an answer.
The account of what it gives is that of the whole file, whichever table was asked: two queries on the same people are
charged together, as they have to be. **What is protected is a row of the answer.** That is a person only if the query
makes every row from one row of one table of people, and from each of these one row at most: columns and WHERE.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from glob import escape
from io import BytesIO
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import pyarrow as pa
import pyarrow.parquet as pq

from dpcore.datasets.heads import ROWS, Head
from dpcore.datasets.parquet import cells, check_plain, headers_of, sound
from dpcore.datasets.reading import read_frame
from dpcore.datasets.streams import Source, sources
from dpcore.errors import DataError
from dpcore.extras import need
from dpcore.language import phrase
from dpcore.rows.engines import asked

if TYPE_CHECKING:
    import duckdb

T = TypeVar("T")
LOOK = 0.25  # seconds between two looks whether somebody still waits
MAGIC = slice(8, 12), b"DUCK"
CLOSED: dict[str, str | bool | int | float | list[str]] = {
    "enable_external_access": "false",
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "allow_community_extensions": "false",
    "python_enable_replacements": "false",
    "temp_directory": "",  # else a long sort would write private rows beside the file
    "lock_configuration": "true",
}


def files(place: str | PathLike[str], query: str | None) -> list[Source]:
    """The files of a table, or the one that a query is about; DataError if there are none, or it is of another kind."""
    if query is None:
        return sources(place)
    path = Path(fspath(place))
    if not path.is_file():
        cause = phrase("There is no file {name} at this place.").format(name=repr(path.name))
        raise DataError(cause, phrase("Check the path."))
    try:
        with path.open("rb") as file:
            found = file.read(MAGIC[0].stop)[MAGIC[0]]
    except OSError:
        cause = phrase("The file {name} cannot be opened.").format(name=repr(path.name))
        raise DataError(cause, phrase("Check its permissions.")) from None
    if found != MAGIC[1]:
        cause = phrase("The file {name} is no DuckDB database.").format(name=repr(path.name))
        raise DataError(cause, phrase("Choose one that DuckDB has written."))
    settled(path)
    return [Source(path, path.name)]


def settled(path: Path) -> None:
    """DataError if there are changes beside the file, which DuckDB would read as well: the account is the file's."""
    real = path.resolve()
    if any(real.parent.glob(f"{escape(real.name)}.wal*")):
        cause = phrase("Some changes of the database {name} are not in its file yet, but beside it, in a file .wal.")
        remedy = phrase("Close what writes to it, or run CHECKPOINT there.")
        raise DataError(cause.format(name=repr(path.name)), remedy)


@contextmanager
def opened(path: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection that can read this file, and nothing else."""
    need("duckdb", "A query on a DuckDB file", DataError)
    import duckdb

    settled(path)
    connection = asked(lambda: duckdb.connect(str(path.resolve()), read_only=True, config=CLOSED))
    try:
        yield connection
    finally:
        connection.close()
    settled(path)


def tables(place: str | PathLike[str]) -> list[str]:
    """The names of a database's tables and views, in the order of the alphabet."""
    (file,) = files(place, "")
    with opened(file.path) as connection:
        return _tables(connection)


def _tables(connection: duckdb.DuckDBPyConnection) -> list[str]:
    query = """SELECT table_name AS n FROM duckdb_tables() WHERE schema_name = 'main' AND NOT internal
        UNION SELECT view_name FROM duckdb_views() WHERE schema_name = 'main' AND NOT internal"""
    return sorted(asked(lambda: connection.sql(query).to_arrow_table()["n"].to_pylist()))


def _relation(connection: duckdb.DuckDBPyConnection, query: str) -> Any:
    """What is asked, which has not run yet; DataError if it is not one SELECT."""
    import duckdb

    if query in _tables(connection):
        query = 'SELECT * FROM "{}"'.format(query.replace('"', '""'))
    statements = asked(lambda: connection.extract_statements(query))
    if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
        cause = phrase("This is neither the name of a table nor one SELECT.")
        raise DataError(cause, phrase("Choose one of the tables, or write one SELECT."))
    return asked(lambda: connection.sql(statements[0].query))


def head(place: str | PathLike[str], query: str) -> Head:
    """The first rows of an answer, and how many it has."""
    (file,) = files(place, query)
    with opened(file.path) as connection:
        relation = _relation(connection, query)
        table = asked(relation.limit(ROWS).to_arrow_table)
        for header, j in headers_of(table.schema).items():
            check_plain(header, table.schema.field(j).type)
        rows = _count(relation)
    sink = BytesIO()
    asked(partial(pq.write_table, table, sink))
    return Head(read_frame(sink.getvalue(), "head.parquet"), rows)


def _count(relation: Any) -> int:
    return int(asked(relation.aggregate("count(*) AS rows").to_arrow_table)["rows"][0].as_py())


class LongQuery:
    """A query's answer, as `LongParquet` is a file's: `headers`, `batches`, and what these had by now.

    `watch` is called while the engine works on the first rows; what it raises ends that work.
    """

    def __init__(self, path: Path, query: str, watch: Callable[[], None]) -> None:
        self._path, self._query, self._watch, self.done, self.rows = path, query, watch, 0.0, 0
        with opened(path) as connection:
            relation = _relation(connection, query)
            schema = asked(relation.limit(0).to_arrow_table).schema
            self._places = headers_of(schema)
            self._kinds = {name: schema.field(j).type for name, j in self._places.items()}
            self._total = self._waited(connection, partial(_count, relation))
        self.headers = list(self._places)

    def batches(self, names: Sequence[str], missing: Sequence[str], skip: int) -> Iterator[list[pa.Array]]:
        """The cells of some columns, from the first row on; `skip` is 0."""
        for name in names:
            check_plain(name, self._kinds[name])
        with opened(self._path) as connection:
            reader = asked(_relation(connection, self._query).to_arrow_reader)
            following = partial(next, reader, None)
            batch = self._waited(connection, following)
            while batch is not None:
                self.rows += batch.num_rows
                self.done = min(self.rows / max(self._total, 1), 1.0)
                with sound():
                    found = [cells(batch.column(self._places[name]), missing) for name in names]
                yield found
                batch = asked(following)
        if self.rows != self._total:
            raise DataError(
                phrase("The query gives another number of rows each time that it is asked."),
                phrase("Leave out what is drawn by lot or depends on the time; or write its answer to a table first."),
            )

    def _waited(self, connection: duckdb.DuckDBPyConnection, work: Callable[[], T]) -> T:
        """What the engine answers, if somebody waits for it so long."""
        with ThreadPoolExecutor(1) as pool:
            answer = pool.submit(asked, work)
            while True:
                try:
                    return answer.result(LOOK)
                except TimeoutError:
                    try:
                        self._watch()
                    except BaseException:
                        connection.interrupt()
                        raise
