"""No number of a private column reaches a picture, whatever tab is open, but for public ends of intervals.

The column's cells are larger than any count, share, epsilon or place on a page: whatever is drawn of that size is a
cell, an order statistic, or something between cells.
"""

import json
from collections.abc import Iterator
from typing import Any

import driving
import numpy as np
import pandas as pd
import pytest
from driving import people, run, tab
from prepared import data, marked, with_release
from screen import charts, tabs

from dpcore.domain.column import Column

LOW, HIGH, BINS = 1e6, 3e6, 16
PAY = Column(name="pay", kind="continuous", lower=LOW, upper=HIGH, bins=BINS)
ROWS = people().assign(pay=np.random.default_rng(5).uniform(LOW + 1, HIGH - 1, 80))
OTHERS = tuple(column for column in data(ROWS).schema if column.name != "pay")
PAID = data(ROWS, name="paid", columns=(*OTHERS, PAY))


def numbers(found: Any) -> Iterator[float]:
    """All numbers of a specification."""
    if isinstance(found, dict | list):
        for part in found.values() if isinstance(found, dict) else found:
            yield from numbers(part)
    elif isinstance(found, int | float):
        yield float(found)


def private(drawn: list[tuple[dict[str, Any], list[pd.DataFrame]]]) -> list[float]:
    """The numbers of some charts that are of the column's size and stand at no end or middle of public intervals."""
    seen = [number for spec, _ in drawn for number in numbers(spec)]
    tables = [table.infer_objects().select_dtypes("number") for _, frames in drawn for table in frames]
    seen += [float(number) for table in tables for number in table.to_numpy(dtype=float).ravel()]
    steps = np.arange(0, 1 + 1e-9, 1 / (4 * BINS * 40))  # of bins, and of the 40 intervals in which reports are drawn
    public = LOW + steps * (HIGH - LOW)
    return [x for x in seen if LOW <= x <= HIGH and np.abs(public - x).min() > 1e-3]


@pytest.mark.parametrize("page", ["naive_bayes", "networks", "taxonomy", "forests", "responses"])
def test_no_cell_of_a_column_is_in_a_picture(page: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(driving, "PAGE", page)
    at = with_release(given=PAID)
    real = 0
    for name in tabs(at):
        assert private(charts(tab(at, name))) == [], name
        for key in [box.key for box in at.selectbox if PAY.name in box.options]:
            at.selectbox(key).set_value(PAY.name)
            assert private(charts(run(at))) == [], (name, key)
        real += sum(marked(at))
    assert real


def test_an_order_statistic_would_be_found() -> None:
    cells = pd.DataFrame({"share": np.quantile(ROWS["pay"], np.linspace(0.01, 0.99, 99), method="nearest")})
    assert len(private([({}, [cells])])) == 99
    assert len(private([(json.loads(json.dumps({"values": [{"x": float(ROWS["pay"][0])}]})), [])])) == 1
    assert private([({"x": LOW}, [pd.DataFrame({"x": PAY.edges})])]) == []
