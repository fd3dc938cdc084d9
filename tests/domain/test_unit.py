"""Privacy units: persons are identified, and at most k rows of each are kept at random."""

import json
from collections import Counter
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpcore.domain.column import Column
from dpcore.domain.schema import Schema
from dpcore.domain.unit import MOST_ROWS, PrivacyUnit
from dpcore.errors import DataError, SchemaError

WORD = Column(name="a", kind="categorical", categories=("x",))
SCHEMA = Schema(columns=(WORD,))


def test_units_are_part_of_the_schema_and_read_back():
    for unit in (PrivacyUnit(3, id_column="who"), PrivacyUnit(1), PrivacyUnit(np.int64(7), id_column="ä"), None):
        schema = replace(SCHEMA, unit=unit)
        assert Schema.from_json(schema.to_json()) == schema
        assert ("unit" in json.loads(schema.to_json())) == (unit is not None)
        assert schema.select(["a"]).unit == unit
        assert schema.persons == (unit if unit and unit.id_column else None)
    document = json.loads(SCHEMA.to_json())
    more = {"rows": 3, "column": "who", "more": 1}
    for wrong in (5, {}, {"rows": 3}, more, {"rows": True, "column": None}, {"rows": 3, "column": "a"}):
        with pytest.raises(SchemaError) as caught:
            Schema.from_json(json.dumps(document | {"unit": wrong}))
        assert caught.value.remedy


def test_invalid_privacy_units_are_refused():
    for rows in (0, 1.5, True, "3", MOST_ROWS + 1):
        with pytest.raises(SchemaError, match="max_contributions"):
            PrivacyUnit(max_contributions=rows)
    for column in ("", 5, "\ud800"):
        with pytest.raises(SchemaError, match="id_column"):
            PrivacyUnit(max_contributions=3, id_column=column)
    for unit, text in ((PrivacyUnit(max_contributions=3, id_column="a"), "'a'"), (3, "unit")):
        with pytest.raises(SchemaError, match=text):
            replace(SCHEMA, unit=unit)


def test_persons_are_identified_by_the_texts_of_cells():
    def named(values):
        return PrivacyUnit(max_contributions=1, id_column="who").persons(pd.DataFrame({"who": values})).tolist()

    assert named(["b", "a", "b", "c"]) == [1, 0, 1, 2]  # in the order of names, wherever they stand
    assert named([7, 7.0, 3]) == [1, 1, 0]
    assert named(["7", "007", "7"]) == [1, 0, 1]
    assert named(["9007199254740993", "9007199254740992"]) == [1, 0]  # texts are not made into numbers
    assert named(pd.Series(["x", "y", "x"], dtype="category")) == [0, 1, 0]
    assert named([]) == []
    for wrong in (["a", None], ["a", "  "], [1.0, np.nan], pd.Series(["x", None], dtype="category")):
        with pytest.raises(DataError, match=r"'who'.*missing"):
            named(wrong)
    for wrong in ([1.0, 2.0**53], [1.0, np.inf]):
        with pytest.raises(DataError, match="too large"):
            named(wrong)
    with pytest.raises(DataError, match="lack the column 'who'"):
        PrivacyUnit(max_contributions=1, id_column="who").persons(pd.DataFrame({"a": []}))


def test_bounded_contributions_by_hand():
    persons = np.array([0, 1, 0, 0, 2])
    rng = np.array([0.9, 0.5, 0.1, 0.4, 0.3])
    for rows, fill, expected in (
        (1, False, [2, 1, 4]),
        (2, False, [2, 3, 1, 4]),
        (4, False, [2, 3, 0, 1, 4]),
        (1, True, [2, 1, 4]),
        (2, True, [2, 3, 1, 1, 4, 4]),
        (4, True, [2, 2, 3, 0, 1, 1, 1, 1, 4, 4, 4, 4]),  # of three rows one occurs twice: that of the smallest draw
    ):
        found = PrivacyUnit(rows, id_column="who").bound_contributions(persons, rng, fill=fill)
        assert found.tolist() == expected, (rows, fill)
    large = PrivacyUnit(max_contributions=MOST_ROWS, id_column="who")
    with pytest.raises(DataError, match=r"1,000,000 rows for each of 31 persons.* at most 967,741"):
        large.bound_contributions(np.arange(31), np.arange(31) / 31, fill=True)
    for fill in (False, True):
        assert not large.bound_contributions(persons[:0], rng[:0], fill=fill).size


@given(st.data(), st.integers(1, 6), st.booleans())
def test_neighbors_by_one_person_differ_in_at_most_k_rows_after_bounding(data, rows, fill):
    """All other persons keep the rows that they keep without that person, with the same draws."""
    unit = PrivacyUnit(max_contributions=rows, id_column="who")
    many = data.draw(st.lists(st.integers(1, 9), min_size=1, max_size=5))
    pairs = [(f"p{person}", index) for person, count in enumerate(many) for index in range(count)]
    rng = {pair: data.draw(st.floats(0, 1, exclude_max=True)) for pair in pairs}
    changed = f"p{data.draw(st.integers(0, len(many) - 1))}"
    others = [("new", index) for index in range(data.draw(st.integers(1, 9)))]  # of the same person, elsewhere
    rng |= {pair: data.draw(st.floats(0, 1, exclude_max=True)) for pair in others}

    def cut(world, name=None):
        world = data.draw(st.permutations(world))
        names = [name if person == "new" else person for person, _ in world]
        persons = unit.persons(pd.DataFrame({"who": pd.Series(names, dtype=object)}))
        found = unit.bound_contributions(persons, np.array([rng[pair] for pair in world]), fill=fill)
        return [world[index] for index in found]

    ties = len({rng[pair] for pair in rng}) < len(rng)
    first = cut(pairs)
    rest = [pair for pair in pairs if pair[0] != changed]
    second = cut([*rest, *others], changed) if fill else cut(rest)
    if fill:
        assert len(first) == len(second) == rows * len(many)
        if not ties:
            assert sum(a != b for a, b in zip(first, second, strict=True)) <= rows  # in place
    assert max(Counter(person for person, _ in first).values()) <= rows
    if not ties:
        gone, come = Counter(first) - Counter(second), Counter(second) - Counter(first)
        assert {person for person, _ in gone} <= {changed}
        assert {person for person, _ in come} <= ({"new"} if fill else set())
        assert (gone.total(), come.total()) == ((rows, rows) if fill else (min(rows, many[int(changed[1:])]), 0))


def test_every_row_of_a_person_is_as_likely_to_be_kept():
    """5,000 seeded lots; each share is off by more than 5 deviations once in a million seeds."""
    rng, trials = np.random.default_rng(0), 5_000
    persons = np.array([0] * 5 + [1] * 2)
    for rows, fill in ((3, False), (3, True), (7, True)):
        unit, many = PrivacyUnit(max_contributions=rows, id_column="who"), np.zeros(7)
        for _ in range(trials):
            many += np.bincount(unit.bound_contributions(persons, rng.random(7), fill=fill), minlength=7)
        indices = np.array([rows if fill else min(rows, own) for own in (5, 2)])
        expected = (indices / [5, 2])[persons]
        spread = np.sqrt(np.maximum((expected % 1) * (1 - expected % 1), 1e-12) / trials)
        assert (np.abs(many / trials - expected) <= 5 * spread + 1e-9).all(), (rows, fill)
