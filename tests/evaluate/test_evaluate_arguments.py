"""What reads real rows refuses what is no table, no rows and no question, with what to do; and all tell how far."""

import math
from functools import partial

import numpy as np
import pandas as pd
import pytest
from small_tables import frame_of, random_codes, schema_of

from dpcore import audit, evaluate
from dpcore.domain.range_query import RangeQuery
from dpcore.domain.schema import Schema
from dpcore.errors import DataError, ParameterError, SchemaError
from dpcore.evaluate import disclosure, learners
from dpcore.methods import METHODS, NaiveBayesSynthesizer, TaxonomyRelease

NO_CODES = np.full((4, 5), 200, np.uint8)  # beyond the columns' sizes
NO_TABLES = (np.zeros((4, 5)), NO_CODES, [[1, 2]], None, {"ill": ["yes"]}, "age,ill")

TWO = schema_of(2, 2)
ROW, NOBODY = frame_of(TWO, [[0, 0]]), frame_of(TWO, [])
MANY = frame_of(TWO, random_codes(np.random.default_rng(0), TWO, 40))
LABEL, QUERY = evaluate.Label(column="x1", equals="v1"), RangeQuery.from_codes({"x0": (1,)})
METHOD = NaiveBayesSynthesizer(x_source="model", target="x1", random_state=1)


def calls(frame, schema, target, keys):
    """Functions of one table, by name; the other tables are right."""
    label = evaluate.Label(column=target, equals=schema[target].labels[1])
    return {
        "marginal_avd real": lambda t: evaluate.marginal_avd(t, frame, schema),
        "marginal_avd synthetic": lambda t: evaluate.marginal_avd(frame, t, schema),
        "noise_floor": lambda t: evaluate.noise_floor(t, schema),
        "marginals real": lambda t: evaluate.marginals(t, frame, schema, keys[0]),
        "validity": lambda t: evaluate.validity(t, schema),
        "tstr train": lambda t: evaluate.tstr(t, frame, frame, schema, target),
        "real_data_baseline": lambda t: evaluate.real_data_baseline(frame, t, schema, target),
        "misclassification": lambda t: evaluate.misclassification(t, frame, schema, label),
        "cap": lambda t: disclosure.cap(t, frame, schema, target, keys),
        "cap, release": lambda t: disclosure.cap(frame, t, schema, target, keys),
        "advantage": lambda t: disclosure.advantage(t, frame, schema, target),
        "in and out": lambda t: disclosure.in_out_advantage(METHOD, frame, t, schema, target, fits=4),
        "range_queries": lambda t: evaluate.range_queries(t, {"r": [0]}, schema, [RangeQuery.from_codes({})]),
        "range_answers": lambda t: evaluate.range_answers(t, [RangeQuery.from_codes({})], schema),
    }


def test_what_is_no_table_or_has_no_rows_is_refused(small_frame, small_schema):
    frame = small_frame.head(40)
    several = pd.MultiIndex.from_product([["a"], frame.columns])
    odd = [frame.set_axis(names, axis=1) for names in (several, range(5))]
    more = {"infer": Schema.infer, "encode": small_schema.encode}
    more["audit"] = lambda t: audit.audit(METHODS["NB-Synth"](), (t, t), len, audit.FEWEST, schema=small_schema)
    for name, call in (calls(frame, small_schema, "ill", ["age", "grade"]) | more).items():
        if name in ("range_answers", "in and out"):  # a method may answer too, and people are asked for in pairs
            continue
        for table in (*NO_TABLES, *odd):
            with pytest.raises(DataError) as caught:
                pytest.fail(f"{name} took {table!r} and gave {call(table)!r}")
            assert caught.value.remedy, name
    for name, call in calls(ROW, TWO, "x1", ["x0"]).items():
        with pytest.raises(DataError, match="no rows"):
            pytest.fail(f"{name} gave {call(NOBODY)!r}")


