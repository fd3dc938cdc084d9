"""Independent margins: what each table gets, and that columns are kept and what hangs together is not."""

import numpy as np
import pandas as pd
import pytest
from sources import Watched

from dpcore import IndependentMargins
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
