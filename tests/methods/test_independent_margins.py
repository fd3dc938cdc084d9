"""Independent margins: what each table gets, and that columns are kept and what hangs together is not."""

import numpy as np
import pandas as pd
import pytest
from sources import Watched

from dpcore import IndependentMargins, evaluate
from dpcore.domain.column import Column
from dpcore.domain.schema import Schema

SCHEMA = Schema(
    columns=(
        Column(name="a", kind="categorical", categories=("u", "v", "w", "x")),
        Column(name="b", kind="categorical", categories=("yes",)),
        Column(name="n", kind="integer", lower=0, upper=8, bins=9),
    )
)
FRAME = pd.DataFrame({"a": ["u"] * 6 + ["v"] * 3 + ["w"], "b": "yes", "n": [0] * 5 + [8] * 5})


def test_epsilon_is_shared_by_the_roots_of_the_cells(watched: Watched):
    """Four, one and nine cells: 2/6, 1/6 and 3/6 of epsilon; a replaced row moves two cells of each table."""
    fitted = IndependentMargins(epsilon=1.2).fit(FRAME, schema=SCHEMA)
    assert [scale for _, scale in watched.counted] == pytest.approx([2 / 0.4, 2 / 0.2, 2 / 0.6])
    assert fitted.epsilons_ == pytest.approx([0.4, 0.2, 0.6])
    for cells, exact in zip(fitted.tables_, [[6, 3, 1, 0], [10], [5, 0, 0, 0, 0, 0, 0, 0, 5]], strict=True):
        np.testing.assert_allclose(cells, exact, atol=1e-4)


@pytest.mark.parametrize("relation", ["add_remove", "replace"])
def test_columns_are_kept_and_what_hangs_together_is_not(relation):
    rng = np.random.default_rng(0)
    a = rng.choice(["u", "v", "w", "x"], 4_000, p=[0.4, 0.3, 0.2, 0.1])
    frame = pd.DataFrame({"a": a, "b": "yes", "n": np.where(a == "u", 0, 8)})
    drawn = IndependentMargins(epsilon=50.0, relation=relation, random_state=1).fit(frame, schema=SCHEMA).sample(4_000)
    assert evaluate.marginal_avd(frame, drawn, SCHEMA, 1)["avd"].max() < 0.03
    pair = pd.crosstab(drawn["a"], drawn["n"], normalize=True)
    product = np.outer(pair.sum(axis=1), pair.sum(axis=0))
    assert np.abs(pair - product).to_numpy().sum() < 0.06  # of all cells; the true table differs by 0.96
