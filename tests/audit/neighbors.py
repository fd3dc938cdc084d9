"""Random schemas of unusual sizes, and random neighboring tables of 0 to 30 rows."""

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from dpcore.domain.column import Column
from dpcore.domain.schema import Schema
from dpcore.domain.taxonomy import Taxonomy
from dpcore.domain.unit import PrivacyUnit

SIZES = (1, 2, 2, 3, 3, 5, 17)
MOST_ROWS = 30


@dataclass(frozen=True, eq=False)
class Pair:
    """Two neighbors with the person of each row, and the person who is added or changed."""

    schema: Schema
    first: pd.DataFrame
    second: pd.DataFrame
    people: tuple[np.ndarray, np.ndarray]
    changed: int


def random_schema(rng):
    """Return a schema of 1 to 6 columns with a class of 2 to 4 values; at most one is large."""
    count = int(rng.choice([1, 2, 2, 3, 3, 4, 5, 6]))
    sizes = [int(rng.choice(SIZES)) for _ in range(count - 1)]
    large = [i for i, size in enumerate(sizes) if size > 5][1:]
    columns = [random_column(rng, f"c{i}", 2 if i in large else size) for i, size in enumerate(sizes)]
    values = tuple(f"y{i}" for i in range(int(rng.integers(2, 5))))
    kind = "ordered" if rng.random() < 0.2 else "categorical"
    columns.insert(int(rng.integers(count)), Column(name="y", kind=kind, categories=values))
    return Schema(columns=tuple(columns), target="y")


def random_column(rng, name, size):
    """Return a column with `size` codes, or one more for missing values."""
    kind, missing = str(rng.choice(["categorical", "ordered", "integer", "continuous"])), bool(rng.random() < 0.3)
    if kind in ("categorical", "ordered"):
        bare = Column(name=name, kind=kind, categories=tuple(f"v{i}" for i in range(size)), missing=missing)
    elif kind == "integer":
        high = size - 1 if rng.random() < 0.5 else 3 * size
        bare = Column(name=name, kind=kind, lower=0, upper=high, bins=size, missing=missing)
    else:
        bins = tuple(float(2**i) for i in range(size - 1)) if rng.random() < 0.3 else size
        bare = Column(name=name, kind=kind, lower=-1.0, upper=float(2**size), bins=bins, missing=missing)
    labels = bare.labels[: bare.size - missing]
    if rng.random() < 0.5 or len(labels) < 3:
        return bare
    group = np.sort(rng.integers(0, 3, len(labels)))
    paths = tuple((label, f"group {group[i]}", "any") for i, label in enumerate(labels))
    return replace(bare, taxonomy=Taxonomy(paths))


def random_cell(rng, column):
    """Return any value that a column declares; numbers are often at the ends of bins."""
    if column.missing and rng.random() < 0.25:
        return np.nan if column.numeric else None
    if not column.numeric:
        return str(rng.choice(column.categories))
    at = float(rng.choice(column.edges))
    at = float(rng.choice([at, np.nextafter(at, np.inf), np.nextafter(at, -np.inf), column.lower, column.upper]))
    number = at if rng.random() < 0.5 else float(rng.uniform(column.lower, column.upper))
    number = min(max(number, column.lower), column.upper)
    return float(np.floor(number)) if column.kind == "integer" else number


def random_pair(rng, schema, relation):
    """Return equal rows, rows of few kinds, or different rows; and a neighbor, in random order."""
    size = int(rng.choice([0, 1, 2, 3, 5, 8, 13, 20, MOST_ROWS]))
    kinds = [random_row(rng, schema) for _ in range(int(rng.choice([1, 2, 5, MOST_ROWS])))]
    other = mixture(rng, schema, kinds)
    if rng.random() < 0.3:
        kinds, other = opposed(rng, schema)
    rows = [kinds[int(rng.integers(len(kinds)))] for _ in range(size)]
    people, at = np.arange(size), int(rng.integers(size + 1))
    if relation == "replace":
        size, at = max(size, 1), min(at, max(size, 1) - 1)
        rows, people = rows or [kinds[0]], np.arange(size)
        worlds = [(rows, people), ([*rows[:at], other, *rows[at + 1 :]], people)]
        changed = at
    else:
        worlds = [(rows, people), ([*rows[:at], other, *rows[at:]], np.insert(people, at, size))]
        changed = size
    if rng.random() < 0.5:
        worlds.reverse()
    most = max(len(rows) for rows, _ in worlds)
    bound = [most, most, MOST_ROWS + 1, 1_000, None][int(rng.integers(5))]
    schema = replace(schema, max_rows=bound)
    first, second = (make_frame(rows, schema) for rows, _ in worlds)
    return Pair(schema, first, second, (worlds[0][1], worlds[1][1]), changed)


