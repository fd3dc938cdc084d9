"""The `domain.json` of private-pgm: how many codes every column has. Cells of its tables are codes, 0 to n - 1."""

import json

from dpcore.arguments import is_whole
from dpcore.domain.column import MAX_CATEGORIES
from dpcore.domain.formats.base import REMEDY, Fields, Known, document_of
from dpcore.domain.scales import MOST_EXACT
from dpcore.domain.schema import Schema, check_width
from dpcore.errors import SchemaError

SAYS: frozenset[str] = frozenset()


def read(text: str | bytes) -> Known:
    """Columns whose values are the codes; SchemaError if this is no such document."""
    check_width(found := document_of(text))
    if not found or not all(is_whole(size, 1, MOST_EXACT - 1) for size in found.values()):
        raise SchemaError("A domain has whole numbers from 1 on, by the names of columns, and this has not.", REMEDY)
    return Known(
        columns=tuple(coded(name, size) for name, size in found.items()),
        remarks=("Values are codes, 0 to n - 1: it describes tables whose cells are such numbers.",),
    )


def coded(name: str, size: int) -> Fields:
    """Codes as categories; as whole numbers, where there are too many."""
    if size > MAX_CATEGORIES:
        return {"name": name, "kind": "integer", "lower": 0, "upper": size - 1}
    return {"name": name, "kind": "categorical", "categories": tuple(map(str, range(size)))}


def write(schema: Schema) -> str:
    """The number of codes by column: categories or bins, and one for missing cells if there may be some."""
    return json.dumps(dict(zip(schema.names, schema.sizes, strict=True)), indent=2, ensure_ascii=False)