AVD, FLOOR = partial(evaluate.marginal_avd, ROW, ROW, TWO), partial(evaluate.noise_floor, ROW, TWO)
CAP = partial(disclosure.cap, ROW, ROW, TWO, "x1")
ERRORS = partial(evaluate.misclassification, ROW, ROW, TWO, LABEL)
IN_OUT = partial(disclosure.in_out_advantage, METHOD, ROW, MANY.head(4), TWO, "x1")
RANGES = partial(evaluate.range_queries, ROW, schema=TWO)
REFUSED = [  # what is called with what, and words of the message
    (partial(AVD, degree=3), None),
    (partial(AVD, on="rows"), None),
    (partial(AVD, degree=1, max_cliques=0), None),
    *((partial(FLOOR, rows=wrong), None) for wrong in (0, True, 1.5, "2", np.array([2]))),
    *((partial(FLOOR, **{name: 1.5}), None) for name in ("degree", "repeats", "max_cliques")),
    (partial(evaluate.pair_marginal, ROW, ROW, TWO, "x0", "x0"), None),
    *((partial(CAP, known), None) for known in ([], ["x1"], ["x0", "x0"])),
    *((partial(CAP, ["x0"], tau=tau), "tau") for tau in (0, 1.01, math.nan)),
    (partial(disclosure.advantage, ROW, ROW, TWO, "x1", attack="guess"), "guess"),
    (partial(disclosure.advantage, ROW, ROW, TWO.select(["x1"]), "x1"), "No quasi-identifier"),
    *((partial(IN_OUT, **{name: n}), "must be even") for name, n in (("fits", 2), ("fits", 5), ("confidence", 1))),
    (partial(disclosure.in_out_advantage, METHOD, ROW, MANY.head(3), TWO, "x1"), "must be even"),
    *((partial(ERRORS, **{name: 0}), None) for name in ("repeats", "test_share")),
    *((partial(ERRORS, **how), None) for how in ({"protocol": "trts"}, {"model": "forest"})),
    (partial(evaluate.tstr, ROW, ROW, ROW, TWO, "x1", models=["forest"]), "forest"),
    (partial(evaluate.tstr, ROW, ROW, ROW, TWO, "nowhere"), SchemaError),
    (partial(learners.assess_probabilities, np.zeros((0, 2)), np.zeros(0, dtype=int), 2), DataError),
    (partial(learners.assess_probabilities, np.zeros((3, 2)), np.zeros(3, dtype=int), 3), "probability per row"),
    *((partial(RANGES, {"a": answers}, queries=[QUERY] * 2), None) for answers in ([1], [1, math.nan])),
    (partial(RANGES, {}, queries=[QUERY]), None),
    (partial(evaluate.range_answers, TaxonomyRelease(), [QUERY], TWO), "not fitted"),
]


def test_what_cannot_be_asked_is_refused():
    for call, expected in REFUSED:
        error = expected if isinstance(expected, type) else ParameterError
        with pytest.raises(error, match=expected if isinstance(expected, str) else None) as caught:
            pytest.fail(f"{call} gave {call()!r}")
        assert caught.value.remedy
        assert "nan" not in str(caught.value)


def test_progress_rises_to_one_and_cancels():
    def cancel(fraction, text):
        raise ValueError("stop")  # even an error of the kind that a failed fit raises

    for call, steps in (
        (partial(evaluate.tstr, MANY, MANY, MANY, TWO, "x1"), 6),
        (partial(evaluate.misclassification, MANY, MANY, TWO, LABEL, repeats=4), 4),
        (partial(disclosure.in_out_advantage, METHOD, MANY, MANY.head(4), TWO, "x1", fits=4), 4),
    ):
        told = []
        call(progress=lambda fraction, _, told=told: told.append(fraction))
        assert told == pytest.approx([step / steps for step in range(steps + 1)])
        with pytest.raises(ValueError, match="stop"):
            call(progress=cancel)