def random_persons(rng, schema, relation, rows):
    """Return persons with up to a dozen rows, one of whom is added or has other rows.

    At most `rows` rows of each person count. Common rows have the same numbers in `people` in both
    tables.
    """
    kinds = [random_row(rng, schema) for _ in range(int(rng.choice([1, 2, 5])))]
    other = mixture(rng, schema, kinds)
    if rng.random() < 0.5:
        kinds, other = opposed(rng, schema)
    many = rng.choice([1, 1, 2, 3, 5, 12], size=int(rng.choice([0, 1, 2, 4, 7])))
    owner = np.repeat(np.arange(len(many)), many)
    crowd = [(kinds[int(rng.integers(len(kinds)))], f"{2 * i:02}") for i in owner]
    name = f"{2 * int(rng.integers(8)) + 1:02}"  # before, between or after the others

    def world(own, first):
        """Return the common rows mixed with those of the one person."""
        at = rng.permutation(np.arange(len(crowd) + len(own)) < len(own))
        known = iter([*((row, who, index) for index, (row, who) in enumerate(crowd))])
        mine = iter([(row, name, first + index) for index, row in enumerate(own)])
        lines = [next(mine if here else known) for here in at]
        cells, who, indices = ([line[i] for line in lines] for i in range(3))
        return cells, who, np.array(indices, dtype=np.intp)

    def some(row):
        return [row] * int(rng.choice([1, rows, 12]))

    before = some(kinds[0]) if relation == "replace" else []
    after = some(other)
    worlds = [world(before, len(crowd)), world(after, len(crowd) + len(before))]
    if rng.random() < 0.5:
        worlds.reverse()
    bound = None if rng.random() < 0.2 else 1_000
    known = replace(schema, max_rows=bound, unit=PrivacyUnit(rows, id_column="who"))
    frames = [make_frame(found, schema).assign(who=np.array(names, dtype=object)) for found, names, _ in worlds]
    return Pair(known, *frames, (worlds[0][2], worlds[1][2]), 0)


def random_row(rng, schema):
    """Return a row of independent cells."""
    return tuple(random_cell(rng, column) for column in schema)


def mixture(rng, schema, kinds):
    """Return a row whose cells come from one of the kinds, or are random."""
    strange = float(rng.choice([0.1, 0.5, 1.0, 1.0]))
    cells = zip(schema, [kinds[int(rng.integers(len(kinds)))][j] for j in range(len(schema))], strict=True)
    return tuple(random_cell(rng, column) if rng.random() < strange else cell for column, cell in cells)


def opposed(rng, schema):
    """Return two kinds of rows that agree in some columns only, and a row that changes scores most.

    That row is unusual in the columns where the kinds agree, which makes these columns dependent.
    Where the kinds differ, the row is between them, which makes those columns less dependent.
    """
    one, two = random_row(rng, schema), random_row(rng, schema)
    agree = rng.random(len(schema)) < 0.5
    two = tuple(a if same else b for a, b, same in zip(one, two, agree, strict=True))
    strange = random_row(rng, schema)
    pick = rng.random(len(schema)) < 0.5
    return [one, two], tuple(strange[j] if agree[j] else (one[j] if pick[j] else two[j]) for j in range(len(schema)))


def make_frame(rows, schema):
    """Return rows as a data frame whose types do not depend on the cells."""
    cells = zip(*rows, strict=True) if rows else [()] * len(schema)
    types = [float if column.numeric else object for column in schema]
    values = [np.array(found, dtype=kind) for found, kind in zip(cells, types, strict=True)]
    return pd.DataFrame(dict(zip(schema.names, values, strict=True)))
