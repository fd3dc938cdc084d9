"""What a folder of codes says of itself, whole or not; see `writing`, which writes it."""

import hashlib
import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from dpcore.datasets.streams import sources
from dpcore.domain.documents import json_value
from dpcore.domain.schema import Schema
from dpcore.errors import DataError
from dpcore.rows.folder import FORMAT, MANIFEST, MOST, STARTED, document_of, state

UNFINISHED = "unfinished.json"
PIECE = 1 << 24  # bytes
WRITTEN = ("delimiter", "encoding", "decimal")  # how a text is
BEGIN = "Choose another folder, or encode it anew: replace=True."
ELSEWHERE = "Choose a new folder, or an empty one."


@dataclass(frozen=True)
class Begun:
    """What `encode` has written to a folder by now: by which schema, of which files, and whether it is whole."""

    folder: Path
    schema: Schema
    rows: int
    whole: bool
    numbers: bool
    reading: Mapping[str, str]
    files: Mapping[str, Mapping[str, Any]]
    parts: Mapping[str, int | None]  # and how many bytes each has, if that is known
    times: Mapping[str, int]  # when files were written, in nanoseconds, as far as that is known
    written: int  # when this was, likewise

    @property
    def bytes(self) -> int:
        """How much room its parts take."""
        return sum(max(state(self.folder / name)[0], 0) for name in self.parts)

    def outdated(self, source: str | PathLike[str]) -> bool:
        """Whether a table's files are others by now, as far as their names, sizes and times tell."""
        states = {file.name: state(file.path) for file in sources(source)}
        return {name: size for name, (size, _) in states.items()} != {
            name: one.get("size") for name, one in self.files.items()
        } or any(
            written != self.times[name] if name in self.times else written > self.written
            for name, (_, written) in states.items()
        )

    def damaged(self) -> str:
        """The first part that is gone, or has another size than it had; empty if there is none.

        Opening the folder finds other damage, as it compares checksums.
        """
        sizes = ((name, size, state(self.folder / name)[0]) for name, size in self.parts.items())
        return next((name for name, was, now in sizes if now < 0 or was not in (None, now)), "")


def begun(folder: str | PathLike[str]) -> Begun | None:
    """What is in a folder of codes, whole or not, without a look at them; None if it is none, or has no part yet."""
    place = Path(fspath(folder))
    name = next((name for name in (MANIFEST, UNFINISHED) if (place / name).is_file()), None)
    if name is None:
        return None
    cause = f"The folder {place.name!r} cannot be read as encoded rows"
    there = document_of(place, name, cause, BEGIN)
    if there is None or (name == UNFINISHED and not there["parts"]):
        return None  # somebody else's, or none yet
    parts = {part["file"]: part.get("size") for part in there["parts"]}
    rows = sum(part["rows"] for part in there["parts"])
    reading = {key: value for key, value in there["reading"].items() if key in WRITTEN and value is not None}
    known = (Schema.from_document(there["schema"]), rows, name == MANIFEST, there["numbers"], reading)
    return Begun(place, *known, there["sources"], parts, there["written"], state(place / name)[1])


def checksum(path: Path, watch: Callable[[], None] = lambda: None) -> str:
    """The SHA-256 of a file; `watch` is called again and again. DataError if it cannot be read."""
    found = hashlib.sha256()
    try:
        with path.open("rb") as file:
            while piece := file.read(PIECE):
                found.update(piece)
                watch()
    except OSError:
        raise DataError(f"The file {path.name!r} cannot be opened.", "Check its permissions.") from None
    return found.hexdigest()


def is_own(path: Path) -> bool:
    """Whether a document is one of a folder of codes."""
    try:
        found = json_value(path.read_bytes(), DataError, path.name, ELSEWHERE, most=MOST)
    except (DataError, OSError):
        return False
    return isinstance(found, dict) and found.get("format") in (FORMAT, STARTED)


def write_json(path: Path, document: Mapping[str, Any]) -> None:
    """Write a document so that others see all of it or nothing."""
    new = path.with_name(f"{path.name}.new")
    with new.open("w", encoding="utf-8") as file:
        json.dump(document, file, ensure_ascii=False)
        file.flush()
        os.fsync(file.fileno())  # else the name may outlive a power cut, and the text not
    new.replace(path)
