"""Answers beside real values, and differences at other epsilons."""

import numpy as np
import pandas as pd
import pytest

from dpcore import Column, Schema
from dpcore.datasets import Dataset
from dpcore.evaluate.answers import answers_with_real, differences
from dpcore.methods.statistics import PlainStatistics

AGE = Column("age", "integer", lower=0, upper=100, bins=4)
TOWN = Column("town", "categorical", categories=("a", "b", "nowhere"))
ROWS = pd.DataFrame({"age": [10, 20, 60, 80] * 50, "town": ["a", "a", "b", "b"] * 50})
DATA = Dataset("people", ROWS, ROWS.head(0), Schema((AGE, TOWN)), "token")


def answered(*queries: str, **how):
    method = PlainStatistics(queries="\n".join(queries), random_state=1, **how)
    return method, method.fit(ROWS, schema=DATA.schema).answers()


def test_real_values_are_those_of_the_rows_but_of_quantiles_and_empty_groups():
    method, answers = answered("mean of age by town", "quantiles .5 of age", "count by town")
    found = answers_with_real(answers, method, DATA)
    real = [15.0, 70.0, np.nan, np.nan, 100.0, 100.0]
    np.testing.assert_allclose(found["real_value"][:6], real, atol=1e-3)
    assert found["estimate"].equals(answers["value"].rename("estimate"))


@pytest.mark.parametrize(("delta", "factor"), [(0.0, 10.0), (1e-9, 9.19)])
def test_a_difference_has_the_noise_of_another_epsilon_and_the_same_sampling(delta, factor):
    _, answers = answered(
        "difference of age between town = a and town = b", "mean of age by town", epsilon=1.0, delta=delta
    )
    ((name, one),) = differences(answers, 1.0, delta).items()  # the mean has three groups
    assert name == answers["statistic"][0]
    noise, both = one.half_widths(0.1)
    assert noise / one.noise == pytest.approx(factor, rel=0.01)
    assert both == pytest.approx(np.hypot(noise, one.sampling))
    assert one.stands_out(1.0)
    assert not one.stands_out(0.001)
    assert one.at_epsilons((1.0, 1.0))["low"].tolist() == [one.value - one.half_widths(1.0)[1]]
