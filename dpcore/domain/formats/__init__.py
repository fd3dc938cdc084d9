"""Schemas as other programs write them: what of a data set they can say, and what is lost on the way.

| name | document | what it cannot say |
| --- | --- | --- |
| `dpcore` | `Schema.to_json` | |
| `frictionless` | Frictionless Table Schema | bins, taxonomies, the class, how many rows, whose they are, rules |
| `sdv` | SDV's `Metadata` of one table | descriptions, and all that the one above cannot |
| `private-pgm` | `domain.json` | all but how many codes a column has |
"""

from typing import Any

from dpcore.domain.formats import frictionless, private_pgm, sdv
from dpcore.domain.formats.base import TABLE, WORDS, Fields, Format, Known, document_of, used
from dpcore.domain.schema import Schema
from dpcore.errors import ParameterError, SchemaError

__all__ = ["FORMATS", "Fields", "Format", "Known", "read", "written"]

NAMED = 5  # columns, in a line of what is lost


def own(text: str | bytes) -> Known:
    """What `Schema.to_json` wrote."""
    schema = Schema.from_json(text)
    told: dict[str, Any] = {name: getattr(schema, name) for name in TABLE}
    columns = tuple({name: getattr(one, name) for name in one.__dataclass_fields__} for one in schema)
    return Known(columns=columns, **told)


FORMATS = {
    "dpcore": Format("dpcore", "schema.json", frozenset(WORDS), own, Schema.to_json),
    "frictionless": Format(
        "Frictionless Table Schema", "tableschema.json", frictionless.SAYS, frictionless.read, frictionless.write
    ),
    "sdv": Format("SDV metadata", "metadata.json", sdv.SAYS, sdv.read, sdv.write),
    "private-pgm": Format("private-pgm domain", "domain.json", private_pgm.SAYS, private_pgm.read, private_pgm.write),
}


def format_of(name: str) -> Format:
    """A format by its name; ParameterError if there is none."""
    if name not in FORMATS:
        raise ParameterError(f"There is no schema format {name!r}.", f"Choose one of {', '.join(FORMATS)}.")
    return FORMATS[name]


def recognized(text: str | bytes) -> str:
    """Which format a document has, by what only that one has in it; SchemaError if it is none of them."""
    titles = ", ".join(kind.title for kind in FORMATS.values())
    remedy = f"Save the schema in one of the formats that are read ({titles}); YAML is not one."
    found = document_of(text, remedy, unique=False)
    if isinstance(found.get("format"), str):
        return "dpcore"
    if isinstance(found.get("fields"), list):
        return "frictionless"
    return "sdv" if sdv.SPEC in found else "private-pgm"


def read(text: str | bytes, name: str = "") -> tuple[Known, tuple[str, ...]]:
    """Read what a document of this or another program says of a data set's columns.

    Parameters
    ----------
    text : str or bytes
        The document; bytes are UTF-8.
    name : str, optional
        Its format, one of `FORMATS`; by default it is recognized.

    Returns
    -------
    known : Known
        What it says; `known.schema()` is the schema, if nothing is lacking.
    gaps : tuple of str
        What it does not say, in sentences.

    Raises
    ------
    SchemaError
        If the document cannot be read or contradicts itself.
    ParameterError
        If there is no format of that name.

    Examples
    --------
    >>> from dpcore.domain import formats
    >>> known, gaps = formats.read('{"fields": [{"name": "age", "type": "integer"}]}')
    >>> known.gaps
    {'age': 'its lowest and highest value'}
    """
    kind = format_of(name or recognized(text))
    known = kind.read(text)
    known.outline()  # names that are no names, bounds that are none
    gaps = (f"Column {column!r}: {told} must be declared." for column, told in known.gaps.items())
    never = [word for what, word in WORDS.items() if what not in kind.says]
    general = [f"It cannot say: {', '.join(never)}, and whether any of it was read off rows."] if never else []
    return known, (*gaps, *known.remarks, *general)


def written(schema: Schema, name: str) -> tuple[str, tuple[str, ...]]:
    """Write a schema as a document of this or another program.

    Parameters
    ----------
    schema : Schema
        The schema.
    name : str
        The format, one of `FORMATS`.

    Returns
    -------
    document : str
        The text to save.
    lost : tuple of str
        What of the schema the format cannot say.

    Raises
    ------
    SchemaError
        If the schema was read off rows and the format cannot say so: a reader of the document would
        take it for declared, and believe in a guarantee that is void. Also if a name is in the
        format's way.
    ParameterError
        If there is no format of that name.
    """
    kind = format_of(name)
    if schema.source == "inferred" and name != "dpcore":
        raise SchemaError(
            f"This schema was read off rows, and a document of the format {kind.title} cannot say so.",
            "Declare its lines first, or save it in the format dpcore.",
        )
    return kind.write(schema), tuple(
        f"{WORDS[what]} ({', '.join(names[:NAMED])}{f', and {len(names) - NAMED:,} more' if names[NAMED:] else ''})"
        for what, names in used(schema).items()
        if names and what not in kind.says
    )
