"""What reads real rows refuses what is no table, with what to do."""

import numpy as np
import pandas as pd
import pytest

from dpcore import audit, evaluate
from dpcore.domain.schema import Schema
from dpcore.errors import DataError, DPCoreError
from dpcore.evaluate import disclosure
from dpcore.methods import METHODS

NO_CODES = np.full((4, 5), 200, np.uint8)  # beyond the columns' sizes
NO_TABLES = (np.zeros((4, 5)), NO_CODES, [[1, 2]], None, {"ill": ["yes"]}, "age,ill", pd.Series([1, 2]), 3)


def calls(frame, schema):
    """Functions of one table, by name; the other tables are right."""
    label = evaluate.Label(column="ill", equals="yes")
    keys = ["age", "grade"]
    return {
        "infer": Schema.infer,
        "encode": schema.encode,
        "marginal_avd real": lambda t: evaluate.marginal_avd(t, frame, schema),
        "marginal_avd synthetic": lambda t: evaluate.marginal_avd(frame, t, schema),
        "noise_floor": lambda t: evaluate.noise_floor(t, schema),
        "marginals real": lambda t: evaluate.marginals(t, frame, schema, "age"),
        "marginals synthetic": lambda t: evaluate.marginals(frame, t, schema, "age"),
        "pair": lambda t: evaluate.pair(t, frame, schema, "age", "ill"),
        "validity": lambda t: evaluate.validity(t, schema),
        "tstr train": lambda t: evaluate.tstr(t, frame, frame, schema, "ill"),
        "tstr test": lambda t: evaluate.tstr(frame, t, frame, schema, "ill"),
        "real_ceiling": lambda t: evaluate.real_ceiling(t, frame, schema, "ill"),
        "misclassification": lambda t: evaluate.misclassification(t, frame, schema, label),
        "cap": lambda t: disclosure.cap(t, frame, schema, "ill", keys),
        "audit": lambda t: audit.audit(METHODS["NB-Synth"](), (t, t), lambda _: 0.0, audit.FEWEST, schema=schema),
    }


def test_what_is_no_table_is_refused(small_frame, small_schema):
    frame = small_frame.head(40)
    odd = [frame.set_axis(pd.MultiIndex.from_product([["a"], frame.columns]), axis=1), frame.set_axis(range(5), axis=1)]
    for name, call in calls(frame, small_schema).items():
        for table in (*NO_TABLES, *odd):
            with pytest.raises(DataError) as caught:
                pytest.fail(f"{name} took {table!r} and gave {call(table)!r}")
            assert caught.value.remedy, name


def test_what_is_no_number_of_columns_rows_or_repeats_is_refused(small_frame, small_schema):
    frame = small_frame.head(40)
    for wrong in (True, 1.5, "2", None, 0, -1, np.array([2])):
        for name in ("degree", "repeats", *(["rows", "max_subsets"] if wrong is not None else [])):
            with pytest.raises(DPCoreError) as caught:
                evaluate.noise_floor(frame, small_schema, **{name: wrong})
            assert caught.value.remedy
        with pytest.raises(DPCoreError):
            audit.audit(METHODS["NB-Synth"](), (frame, frame), lambda _: 0.0, wrong, schema=small_schema)


def test_numpy_numbers_count(small_frame, small_schema):
    found = evaluate.noise_floor(small_frame.head(40), small_schema, np.int64(1), repeats=np.int8(2), rows=np.int64(9))
    assert len(found) == len(small_schema)
