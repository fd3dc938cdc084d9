"""The last bits of cuts, which would give a record away if they hung on it."""

import numpy as np
import pandas as pd
from scipy import stats

from dpcore.domain.column import Column
from dpcore.domain.schema import Schema
from dpcore.domain.splits import GRID, STEP
from dpcore.methods import DiffPRFs

RARE = 1e-3
NUMBER = Column(name="n", kind="continuous", lower=0, upper=10, bins=10)
CLASS = Column(name="y", kind="categorical", categories=("0", "1"))
SCHEMA = Schema(columns=(NUMBER, CLASS), target="y", max_rows=40)


def test_which_cuts_there_can_be_does_not_depend_on_the_rows():
    """One record or none: steps of the grid, whose low bits are fair, and each as probable without it."""
    parities, one = [], pd.DataFrame({"n": [3.7], "y": ["1"]})
    how = {"n_trees": 1_000, "epsilon": 10, "max_depth": 1, "resample": "full", "count_share": 0.0}
    for seed, frame in enumerate((one, one.head(0)), start=1):
        forest = DiffPRFs(**how, random_state=seed).fit(frame, schema=SCHEMA).forest_
        found = forest.cut[: forest.trees]
        assert (forest.column[: forest.trees] == 0).all()  # divided: no count is asked
        bits = np.floor(found / STEP).astype(np.int64)
        assert (found == np.maximum(bits * STEP, -1)).all()
        assert ((found >= -1) & (found < GRID)).all()
        assert stats.chisquare(np.bincount(bits % 2, minlength=2)).pvalue > RARE
        assert stats.chisquare(np.bincount(bits % 64, minlength=64)).pvalue > RARE
        assert stats.kstest((found + 1.5) / (GRID + 1), "uniform").pvalue > RARE
        parities.append(np.bincount(bits % 2, minlength=2))
    assert stats.chi2_contingency(parities).pvalue > RARE
