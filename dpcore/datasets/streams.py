"""Tables that are longer than the memory: the files that they lie in, and the cells of these, batch by batch.

They are read in this process, without limits of time and memory: files of one's own, and not what strangers send.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from os import PathLike, fspath
from pathlib import Path, PurePath

from dpcore.datasets.formats import format_of
from dpcore.datasets.long_parquet import LongParquet
from dpcore.datasets.long_text import LongText
from dpcore.errors import DataError
from dpcore.text import is_writable, writable

REMEDY = "Choose csv, tsv, txt or Parquet files, or a folder of them."


@dataclass(frozen=True)
class Source:
    """One file of a table, and its name below the table's folder."""

    path: Path
    name: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", writable(self.name))

    def opened(self, watch: Callable[[], None], **written: str | None) -> LongText | LongParquet:
        """What it holds; `written` is how a text is, as for `datasets.read`; `watch` is called while it takes long."""
        if format_of(self.name)[0] != "parquet":
            return LongText(self.path, watch, **written)
        check_path(self.path)
        return LongParquet(self.path)


def check_path(path: Path) -> None:
    """DataError if Arrow cannot open a Parquet file at this place, because the path is not UTF-8."""
    if not is_writable(str(path)):
        raise DataError(f"The path of {writable(path.name)!r} is not UTF-8 text.", "Rename the file and its folders.")


def sources(place: str | PathLike[str]) -> list[Source]:
    """The files of a table: one, or all below a folder in the order of their names.

    Names that begin with a point or an underscore are left out. DataError if there is none, or another kind of file.
    """
    path = Path(fspath(place))
    if not path.exists():
        raise DataError(f"There is no file or folder {path.name!r} at this place.", "Check the path.")
    found = [Source(path, path.name)] if path.is_file() else list(_below(path))
    if not found:
        raise DataError(f"The folder {path.name!r} holds no tables.", REMEDY)
    for source in found:
        if format_of(source.name)[0] == "xlsx":
            raise DataError(f"The workbook {source.name!r} cannot be read row by row.", "Save it as CSV.")
    return found


def _below(folder: Path) -> Iterator[Source]:
    names = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*") if path.is_file()}
    for name in sorted(names):
        if not any(part.startswith((".", "_")) for part in PurePath(name).parts):
            yield Source(names[name], name)
