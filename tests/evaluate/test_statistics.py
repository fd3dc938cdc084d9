"""Pictures of real rows get counts and means of them: a chart of a column's order statistics is refused, not drawn."""

from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

from dpcore import charts, evaluate
from dpcore.dashboard import panels
from dpcore.domain.column import Column
from dpcore.domain.schema import Schema
from dpcore.evaluate.statistics import Statistics, statistics

PAY = np.random.default_rng(0).uniform(1_000, 9_000, 500)
SCHEMA = Schema(columns=(Column(name="pay", kind="continuous", lower=1_000, upper=9_000, bins=16),))
NINETY_NINE = np.quantile(PAY, np.linspace(0.01, 0.99, 99), method="nearest")  # exact cells


def test_order_statistics_of_a_real_column_are_not_drawn(monkeypatch):
    monkeypatch.setattr(panels, "chart", lambda *_, **__: pytest.fail("it was drawn"))
    drawn = dict.fromkeys(("real", "released", "floor_low", "floor_high"), NINETY_NINE)
    planted = pd.DataFrame({"value": [f"{level}%" for level in range(1, 100)], **drawn})
    with pytest.raises(TypeError, match="counts and means"):
        panels.real(charts.marginal, planted, column="pay")
    sound = evaluate.marginals(pd.DataFrame({"pay": PAY}), pd.DataFrame({"pay": PAY}), SCHEMA, "pay")
    with pytest.raises(TypeError, match="'real'"):  # in what evaluation made
        panels.real(charts.marginal, sound.assign(real=PAY[: len(sound)]), column="pay")
    with pytest.raises(TypeError, match="'pay'"):  # as one column more
        panels.real(charts.marginal, sound.assign(pay=PAY[: len(sound)]), column="pay")


def test_what_counts_and_means_are():
    for name, numbers, sound in (
        ("share", [0.0, 0.5, 1.0, np.nan], True),
        ("share", [0.5, 1.5], False),
        ("real", [-0.5], False),
        ("count", [0, 3.0], True),
        ("count", [0.5], False),
        ("quantile", [0.5], False),
        ("real", np.array([12.5, 1], dtype=object), False),
        ("value", ["a", "b"], True),
        ("private", [True, False], True),
        ("median", pd.to_datetime(["1980-05-17"]), False),  # a cell, too
        ("value", pd.Categorical([12.5]), False),
        ("value", [Decimal("12.5")], False),
        ("value", [(12.5, 13.5)], False),
    ):
        frame = pd.DataFrame({name: numbers})
        if sound:
            assert isinstance(statistics(frame), Statistics)
        else:
            with pytest.raises(TypeError, match=f"'{name}'"):
                statistics(frame)
